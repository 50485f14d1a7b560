/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of kernels.c: optimiser sweeps. Each rule is written once, for eight parameters; the
 * rest of a run that is no whole vector goes through the same rule in a padded one.
 */
#ifndef GUST_MATH_KERNELS_OPTIMISE_H
#define GUST_MATH_KERNELS_OPTIMISE_H

#include "math/kernels.h"
#include "math/vector.h"

/* Eight parameters and their optimiser state. */
struct cell {
    v8 w, m, v;
};

typedef void (*rule_fn)(struct cell *c, v8 sums, const struct sweep *s);

/* Soft threshold: towards 0 by T, and no further. */
VECTOR_INLINE v8 shrink(v8 w, v8 t)
{
    v8 a = v8_abs(w) - t;
    v8i sign = v8_bits(w) & (v8_bits(v8_all(-0.0f)));

    return v8_from_bits(v8_bits(v8_keep(a > 0.0f, a)) | sign);
}

VECTOR_INLINE void finish_cell(struct cell *c, v8 change, v8 rate, const struct sweep *s)
{
    c->w -= change;
    if (s->l1 > 0)
        c->w = shrink(c->w, rate * s->l1);
}

VECTOR_INLINE v8 gradient(const struct cell *c, v8 sums, const struct sweep *s)
{
    return s->scale * sums + s->l2 * c->w;
}

VECTOR_INLINE void sgd_rule(struct cell *c, v8 sums, const struct sweep *s)
{
    finish_cell(c, s->rate * gradient(c, sums, s), v8_all(s->rate), s);
}

VECTOR_INLINE void momentum_rule(struct cell *c, v8 sums, const struct sweep *s)
{
    c->m = s->momentum * c->m + gradient(c, sums, s);
    finish_cell(c, s->rate * c->m, v8_all(s->rate), s);
}

VECTOR_INLINE void nesterov_rule(struct cell *c, v8 sums, const struct sweep *s)
{
    v8 g = gradient(c, sums, s);

    c->m = s->momentum * c->m + g;
    finish_cell(c, s->rate * (g + s->momentum * c->m), v8_all(s->rate), s);
}

VECTOR_INLINE void adam_rule(struct cell *c, v8 sums, const struct sweep *s)
{
    v8 g = gradient(c, sums, s);

    c->m = s->momentum * c->m + (1.0f - s->momentum) * g;
    c->v = s->decay * c->v + (1.0f - s->decay) * (g * g);
    finish_cell(c, s->rate * (c->m * s->correct1) / (v8_sqrt(c->v * s->correct2) + s->epsilon),
                v8_all(s->rate), s);
}

VECTOR_INLINE void adagrad_rule(struct cell *c, v8 sums, const struct sweep *s)
{
    v8 g = gradient(c, sums, s), step;

    c->m += g * g;
    step = s->rate / v8_sqrt(c->m + s->epsilon);
    finish_cell(c, step * g, step, s);
}

VECTOR_INLINE void sweep_rest(float *w, float *m, float *v, const float *sums, size_t count,
                              const struct sweep *s, rule_fn rule)
{
    struct cell c = { .w = v8_load_part(w, count) };

    if (m)
        c.m = v8_load_part(m, count);
    if (v)
        c.v = v8_load_part(v, count);
    rule(&c, sums ? v8_load_part(sums, count) : v8_all(0), s);
    v8_store_part(w, c.w, count);
    if (m)
        v8_store_part(m, c.m, count);
    if (v)
        v8_store_part(v, c.v, count);
}

VECTOR_INLINE void sweep_all(float *w, float *m, float *v, const float *sums, size_t count,
                             const struct sweep *s, rule_fn rule)
{
    size_t i = 0;

    for (; i + 8 <= count; i += 8) {
        struct cell c = { .w = v8_load(w + i) };

        if (m)
            c.m = v8_load(m + i);
        if (v)
            c.v = v8_load(v + i);
        rule(&c, sums ? v8_load(sums + i) : v8_all(0), s);
        v8_store(w + i, c.w);
        if (m)
            v8_store(m + i, c.m);
        if (v)
            v8_store(v + i, c.v);
    }
    if (i < count)
        sweep_rest(w + i, m ? m + i : NULL, v ? v + i : NULL, sums ? sums + i : NULL, count - i, s,
                   rule);
}

