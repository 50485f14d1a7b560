/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of a real process: clock, parking, randomness and threads. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "platform/local_env.h"

struct fixture {
    struct heap heap;
    struct env *env;
};

static int set_up(void **state)
{
    static struct fixture f;

    heap_init(&f.heap, 0);
    f.env = local_env_new(&f.heap);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    size_t left;

    local_env_free(f->env);
    left = f->heap.used_bytes;
    heap_release(&f->heap);
    return left ? -1 : 0;
}

static void sleep_lasts_at_least_as_long_as_asked(void **state)
{
    struct fixture *f = *state;
    uint64_t before = env_now(f->env);

    env_sleep(f->env, 5 * NS_PER_MS);
    assert_true(env_now(f->env) - before >= 5 * NS_PER_MS);
}

static void park_times_out_without_unpark(void **state)
{
    struct fixture *f = *state;
    uint64_t until = env_after(f->env, 5 * NS_PER_MS);

    assert_false(env_park(f->env, until));
    assert_true(env_now(f->env) >= until);
    assert_false(env_park(f->env, 0));
}

static void unpark_before_park_is_remembered_once(void **state)
{
    struct fixture *f = *state;

    env_unpark(f->env);
    env_unpark(f->env);
    assert_true(env_park(f->env, ENV_FOREVER));
    assert_false(env_park(f->env, 0));
}

struct ping {
    struct env *self, *other;
    unsigned rounds;
};

static void *play(void *arg)
{
    struct ping *p = arg;

    for (unsigned i = 0; i < p->rounds; i++) {
        env_park(p->self, ENV_FOREVER);
        env_unpark(p->other);
    }
    return NULL;
}

static void two_threads_wake_each_other_without_losing_a_wake(void **state)
{
    struct fixture *f = *state;
    struct heap heap;
    struct ping p = { .other = f->env, .rounds = 2000 };
    pthread_t thread;

    heap_init(&heap, 0);
    p.self = local_env_new(&heap);
    assert_int_equal(pthread_create(&thread, NULL, play, &p), 0);
    for (unsigned i = 0; i < p.rounds; i++) {
        env_unpark(p.self);
        assert_true(env_park(f->env, env_after(f->env, 5 * NS_PER_S)));
    }
    pthread_join(thread, NULL);
    local_env_free(p.self);
    heap_release(&heap);
}

static void random_numbers_differ_between_draws_and_environments(void **state)
{
    struct fixture *f = *state;
    struct env *other = local_env_new(&f->heap);
    uint64_t a = env_random(f->env), b = env_random(f->env), c = env_random(other);

    assert_true(a != b && a != c && b != c);
    local_env_free(other);
}

#define TASKS 600

struct sums {
    uint32_t seen[TASKS]; /* plain on purpose: thread sanitizer sees a missing hand-over */
    pthread_t first;
    bool first_is_caller;
};

static void count_task(void *arg, unsigned index)
{
    struct sums *s = arg;

    s->seen[index]++;
    if (index == 0)
        s->first_is_caller = pthread_equal(pthread_self(), s->first);
}

static void every_task_runs_once_per_call_for_any_count(void **state)
{
    static const unsigned counts[] = { 0, 1, 2, 8, 3, 1, TASKS, 5 };
    struct fixture *f = *state;

    for (unsigned c = 0; c < ARRAY_SIZE(counts); c++) {
        struct sums s = { .first = pthread_self(), .first_is_caller = counts[c] == 0 };

        env_parallel(f->env, counts[c], count_task, &s);
        for (unsigned i = 0; i < TASKS; i++)
            assert_int_equal(s.seen[i], i < counts[c]);
        assert_true(s.first_is_caller);
    }
}

static void many_short_rounds_do_not_lose_a_task(void **state)
{
    struct fixture *f = *state;
    struct sums s = { .first = pthread_self() };

    for (unsigned round = 0; round < 3000; round++)
        env_parallel(f->env, 4, count_task, &s);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(s.seen[i], 3000);
}

static void meet_task(void *arg, unsigned index UNUSED)
{
    pthread_barrier_wait(arg);
}

/* Tasks that wait for one another only end when they run at the same time. */
static void tasks_run_at_once(void **state)
{
    struct fixture *f = *state;
    pthread_barrier_t barrier;

    pthread_barrier_init(&barrier, NULL, 4);
    env_parallel(f->env, 4, meet_task, &barrier);
    env_parallel(f->env, 4, meet_task, &barrier);
    pthread_barrier_destroy(&barrier);
}

static uint64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void idle_threads_use_no_processor_time(void **state)
{
    struct fixture *f = *state;
    struct sums s = { .first = pthread_self() };
    uint64_t before;

    env_parallel(f->env, 8, count_task, &s);
    before = cpu_ns();
    env_sleep(f->env, 100 * NS_PER_MS);
    assert_true(cpu_ns() - before < 20 * NS_PER_MS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(sleep_lasts_at_least_as_long_as_asked),
        TEST(park_times_out_without_unpark),
        TEST(unpark_before_park_is_remembered_once),
        TEST(two_threads_wake_each_other_without_losing_a_wake),
        TEST(random_numbers_differ_between_draws_and_environments),
        TEST(every_task_runs_once_per_call_for_any_count),
        TEST(many_short_rounds_do_not_lose_a_task),
        TEST(tasks_run_at_once),
        TEST(idle_threads_use_no_processor_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
