/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops where the time goes. kernels.c is compiled once per instruction level; each level
 * is a table of functions, and all tables give the same bits for the same input. Whoever needs
 * kernels asks kernels_best() once and keeps the pointer.
 *
 * Kernels do not fail, allocate or keep anything. Pointers need no alignment, though aligned
 * memory is faster. Outputs do not overlap inputs unless it says so. The order of every sum is
 * documented: "lanes" means that element i goes to lane i mod 8 and that the lanes are
 * added as v8_sum() in math/vector.h does; "in order" means one after the other. math/reference.h
 * has the plain versions.
 */
#ifndef GUST_MATH_KERNELS_H
#define GUST_MATH_KERNELS_H

#include "gust.h"

/* One-column linear models: w'x + bias of an example with dense, ones and sparse parts. */
struct linear_params {
    const float *dense;   /* [data->dense]; NULL when that is 0 */
    const float *weights; /* [data->dims]; NULL when there are no indices */
    float bias;
};

struct linear_sums {
    float *dense;                   /* [data->dense], added to; NULL when that is 0 */
    struct gust_out_group *weights; /* rows added to; NULL when there are no indices */
    float *bias;                    /* [1], added to */
};

/* The same with a row of `stride` columns per feature: stride is what gust_stride() gives. */
struct matrix_params {
    const float *dense;   /* [data->dense][stride] */
    const float *weights; /* [data->dims][stride] */
    const float *bias;    /* [stride] */
    uint32_t stride;
};

struct matrix_sums {
    float *dense;                   /* [data->dense][stride], added to */
    struct gust_out_group *weights; /* rows added to */
    float *bias;                    /* [stride], added to */
    uint32_t stride;
};

/*
 * A batch of ratings for matrix factorisation. Rows hold, with k = rank,
 *
 *   user   p[0..k-1]  1      b_user  sum of squares   zeros up to stride
 *   item   q[0..k-1]  b_item 1       0                zeros up to stride
 *
 * so that one dot product over the stride is p.q + b_user + b_item. The columns with a constant
 * are kept constant by masks. For each rating r in order, with e = r - mean - user.item:
 *
 *   step      = rate_user / sqrt(sum of squares)
 *   out[item] += l2_item * (q, b_item) - e * (p, 1)
 *   user      += step * (e * (q, 1) - l2_user * (p, b_user)),    sum of squares += e^2 |(q, 1)|^2 /
 * k
 *
 * where the item's sum uses the user's row before its change.
 */
struct factor_run {
    const struct gust_batch *batch;
    uint32_t user_word, item_word; /* where the two indices lie in an example's words */
    float *users;                  /* [..][stride], first row is user `users_first` */
    uint64_t users_first;
    const float *items; /* [..][stride], first row is item `items_first` */
    uint64_t items_first;
    struct gust_out_group *out; /* sums for the items */
    uint32_t rank, stride;      /* stride = gust_stride(rank + 3), a multiple of 8 */
    float mean, rate_user, l2_user, l2_item;
};

/* What an optimiser's sweep over one run of parameters is told; unused members are 0. */
struct sweep {
    float scale;    /* of the sums: 1, or 1 / examples for means */
    float rate;     /* step size */
    float l1, l2;   /* strengths for this step */
    float momentum; /* momentum, nesterov; Adam's first decay */
    float decay;    /* Adam's second decay */
    float epsilon;  /* Adam, AdaGrad */
    float correct1; /* Adam: 1 / (1 - momentum^t) */
    float correct2; /* Adam: 1 / (1 - decay^t) */
};

struct kernels {
    const char *name; /* "sse2", "avx2", "avx512", "plain" */

    /* out[i] = in[0][i] + in[1][i] + ... in order. OUT may be one of the inputs. n >= 1. */
    void (*sum_n)(float *out /* [count] */, const float *const *in /* [n][count] */, unsigned n,
                  size_t count);

    /*
     * The same for units of rows of which each source has only those marked in its mask: marked
     * units are added in order, beginning with +0; out_mask becomes the union; units that nobody
     * marked are left alone in OUT. unit_floats is a multiple of 8. OUT overlaps no input.
     */
    void (*sum_units)(float *restrict out /* [units][unit_floats] */, uint64_t *restrict out_mask,
                      const float *const *in, const uint64_t *const *masks, unsigned n,
                      size_t unit_floats, size_t units);

    /* Sum of a[i] b[i]: lanes in four vectors over 32 elements, added pairwise, then the rest in
     * order. */
    float (*dot)(const float *a, const float *b, size_t count);
    /* y += a x */
    void (*axpy)(float *restrict y, float a, const float *restrict x, size_t count);
    /* x *= a */
    void (*scale)(float *x, float a, size_t count);

