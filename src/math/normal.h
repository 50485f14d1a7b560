/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A normal deviate from 64 random bits, the same on every machine: the inverse of the normal
 * distribution by P. J. Acklam's rational approximation, good to 1e-6 of the value.
 */
#ifndef GUST_MATH_NORMAL_H
#define GUST_MATH_NORMAL_H

#include <stdint.h>

float normal_deviate(uint64_t bits);

#endif
