/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels once more, one float at a time, written from the contracts in math/kernels.h and
 * for reading. Tests hold the fast ones to these: bit for bit, except for the losses and the
 * sigmoid, which use the C library's functions in double precision here.
 */
#ifndef GUST_MATH_REFERENCE_H
#define GUST_MATH_REFERENCE_H

#include "math/kernels.h"

extern const struct kernels kernels_reference;

#endif
