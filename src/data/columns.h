/* SPDX-License-Identifier: Apache-2.0 */
/* Which column of a file is what, before its rows are read: what transforms begin with. */
#ifndef GUST_DATA_COLUMNS_H
#define GUST_DATA_COLUMNS_H

#include "data/transform.h"

struct columns_options {
    const char *columns; /* see struct import_options; NULL: by the names and the first rows */
    uint64_t hash_width, hash_seed;
    enum transform_scale scale;
};

/*
 * T, initialised with its format, gets columns and layout; HEAD is how the first file begins (whole
 * lines; only CSV needs it). E_INVALID, E_FORMAT with a sentence that says what to try.
 */
int columns_find(struct transform *t, struct slice head, const struct columns_options *options,
                 struct error *err);

#endif
