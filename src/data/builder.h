/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building a data set from examples that come in any order, in bounded memory. Examples are
 * hashed to lanes (all of one key, such as a user, to the same), kept in buckets of lanes, put
 * aside into the object store when memory is short, and finally written lane by lane, each
 * lane in a pseudo-random order: the one global shuffle. Key columns are renumbered: those of
 * column 0 so that each lane's are contiguous, the others by falling frequency, so that what is
 * used most lies together. The same examples in the same order give the same bytes.
 *
 * The manifest is written last: a data set that was not finished cannot be opened. A data set that
 * is replaced stays whole until then: the new one lies beside it, as another generation.
 */
#ifndef GUST_DATA_BUILDER_H
#define GUST_DATA_BUILDER_H

#include "data/dataset.h"

/* Told now and then by builder_finish(); a non-zero return ends it and is returned. */
typedef int (*builder_progress_fn)(void *arg, uint64_t rows_written, struct error *err);

struct builder_options {
    struct objects *objects; /* borrowed, as all below */
    const char *prefix;
    struct heap *heap;
    const char *kind;             /* "movielens" and so on, for people */
    struct gust_data schema;      /* dense, ones, sparse, dims, keys, classes; with keys, ones must
                                     equal keys, and dims and key_rows are found out */
    uint32_t lanes;               /* a power of two; 0: LANES_KEYED or LANES_PLAIN */
    size_t memory_bytes;          /* for examples kept in memory; 0: 256 MiB */
    bool replace;                 /* a data set that exists: replace it when this one is finished */
    builder_progress_fn progress; /* may be NULL */
    void *arg;
};

struct builder;

/* E_EXISTS when there is a data set at PREFIX that may not be replaced; E_INVALID. */
int builder_open(struct builder **out, const struct builder_options *options, struct error *err);

/*
 * Add an example: WORDS words as struct gust_batch describes them, key columns holding original
 * ids. E_INVALID, saying what is wrong with it, when it does not fit the schema.
 */
int builder_add(struct builder *b, enum dataset_split split, const uint32_t *example,
                uint32_t words, struct error *err);

/* Note a figure that the model behind the data reaches on the held-out examples. */
void builder_set_oracle(struct builder *b, const char *name, double value);

/* What the rows were made from: see struct manifest. */
void builder_set_source(struct builder *b, uint64_t key, uint64_t hash);

/* How lines become examples (data/transform.h), to be kept in the data set. TEXT is copied. */
void builder_set_transform(struct builder *b, struct slice text);

/* Examples added so far. */
uint64_t builder_rows(const struct builder *b, enum dataset_split split);

/*
 * Write everything. E_INVALID when there is nothing to train on. After a failure nothing of the
 * new data set is left, and all of the old one.
 */
int builder_finish(struct builder *b, struct error *err);

/* B may be NULL. Removes what was put aside. */
void builder_close(struct builder *b);

#endif
