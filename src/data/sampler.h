/* SPDX-License-Identifier: Apache-2.0 */
/* Drawing from power-law distributions and normal deviates, for generated data. */
#ifndef GUST_DATA_SAMPLER_H
#define GUST_DATA_SAMPLER_H

#include <stdbool.h>

#include "base/heap.h"

/* Draws 0 .. size-1; a guide table makes it a look-up and a short walk. */
struct sampler {
    struct heap *heap;
    uint32_t size;
    double *cdf;
    uint32_t *guide; /* for each of `size` equal parts of [0, 1): the first value to look at */
};

/* Weights are 1 / (i + OFFSET)^EXPONENT; with SHUFFLE they are permuted by SEED. False: no memory.
 */
bool sampler_init(struct sampler *s, struct heap *heap, uint32_t size, double offset,
                  double exponent, bool shuffle, uint64_t seed);
/* Accepts a zeroed sampler. */
void sampler_release(struct sampler *s);

/* The value for 64 random bits. */
static inline uint32_t sampler_draw(const struct sampler *s, uint64_t bits)
{
    double u = (double)(bits >> 11) * 0x1p-53;
    uint32_t i = s->guide[(uint32_t)(u * s->size)];

    while (s->cdf[i] <= u)
        i++;
    return i;
}

/* A standard normal deviate as a function of (seed, a, b, c), by Box and Muller's method. */
double sampler_normal(uint64_t seed, uint64_t a, uint64_t b, uint64_t c);

#endif