static void sgd(float *w, const float *sums, size_t count, const struct sweep *s)
{
    sweep_all(w, NULL, NULL, sums, count, s, sgd_rule);
}

static void momentum(float *w, float *m, const float *sums, size_t count, const struct sweep *s)
{
    sweep_all(w, m, NULL, sums, count, s, momentum_rule);
}

static void nesterov(float *w, float *m, const float *sums, size_t count, const struct sweep *s)
{
    sweep_all(w, m, NULL, sums, count, s, nesterov_rule);
}

static void adam(float *w, float *m, float *v, const float *sums, size_t count,
                 const struct sweep *s)
{
    sweep_all(w, m, v, sums, count, s, adam_rule);
}

static void adagrad(float *w, float *a, const float *sums, size_t count, const struct sweep *s)
{
    sweep_all(w, a, NULL, sums, count, s, adagrad_rule);
}

/* The squared length of a row's gradient. A row of at least eight columns is WHOLE vectors. */
VECTOR_INLINE float row_squares(const float *w, const float *sums, uint32_t stride, bool whole,
                                const struct sweep *s)
{
    v8 squares = v8_all(0);

    for (uint32_t c = 0; c < stride; c += 8) {
        struct cell cell = { .w = whole ? v8_load(w + c) : v8_load_part(w, stride) };
        v8 row = !sums ? v8_all(0) : whole ? v8_load(sums + c) : v8_load_part(sums, stride);
        v8 g = gradient(&cell, row, s);

        squares += g * g;
    }
    return v8_sum(squares);
}

VECTOR_INLINE void row_move(float *w, const float *sums, uint32_t stride, bool whole, float step,
                            const struct sweep *s)
{
    for (uint32_t c = 0; c < stride; c += 8) {
        struct cell cell = { .w = whole ? v8_load(w + c) : v8_load_part(w, stride) };
        v8 row = !sums ? v8_all(0) : whole ? v8_load(sums + c) : v8_load_part(sums, stride);

        finish_cell(&cell, v8_all(step) * gradient(&cell, row, s), v8_all(step), s);
        if (whole)
            v8_store(w + c, cell.w);
        else
            v8_store_part(w, cell.w, stride);
    }
}

/*
 * Eight rows at a time, so that the square roots and divisions of eight accumulators are one
 * vector operation each; what is left goes row by row, with the same arithmetic.
 */
VECTOR_INLINE void adagrad_rows(float *restrict w, float *restrict a, const float *restrict sums,
                                size_t rows, uint32_t cols, uint32_t stride, bool whole,
                                const struct sweep *s)
{
    const float inverse_cols = 1.0f / (float)cols;
    size_t r = 0;

    for (; r + 8 <= rows; r += 8) {
        float squares[8], steps[8];
        v8 sum;

        for (size_t k = 0; k < 8; k++) {
            size_t at = (r + k) * stride;

            squares[k] = row_squares(w + at, sums ? sums + at : NULL, stride, whole, s);
        }
        sum = v8_load(a + r) + v8_load(squares) * v8_all(inverse_cols);
        v8_store(a + r, sum);
        v8_store(steps, v8_all(s->rate) / v8_sqrt(sum + v8_all(s->epsilon)));
        for (size_t k = 0; k < 8; k++) {
            size_t at = (r + k) * stride;

            row_move(w + at, sums ? sums + at : NULL, stride, whole, steps[k], s);
        }
    }
    for (; r < rows; r++) {
        const float *row = sums ? sums + r * stride : NULL;

        a[r] += row_squares(w + r * stride, row, stride, whole, s) * inverse_cols;
        row_move(w + r * stride, row, stride, whole, s->rate / __builtin_sqrtf(a[r] + s->epsilon),
                 s);
    }
}

static void adagrad_row(float *w, float *a, const float *sums, size_t rows, uint32_t cols,
                        uint32_t stride, const struct sweep *s)
{
    /* The usual length gets a loop in which everything stays in registers. */
    if (stride == 24 && sums)
        adagrad_rows(w, a, sums, rows, cols, 24, true, s);
    else if (stride >= 8)
        adagrad_rows(w, a, sums, rows, cols, stride, true, s);
    else
        adagrad_rows(w, a, sums, rows, cols, stride, false, s);
}

#endif
