/* SPDX-License-Identifier: Apache-2.0 */
/* Power-law and normal deviates. */
#include "data/sampler.h"

#include "base/random.h"

static void fill_cdf(struct sampler *s, double offset, double exponent, bool shuffle, uint64_t seed)
{
    double sum = 0;

    for (uint32_t i = 0; i < s->size; i++)
        s->cdf[i] = pow(i + offset, -exponent);
    for (uint32_t i = s->size; shuffle && i > 1; i--) {
        uint32_t j = (uint32_t)random_below(random_at(seed, i, 0, 0), i);
        double kept = s->cdf[i - 1];

        s->cdf[i - 1] = s->cdf[j];
        s->cdf[j] = kept;
    }
    for (uint32_t i = 0; i < s->size; i++)
        sum += s->cdf[i];
    for (uint32_t i = 0, before = 0; i < s->size; before = i++)
        s->cdf[i] = s->cdf[i] / sum + (i ? s->cdf[before] : 0);
    s->cdf[s->size - 1] = 1;
}

bool sampler_init(struct sampler *s, struct heap *heap, uint32_t size, double offset,
                  double exponent, bool shuffle, uint64_t seed)
{
    *s = (struct sampler){ .heap = heap, .size = size };
    s->cdf = heap_try_alloc_raw(heap, size, sizeof(*s->cdf));
    s->guide = heap_try_alloc_raw(heap, size, sizeof(*s->guide));
    if (!s->cdf || !s->guide)
        return false;
    fill_cdf(s, offset, exponent, shuffle, seed);
    for (uint32_t g = 0, i = 0; g < size; g++) {
        while (s->cdf[i] <= (double)g / size)
            i++;
        s->guide[g] = i;
    }
    return true;
}

void sampler_release(struct sampler *s)
{
    if (s->heap) {
        heap_free(s->heap, s->cdf);
        heap_free(s->heap, s->guide);
    }
    *s = (struct sampler){ 0 };
}

double sampler_normal(uint64_t seed, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t bits = random_at(seed, a, b, c);
    double u = ((double)(bits >> 32) + 0.5) * 0x1p-32, v = (double)(uint32_t)bits * 0x1p-32;

    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}
