/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The losses of the built-in models in double precision, straight from their definitions and
 * from the words of a batch: what tests hold trainers to. Shares no code with them.
 */
#ifndef GUST_TESTS_MODEL_PLAIN_H
#define GUST_TESTS_MODEL_PLAIN_H

#include <math.h>

#include "base/util.h"
#include "gust.h"

/* Where one parameter per feature and column is found; any of the three may be missing. */
struct plain_params {
    const float *weights, *dense, *bias;
    uint32_t stride;
};

/* Score of column C of example R. */
static double plain_score(const struct gust_batch *b, uint32_t r, const struct plain_params *p,
                          uint32_t c)
{
    const uint32_t *at = b->words + gust_at(b, r) + 1;
    double score = (double)p->bias[c];
    uint32_t count;

    for (uint32_t j = 0; j < b->data->dense; j++)
        score += (double)gust_f32(at++) * (double)p->dense[j * p->stride + c];
    count = b->data->ones == GUST_VARIES ? *at++ : b->data->ones;
    for (uint32_t j = 0; j < count; j++)
        score += (double)p->weights[*at++ * p->stride + c];
    count = b->data->sparse ? *at++ : 0;
    for (uint32_t j = 0; j < count; j++, at += 2)
        score += (double)p->weights[at[0] * p->stride + c] * (double)gust_f32(at + 1);
    return score;
}

static double plain_label(const struct gust_batch *b, uint32_t r)
{
    return (double)gust_f32(b->words + gust_at(b, r));
}

enum plain_loss { PLAIN_LOGISTIC, PLAIN_HINGE, PLAIN_SQUARED_HINGE, PLAIN_SOFTMAX };

static double plain_softmax(const struct gust_batch *b, uint32_t r, const struct plain_params *p)
{
    double sum = 0;

    for (uint32_t c = 0; c < b->data->classes; c++)
        sum += exp(plain_score(b, r, p, c));
    return log(sum) - plain_score(b, r, p, (uint32_t)plain_label(b, r));
}

/* The sum of the losses of a batch. */
UNUSED static double plain_sum(enum plain_loss loss, const struct gust_batch *b,
                               const struct plain_params *p)
{
    double sum = 0;

    for (uint32_t r = 0; r < b->rows; r++) {
        double y = plain_label(b, r), z = plain_score(b, r, p, 0);
        double slack = fmax(0, 1 - (2 * y - 1) * z);

        switch (loss) {
        case PLAIN_LOGISTIC:
            sum += log1p(exp(z)) - y * z;
            break;
        case PLAIN_HINGE:
            sum += slack;
            break;
        case PLAIN_SQUARED_HINGE:
            sum += slack * slack;
            break;
        case PLAIN_SOFTMAX:
            sum += plain_softmax(b, r, p);
            break;
        }
    }
    return sum;
}

#endif
