/* SPDX-License-Identifier: Apache-2.0 */
#include "math/normal.h"

#include "math/functions.h"

/* Beyond these probabilities the tail's approximation is used. */
#define TAIL 0.02425

static double horner(const double *c, int n, double x)
{
    double y = c[0];

    for (int i = 1; i < n; i++)
        y = y * x + c[i];
    return y;
}

static double central(double p)
{
    static const double a[] = { -3.969683028665376e+01, 2.209460984245205e+02,
                                -2.759285104469687e+02, 1.383577518672690e+02,
                                -3.066479806614716e+01, 2.506628277459239e+00 };
    static const double b[] = { -5.447609879822406e+01, 1.615858368580409e+02,
                                -1.556989798598866e+02, 6.680131188771972e+01,
                                -1.328068155288572e+01, 1.0 };
    double q = p - 0.5, r = q * q;

    return horner(a, 6, r) * q / horner(b, 6, r);
}

/* The lower tail; P > 0. */
static double tail(double p)
{
    static const double c[] = { -7.784894002430293e-03, -3.223964580411365e-01,
                                -2.400758277161838e+00, -2.549732539343734e+00,
                                4.374664141464968e+00,  2.938163982698783e+00 };
    static const double d[] = { 7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                                3.754408661907416e+00, 1.0 };
    double q = __builtin_sqrt(-2.0 * (double)log_f32((float)p));

    return horner(c, 6, q) / horner(d, 5, q);
}

float normal_deviate(uint64_t bits)
{
    /* The middles of 2^52 equal parts: exact, symmetric, and never 0 or 1. */
    double p = ((double)(bits >> 12) + 0.5) * 0x1p-52;

    if (p < TAIL)
        return (float)tail(p);
    if (p > 1 - TAIL)
        return (float)-tail(1 - p);
    return (float)central(p);
}
