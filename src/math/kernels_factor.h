/* SPDX-License-Identifier: Apache-2.0 */
/* Part of kernels.c: matrix factorisation, one rating after the other. */
#ifndef GUST_MATH_KERNELS_FACTOR_H
#define GUST_MATH_KERNELS_FACTOR_H

#include "math/kernels.h"
#include "math/vector.h"

/*
 * Ratings ahead whose rows are fetched. A user's row comes from the second or third level of cache,
 * an item's and its sum from the second; by then both are there.
 */
#define FACTOR_AHEAD 12

/* The widest row that has code of its own, in vectors; wider ones share a loop. */
#define FACTOR_VECTORS 8

/*
 * Masks for the last two vectors of a row, where the constants can be: which columns of a
 * user's and of an item's row move, and where the user's sum of squares is.
 */
struct factor_masks {
    v8i user[2], item[2], square[2];
};

VECTOR_INLINE struct factor_masks factor_masks(uint32_t rank, uint32_t vectors)
{
    struct factor_masks m = { 0 };
    uint32_t from = vectors >= 2 ? 8 * (vectors - 2) : 0;

    for (uint32_t c = from; c < 8 * vectors; c++) {
        uint32_t v = vectors >= 2 ? (c - from) / 8 : 1;

        m.user[v][c % 8] = c < rank || c == rank + 1 ? -1 : 0;
        m.item[v][c % 8] = c <= rank ? -1 : 0;
        m.square[v][c % 8] = c == rank + 2 ? -1 : 0;
    }
    return m;
}

VECTOR_INLINE void factor_prefetch(const struct factor_run *run, const float *sums,
                                   const uint32_t *words)
{
    const float *user = run->users + (words[run->user_word] - run->users_first) * run->stride;
    uint64_t item = words[run->item_word];
    const float *q = run->items + (item - run->items_first) * run->stride;
    const float *g = sums + item * run->stride;

    for (uint32_t c = 0; c < run->stride; c += 16) {
        __builtin_prefetch(user + c, 1);
        __builtin_prefetch(q + c);
        __builtin_prefetch(g + c, 1);
    }
}

/* One rating. N is a constant for the compiler in all but the widest rows. Returns e. */
VECTOR_INLINE float factor_rating(float *restrict user, const float *restrict item,
                                  float *restrict out, float label, const struct factor_run *run,
                                  const struct factor_masks *m, float inverse_rank, uint32_t n)
{
    v8 products = v8_all(0), squares = v8_all(0);
    float sum = user[run->rank + 2], e, step, step_e, step_l2, square;

    for (uint32_t v = 0; v < n; v++) {
        v8 p = v8_load(user + 8 * v), q = v8_load(item + 8 * v);
        v8 moving = v + 2 >= n ? v8_keep(m->user[v + 2 - n], q) : q;

        products = v ? products + p * q : p * q;
        squares = v ? squares + moving * moving : moving * moving;
    }
    e = (label - run->mean) - v8_sum(products);
    square = (e * e) * (v8_sum(squares) * inverse_rank);
    step = run->rate_user / __builtin_sqrtf(sum);
    step_e = step * e;
    step_l2 = step * run->l2_user;
    for (uint32_t v = 0; v < n; v++) {
        v8 p = v8_load(user + 8 * v), q = v8_load(item + 8 * v);
        v8 change = step_e * q - step_l2 * p, g = run->l2_item * q - e * p;

        if (v + 2 >= n) {
            /* Whole vectors only: a scalar store here would stall the next load of this row. */
            change =
                v8_keep(m->user[v + 2 - n], change) + v8_keep(m->square[v + 2 - n], v8_all(square));
            g = v8_keep(m->item[v + 2 - n], g);
        }
        v8_store(user + 8 * v, p + change);
        v8_store(out + 8 * v, v8_load(out + 8 * v) + g);
    }
    return e;
}

VECTOR_INLINE double factor_all(const struct factor_run *given, uint32_t n)
{
    /* Copies, so that the compiler knows that no store to a row changes them. */
    const struct factor_run run = *given;
    const struct gust_batch b = *given->batch;
    const struct gust_out_group group = *given->out;
    const struct factor_masks m = factor_masks(run.rank, n);
    const float inverse_rank = 1.0f / (float)run.rank;
    struct gust_out out = { .groups = { group } };
    double loss = 0;

    for (uint32_t r = 0; r < b.rows; r++) {
        const uint32_t *words = b.words + gust_at(&b, r);
        float *user, *sum, e;
        const float *item;

        if (r + FACTOR_AHEAD < b.rows)
            factor_prefetch(&run, group.rows, b.words + gust_at(&b, r + FACTOR_AHEAD));
        user = run.users + (words[run.user_word] - run.users_first) * (8 * n);
        item = run.items + (words[run.item_word] - run.items_first) * (8 * n);
        sum = gust_out_row(&out, 0, words[run.item_word]);
        e = factor_rating(user, item, sum, gust_f32(words), &run, &m, inverse_rank, n);
        loss += (double)e * (double)e;
    }
    return loss;
}

static double factor_step(const struct factor_run *run)
{
    switch (run->stride / 8) {
    case 1:
        return factor_all(run, 1);
    case 2:
        return factor_all(run, 2);
    case 3:
        return factor_all(run, 3);
    case 4:
        return factor_all(run, 4);
    case 5:
        return factor_all(run, 5);
    case 6:
        return factor_all(run, 6);
    case 7:
        return factor_all(run, 7);
    case FACTOR_VECTORS:
        return factor_all(run, FACTOR_VECTORS);
    default:
        return factor_all(run, run->stride / 8);
    }
}

static void factor_predict(float *restrict predicted, float *restrict labels,
                           const struct factor_run *run, uint32_t first, uint32_t rows)
{
    const struct gust_batch *b = run->batch;

    for (uint32_t r = 0; r < rows; r++) {
        const uint32_t *words = b->words + gust_at(b, first + r);
        const float *user = run->users + (words[run->user_word] - run->users_first) * run->stride;
        const float *item = run->items + (words[run->item_word] - run->items_first) * run->stride;
        v8 products = v8_load(user) * v8_load(item);

        for (uint32_t c = 8; c < run->stride; c += 8)
            products += v8_load(user + c) * v8_load(item + c);
        predicted[r] = run->mean + v8_sum(products);
        labels[r] = gust_f32(words);
    }
}

#endif
