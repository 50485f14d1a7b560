/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counter-based randomness: a pure function of a seed and up to three counters, so that the
 * same step of the same job draws the same numbers on every machine, in any order, after any
 * restart. The mixing function is SplitMix64's finaliser, applied once per counter with
 * distinct odd increments; it passes the tests in tests/base/test_random.c and is not
 * meant for secrets.
 */
#ifndef GUST_BASE_RANDOM_H
#define GUST_BASE_RANDOM_H

#include "base/util.h"

static inline uint64_t random_mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9ull;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBull;
    x ^= x >> 31;
    return x;
}

/* 64 random bits for (seed, a, b, c). */
static inline uint64_t random_at(uint64_t seed, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t x = random_mix(seed + 0x9E3779B97F4A7C15ull);

    x = random_mix(x ^ (a + 0xD1B54A32D192ED03ull));
    x = random_mix(x ^ (b * 0x9E3779B97F4A7C15ull + 0x8CB92BA72F3D8DD7ull));
    return random_mix(x ^ (c * 0xD1342543DE82EF95ull + 0x2545F4914F6CDD1Dull));
}

/* Uniform in [0, 1) with 24 bits, exactly representable. */
static inline float random_unit(uint64_t bits)
{
    return (float)(bits >> 40) * 0x1p-24f;
}

/* Uniform in [0, 1) with 53 bits. */
static inline double random_unit64(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

/* Uniform in 0 .. n-1; n must not be 0. */
static inline uint64_t random_below(uint64_t bits, uint64_t n)
{
    __extension__ typedef unsigned __int128 wide;

    return (uint64_t)(((wide)bits * n) >> 64);
}

#endif
