/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistical tests with fixed seeds: they give the same figures on every machine. The bounds
 * are about five standard deviations wide, far from what a broken generator gives.
 */
#include "support/test.h"

#include "base/random.h"

#define DRAWS 100000u

/* The numbers of a run with one counter moving, the other two and the seed fixed. */
static uint64_t draw(unsigned counter, uint64_t fixed, uint64_t i)
{
    switch (counter) {
    case 0:
        return random_at(i, fixed, fixed, fixed);
    case 1:
        return random_at(fixed, i, fixed, fixed);
    case 2:
        return random_at(fixed, fixed, i, fixed);
    default:
        return random_at(fixed, fixed, fixed, i);
    }
}

/* A job's plan and bits rest on these: changing the function changes every model. */
static void the_function_is_fixed_for_good(void **state UNUSED)
{
    assert_true(random_at(0, 0, 0, 0) == 0x34F51687C4631E4Cull);
    assert_true(random_at(1, 2, 3, 4) == 0x53BFA3DAD4BA06DBull);
}

static void every_counter_gives_uniform_numbers(void **state UNUSED)
{
    enum { CELLS = 256 };

    for (unsigned counter = 0; counter < 4; counter++) {
        for (unsigned shift = 0; shift < 64; shift += 8) {
            unsigned cells[CELLS] = { 0 };
            double expected = (double)DRAWS / CELLS, chi2 = 0;

            for (unsigned i = 0; i < DRAWS; i++)
                cells[(draw(counter, 7, i) >> shift) % CELLS]++;
            for (unsigned c = 0; c < CELLS; c++)
                chi2 += (cells[c] - expected) * (cells[c] - expected) / expected;
            /* 255 degrees of freedom: mean 255, standard deviation 22.6. */
            assert_in_range((uint64_t)chi2, 255 - 113, 255 + 113);
        }
    }
}

static void every_bit_is_set_half_the_time(void **state UNUSED)
{
    unsigned set[64] = { 0 };

    for (unsigned i = 0; i < DRAWS; i++)
        for (unsigned bit = 0; bit < 64; bit++)
            set[bit] += random_at(1, i % 10, i / 10, 0) >> bit & 1;
    /* Standard deviation sqrt(DRAWS)/2 = 158. */
    for (unsigned bit = 0; bit < 64; bit++)
        assert_in_range(set[bit], DRAWS / 2 - 790, DRAWS / 2 + 790);
}

/* One bit of any counter changed, anything may change: 32 of 64 bits on average, each bit half the
 * time. */
static void a_changed_bit_of_a_counter_changes_half_of_the_result(void **state UNUSED)
{
    enum { ROUNDS = 400 };

    for (unsigned counter = 0; counter < 4; counter++) {
        for (unsigned bit = 0; bit < 64; bit++) {
            unsigned changed = 0;

            for (uint64_t i = 0; i < ROUNDS; i++)
                changed += (unsigned)__builtin_popcountll(draw(counter, 3, i) ^
                                                          draw(counter, 3, i ^ 1ull << bit));
            /* Standard deviation 4 * sqrt(ROUNDS) = 80. */
            assert_in_range(changed, 32 * ROUNDS - 400, 32 * ROUNDS + 400);
        }
    }
}

/* Correlation of the sequences that two neighbours draw, such as two ranks or two steps. */
static void neighbouring_counters_are_uncorrelated(void **state UNUSED)
{
    for (unsigned counter = 0; counter < 4; counter++) {
        for (unsigned lag = 1; lag <= 4; lag++) {
            double sum = 0;

            for (unsigned i = 0; i < DRAWS; i++)
                sum += (random_unit64(draw(counter, 5, i)) - 0.5) *
                       (random_unit64(draw(counter, 5, i + lag)) - 0.5);
            /* Each product has mean 0 and standard deviation 1/12. */
            assert_true(fabs(sum) < 5 * sqrt(DRAWS) / 12);
        }
    }
}

static void counters_do_not_stand_in_for_one_another(void **state UNUSED)
{
    for (uint64_t a = 0; a < 20; a++) {
        for (uint64_t b = 0; b < 20; b++) {
            if (a == b)
                continue;
            assert_true(random_at(1, a, b, 0) != random_at(1, b, a, 0));
            assert_true(random_at(1, a, 0, b) != random_at(1, b, 0, a));
            assert_true(random_at(1, 0, a, b) != random_at(1, 0, b, a));
            assert_true(random_at(a, b, 0, 0) != random_at(b, a, 0, 0));
        }
    }
}

static void ranges_are_respected_and_filled(void **state UNUSED)
{
    unsigned cells[10] = { 0 };

    assert_true(random_unit(UINT64_MAX) < 1.0f);
    assert_true(random_unit64(UINT64_MAX) < 1.0);
    assert_true(random_unit(0) == 0 && random_unit64(0) == 0);
    assert_int_equal(random_below(UINT64_MAX, 1), 0);
    assert_true(random_below(UINT64_MAX, UINT64_MAX) == UINT64_MAX - 1);
    for (unsigned i = 0; i < DRAWS; i++) {
        uint64_t cell = random_below(random_at(9, 0, 0, i), 10);

        assert_true(cell < 10);
        cells[cell]++;
    }
    for (unsigned c = 0; c < 10; c++)
        assert_in_range(cells[c], DRAWS / 10 - 475, DRAWS / 10 + 475);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_function_is_fixed_for_good),
        cmocka_unit_test(every_counter_gives_uniform_numbers),
        cmocka_unit_test(every_bit_is_set_half_the_time),
        cmocka_unit_test(a_changed_bit_of_a_counter_changes_half_of_the_result),
        cmocka_unit_test(neighbouring_counters_are_uncorrelated),
        cmocka_unit_test(counters_do_not_stand_in_for_one_another),
        cmocka_unit_test(ranges_are_respected_and_filled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
