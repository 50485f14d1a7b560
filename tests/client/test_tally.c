/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "client/tally.h"

static struct heap heap;

static struct tally_entry *add(struct tally *t, uint32_t rank, uint64_t step, double sum,
                               uint64_t hash, uint64_t clock)
{
    static struct report r;
    struct tally_entry *entry = NULL;

    r = (struct report){ .rank = rank, .step = step, .hash = hash, .clock_ns = clock };
    r.sums[0] = sum;
    assert_int_equal(tally_add(t, &r, &entry, NULL), 0);
    return entry;
}

static void an_entry_is_complete_when_every_rank_has_reported_once(void **state UNUSED)
{
    struct tally t;

    tally_init(&t, &heap, 3);
    assert_false(tally_complete(&t, add(&t, 2, 7, 1, 0, 0)));
    assert_false(tally_complete(&t, add(&t, 0, 7, 1, 0, 0)));
    assert_false(tally_complete(&t, add(&t, 0, 7, 1, 0, 0)));
    assert_true(tally_complete(&t, add(&t, 1, 7, 1, 0, 0)));
    tally_release(&t);
    heap_release(&heap);
}

static void sums_run_in_rank_order_whoever_comes_first(void **state UNUSED)
{
    /* In floating point, (1e16 + 1) - 1e16 and (1e16 - 1e16) + 1 differ. */
    static const double sums[3] = { 1e16, 1, -1e16 };
    static const uint32_t orders[2][3] = { { 0, 1, 2 }, { 2, 0, 1 } };
    double out[2][GUST_SUMS_MAX];
    struct tally t;

    tally_init(&t, &heap, 3);
    for (int o = 0; o < 2; o++) {
        struct tally_entry *e = NULL;

        for (int i = 0; i < 3; i++)
            e = add(&t, orders[o][i], 5, sums[orders[o][i]], 0, 100 + orders[o][i]);
        tally_sums(&t, e, out[o]);
        assert_int_equal(tally_clock(&t, e), 100);
        tally_free_entry(e);
    }
    assert_true(out[0][0] == out[1][0]);
    tally_release(&t);
    heap_release(&heap);
}

static void thousands_of_steps_may_wait_for_a_rank(void **state UNUSED)
{
    struct tally t;

    tally_init(&t, &heap, 2);
    for (uint64_t step = 0; step < 3000; step++)
        add(&t, 0, step, (double)step, 0, 0);
    for (uint64_t step = 0; step < 3000; step++) {
        struct tally_entry *e = add(&t, 1, step, 1, 0, 0);
        double out[GUST_SUMS_MAX];

        assert_true(tally_complete(&t, e));
        tally_sums(&t, e, out);
        assert_true(out[0] == (double)step + 1);
        tally_free_entry(e);
    }
    tally_release(&t);
    heap_release(&heap);
}

static void the_rank_with_another_hash_is_found(void **state UNUSED)
{
    struct tally_entry *e;
    struct tally t;

    tally_init(&t, &heap, 3);
    add(&t, 0, 1, 0, 42, 0);
    add(&t, 1, 1, 0, 42, 0);
    e = add(&t, 2, 1, 0, 43, 0);
    assert_int_equal(tally_odd_one(&t, e), 2);
    tally_free_entry(e);
    add(&t, 0, 2, 0, 42, 0);
    add(&t, 1, 2, 0, 42, 0);
    e = add(&t, 2, 2, 0, 42, 0);
    assert_int_equal(tally_odd_one(&t, e), 3);
    tally_release(&t);
    heap_release(&heap);
}

static void a_rank_outside_the_fleet_is_refused(void **state UNUSED)
{
    static struct report r = { .rank = 3 };
    struct tally_entry *e;
    struct tally t;

    tally_init(&t, &heap, 3);
    assert_int_equal(tally_add(&t, &r, &e, NULL), E_FORMAT);
    tally_release(&t);
    heap_release(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_is_complete_when_every_rank_has_reported_once),
        cmocka_unit_test(sums_run_in_rank_order_whoever_comes_first),
        cmocka_unit_test(thousands_of_steps_may_wait_for_a_rank),
        cmocka_unit_test(the_rank_with_another_hash_is_found),
        cmocka_unit_test(a_rank_outside_the_fleet_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
