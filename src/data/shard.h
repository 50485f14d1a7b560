/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One shard of a data set: a header, a header for each block, the examples' offsets (when their
 * lengths differ) and the examples, all little-endian:
 *
 *   struct shard_header
 *   struct block_header [blocks]
 *   uint32_t at[rows + 1]         only when lengths differ: where each example begins, in words
 *   zeroes up to a multiple of 64 bytes
 *   uint32_t records[words]       examples as struct gust_batch describes them
 *   64 bytes of zeroes            so that copies may read whole vectors
 *
 * The headers are checked when the shard is opened; a block's examples when they are first read.
 */
#ifndef GUST_DATA_SHARD_H
#define GUST_DATA_SHARD_H

#include "data/format.h"

#define SHARD_MAGIC   "GUSTDATA"
#define SHARD_PADDING 64

struct shard_header {
    char magic[8];
    uint32_t version;
    uint32_t split;
    uint64_t id;    /* of the data set */
    uint32_t shard; /* number within the split */
    uint32_t blocks;
    uint64_t first_row; /* within the split */
    uint32_t rows;
    uint32_t varies;   /* 1: there are offsets */
    uint64_t words;    /* of all records */
    uint32_t reserved; /* 0 */
    uint32_t crc;      /* of this header (with 0 here) and all block headers */
};

struct block_header {
    uint32_t magic;     /* BLOCK_MAGIC */
    uint32_t block;     /* number within the shard */
    uint32_t first_row; /* within the shard */
    uint32_t rows;
    uint64_t word;     /* where its records begin */
    uint64_t words;    /* how long they are */
    uint64_t nonzeros; /* indices in its lists */
    uint32_t reserved; /* 0 */
    uint32_t crc;      /* of at[first_row .. first_row + rows] and of the records */
};

#define BLOCK_MAGIC 0x4B4C4247u /* "GBLK" */

/* An opened shard: views into its bytes. */
struct shard {
    const struct block_header *blocks;
    const uint32_t *at; /* NULL: all records have the same length */
    const uint32_t *records;
    uint32_t rows;
    uint32_t count; /* of blocks */
};

/* Rows of shard number SHARD of SPLIT, and how many shards there are. */
uint32_t shard_rows(const struct manifest *m, enum dataset_split split, uint32_t shard);
uint32_t shard_count(const struct manifest *m, enum dataset_split split);

/* Where the records of a shard of ROWS examples begin, in bytes. */
size_t shard_records_at(const struct manifest *m, uint32_t rows);

/* Check lengths and headers of BYTES, which must be shard number SHARD of SPLIT: E_FORMAT. */
int shard_open(struct shard *s, const struct manifest *m, enum dataset_split split, uint32_t shard,
               struct slice bytes, struct error *err);

/*
 * What is wrong with the example AT .. END-1 of data like D, whose first key must be in
 * key[0] .. key[1]-1; or NULL, and its indices are added to *NONZEROS. Static storage.
 */
const char *shard_check_example(const uint32_t *at, const uint32_t *end, const struct gust_data *d,
                                const uint64_t key[2], uint64_t *nonzeros);

/* What the examples of a block may hold. */
struct block_rules {
    const struct manifest *manifest;
    const uint64_t *lane_first; /* first row of each lane in the split; lanes + 1 entries */
    const uint64_t *key_first;  /* as in struct lane_tables */
    uint64_t shard_first;       /* the shard's first row in the split */
};

/*
 * Check CRC and contents of block number BLOCK: every index in range, every value finite,
 * every label a class, every key in its lane. E_FORMAT.
 */
int shard_check_block(const struct shard *s, uint32_t block, const struct block_rules *rules,
                      struct error *err);

#endif
