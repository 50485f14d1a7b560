/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementary functions on eight floats, and on one. The C library's own differ between
 * processors (it picks variants with fused operations at run time), which would break the
 * promise that a seed gives the same bits everywhere. These use only additions,
 * multiplications, divisions and integer operations in a written order.
 *
 * Errors, held by tests/math/test_functions.c against the C library's doubles:
 *
 *   exp       2 ulp; 0 below -87.33 (no denormals), infinity above 88.72
 *   log       2 ulp for normal positive numbers; -infinity for 0 and denormals, NaN below 0
 *   log1p     3 ulp for 0 <= x <= 1, the only range it is meant for
 *   sigmoid   4 ulp, 0 below -87.33
 *   tanh      4 ulp
 *   softplus  4 ulp, 0 below -87.33
 *
 * NaN goes in, NaN comes out.
 */
#ifndef GUST_MATH_FUNCTIONS_H
#define GUST_MATH_FUNCTIONS_H

#include "math/vector.h"

/* exp(r) for |r| <= ln(2)/2 times 2^n, as in Cephes: r comes from a two-part ln(2). */
VECTOR_INLINE v8 exp_v8(v8 x)
{
    const float to_integer = 0x1.8p23f; /* adding it leaves the nearest integer in the low bits */
    v8 low = v8_all(-87.33f), high = v8_all(88.72f);
    v8 clamped = v8_select(x < low, low, v8_select(x > high, high, x));
    v8 shifted = clamped * 1.44269504088896341f + to_integer;
    v8 n = shifted - to_integer;
    v8 r = (clamped - n * 0.693359375f) - n * -2.12194440e-4f;
    v8 p, y;
    v8i half;

    p = v8_all(1.9875691500e-4f);
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    y = (p * (r * r) + r) + 1.0f;
    /* 2^128 is no float, so the power is applied in two halves. */
    half = (v8_bits(shifted) - v8_bits(v8_all(to_integer))) >> 1;
    y = y * v8_from_bits((half + 127) << 23);
    y = y * v8_from_bits(((v8_bits(shifted) - v8_bits(v8_all(to_integer))) - half + 127) << 23);
    y = v8_select(x < low, v8_all(0), y);
    y = v8_select(x > high, v8_all(__builtin_inff()), y);
    return v8_select(x == x, y, x);
}

/* log(2^n m) with m in [sqrt(1/2), sqrt(2)), the polynomial of Cephes. */
VECTOR_INLINE v8 log_v8(v8 x)
{
    v8i bits = v8_bits(x), offset = bits - 0x3F3504F3, exponent = offset >> 23;
    v8 n = __builtin_convertvector(exponent, v8);
    v8 m = v8_from_bits(bits - (exponent << 23)) - 1.0f;
    v8 z = m * m, p, y;

    p = v8_all(7.0376836292e-2f);
    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    y = p * m * z + n * -2.12194440e-4f;
    y = (y - 0.5f * z) + m + n * 0.693359375f;
    y = v8_select(x < 0x1p-126f, v8_all(-__builtin_inff()), y);
    y = v8_select(x < 0.0f, v8_all(__builtin_nanf("")), y);
    y = v8_select(x > 0x1.fffffep127f, x, y);
    return v8_select(x == x, y, x);
}

/* log(1 + x), 0 <= x <= 1: the rounding of 1 + x is put back. */
VECTOR_INLINE v8 log1p_v8(v8 x)
{
    v8 u = x + 1.0f;

    return log_v8(u) + (x - (u - 1.0f)) / u;
}

VECTOR_INLINE v8 sigmoid_v8(v8 x)
{
    v8 e = exp_v8(-v8_abs(x)), s = 1.0f / (e + 1.0f);

    return v8_select(x < 0.0f, e * s, s);
}

/* log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)). */
VECTOR_INLINE v8 softplus_v8(v8 x)
{
    v8 y = v8_select(x < 0.0f, v8_all(0), x) + log1p_v8(exp_v8(-v8_abs(x)));

    return v8_select(x == x, y, x);
}

VECTOR_INLINE v8 tanh_v8(v8 x)
{
    v8 a = v8_abs(x), z = x * x, e = exp_v8(a * -2.0f), p, y;

    p = v8_all(-5.70498872745e-3f);
    p = p * z + 2.06390887954e-2f;
    p = p * z - 5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z - 3.33332819422e-1f;
    p = p * z * x + x;
    y = (1.0f - e) / (1.0f + e);
    y = v8_select(x < 0.0f, -y, y);
    return v8_select(a < 0.625f, p, y);
}

/* One number at a time: the same operations, so the same bits as in a vector. */
VECTOR_INLINE float exp_f32(float x)
{
    return exp_v8(v8_all(x))[0];
}

VECTOR_INLINE float log_f32(float x)
{
    return log_v8(v8_all(x))[0];
}

VECTOR_INLINE float sigmoid_f32(float x)
{
    return sigmoid_v8(v8_all(x))[0];
}

VECTOR_INLINE float softplus_f32(float x)
{
    return softplus_v8(v8_all(x))[0];
}

VECTOR_INLINE float tanh_f32(float x)
{
    return tanh_v8(v8_all(x))[0];
}

#endif
