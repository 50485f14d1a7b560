/* SPDX-License-Identifier: Apache-2.0 */
/* Random but fixed inputs for the tests of kernels: floats, masks, batches of examples. */
#ifndef GUST_TESTS_MATH_INPUTS_H
#define GUST_TESTS_MATH_INPUTS_H

#include "base/heap.h"
#include "base/random.h"
#include "gust.h"

/* Floats in -1 .. 1 with magnitudes over several powers of two, so that roundings differ. */
UNUSED static float *input_floats(struct heap *h, uint64_t seed, size_t count)
{
    float *x = heap_alloc(h, (count + 8) * sizeof(*x));

    for (size_t i = 0; i < count; i++) {
        uint64_t bits = random_at(seed, i, 0, 0);

        x[i] = (random_unit(bits) - 0.5f) / (float)(1u << (bits & 7));
    }
    return x;
}

/* About half of the bits set. */
UNUSED static uint64_t *input_mask(struct heap *h, uint64_t seed, size_t bits)
{
    uint64_t *mask = heap_alloc(h, (bits / 64 + 1) * sizeof(*mask));

    for (size_t i = 0; i < bits; i++)
        mask[i / 64] |= (random_at(seed, i, 1, 0) & 1) << (i % 64);
    return mask;
}

/* A batch of ROWS examples of the form that DATA describes, with an index of beginnings. */
UNUSED static struct gust_batch input_batch(struct heap *h, const struct gust_data *data,
                                            uint64_t seed, uint32_t rows)
{
    uint32_t most = 1 + data->dense + 12 + 1 + 2 * 6 + (data->ones == GUST_VARIES ? 0 : data->ones);
    uint32_t *words = heap_alloc(h, (size_t)rows * most * sizeof(*words)), n = 0;
    uint32_t *at = heap_alloc(h, rows * sizeof(*at));

    for (uint32_t r = 0; r < rows; r++) {
        uint64_t k = 0, count;
        float x = data->classes ? (float)random_below(random_at(seed, r, k++, 0), data->classes)
                                : 1 + 4 * random_unit(random_at(seed, r, k++, 0));

        at[r] = n;
        memcpy(&words[n++], &x, 4);
        for (uint32_t j = 0; j < data->dense; j++) {
            x = 2 * random_unit(random_at(seed, r, k++, 0)) - 1;
            memcpy(&words[n++], &x, 4);
        }
        count = data->ones;
        if (data->ones == GUST_VARIES)
            words[n++] = (uint32_t)(count = random_below(random_at(seed, r, k++, 0), 12));
        for (uint64_t j = 0; j < count; j++) {
            uint64_t below = j < data->keys ? data->key_rows[j] : data->dims;

            words[n++] = (uint32_t)random_below(random_at(seed, r, k++, 0), below);
        }
        if (data->sparse) {
            words[n++] = (uint32_t)(count = random_below(random_at(seed, r, k++, 0), 7));
            for (uint64_t j = 0; j < count; j++) {
                words[n++] = (uint32_t)random_below(random_at(seed, r, k++, 0), data->dims);
                x = 2 * random_unit(random_at(seed, r, k++, 0)) - 1;
                memcpy(&words[n++], &x, 4);
            }
        }
    }
    return (struct gust_batch){ .data = data, .words = words, .at = at, .rows = rows };
}

/* A sum group of ROWS rows filled with rubbish, as the store hands it out, and no unit touched. */
UNUSED static struct gust_out_group input_out(struct heap *h, uint64_t rows, uint32_t cols,
                                              bool sparse)
{
    uint32_t stride = gust_stride(cols), shift = gust_unit_shift(stride);
    size_t units = (size_t)((rows >> shift) + 1), floats = (units << shift) * stride;
    struct gust_out_group g = { .rows = heap_alloc(h, floats * sizeof(float)),
                                .stride = stride,
                                .unit_shift = shift };

    if (sparse) {
        memset(g.rows, 0xFF, floats * sizeof(float));
        g.touched = heap_alloc(h, (units / 64 + 1) * sizeof(uint64_t));
    }
    return g;
}

/* The rows of a sum group with what was not touched as zero, so that two can be compared. */
UNUSED static void settle_out(struct gust_out_group *g, uint64_t rows)
{
    for (uint64_t row = 0; g->touched && row < rows; row++) {
        uint64_t unit = row >> g->unit_shift;

        if (!(g->touched[unit >> 6] >> (unit & 63) & 1))
            memset(g->rows + row * g->stride, 0, g->stride * sizeof(float));
    }
}

#endif
