/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A data set as functions read it: a manifest and shards of checked blocks in an object store
 * (docs/DATA.md describes the bytes). Rows lie in the order of their lanes; a data set has two
 * splits, one to train on and one held out.
 */
#ifndef GUST_DATA_DATASET_H
#define GUST_DATA_DATASET_H

#include "data/lanes.h"
#include "gust.h"
#include "objects/objects.h"

enum dataset_split { DATASET_TRAIN, DATASET_TEST, DATASET_SPLITS };

struct dataset_shards; /* mapped shards and which blocks were checked */
struct manifest;       /* data/format.h */

struct dataset {
    struct objects *objects; /* borrowed */
    struct heap *heap;
    char prefix[128];      /* of the data set's name */
    char place[144];       /* of the object names: data/format.h */
    struct gust_data data; /* rows, dims, labels, of the training split */
    uint32_t lanes;
    uint64_t rows[DATASET_SPLITS];
    uint64_t bytes[DATASET_SPLITS];
    uint64_t nonzeros[DATASET_SPLITS];
    uint32_t *lane_rows[DATASET_SPLITS]; /* rows per lane */
    uint64_t *key_first;    /* private keys (column 0) of lane q: key_first[q] .. key_first[q+1]-1;
                               NULL: no keys */
    uint32_t row_words_max; /* longest example, in words */
    struct manifest *manifest; /* kind, id, planted quality, layout */
    struct dataset_shards *shards[DATASET_SPLITS];
};

/*
 * Read and check the manifest under PREFIX. E_NOT_FOUND, E_FORMAT with a sentence saying what
 * is wrong. Maps no rows yet.
 */
int dataset_open(struct dataset *d, struct objects *objects, const char *prefix, struct heap *heap,
                 struct error *err);
/* Accepts a zeroed data set. */
void dataset_close(struct dataset *d);

/*
 * Check every block of both splits now rather than when it is first read: E_FORMAT for the
 * first damaged one.
 */
int dataset_verify(struct dataset *d, struct error *err);

/*
 * Examples gathered from the lanes, one after the other in the order lane, position: what a
 * step or an evaluation is called with.
 */
struct minibatch {
    struct heap *heap;
    struct gust_batch batch; /* points into the buffers below, or into the data set itself */
    uint32_t *words;
    uint32_t *at;
    size_t words_room;
    uint32_t rows_room;
    uint32_t (*slices)[2]; /* of the lanes being gathered */
    uint32_t slices_room;
};

/* Empty; buffers grow when filled and are kept. */
void minibatch_init(struct minibatch *m, struct heap *heap);
void minibatch_release(struct minibatch *m);

/*
 * Fill M with the current step's examples of lanes lo .. hi-1 of the training split. Blocks
 * are checked when first read: E_FORMAT, naming shard and block, for a damaged one; E_MEMORY.
 */
int dataset_fill(struct dataset *d, const struct pass *pass, uint32_t lo, uint32_t hi,
                 struct minibatch *m, struct error *err);

/*
 * Fill M with rows from .. to-1 of LANE of SPLIT, in storage order. Copies nothing where they
 * lie in one shard; M is then valid only until the data set is closed.
 */
int dataset_rows(struct dataset *d, enum dataset_split split, uint32_t lane, uint32_t from,
                 uint32_t to, struct minibatch *m, struct error *err);

/*
 * Fill M with rows from .. to-1 of SPLIT, counted over all lanes in order; likewise.
 */
int dataset_range(struct dataset *d, enum dataset_split split, uint64_t from, uint64_t to,
                  struct minibatch *m, struct error *err);

/*
 * The original ids of key column COLUMN, in the order of their numbers here: a block of D's heap
 * with data.key_rows[COLUMN] entries, which the caller frees.
 */
int dataset_ids(struct dataset *d, uint32_t column, uint32_t **out, struct error *err);

/*
 * How lines became these examples, the text of a transform (data/transform.h), appended to OUT.
 * E_NOT_FOUND for data that never were lines.
 */
int dataset_transform(struct dataset *d, struct buf *out, struct error *err);

/* Bytes that one minibatch of ROWS examples takes at most, while it grows included. */
size_t dataset_minibatch_bytes(const struct dataset *d, uint64_t rows);

#endif
