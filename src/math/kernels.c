/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of one instruction level. The Makefile compiles this file once per level with
 * KERNEL_LEVEL set to the level's name; dispatch.c picks one at run time. The families are in
 * kernels_*.h, which nobody else includes.
 */
#include "math/kernels.h"

#include "math/kernels_factor.h"
#include "math/kernels_linear.h"
#include "math/kernels_loss.h"
#include "math/kernels_optimise.h"
#include "math/kernels_vector.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#define TEXT_(a)    #a
#define TEXT(a)     TEXT_(a)

extern const struct kernels JOIN(kernels_, KERNEL_LEVEL);

const struct kernels JOIN(kernels_, KERNEL_LEVEL) = {
    .name = TEXT(KERNEL_LEVEL),
    .sum_n = sum_n,
    .sum_units = sum_units,
    .dot = dot,
    .axpy = axpy,
    .scale = scale,
    .hash = hash,
    .finite = all_finite,
    .linear_forward = linear_forward,
    .linear_backward = linear_backward,
    .matrix_forward = matrix_forward,
    .matrix_backward = matrix_backward,
    .logistic = logistic,
    .hinge = hinge,
    .squared_hinge = squared_hinge,
    .softmax = softmax,
    .sigmoid = sigmoid,
    .factor_step = factor_step,
    .factor_predict = factor_predict,
    .sgd = sgd,
    .momentum = momentum,
    .nesterov = nesterov,
    .adam = adam,
    .adagrad = adagrad,
    .adagrad_row = adagrad_row,
};
