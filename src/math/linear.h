/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one-column linear models share: one weight per feature and a bias. Logistic regression
 * and the linear support vector machine differ in the loss alone.
 *
 * Groups: "weights" (dims x 1, sparse) if the data has indices, "dense" (data->dense x 1) if it
 * has dense values, and "bias".
 */
#ifndef GUST_MATH_LINEAR_H
#define GUST_MATH_LINEAR_H

#include "gust.h"
#include "math/kernels.h"

struct linear {
    const struct kernels *kernels;
    /* Scores become derivatives; the sum of losses is returned. */
    double (*loss)(float *scores, const float *labels, size_t rows);
    uint64_t dims;
    uint32_t dense;
    unsigned weights_group, dense_group, bias_group; /* numbers; weights and dense only if any */
};

/* A linear model for DATA; the caller adds one of the losses of KERNELS. */
void linear_init(struct linear *m, const struct gust_data *data, const struct kernels *kernels);

/* Slots of struct gust_trainer; SELF is a struct linear. */
unsigned linear_groups(const void *self, struct gust_group *groups);
void linear_step(const void *self, const struct gust_step *s);
/* Sums: loss, examples on the right side of 0, examples. */
void linear_evaluate(const void *self, const struct gust_batch *batch,
                     const struct gust_view *groups, double *sums);
/* Mean loss and accuracy. */
void linear_score(const void *self, const double *sums, double *values);
/* The scores w'x + bias. */
void linear_predict(const void *self, const struct gust_batch *batch,
                    const struct gust_view *groups, float *out);

#endif
