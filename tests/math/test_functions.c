/* SPDX-License-Identifier: Apache-2.0 */
/* The error bounds that math/functions.h states, against the C library's double precision. */
#include "support/test.h"

#include "base/random.h"
#include "math/functions.h"
#include "math/normal.h"

/* Distance from EXACT in units of the last place that a float of that size has. */
static double ulps(float got, double exact)
{
    int exponent;

    if (exact == 0)
        return got == 0 ? 0 : 1e9;
    frexp(exact, &exponent);
    return fabs((double)got - exact) / ldexp(1, MAX(exponent, -125) - 24);
}

typedef float (*function_fn)(float x);
typedef double (*exact_fn)(double x);

/* The largest error over [FROM, TO] in 400,000 even steps, which are then jittered. */
static double worst(function_fn f, exact_fn exact, double from, double to)
{
    double most = 0;

    for (uint32_t i = 0; i < 400000; i++) {
        double at = from + (to - from) * (i + random_unit64(random_at(1, i, 0, 0))) / 400000;
        float x = (float)at;

        most = MAX(most, ulps(f(x), exact((double)x)));
    }
    return most;
}

static double exact_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double exact_softplus(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static float log1p_f32(float x)
{
    return log1p_v8(v8_all(x))[0];
}

/* Not inlined versions to take the address of. */
#define PLAIN(name)                                                                                \
    static float call_##name(float x)                                                              \
    {                                                                                              \
        return name(x);                                                                            \
    }
PLAIN(exp_f32)
PLAIN(log_f32)
PLAIN(sigmoid_f32)
PLAIN(softplus_f32)
PLAIN(tanh_f32)

static void exp_is_good_to_two_ulps(void **state UNUSED)
{
    assert_true(worst(call_exp_f32, exp, -87.3, 88.7) <= 2);
    assert_true(worst(call_exp_f32, exp, -1, 1) <= 2);
    assert_true(exp_f32(0) == 1);
    assert_true(exp_f32(-100) == 0);
    assert_true(exp_f32(-INFINITY) == 0);
    assert_true(isinf(exp_f32(89)));
    assert_true(isinf(exp_f32(INFINITY)));
    assert_true(isnan(exp_f32(NAN)));
}

static void log_is_good_to_two_ulps(void **state UNUSED)
{
    assert_true(worst(call_log_f32, log, 1e-6, 3) <= 2);
    assert_true(worst(call_log_f32, log, 0.9, 1.1) <= 2);
    assert_true(worst(call_log_f32, log, 1, 1e30) <= 2);
    assert_true(log_f32(1) == 0);
    assert_true(isinf(log_f32(0)) && log_f32(0) < 0);
    assert_true(isinf(log_f32(INFINITY)) && log_f32(INFINITY) > 0);
    assert_true(isnan(log_f32(-1)));
    assert_true(isnan(log_f32(NAN)));
    for (int e = -125; e < 127; e++)
        assert_true(ulps(log_f32(ldexpf(1.25f, e)), log(ldexp(1.25, e))) <= 2);
}

static void log1p_is_good_to_three_ulps(void **state UNUSED)
{
    assert_true(worst(log1p_f32, log1p, 0, 1) <= 3);
    assert_true(worst(log1p_f32, log1p, 0, 1e-4) <= 3);
}

static void sigmoid_softplus_and_tanh_are_good_to_four_ulps(void **state UNUSED)
{
    assert_true(worst(call_sigmoid_f32, exact_sigmoid, -87, 87) <= 4);
    assert_true(worst(call_sigmoid_f32, exact_sigmoid, -4, 4) <= 4);
    assert_true(worst(call_softplus_f32, exact_softplus, -87, 87) <= 4);
    assert_true(worst(call_softplus_f32, exact_softplus, -4, 4) <= 4);
    assert_true(worst(call_tanh_f32, tanh, -12, 12) <= 4);
    assert_true(worst(call_tanh_f32, tanh, -0.7, 0.7) <= 4);
    assert_true(sigmoid_f32(0) == 0.5f);
    assert_true(sigmoid_f32(1e6f) == 1 && sigmoid_f32(-1e6f) == 0);
    assert_true(tanh_f32(1e6f) == 1 && tanh_f32(-1e6f) == -1);
    assert_true(softplus_f32(1e6f) == 1e6f && softplus_f32(-1e6f) == 0);
    assert_true(isnan(sigmoid_f32(NAN)) && isnan(softplus_f32(NAN)) && isnan(tanh_f32(NAN)));
}

static void a_lane_does_not_depend_on_its_neighbours(void **state UNUSED)
{
    for (uint32_t i = 0; i < 10000; i++) {
        v8 x, y, z;

        for (uint32_t k = 0; k < 8; k++)
            x[k] = 200 * random_unit(random_at(2, i, k, 0)) - 100;
        y = sigmoid_v8(x);
        z = softplus_v8(x);
        for (uint32_t k = 0; k < 8; k++)
            assert_true(y[k] == sigmoid_f32(x[k]) && z[k] == softplus_f32(x[k]));
    }
}

static void normal_deviates_have_the_normal_distribution(void **state UNUSED)
{
    enum { N = 200000 };
    double sum = 0, squares = 0, fourth = 0;
    unsigned beyond2 = 0;

    for (uint32_t i = 0; i < N; i++) {
        double x = (double)normal_deviate(random_at(3, i, 0, 0));

        sum += x;
        squares += x * x;
        fourth += x * x * x * x;
        beyond2 += fabs(x) > 2;
    }
    assert_true(fabs(sum / N) < 0.012);
    assert_true(fabs(squares / N - 1) < 0.016);
    assert_true(fabs(fourth / N - 3) < 0.12);
    assert_true(fabs((double)beyond2 / N - 0.0455003) < 0.0025);
}

/* The inverse is held to the distribution itself: Phi(x) must give back the probability. */
static void normal_deviates_invert_the_distribution(void **state UNUSED)
{
    for (uint32_t i = 1; i < 10000; i++) {
        uint64_t bits = UINT64_MAX / 10000 * i;
        double p = (double)bits * 0x1p-64;
        double x = (double)normal_deviate(bits);

        assert_true(fabs(0.5 * erfc(-x / sqrt(2)) - p) < 3e-7);
    }
    assert_true(isfinite(normal_deviate(0)) && normal_deviate(0) < -7);
    assert_true(normal_deviate(UINT64_MAX) == -normal_deviate(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_is_good_to_two_ulps),
        cmocka_unit_test(log_is_good_to_two_ulps),
        cmocka_unit_test(log1p_is_good_to_three_ulps),
        cmocka_unit_test(sigmoid_softplus_and_tanh_are_good_to_four_ulps),
        cmocka_unit_test(a_lane_does_not_depend_on_its_neighbours),
        cmocka_unit_test(normal_deviates_have_the_normal_distribution),
        cmocka_unit_test(normal_deviates_invert_the_distribution),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
