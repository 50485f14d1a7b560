/* SPDX-License-Identifier: Apache-2.0 */
/* Part of kernels.c: linear models over batches of mixed dense and sparse examples. */
#ifndef GUST_MATH_KERNELS_LINEAR_H
#define GUST_MATH_KERNELS_LINEAR_H

#include "math/example.h"
#include "math/kernels.h"
#include "math/vector.h"

VECTOR_INLINE float chains(const float *c)
{
    return (c[0] + c[1]) + (c[2] + c[3]);
}

VECTOR_INLINE float dense_score(const uint32_t *x, const float *w, uint32_t count)
{
    float c[4] = { 0 };
    uint32_t j = 0;

    for (; j + 4 <= count; j += 4)
        for (uint32_t k = 0; k < 4; k++)
            c[k] += gust_f32(x + j + k) * w[j + k];
    for (uint32_t k = 0; j < count; j++, k++)
        c[k] += gust_f32(x + j) * w[j];
    return chains(c);
}

VECTOR_INLINE float ones_score(const uint32_t *index, const float *w, uint32_t count)
{
    float c[4] = { 0 };
    uint32_t j = 0;

    for (; j + 4 <= count; j += 4)
        for (uint32_t k = 0; k < 4; k++)
            c[k] += w[index[j + k]];
    for (uint32_t k = 0; j < count; j++, k++)
        c[k] += w[index[j]];
    return chains(c);
}

VECTOR_INLINE float pairs_score(const uint32_t *pair, const float *w, uint32_t count)
{
    float c[4] = { 0 };

    for (uint32_t j = 0; j < count; j++)
        c[j & 3] += w[pair[2 * j]] * gust_f32(pair + 2 * j + 1);
    return chains(c);
}

static void linear_forward(float *restrict scores, float *restrict labels,
                           const struct gust_batch *batch, uint32_t first, uint32_t rows,
                           const struct linear_params *p)
{
    for (uint32_t r = 0; r < rows; r++) {
        struct example e = example_at(batch, first + r);
        float s = dense_score(e.dense, p->dense, batch->data->dense);

        s += ones_score(e.ones, p->weights, e.ones_count);
        if (e.pairs)
            s += pairs_score(e.pairs, p->weights, e.pair_count);
        scores[r] = s + p->bias;
        labels[r] = e.label;
    }
}

static void linear_backward(const struct linear_sums *sums, const float *coef,
                            const struct gust_batch *batch, uint32_t first, uint32_t rows)
{
    uint32_t dense = batch->data->dense;
    /* A copy of one group in a local structure lets the compiler keep its pointers in registers. */
    struct gust_out out = { 0 };

    if (sums->weights)
        out.groups[0] = *sums->weights;
    for (uint32_t r = 0; r < rows; r++) {
        struct example e = example_at(batch, first + r);
        float c = coef[r];

        if (c == 0)
            continue;
        for (uint32_t j = 0; j < dense; j++)
            sums->dense[j] += c * gust_f32(e.dense + j);
        for (uint32_t j = 0; j < e.ones_count; j++)
            *gust_out_row(&out, 0, e.ones[j]) += c;
        for (uint32_t j = 0; j < e.pair_count; j++)
            *gust_out_row(&out, 0, e.pairs[2 * j]) += c * gust_f32(e.pairs + 2 * j + 1);
        *sums->bias += c;
    }
}

/* row += x * from, over a stride of 1, 2, 4 or a multiple of 8. */
VECTOR_INLINE void add_row(float *restrict row, float x, const float *restrict from,
                           uint32_t stride)
{
    if (stride < 8) {
        for (uint32_t k = 0; k < stride; k++)
            row[k] += x * from[k];
        return;
    }
    for (uint32_t k = 0; k < stride; k += 8)
        v8_store(row + k, v8_load(row + k) + x * v8_load(from + k));
}

static void matrix_forward(float *restrict scores, float *restrict labels,
                           const struct gust_batch *batch, uint32_t first, uint32_t rows,
                           const struct matrix_params *p)
{
    uint32_t stride = p->stride;

    for (uint32_t r = 0; r < rows; r++) {
        struct example e = example_at(batch, first + r);
        float *s = scores + (size_t)r * stride;

        memcpy(s, p->bias, stride * sizeof(*s));
        for (uint32_t j = 0; j < batch->data->dense; j++)
            add_row(s, gust_f32(e.dense + j), p->dense + (size_t)j * stride, stride);
        for (uint32_t j = 0; j < e.ones_count; j++)
            add_row(s, 1, p->weights + (size_t)e.ones[j] * stride, stride);
        for (uint32_t j = 0; j < e.pair_count; j++)
            add_row(s, gust_f32(e.pairs + 2 * j + 1), p->weights + (size_t)e.pairs[2 * j] * stride,
                    stride);
        labels[r] = e.label;
    }
}

static void matrix_backward(const struct matrix_sums *sums, const float *coef,
                            const struct gust_batch *batch, uint32_t first, uint32_t rows)
{
    uint32_t stride = sums->stride;
    struct gust_out out = { 0 };

    if (sums->weights)
        out.groups[0] = *sums->weights;
    for (uint32_t r = 0; r < rows; r++) {
        struct example e = example_at(batch, first + r);
        const float *c = coef + (size_t)r * stride;

        add_row(sums->bias, 1, c, stride);
        for (uint32_t j = 0; j < batch->data->dense; j++)
            add_row(sums->dense + (size_t)j * stride, gust_f32(e.dense + j), c, stride);
        for (uint32_t j = 0; j < e.ones_count; j++)
            add_row(gust_out_row(&out, 0, e.ones[j]), 1, c, stride);
        for (uint32_t j = 0; j < e.pair_count; j++)
            add_row(gust_out_row(&out, 0, e.pairs[2 * j]), gust_f32(e.pairs + 2 * j + 1), c,
                    stride);
    }
}

#endif
