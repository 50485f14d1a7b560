/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors of eight floats, the only width that kernels use. The compiler maps them to two SSE
 * registers, one AVX register or part of an AVX-512 one; the arithmetic, and so every bit of
 * a result, is the same. Everything here is inlined: no vector crosses a call.
 */
#ifndef GUST_MATH_VECTOR_H
#define GUST_MATH_VECTOR_H

#include "base/util.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define VECTOR_INLINE static inline __attribute__((always_inline, unused))

typedef float v4 __attribute__((vector_size(16)));
typedef float v8 __attribute__((vector_size(32)));
typedef int32_t v8i __attribute__((vector_size(32)));
typedef double v8d __attribute__((vector_size(64)));
/* Eight floats anywhere in memory; gcc without AVX moves a memcpy() through integer registers. */
typedef float v8_anywhere __attribute__((vector_size(32), aligned(4), may_alias));

VECTOR_INLINE v8 v8_load(const float *from)
{
    return *(const v8_anywhere *)from;
}

VECTOR_INLINE void v8_store(float *to, v8 x)
{
    *(v8_anywhere *)to = x;
}

/*
 * Store past the caches, at an address that is a multiple of 32 bytes. Other threads see the
 * stores in order only after v8_stream_end().
 */
VECTOR_INLINE void v8_stream(float *to, v8 x)
{
#if defined(__AVX__)
    _mm256_stream_ps(to, (__m256)x);
#elif defined(__SSE2__)
    _mm_stream_ps(to, (__m128)__builtin_shufflevector(x, x, 0, 1, 2, 3));
    _mm_stream_ps(to + 4, (__m128)__builtin_shufflevector(x, x, 4, 5, 6, 7));
#else
    v8_store(to, x);
#endif
}

VECTOR_INLINE void v8_stream_end(void)
{
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

VECTOR_INLINE v8 v8_all(float x)
{
    return (v8){ x, x, x, x, x, x, x, x };
}

VECTOR_INLINE v8i v8_bits(v8 x)
{
    v8i bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

VECTOR_INLINE v8 v8_from_bits(v8i bits)
{
    v8 x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* X where MASK is all ones, zero where it is zero. */
VECTOR_INLINE v8 v8_keep(v8i mask, v8 x)
{
    return v8_from_bits(mask & v8_bits(x));
}

/* A where MASK is all ones, B where it is zero. */
VECTOR_INLINE v8 v8_select(v8i mask, v8 a, v8 b)
{
    return v8_from_bits((mask & v8_bits(a)) | (~mask & v8_bits(b)));
}

VECTOR_INLINE v8 v8_abs(v8 x)
{
    return v8_from_bits(v8_bits(x) & 0x7FFFFFFF);
}

/* The larger one; B where either is no number. */
VECTOR_INLINE v8 v8_max(v8 a, v8 b)
{
    return v8_select(a > b, a, b);
}

VECTOR_INLINE v8 v8_min(v8 a, v8 b)
{
    return v8_select(a < b, a, b);
}

VECTOR_INLINE v8 v8_sqrt(v8 x)
{
    v8 y;

    for (int i = 0; i < 8; i++)
        y[i] = __builtin_sqrtf(x[i]);
    return y;
}

/* The eight lanes' sum in the order that every kernel documents: halves, quarters, pairs. */
VECTOR_INLINE float v8_sum(v8 x)
{
    v4 sum = __builtin_shufflevector(x, x, 0, 1, 2, 3) + __builtin_shufflevector(x, x, 4, 5, 6, 7);

    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

VECTOR_INLINE v8d v8_widen(v8 x)
{
    return __builtin_convertvector(x, v8d);
}

VECTOR_INLINE double v8d_sum(v8d x)
{
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

/* The first COUNT floats at FROM (fewer than eight), zero in the other lanes. */
VECTOR_INLINE v8 v8_load_part(const float *from, size_t count)
{
    float lanes[8] = { 0 };

    for (size_t i = 0; i < count; i++)
        lanes[i] = from[i];
    return v8_load(lanes);
}

VECTOR_INLINE void v8_store_part(float *to, v8 x, size_t count)
{
    float lanes[8];

    v8_store(lanes, x);
    for (size_t i = 0; i < count; i++)
        to[i] = lanes[i];
}

#endif