    /* 64 bits that depend on every bit of the floats and on their order. */
    uint64_t (*hash)(const float *x, size_t count);
    /* Whether no element is infinite or NaN. */
    bool (*finite)(const float *x, size_t count);

    /*
     * Scores and labels of examples first .. first+rows-1. The dense part, the ones and the pairs
     * of an example are each summed in four chains (element j to chain j mod 4), added as
     * (0+1)+(2+3), then
     * ((dense + ones) + pairs) + bias.
     */
    void (*linear_forward)(float *restrict scores /* [rows] */, float *restrict labels /* [rows] */,
                           const struct gust_batch *batch, uint32_t first, uint32_t rows,
                           const struct linear_params *p);
    /* Add coef[r] times example first+r to the sums, in order; examples whose coef is 0 are passed
     * over. */
    void (*linear_backward)(const struct linear_sums *sums, const float *coef /* [rows] */,
                            const struct gust_batch *batch, uint32_t first, uint32_t rows);

    /* scores becomes scores x params' matrix; feature after feature in order of dense, ones, pairs.
     */
    void (*matrix_forward)(float *restrict scores /* [rows][stride] */,
                           float *restrict labels /* [rows] */, const struct gust_batch *batch,
                           uint32_t first, uint32_t rows, const struct matrix_params *p);
    void (*matrix_backward)(const struct matrix_sums *sums, const float *coef /* [rows][stride] */,
                            const struct gust_batch *batch, uint32_t first, uint32_t rows);

    /*
     * Losses: turn scores into the derivative of the loss and return the sum of losses (lanes,
     * in double precision). Labels are 0 or 1.
     */
    double (*logistic)(float *scores /* [rows] */, const float *labels, size_t rows);
    double (*hinge)(float *scores, const float *labels, size_t rows);
    double (*squared_hinge)(float *scores, const float *labels, size_t rows);
    /* Labels are 0 .. classes-1. Padding becomes 0. Each row's sums run in order. */
    double (*softmax)(float *scores /* [rows][stride] */, const float *labels, size_t rows,
                      uint32_t classes, uint32_t stride);
    /* x = 1 / (1 + exp(-x)) */
    void (*sigmoid)(float *x, size_t count);

    /* One pass over ratings as described above; returns the sum of e^2, in order. */
    double (*factor_step)(const struct factor_run *run);
    /* user.item + mean for ratings first .. first+rows-1, and the labels. */
    void (*factor_predict)(float *restrict out /* [rows] */, float *restrict labels /* [rows] */,
                           const struct factor_run *run, uint32_t first, uint32_t rows);

    /*
     * Optimiser sweeps over COUNT parameters. SUMS may be NULL: zeroes. With g = scale * sums + l2
     * * w:
     *
     *   sgd       w -= rate g
     *   momentum  m = momentum m + g;  w -= rate m
     *   nesterov  m = momentum m + g;  w -= rate (g + momentum m)
     *   adam      m = momentum m + (1-momentum) g;  v = decay v + (1-decay) g^2;
     *             w -= rate (m correct1) / (sqrt(v correct2) + epsilon)
     *   adagrad   a += g^2;  w -= s g  with  s = rate / sqrt(a + epsilon)
     *
     * then, if l1 > 0, w is drawn towards 0 by rate l1 (adagrad: s l1; adam: as sgd) and stops
     * there.
     */
    void (*sgd)(float *w, const float *sums, size_t count, const struct sweep *s);
    void (*momentum)(float *w, float *m, const float *sums, size_t count, const struct sweep *s);
    void (*nesterov)(float *w, float *m, const float *sums, size_t count, const struct sweep *s);
    void (*adam)(float *w, float *m, float *v, const float *sums, size_t count,
                 const struct sweep *s);
    void (*adagrad)(float *w, float *a, const float *sums, size_t count, const struct sweep *s);
    /* AdaGrad with one accumulator per row: a += |g|^2 / cols. stride is any of gust_stride()'s. */
    void (*adagrad_row)(float *w /* [rows][stride] */, float *a /* [rows] */,
                        const float *sums /* [rows][stride] */, size_t rows, uint32_t cols,
                        uint32_t stride, const struct sweep *s);
};

/* The best table for this CPU. */
const struct kernels *kernels_best(void);
/* The table called NAME if it exists and this CPU can run it, otherwise NULL. */
const struct kernels *kernels_find(const char *name);
/* kernels_find(NAME), or the best table when NAME is NULL. */
const struct kernels *kernels_named(const char *name);
/* The tables that this CPU can run, slowest first: kernels_at(0), ... until NULL. */
const struct kernels *kernels_at(unsigned i);

#endif
