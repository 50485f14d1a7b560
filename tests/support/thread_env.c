/* SPDX-License-Identifier: Apache-2.0 */
#include "support/thread_env.h"

#include <time.h>

#include "base/random.h"

static struct thread_env *self(struct env *e)
{
    return container_of(e, struct thread_env, base);
}

static uint64_t now(struct env *e)
{
    struct timespec t;

    (void)e;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){ .tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S) };
}

static void sleep_ns(struct env *e, uint64_t ns)
{
    struct timespec until = timespec_of(now(e) + ns);

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL))
        ;
}

static bool park(struct env *e, uint64_t until)
{
    struct thread_env *t = self(e);
    struct timespec limit = timespec_of(until);
    bool unparked;

    pthread_mutex_lock(&t->lock);
    while (!t->unparked && now(e) < until) {
        if (until == ENV_FOREVER)
            pthread_cond_wait(&t->woken, &t->lock);
        else
            pthread_cond_timedwait(&t->woken, &t->lock, &limit);
    }
    unparked = t->unparked;
    t->unparked = false;
    pthread_mutex_unlock(&t->lock);
    return unparked;
}

static void unpark(struct env *e)
{
    struct thread_env *t = self(e);

    pthread_mutex_lock(&t->lock);
    t->unparked = true;
    pthread_cond_signal(&t->woken);
    pthread_mutex_unlock(&t->lock);
}

static uint64_t draw(struct env *e)
{
    return random_at(7, self(e)->drawn++, 0, 0);
}

static void charge(struct env *e, enum env_charge kind, uint64_t amount)
{
    (void)e;
    (void)kind;
    (void)amount;
}

struct task {
    pthread_t thread;
    env_task_fn run;
    void *arg;
    unsigned index;
};

static void *run_task(void *arg)
{
    struct task *t = arg;

    t->run(t->arg, t->index);
    return NULL;
}

static void parallel(struct env *e, unsigned n, env_task_fn run, void *arg)
{
    struct task tasks[64];

    (void)e;
    if (n > ARRAY_SIZE(tasks))
        abort();
    for (unsigned i = 0; i < n; i++) {
        tasks[i] = (struct task){ .run = run, .arg = arg, .index = i };
        if (pthread_create(&tasks[i].thread, NULL, run_task, &tasks[i]))
            abort();
    }
    for (unsigned i = 0; i < n; i++)
        pthread_join(tasks[i].thread, NULL);
}

static const struct env_ops ops = {
    .now = now,
    .sleep = sleep_ns,
    .park = park,
    .unpark = unpark,
    .random = draw,
    .charge = charge,
    .parallel = parallel,
};

void thread_env_init(struct thread_env *e)
{
    pthread_condattr_t attr;

    *e = (struct thread_env){ .base = { .ops = &ops } };
    pthread_mutex_init(&e->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&e->woken, &attr);
    pthread_condattr_destroy(&attr);
}

void thread_env_release(struct thread_env *e)
{
    pthread_cond_destroy(&e->woken);
    pthread_mutex_destroy(&e->lock);
}
