/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The twin: a platform with virtual time. The real client and the real entry point run as
 * coroutines in one thread, over stores that live in memory; waits and sleeps yield to a queue
 * of events ordered by (time in integer nanoseconds, sequence). Nothing comes from a clock, an
 * address or the machine's load: the same seed and the same code give the same events, byte for
 * byte.
 *
 *     struct twin *t = twin_new(&(struct twin_options){ .seed = 1 });
 *     rc = twin_run(t, client, &arg, &err);
 *     twin_free(t);
 *
 *     static int client(struct env *env, struct heap *heap, void *arg, struct error *err)
 *     {
 *         struct platform *p = platform_twin_new(twin_of(env), entry);
 *         ...                                    the scheduler, as on any platform
 *         platform_close(p);
 *     }
 *
 * Virtual time passes when a function sleeps, waits or charges for work by env_charge(); all
 * else takes none. Transfers take time through the `delayed` decorators of the stores.
 * Code under the twin allocates from its heap only: a kill drops heap and stack and runs nothing.
 *
 * One thread uses a twin. Several threads may run a twin each, and code under a twin may run
 * another twin.
 */
#ifndef GUST_PLATFORM_TWIN_H
#define GUST_PLATFORM_TWIN_H

#include "platform/platform.h"

/* What a platform costs in time. */
struct twin_profile {
    const char *name;
    struct platform_limits limits;
    uint64_t cold_start_ns;             /* from start to the entry point, at least */
    uint64_t cold_jitter_ns;            /* and up to this more, evenly drawn */
    bool cold_start_billed;             /* billed from the start, not from the entry point */
    size_t overhead_bytes;              /* of a function's memory, not for its heap */
    double charge_ns[ENV_CHARGE_KINDS]; /* per unit of work, on one whole vCPU */
};

/*
 * Shaped like AWS Lambda. The figures of work are round ones of the right order for one
 * core running the built-in sparse models; measured profiles replace them.
 */
extern const struct twin_profile twin_profile_default;

struct twin_options {
    uint64_t seed;
    const struct twin_profile *profile; /* NULL: twin_profile_default; outlives the twin */
    size_t trace_bytes; /* keep this much of the trace as text; 0: its digest only */
    uint64_t limit_ns;  /* virtual time after which a run gives up; 0: never */
    size_t stack_bytes; /* per coroutine; 0: 512 KiB, taken as touched */

    /*
     * Optional. ENV's function is gone and ENV is about to be: stores and others that remember
     * it must forget it (params_memory_forget). Called at every end of every function that
     * was begun, and of the client; must not wait.
     */
    void (*forget)(void *arg, struct env *env);
    void *forget_arg;
};

struct twin;

/* Never NULL. From then on heap_exhausted() ends a simulated function instead of the program. */
struct twin *twin_new(const struct twin_options *options);

/* Everything ends, platforms included. T may be NULL. Not from inside. */
void twin_free(struct twin *t);

typedef int (*twin_client_fn)(struct env *env, struct heap *heap, void *arg, struct error *err);

/*
 * Run client(env, heap, arg, err) and all that it starts until it returns, and return what it
 * returned; its heap goes then. E_FAILED, naming who waits since when, if nothing can happen any
 * more while it waits; E_TIMEOUT past limit_ns. Functions that still run then stay as they are
 * until their platform is closed; another twin_run() lets them go on.
 */
int twin_run(struct twin *t, twin_client_fn client, void *arg, struct error *err);

/* The twin that ENV belongs to; ENV must come from a twin. */
struct twin *twin_of(struct env *env);

/* Virtual time; begins at one second, so that zero is never a time. */
uint64_t twin_now(const struct twin *t);

/*
 * What has happened, one line per event: time, number, function (0: the client), word. Cut at
 * a line's end once trace_bytes are used up. Borrowed until the twin goes on.
 */
struct slice twin_trace(const struct twin *t);

/* A number that depends on all events since twin_new(), kept as text or not. */
uint64_t twin_digest(const struct twin *t);

/* How many events that was. */
uint64_t twin_events(const struct twin *t);

/*
 * A platform of the twin that calls ENTRY for each invocation. It lives until platform_close()
 * or twin_free(), whichever is first. Functions are told apart by the number that platform_start()
 * gives; give each twin one platform if its traces are to be read.
 */
struct platform *platform_twin_new(struct twin *t, platform_entry_fn entry);

/*
 * End an invocation at the time AT_NS (now, if that is past) for REASON, unless it has ended or is
 * to end earlier: how faults are injected. Unknown ids are ignored.
 */
void platform_twin_end_at(struct platform *p, uint64_t id, uint64_t at_ns,
                          enum platform_reason reason);

#endif
