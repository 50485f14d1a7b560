/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include <fenv.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"
#include "platform/twin_coroutine.h"

#define STACK (256 * KIB)

struct counter {
    struct coroutine c;
    unsigned from, to, at;
};

static void count(void *arg)
{
    struct counter *n = arg;

    for (n->at = n->from; n->at < n->to; n->at++)
        coroutine_suspend(&n->c);
}

static void each_resume_goes_on_where_it_stopped(void **state UNUSED)
{
    struct counter a = { .from = 0, .to = 3 }, b = { .from = 10, .to = 12 };

    assert_int_equal(coroutine_init(&a.c, STACK, count, &a), 0);
    assert_int_equal(coroutine_init(&b.c, STACK, count, &b), 0);
    for (unsigned i = 0; i < 3; i++) {
        coroutine_resume(&a.c);
        assert_int_equal(a.at, i);
        assert_false(a.c.ended);
        if (!b.c.ended)
            coroutine_resume(&b.c);
        assert_int_equal(b.at, 10 + i);
    }
    assert_true(b.c.ended);
    coroutine_resume(&a.c);
    assert_true(a.c.ended);
    coroutine_release(&a.c);
    coroutine_release(&b.c);
    coroutine_release(&b.c);
}

/* The sanitizers must not mistake frames of a dropped stack for those of the next one. */
static void suspended_ones_can_be_dropped_and_their_pages_used_again(void **state UNUSED)
{
    for (unsigned round = 0; round < 200; round++) {
        struct counter n = { .from = 0, .to = 100 };

        assert_int_equal(coroutine_init(&n.c, STACK, count, &n), 0);
        for (unsigned i = 0; i < round % 3; i++)
            coroutine_resume(&n.c);
        coroutine_release(&n.c);
    }
}

struct walker {
    struct coroutine c;
    uint64_t sum;
};

static uint64_t descend(struct walker *w, unsigned depth)
{
    volatile uint64_t local[16];

    for (unsigned i = 0; i < ARRAY_SIZE(local); i++)
        local[i] = random_at(depth, i, 0, 0);
    if (depth % 10 == 0)
        coroutine_suspend(&w->c);
    if (depth > 0)
        local[0] += descend(w, depth - 1);
    if (depth % 10 == 5)
        coroutine_suspend(&w->c);
    for (unsigned i = 1; i < ARRAY_SIZE(local); i++)
        local[0] += local[i];
    return local[0];
}

static void walk(void *arg)
{
    struct walker *w = arg;

    w->sum = descend(w, 100);
}

static uint64_t expected_sum(void)
{
    uint64_t sum = 0;

    for (unsigned depth = 0; depth <= 100; depth++)
        for (unsigned i = 0; i < 16; i++)
            sum += random_at(depth, i, 0, 0);
    return sum;
}

static void many_deep_stacks_interleave_without_harm(void **state UNUSED)
{
    enum { MANY = 500 };
    struct walker *all = test_calloc(MANY, sizeof(*all));
    unsigned running = MANY;

    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(coroutine_init(&all[i].c, STACK, walk, &all[i]), 0);
    for (uint64_t turn = 0; running > 0; turn++) {
        struct walker *w = &all[random_below(random_at(1, turn, 0, 0), MANY)];

        if (w->c.ended)
            continue;
        coroutine_resume(&w->c);
        running -= w->c.ended;
    }
    for (unsigned i = 0; i < MANY; i++) {
        assert_true(all[i].sum == expected_sum());
        coroutine_release(&all[i].c);
    }
    test_free(all);
}

static void resume_another(void *arg)
{
    struct counter *inner = arg;

    coroutine_resume(&inner->c);
    coroutine_resume(&inner->c);
}

static void resuming_nests(void **state UNUSED)
{
    struct counter inner = { .from = 5, .to = 9 };
    struct coroutine outer;

    assert_int_equal(coroutine_init(&inner.c, STACK, count, &inner), 0);
    assert_int_equal(coroutine_init(&outer, STACK, resume_another, &inner), 0);
    coroutine_resume(&outer);
    assert_true(outer.ended);
    assert_int_equal(inner.at, 6);
    coroutine_resume(&inner.c);
    assert_int_equal(inner.at, 7);
    coroutine_release(&outer);
    coroutine_release(&inner.c);
}

static void round_up_and_suspend(void *arg)
{
    struct coroutine *c = arg;

    fesetround(FE_UPWARD);
    coroutine_suspend(c);
    if (fegetround() != FE_UPWARD)
        abort();
}

/* Bits must not depend on who ran before. */
static void the_rounding_mode_is_each_ones_own(void **state UNUSED)
{
    struct coroutine c;

    assert_int_equal(coroutine_init(&c, STACK, round_up_and_suspend, &c), 0);
    coroutine_resume(&c);
    assert_int_equal(fegetround(), FE_TONEAREST);
    coroutine_resume(&c);
    assert_true(c.ended);
    assert_int_equal(fegetround(), FE_TONEAREST);
    coroutine_release(&c);
}

static unsigned overflow(unsigned depth)
{
    volatile char page[4096];

    page[0] = (char)depth;
    page[1] = (char)(depth < 1000000 ? overflow(depth + 1) : 0);
    return (unsigned)(page[0] + page[1]);
}

static void overflow_main(void *arg)
{
    *(unsigned *)arg = overflow(0);
}

static void too_deep_a_stack_hits_the_guard_page(void **state UNUSED)
{
    pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit none = { 0, 0 };
        struct coroutine c;
        unsigned result;

        setrlimit(RLIMIT_CORE, &none);
        if (!freopen("/dev/null", "w", stderr) || coroutine_init(&c, STACK, overflow_main, &result))
            _exit(3);
        coroutine_resume(&c);
        _exit(0);
    }
    assert_true(waitpid(child, &status, 0) == child);
    /* A sanitizer turns the signal into an exit status of its own. */
    if (WIFEXITED(status))
        assert_int_not_equal(WEXITSTATUS(status), 3);
    assert_int_not_equal(status, 0);
}

static void a_stack_that_cannot_be_had_is_an_error(void **state UNUSED)
{
    struct coroutine c = { 0 };

    assert_int_equal(coroutine_init(&c, (size_t)1 << 60, count, NULL), E_MEMORY);
    assert_null(c.mapping);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_resume_goes_on_where_it_stopped),
        cmocka_unit_test(suspended_ones_can_be_dropped_and_their_pages_used_again),
        cmocka_unit_test(many_deep_stacks_interleave_without_harm),
        cmocka_unit_test(resuming_nests),
        cmocka_unit_test(the_rounding_mode_is_each_ones_own),
        cmocka_unit_test(too_deep_a_stack_hits_the_guard_page),
        cmocka_unit_test(a_stack_that_cannot_be_had_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
