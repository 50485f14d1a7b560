/* SPDX-License-Identifier: Apache-2.0 */
/* The area under the curve from bins, against counting all pairs. */
#include "support/test.h"

#include <math.h>

#include "base/random.h"
#include "client/auc.h"

#define N 2000u

static struct heap heap;

static double all_pairs(const float *scores, const bool *positive)
{
    double right = 0, pairs = 0;

    for (unsigned i = 0; i < N; i++)
        for (unsigned j = 0; j < N; j++)
            if (positive[i] && !positive[j]) {
                pairs++;
                right += scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0;
            }
    return right / pairs;
}

/* KIND 0: probabilities, 1: scores of both signs, 2: few different ones. */
static void compare(uint64_t seed, int kind)
{
    float scores[N];
    bool positive[N];
    struct auc a;
    double value, error_max;

    auc_open(&a, &heap);
    for (unsigned i = 0; i < N; i++) {
        double u = random_unit64(random_at(seed, i, 0, 0));

        positive[i] = random_unit64(random_at(seed, i, 1, 0)) < 0.1 + 0.6 * u;
        scores[i] = (float)(kind == 0 ? u : kind == 1 ? tan(3 * u - 1.5) : floor(8 * u) / 8);
        auc_add(&a, scores[i], positive[i]);
    }
    value = auc_value(&a, &error_max);
    assert_true(error_max < (kind == 2 ? 0.1 : 3e-4));
    assert_true(fabs(value - all_pairs(scores, positive)) <= error_max + 1e-12);
    if (kind == 2)
        assert_true(fabs(value - all_pairs(scores, positive)) < 1e-12);
    auc_close(&a);
}

static void bins_are_as_good_as_pairs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 4; seed++)
        for (int kind = 0; kind < 3; kind++)
            compare(seed, kind);
}

static void order_holds_across_zero_and_infinity(void **state)
{
    static const float order[] = { -INFINITY, -1e30f, -1, -1e-30f, 0,
                                   1e-40f,    1e-30f, 1,  1e30f,   INFINITY };
    double error_max;

    (void)state;
    for (size_t split = 1; split < ARRAY_SIZE(order); split++) {
        struct auc a;

        auc_open(&a, &heap);
        for (size_t i = 0; i < ARRAY_SIZE(order); i++)
            auc_add(&a, order[i], i >= split);
        /* 0 and the smallest numbers share a bin. */
        if (split != 5)
            assert_true(auc_value(&a, &error_max) == 1);
        auc_close(&a);
    }
}

static void zeroes_of_both_signs_are_a_tie(void **state)
{
    struct auc a;
    double error_max;

    (void)state;
    auc_open(&a, &heap);
    auc_add(&a, -0.0f, true);
    auc_add(&a, 0.0f, false);
    assert_true(auc_value(&a, &error_max) == 0.5);
    auc_close(&a);
}

static void one_class_alone_has_no_area(void **state)
{
    struct auc a;
    double error_max;

    (void)state;
    auc_open(&a, &heap);
    auc_add(&a, 0.3f, true);
    assert_true(isnan(auc_value(&a, &error_max)));
    auc_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bins_are_as_good_as_pairs),
        cmocka_unit_test(order_holds_across_zero_and_infinity),
        cmocka_unit_test(zeroes_of_both_signs_are_a_tie),
        cmocka_unit_test(one_class_alone_has_no_area),
    };

    heap_init(&heap, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
