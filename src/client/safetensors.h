/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The safetensors form of model files: eight bytes of length, a JSON header that names tensors
 * with type, shape and place, and their bytes. The Python package of the same name reads it.
 * Here is the form alone; what Gust keeps in it is in client/model_file.h.
 *
 * The reader trusts nothing: what it accepts has tensors of known types that lie inside the
 * file, one after the other, without overlap or hole, each as long as its shape says.
 */
#ifndef GUST_CLIENT_SAFETENSORS_H
#define GUST_CLIENT_SAFETENSORS_H

#include "base/buf.h"
#include "base/props.h"

/* As in the Python package. */
#define SAFETENSORS_HEADER_MAX   ((uint64_t)100000000)
#define SAFETENSORS_COUNT_MAX    256u
#define SAFETENSORS_METADATA_MAX 1024u /* entries */
#define SAFETENSORS_STRING_MAX   (16 * MIB)
#define SAFETENSORS_NAME_MAX     63
#define SAFETENSORS_DIMS_MAX     2u

enum safetensor_type { SAFETENSOR_F32, SAFETENSOR_I64, SAFETENSOR_U8 };

struct safetensor {
    char name[SAFETENSORS_NAME_MAX + 1];
    enum safetensor_type type;
    unsigned dims; /* 0: a single value, 1: a vector, 2: a matrix */
    uint64_t shape[SAFETENSORS_DIMS_MAX];
    struct slice bytes; /* when read: inside the file, maybe not aligned */
};

/* "F32" and so on. */
const char *safetensor_type_name(enum safetensor_type type);

/* Bytes of T by its type and shape; UINT64_MAX when there is no such number. */
uint64_t safetensor_size(const struct safetensor *t);

/*
 * Append length and header for TENSORS, whose bytes follow in this order. METADATA's values
 * become strings of __metadata__; may be NULL. The first tensor begins at a multiple of eight
 * bytes. E_LIMIT.
 */
int safetensors_header(const struct safetensor *tensors, unsigned count,
                       const struct props *metadata, struct buf *out, struct error *err);

/* A file that was read. */
struct safetensors {
    struct heap *heap;
    struct props metadata;      /* whose keys are letters, digits, '_', '-' and '.' */
    struct safetensor *tensors; /* in the order of the header */
    unsigned count;
};

/*
 * Read FILE, whose bytes outlive S. E_FORMAT with what is wrong: cut off, foreign, garbled;
 * E_UNSUPPORTED for types and shapes that Gust does not write.
 */
int safetensors_open(struct safetensors *s, struct heap *heap, struct slice file,
                     struct error *err);
/* Accepts a zeroed file. */
void safetensors_close(struct safetensors *s);

/* NULL when there is none. */
const struct safetensor *safetensors_find(const struct safetensors *s, const char *name);

#endif
