/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment: the only way in which worker, client, sync, data, model and policy code
 * sees time, waits, draws randomness that is not training randomness, or uses a second
 * thread. The local platform implements it with the machine's clock, futexes and threads;
 * the twin implements it with virtual time and coroutines. One struct env belongs to one
 * function (or to the client).
 *
 * Training randomness never comes from here: see base/random.h.
 */
#ifndef GUST_BASE_ENV_H
#define GUST_BASE_ENV_H

#include <stdbool.h>

#include "base/util.h"

#define ENV_FOREVER UINT64_MAX

/* What charge() counts. Free in reality, worth the profile's time in the twin. */
enum env_charge {
    ENV_CHARGE_EXAMPLES,   /* examples through a trainer's step */
    ENV_CHARGE_EVALUATED,  /* examples through a trainer's evaluate */
    ENV_CHARGE_SUM_BYTES,  /* bytes read to add vectors up */
    ENV_CHARGE_APPLY_ROWS, /* parameters that an optimiser swept */
    ENV_CHARGE_BYTES_READ, /* bytes of data read from the object store */
    ENV_CHARGE_KINDS
};

typedef void (*env_task_fn)(void *arg, unsigned index);

struct env;

struct env_ops {
    /* Nanoseconds since a fixed origin; never goes back. */
    uint64_t (*now)(struct env *e);

    /* Return after NS nanoseconds. */
    void (*sleep)(struct env *e, uint64_t ns);

    /*
     * Wait until unpark() has been called at least once since the last park() returned, or
     * until the time UNTIL (ENV_FOREVER: no limit). Returns true if unparked. Only the
     * function itself parks. May not return early otherwise.
     */
    bool (*park)(struct env *e, uint64_t until);

    /* Let the function that owns E go on. May be called by any thread or coroutine. */
    void (*unpark)(struct env *e);

    /* 64 random bits: for names and back-off, never for training. */
    uint64_t (*random)(struct env *e);

    /* AMOUNT of work of a kind was done. */
    void (*charge)(struct env *e, enum env_charge kind, uint64_t amount);

    /*
     * Run task(arg, 0) .. task(arg, n-1), at once where there are threads, and return when
     * all are done. Tasks use no heap, no store and no environment.
     */
    void (*parallel)(struct env *e, unsigned n, env_task_fn task, void *arg);
};

struct env {
    const struct env_ops *ops;
};

static inline uint64_t env_now(struct env *e)
{
    return e->ops->now(e);
}

static inline void env_sleep(struct env *e, uint64_t ns)
{
    e->ops->sleep(e, ns);
}

static inline bool env_park(struct env *e, uint64_t until)
{
    return e->ops->park(e, until);
}

static inline void env_unpark(struct env *e)
{
    e->ops->unpark(e);
}

static inline uint64_t env_random(struct env *e)
{
    return e->ops->random(e);
}

static inline void env_charge(struct env *e, enum env_charge kind, uint64_t amount)
{
    e->ops->charge(e, kind, amount);
}

static inline void env_parallel(struct env *e, unsigned n, env_task_fn task, void *arg)
{
    e->ops->parallel(e, n, task, arg);
}

/* The time DELAY_NS from now, without overflow; ENV_FOREVER stays ENV_FOREVER. */
static inline uint64_t env_after(struct env *e, uint64_t delay_ns)
{
    uint64_t now = env_now(e);

    return delay_ns > ENV_FOREVER - now ? ENV_FOREVER : now + delay_ns;
}

#endif
