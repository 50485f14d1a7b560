/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool behind parallel(): thread i sleeps on its own futex word until the caller raises
 * it, runs its share, and the last one to finish wakes the caller. Nobody spins: a function
 * that owns a fraction of a core must not burn it by waiting.
 */
#include "platform/local_env.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/random.h"

/* More tasks than this share threads. */
#define THREADS_MAX 255
/* Tasks keep their data in buffers, not on the stack; small stacks keep memory limits honest. */
#define STACK_BYTES (512 * KIB)

struct local_env;

struct pool_thread {
    struct local_env *owner;
    pthread_t thread;
    unsigned index;         /* from 1; the caller is 0 */
    _Atomic uint32_t round; /* futex: raised by the caller when there is work */
};

struct local_env {
    struct env base;
    struct heap *heap;
    uint64_t seed, drawn;
    _Atomic uint32_t token; /* futex: 1 after unpark(), 0 after park() */

    struct pool_thread *threads[THREADS_MAX];
    unsigned thread_count;
    /* The work of this round; written before the threads' words are raised. */
    env_task_fn task;
    void *arg;
    unsigned tasks, stride;
    bool ending;
    _Atomic uint32_t pending; /* futex: threads that have not finished this round */
};

static const struct env_ops local_ops;

static struct local_env *local(struct env *e)
{
    return container_of(e, struct local_env, base);
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){ .tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S) };
}

/* Sleep while *WORD is EXPECTED, until the absolute time UNTIL. False when that has passed. */
static bool futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t until)
{
    struct timespec at = timespec_of(until);
    long rc = syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected,
                      until == ENV_FOREVER ? NULL : &at, NULL, FUTEX_BITSET_MATCH_ANY);

    return !(rc != 0 && errno == ETIMEDOUT);
}

static void futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static uint64_t local_now(struct env *e UNUSED)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void local_sleep(struct env *e, uint64_t ns)
{
    struct timespec until = timespec_of(MIN(env_after(e, ns), (uint64_t)INT64_MAX));

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

static bool local_park(struct env *e, uint64_t until)
{
    struct local_env *l = local(e);

    while (!atomic_exchange_explicit(&l->token, 0, memory_order_acquire)) {
        if (!futex_wait(&l->token, 0, until))
            return atomic_exchange_explicit(&l->token, 0, memory_order_acquire) != 0;
    }
    return true;
}

static void local_unpark(struct env *e)
{
    struct local_env *l = local(e);

    if (!atomic_exchange_explicit(&l->token, 1, memory_order_release))
        futex_wake(&l->token);
}

static uint64_t local_random(struct env *e)
{
    struct local_env *l = local(e);

    return random_at(l->seed, l->drawn++, 0, 0);
}

static void local_charge(struct env *e UNUSED, enum env_charge kind UNUSED, uint64_t amount UNUSED)
{
}

/* The share of participant FIRST: every stride-th task. */
static void run_share(struct local_env *l, unsigned first)
{
    for (unsigned i = first; i < l->tasks; i += l->stride)
        l->task(l->arg, i);
}

static void *pool_main(void *arg)
{
    struct pool_thread *t = arg;
    struct local_env *l = t->owner;

    for (uint32_t seen = 0;; seen++) {
        while (atomic_load_explicit(&t->round, memory_order_acquire) == seen)
            futex_wait(&t->round, seen, ENV_FOREVER);
        if (l->ending)
            return NULL;
        run_share(l, t->index);
        if (atomic_fetch_sub_explicit(&l->pending, 1, memory_order_acq_rel) == 1)
            futex_wake(&l->pending);
    }
}

/* One more thread, with every signal blocked: those are for the process's own thread. */
static bool add_thread(struct local_env *l)
{
    struct pool_thread *t = heap_alloc(l->heap, sizeof(*t));
    pthread_attr_t attr;
    sigset_t all, before;
    bool made;

    t->owner = l;
    t->index = l->thread_count + 1;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, MAX(STACK_BYTES, (size_t)PTHREAD_STACK_MIN));
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    made = pthread_create(&t->thread, &attr, pool_main, t) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (!made) {
        heap_free(l->heap, t);
        return false;
    }
    l->threads[l->thread_count++] = t;
    return true;
}

static void raise_round(struct pool_thread *t)
{
    atomic_fetch_add_explicit(&t->round, 1, memory_order_release);
    futex_wake(&t->round);
}

static void local_parallel(struct env *e, unsigned n, env_task_fn task, void *arg)
{
    struct local_env *l = local(e);
    unsigned helpers = MIN(n ? n - 1 : 0, THREADS_MAX);
    uint32_t left;

    /* Where no more threads can be had, those there are take more tasks each. */
    while (l->thread_count < helpers && add_thread(l))
        ;
    helpers = MIN(helpers, l->thread_count);
    l->task = task;
    l->arg = arg;
    l->tasks = n;
    l->stride = helpers + 1;
    atomic_store_explicit(&l->pending, helpers, memory_order_relaxed);
    for (unsigned i = 0; i < helpers; i++)
        raise_round(l->threads[i]);
    run_share(l, 0);
    while ((left = atomic_load_explicit(&l->pending, memory_order_acquire)) != 0)
        futex_wait(&l->pending, left, ENV_FOREVER);
}

static const struct env_ops local_ops = {
    .now = local_now,
    .sleep = local_sleep,
    .park = local_park,
    .unpark = local_unpark,
    .random = local_random,
    .charge = local_charge,
    .parallel = local_parallel,
};

struct env *local_env_new(struct heap *heap)
{
    struct local_env *l = heap_alloc(heap, sizeof(*l));

    l->base.ops = &local_ops;
    l->heap = heap;
    if (getrandom(&l->seed, sizeof(l->seed), 0) != (ssize_t)sizeof(l->seed))
        l->seed = local_now(&l->base) ^ (uint64_t)getpid() << 32;
    return &l->base;
}

void local_env_free(struct env *e)
{
    struct local_env *l;

    if (!e)
        return;
    l = local(e);
    l->ending = true;
    for (unsigned i = 0; i < l->thread_count; i++)
        raise_round(l->threads[i]);
    for (unsigned i = 0; i < l->thread_count; i++) {
        pthread_join(l->threads[i]->thread, NULL);
        heap_free(l->heap, l->threads[i]);
    }
    heap_free(l->heap, l);
}
