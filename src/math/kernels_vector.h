/* SPDX-License-Identifier: Apache-2.0 */
/* Part of kernels.c: plain vectors, what the exchange adds up, and hashes of state. */
#ifndef GUST_MATH_KERNELS_VECTOR_H
#define GUST_MATH_KERNELS_VECTOR_H

#include "base/random.h"
#include "math/vector.h"

/* Floats that one round of sum_n keeps in registers. */
#define TILE 64

/* From this many floats on, a sum is stored past the caches: they could not hold it anyway. */
#define STREAM_MIN ((size_t)1 << 20)

VECTOR_INLINE void sum_tile(v8 *sum, const float *const *in, unsigned n, size_t at)
{
    for (int k = 0; k < TILE / 8; k++)
        sum[k] = v8_load(in[0] + at + 8 * k);
    for (unsigned s = 1; s < n; s++)
        for (int k = 0; k < TILE / 8; k++)
            sum[k] += v8_load(in[s] + at + 8 * k);
}

static void sum_n(float *out, const float *const *in, unsigned n, size_t count)
{
    bool stream = count >= STREAM_MIN && (uintptr_t)out % sizeof(v8) == 0;
    size_t i = 0;
    v8 tile[TILE / 8];

    for (; stream && i + TILE <= count; i += TILE) {
        sum_tile(tile, in, n, i);
        for (int k = 0; k < TILE / 8; k++)
            v8_stream(out + i + 8 * k, tile[k]);
    }
    if (stream)
        v8_stream_end();
    for (; i + TILE <= count; i += TILE) {
        sum_tile(tile, in, n, i);
        for (int k = 0; k < TILE / 8; k++)
            v8_store(out + i + 8 * k, tile[k]);
    }
    for (; i < count; i++) {
        float sum = in[0][i];

        for (unsigned s = 1; s < n; s++)
            sum += in[s][i];
        out[i] = sum;
    }
}

/*
 * One unit of all sources: those in MARKED, or every one. A source that does not count is
 * either skipped or added as +0, which gives the same bits because a sum that begins with +0 is
 * never -0.
 */
VECTOR_INLINE void sum_unit(float *restrict out, const float *const *in, size_t at,
                            const uint64_t *const *masks, size_t word, unsigned bit, unsigned n,
                            size_t floats, bool every)
{
    for (size_t i = 0; i < floats; i += 8) {
        v8 sum = v8_all(0);

        for (unsigned s = 0; s < n; s++) {
            v8 x = v8_load(in[s] + at + i);

            if (every) {
                sum += x;
            } else {
                int32_t keep = -(int32_t)(masks[s][word] >> bit & 1);

                sum += v8_keep((v8i){ keep, keep, keep, keep, keep, keep, keep, keep }, x);
            }
        }
        v8_store(out + at + i, sum);
    }
}

/* The same where few sources count: the others' memory is not read. */
VECTOR_INLINE void sum_unit_sparse(float *restrict out, const float *const *in, size_t at,
                                   const uint64_t *const *masks, size_t word, unsigned bit,
                                   unsigned n, size_t floats)
{
    bool first = true;

    for (unsigned s = 0; s < n; s++) {
        if (!(masks[s][word] >> bit & 1))
            continue;
        for (size_t i = 0; i < floats; i += 8)
            v8_store(out + at + i, (first ? v8_all(0) : v8_load(out + at + i)) +
                                       v8_load(in[s] + at + i));
        first = false;
    }
}

/* The units of one word of the masks. */
VECTOR_INLINE void sum_word(float *restrict out, uint64_t *restrict out_mask,
                            const float *const *in, const uint64_t *const *masks, size_t word,
                            unsigned n, size_t floats)
{
    uint64_t any = 0, all = UINT64_MAX;
    unsigned marks = 0;
    bool sparse;

    for (unsigned s = 0; s < n; s++) {
        any |= masks[s][word];
        all &= masks[s][word];
        marks += (unsigned)__builtin_popcountll(masks[s][word]);
    }
    out_mask[word] = any;
    /* Guessing wrong at a branch costs about as much as reading two units. */
    sparse = 3 * marks < n * (unsigned)__builtin_popcountll(any);
    for (uint64_t left = any; left; left &= left - 1) {
        unsigned bit = (unsigned)__builtin_ctzll(left);
        size_t at = (64 * word + bit) * floats;

        if (all >> bit & 1)
            sum_unit(out, in, at, masks, word, bit, n, floats, true);
        else if (sparse)
            sum_unit_sparse(out, in, at, masks, word, bit, n, floats);
        else
            sum_unit(out, in, at, masks, word, bit, n, floats, false);
    }
}

static void sum_units(float *restrict out, uint64_t *restrict out_mask, const float *const *in,
                      const uint64_t *const *masks, unsigned n, size_t unit_floats, size_t units)
{
    size_t words = (units + 63) / 64;

    for (size_t word = 0; word < words; word++) {
        if (unit_floats == 16)
            sum_word(out, out_mask, in, masks, word, n, 16);
        else if (unit_floats == 24)
            sum_word(out, out_mask, in, masks, word, n, 24);
        else
            sum_word(out, out_mask, in, masks, word, n, unit_floats);
    }
}

static float dot(const float *a, const float *b, size_t count)
{
    v8 sum[4] = { 0 };
    float rest = 0;
    size_t i = 0;

    for (; i + 32 <= count; i += 32)
        for (int k = 0; k < 4; k++)
            sum[k] += v8_load(a + i + 8 * k) * v8_load(b + i + 8 * k);
    for (; i < count; i++)
        rest += a[i] * b[i];
    return v8_sum((sum[0] + sum[1]) + (sum[2] + sum[3])) + rest;
}

static void axpy(float *restrict y, float a, const float *restrict x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        y[i] += a * x[i];
}

static void scale(float *x, float a, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] *= a;
}

/*
 * Eight independent chains of multiply and fold over 64-bit words: the multiplier's latency
 * is hidden and memory is the limit.
 */
static uint64_t hash(const float *x, size_t count)
{
    const unsigned char *at = (const unsigned char *)x;
    uint64_t lanes[8], word, h = random_mix(count);
    size_t i = 0;

    for (int k = 0; k < 8; k++)
        lanes[k] = random_mix((uint64_t)k + 1);
    for (; i + 16 <= count; i += 16, at += 64) {
        for (int k = 0; k < 8; k++) {
            memcpy(&word, at + 8 * k, 8);
            lanes[k] = (lanes[k] ^ word) * 0x9E3779B97F4A7C15ull;
            lanes[k] ^= lanes[k] >> 29;
        }
    }
    for (; i < count; i++, at += 4) {
        uint32_t half;

        memcpy(&half, at, 4);
        h = random_mix(h ^ half) + 0xD1B54A32D192ED03ull;
    }
    for (int k = 0; k < 8; k++)
        h = random_mix(h ^ lanes[k]) + 0x8CB92BA72F3D8DD7ull;
    return h;
}

/* An exponent of all ones, and nothing else, is the mark of infinities and NaNs. */
static bool all_finite(const float *x, size_t count)
{
    const int32_t exponent = 0x7F800000;
    v8i bad = { 0 };
    int32_t any = 0;
    size_t i = 0;

    for (; i + 8 <= count; i += 8)
        bad |= (v8_bits(v8_load(x + i)) & exponent) == exponent;
    for (; i < count; i++) {
        int32_t bits;

        memcpy(&bits, x + i, sizeof(bits));
        any |= (bits & exponent) == exponent;
    }
    for (int k = 0; k < 8; k++)
        any |= bad[k];
    return any == 0;
}

#endif
