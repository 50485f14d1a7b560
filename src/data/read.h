/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers of people's files. A file is handed over as text in memory (mapped), read twice where
 * its schema has to be found out first, and added to a builder. What does not parse is E_FORMAT
 * with file, line and what was found there.
 *
 * Every row of the test file, or a share HELD_OUT of the rows by a hash of their number, is held
 * out.
 */
#ifndef GUST_DATA_READ_H
#define GUST_DATA_READ_H

#include "data/builder.h"

struct read_file {
    const char *name; /* for messages */
    struct slice text;
};

struct read_options {
    struct read_file train;
    struct read_file test; /* text.data NULL: hold out a share of the rows instead */
    double held_out;       /* 0 .. below 1 */
};

/*
 * libsvm: `label index:value ...` per line, '#' begins a comment, empty lines are skipped.
 * Indices are whole numbers from 1 (or from 0 if the file has a 0), rising strictly within a
 * line; values are finite. Where every value is 1, examples are lists of indices; otherwise
 * (index, value) pairs. Labels -1 and +1 (or 0 and 1) are two classes, whole numbers from 0 or
 * from 1 that leave no gap are as many classes, anything else is a real number.
 */
int read_libsvm(const struct builder_options *to, const struct read_options *options,
                struct error *err);

/*
 * Ratings: `user::item::rating[::time]`, the same with tabs, or CSV with or without a header
 * line that names its columns (userId, movieId, rating, timestamp). Ids are whole numbers
 * below 2^32 - 1, ratings finite. A pair that comes twice is two examples.
 */
int read_movielens(const struct builder_options *to, const struct read_options *options,
                   struct error *err);

#endif
