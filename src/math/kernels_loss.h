/* SPDX-License-Identifier: Apache-2.0 */
/* Part of kernels.c: losses, from scores to derivatives and sums. */
#ifndef GUST_MATH_KERNELS_LOSS_H
#define GUST_MATH_KERNELS_LOSS_H

#include "math/functions.h"

/* A loss turns eight scores into eight losses and leaves the derivatives in SCORES. */
typedef v8 (*loss_fn)(v8 *scores, v8 labels);

VECTOR_INLINE v8 logistic_v8(v8 *scores, v8 labels)
{
    v8 z = *scores;

    *scores = sigmoid_v8(z) - labels;
    return softplus_v8(z) - labels * z;
}

VECTOR_INLINE v8 hinge_v8(v8 *scores, v8 labels)
{
    v8 y = 2.0f * labels - 1.0f, slack = 1.0f - y * *scores;
    v8i inside = slack > 0.0f;

    *scores = v8_keep(inside, -y);
    return v8_keep(inside, slack);
}

VECTOR_INLINE v8 squared_hinge_v8(v8 *scores, v8 labels)
{
    v8 y = 2.0f * labels - 1.0f, slack = 1.0f - y * *scores;

    slack = v8_keep(slack > 0.0f, slack);
    *scores = -2.0f * y * slack;
    return slack * slack;
}

VECTOR_INLINE double each_loss(float *scores, const float *labels, size_t rows, loss_fn loss)
{
    v8d sum = { 0 };
    size_t i = 0, rest;
    v8 z;

    for (; i + 8 <= rows; i += 8) {
        z = v8_load(scores + i);
        sum += v8_widen(loss(&z, v8_load(labels + i)));
        v8_store(scores + i, z);
    }
    rest = rows - i;
    if (rest) {
        float lanes[8];
        v8 losses;

        z = v8_load_part(scores + i, rest);
        losses = loss(&z, v8_load_part(labels + i, rest));
        v8_store_part(scores + i, z, rest);
        v8_store(lanes, losses);
        sum += v8_widen(v8_load_part(lanes, rest));
    }
    return v8d_sum(sum);
}

static double logistic(float *scores, const float *labels, size_t rows)
{
    return each_loss(scores, labels, rows, logistic_v8);
}

static double hinge(float *scores, const float *labels, size_t rows)
{
    return each_loss(scores, labels, rows, hinge_v8);
}

static double squared_hinge(float *scores, const float *labels, size_t rows)
{
    return each_loss(scores, labels, rows, squared_hinge_v8);
}

static void sigmoid(float *x, size_t count)
{
    size_t i = 0;

    for (; i + 8 <= count; i += 8)
        v8_store(x + i, sigmoid_v8(v8_load(x + i)));
    if (i < count)
        v8_store_part(x + i, sigmoid_v8(v8_load_part(x + i, count - i)), count - i);
}

/* One example: scores become probabilities less the label's one; the loss is returned. */
VECTOR_INLINE double softmax_row(float *s, uint32_t label, uint32_t classes, uint32_t stride)
{
    float highest = s[0], own = s[label], sum = 0;

    for (uint32_t c = 1; c < classes; c++)
        highest = s[c] > highest ? s[c] : highest;
    for (uint32_t c = 0; c < classes; c += 8) {
        size_t width = classes - c < 8 ? classes - c : 8;
        v8 e = exp_v8(v8_load_part(s + c, width) - highest);

        v8_store_part(s + c, e, width);
    }
    for (uint32_t c = 0; c < classes; c++)
        sum += s[c];
    for (uint32_t c = 0; c < classes; c++)
        s[c] /= sum;
    for (uint32_t c = classes; c < stride; c++)
        s[c] = 0;
    s[label] -= 1;
    return (double)(log_f32(sum) + (highest - own));
}

static double softmax(float *scores, const float *labels, size_t rows, uint32_t classes,
                      uint32_t stride)
{
    double sum = 0;

    for (size_t r = 0; r < rows; r++)
        sum += softmax_row(scores + r * stride, (uint32_t)labels[r], classes, stride);
    return sum;
}

#endif
