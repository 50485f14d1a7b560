/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Platforms: what runs functions. A platform starts an entry point that it was handed, one
 * invocation at a time, within a memory limit and a time limit, and says how each ended and
 * for how long it is billed.
 */
#ifndef GUST_PLATFORM_PLATFORM_H
#define GUST_PLATFORM_PLATFORM_H

#include "base/buf.h"
#include "base/env.h"

#define PLATFORM_PAYLOAD_MAX 65536
#define PLATFORM_WORDS_MAX   512

enum platform_reason {
    PLATFORM_DONE,      /* the entry point returned 0 */
    PLATFORM_FAILED,    /* it returned an error: `code` and `words` say which */
    PLATFORM_CRASHED,   /* it died of a signal or left without an answer */
    PLATFORM_MEMORY,    /* it needed more memory than it was given */
    PLATFORM_TIME,      /* it ran into its time limit */
    PLATFORM_STOPPED,   /* platform_stop() ended it */
    PLATFORM_THROTTLED, /* it could not be started now */
};

/* "out of memory" and so on. Static storage. */
const char *platform_reason_text(enum platform_reason reason);

struct platform_limits {
    uint32_t concurrency;     /* most invocations at once */
    uint32_t memory_mb_min, memory_mb_max;
    uint64_t timeout_ms_max;
    double vcpus_per_mb;      /* Lambda: 1 / 1769 */
};

struct platform_start {
    uint32_t memory_mb;
    uint64_t timeout_ms;
    struct slice payload; /* text, for the entry point */
    int fd;               /* handed to the entry point; -1: none */
};

/* How an invocation ended. */
struct platform_exit {
    uint64_t id;
    enum platform_reason reason;
    int code;             /* FAILED: an error code; CRASHED: the signal */
    uint64_t billed_ms;   /* from start to end, rounded up */
    uint64_t peak_bytes;  /* highest resident memory, 0 if unknown */
    bool cold;            /* a new process had to be started */
    char words[PLATFORM_WORDS_MAX]; /* the entry point's last words, or what the platform knows */
};

/* What the entry point is called with, inside the function. */
struct platform_call {
    struct env *env;
    struct heap *heap;
    struct slice payload;
    int fd;             /* -1: none; closed by the platform afterwards */
    uint32_t memory_mb;
    uint64_t deadline;  /* env time at which the time limit strikes */
};

/* Returns 0 or a negative code with ERR set. */
typedef int (*platform_entry_fn)(const struct platform_call *call, struct error *err);

struct platform;

struct platform_ops {
    const char *name;

    void (*limits)(struct platform *p, struct platform_limits *out);

    /*
     * Start an invocation and store its number (from 1, never reused) through ID. E_LIMIT when
     * memory or time are outside the limits, E_FULL (retriable) at the concurrency limit.
     */
    int (*start)(struct platform *p, const struct platform_start *start, uint64_t *id,
                 struct error *err);

    /* Store up to MAX ended invocations in OUT and return how many; does not wait. Each is told once. */
    unsigned (*poll)(struct platform *p, struct platform_exit *out, unsigned max);

    /* End an invocation; its exit is told by poll() as STOPPED unless it ended otherwise first. Unknown or ended ids are ignored. */
    void (*stop)(struct platform *p, uint64_t id);

    /* End everything and free. No function survives this. */
    void (*close)(struct platform *p);
};

struct platform {
    const struct platform_ops *ops;
};

void platform_limits(struct platform *p, struct platform_limits *out);
int platform_start(struct platform *p, const struct platform_start *start, uint64_t *id,
                   struct error *err);
unsigned platform_poll(struct platform *p, struct platform_exit *out, unsigned max);
void platform_stop(struct platform *p, uint64_t id);
/* P may be NULL. */
void platform_close(struct platform *p);

#endif
