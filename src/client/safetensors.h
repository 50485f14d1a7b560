/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing models in the safetensors form: a length, a JSON header that names tensors with
 * type, shape and place, and their bytes. The Python package of the same name reads it.
 */
#ifndef GUST_CLIENT_SAFETENSORS_H
#define GUST_CLIENT_SAFETENSORS_H

#include "base/buf.h"
#include "base/props.h"

struct safetensor {
    const char *name;
    uint64_t rows;
    uint32_t cols;   /* 1: a vector in the file */
    uint32_t stride; /* floats between rows in memory */
    const float *data;
};

/* Append the whole file to OUT. METADATA's values become strings of __metadata__; may be NULL. */
int safetensors_write(const struct safetensor *tensors, unsigned count,
                      const struct props *metadata, struct buf *out, struct error *err);

#endif
