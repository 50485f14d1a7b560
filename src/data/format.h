/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects of a data set beside its shards: the manifest (text), the lane tables and the
 * lists of original ids (binary). docs/DATA.md describes the bytes. Readers here trust
 * nothing: whatever they accept is consistent in itself.
 */
#ifndef GUST_DATA_FORMAT_H
#define GUST_DATA_FORMAT_H

#include "data/dataset.h"

#define FORMAT_VERSION 1u

/* Most words of one example, most rows of a split, and most blocks of a split. */
#define FORMAT_ROW_WORDS_MAX ((uint32_t)1 << 24)
#define FORMAT_ROWS_MAX      ((uint64_t)1 << 40)
#define FORMAT_BLOCKS_MAX    ((uint64_t)1 << 28)
#define FORMAT_KIND_MAX      32
#define FORMAT_MANIFEST_MAX  (64 * KIB)

/* What PREFIX/manifest says. */
struct manifest {
    char kind[FORMAT_KIND_MAX]; /* where the rows come from: "movielens", "criteo", "libsvm" */
    uint64_t id;                /* a hash of all rows; every shard repeats it */
    struct gust_data data;
    uint32_t lanes;
    uint64_t rows[DATASET_SPLITS];
    uint64_t words[DATASET_SPLITS];    /* of all examples */
    uint64_t nonzeros[DATASET_SPLITS]; /* indices in lists, of all examples */
    uint32_t row_words_max;
    unsigned block_shift; /* blocks have 1 << block_shift rows, the last of a split maybe fewer */
    unsigned shard_shift; /* shards have 1 << shard_shift rows, the last of a split maybe fewer */
    uint32_t generation;  /* 0 or 1: where the objects are, see format_place() */
    /* Imported data: a hash of the inputs' paths, sizes and times and of the options; one of
     * the inputs' bytes. 0 otherwise. */
    uint64_t source_key, source_hash;
    char oracle_name[FORMAT_KIND_MAX]; /* a figure that the planted model reaches; "" if none */
    double oracle;
};

/* Words of every example, or 0 when they differ. */
uint32_t format_row_words(const struct gust_data *data);

/* What is wrong with a schema (not its row count and label statistics): E_INVALID. */
int format_check_schema(const struct gust_data *data, struct error *err);

void manifest_write(const struct manifest *m, struct heap *heap, struct buf *out);
/* E_FORMAT, with a sentence. Uses HEAP for scratch only. */
int manifest_read(struct manifest *m, struct heap *heap, struct slice text, struct error *err);

/* What PREFIX/lanes holds. */
struct lane_tables {
    struct heap *heap;
    uint32_t lanes;
    uint32_t *rows[DATASET_SPLITS];
    uint64_t *key_first; /* lanes + 1 entries; NULL without keys */
};

/* Zeroed tables. */
void lane_tables_init(struct lane_tables *t, struct heap *heap, uint32_t lanes, bool keys);
void lane_tables_release(struct lane_tables *t);
void lane_tables_write(const struct lane_tables *t, uint64_t id, struct buf *out);
/* Check them against M: E_FORMAT. */
int lane_tables_read(struct lane_tables *t, struct heap *heap, const struct manifest *m,
                     struct slice bytes, struct error *err);

/* PREFIX/ids-K: the original ids of key column K, in the order of their new numbers. */
void ids_write(const uint32_t *ids, uint64_t count, uint32_t column, uint64_t id, struct buf *out);
/* Checks the bytes and returns a borrowed array of COUNT ids through OUT. */
int ids_read(struct slice bytes, uint64_t count, uint32_t column, uint64_t id, const uint32_t **out,
             struct error *err);

/*
 * The prefix of a data set's objects but for its manifest: PREFIX, or PREFIX/1 for generation 1. A
 * data set that is replaced lies in one while the new one grows in the other; the manifest says
 * which.
 */
void format_place(char *out, size_t room, const char *prefix, uint32_t generation);
/* "PLACE/train/00042" and so on; OUT has OBJECTS_NAME_MAX + 1 bytes. */
void format_shard_name(char *out, const char *prefix, enum dataset_split split, uint32_t shard);
void format_object_name(char *out, const char *prefix, const char *object);
const char *format_split_name(enum dataset_split split);

#endif
