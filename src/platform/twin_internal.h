/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the two halves of the twin share: twin.c has time, coroutines and the environment;
 * twin_platform.c has invocations and how they end.
 */
#ifndef GUST_PLATFORM_TWIN_INTERNAL_H
#define GUST_PLATFORM_TWIN_INTERNAL_H

#include "platform/twin.h"
#include "platform/twin_coroutine.h"
#include "platform/twin_queue.h"

/* What the seeded generator is asked for; each has numbers of its own. */
enum twin_draw { TWIN_DRAW_ENV, TWIN_DRAW_COLD_START };

/* The words of the trace. */
enum twin_word {
    TWIN_STARTED,
    TWIN_BEGUN,
    TWIN_SLEEPS,
    TWIN_PARKS,
    TWIN_UNPARKED,
    TWIN_WAKES,
    TWIN_WORKS,
    TWIN_RETURNED,
    TWIN_ENDED, /* + enum platform_reason */
};

enum twin_event_kind { TWIN_EVENT_WAKE, TWIN_EVENT_DEATH };

/*
 * Whatever has an environment: the client, or an invocation.
 *
 *              wake                 sleep, charge            return
 *   created ---------> running <------------------> waiting,  --------> ended
 *                         |          park, unpark     |
 *                         +-- out of memory           +-- death, stop --> ended
 *
 * At most one runs; wake and death are its only events.
 */
struct twin_task {
    struct env env;
    struct twin *twin;
    struct twin_task *next, *prev; /* all that have not ended, oldest first */
    uint64_t id;                   /* of the invocation; 0: the client */
    struct coroutine coroutine;    /* from its first wake on */
    struct heap heap;
    struct twin_event wake;  /* when it goes on */
    struct twin_event death; /* when it is ended from outside, and why */
    enum platform_reason death_reason;
    uint64_t parked_since; /* 0: it is not parked */
    bool permit;           /* unparked since it last parked */
    bool exhausted;        /* a small allocation failed: it must not go on */
    bool begun;
    double speed;   /* vCPUs that one thread can use */
    double owed_ns; /* charged work under a nanosecond */
    uint64_t draws; /* random numbers taken */

    void (*main)(struct twin_task *task); /* on its own stack */
    /*
     * Called outside of it when MAIN returned (DONE), it was exhausted (MEMORY), its stack could
     * not be made (CRASHED), its death came, or the twin goes (STOPPED). Releases the task.
     */
    void (*ended)(struct twin_task *task, enum platform_reason reason);
};

struct twin {
    struct heap heap; /* of the twin itself; without a limit */
    struct twin_options options;
    const struct twin_profile *profile;
    struct twin_queue queue;
    struct twin_task tasks; /* head of the ring of those that have not ended */
    struct twin_task *current;
    uint64_t now;
    uint64_t events, digest;
    struct buf trace;
    bool trace_full;
    unsigned time_limited; /* functions that ran into their time limit, for the deadlock report */
};

/* Zeroed memory but for what every task needs. Its first wake is for the caller to queue. */
void twin_task_init(struct twin_task *task, struct twin *t, uint64_t id, size_t heap_limit_bytes);

/* Drop events, stack and heap, after everyone was told to forget. Not from inside. */
void twin_task_release(struct twin_task *task);

void twin_note(struct twin *t, const struct twin_task *task, unsigned word);

/* 64 random bits: a function of the seed and these. */
uint64_t twin_draw(const struct twin *t, enum twin_draw what, uint64_t id, uint64_t count);

#endif
