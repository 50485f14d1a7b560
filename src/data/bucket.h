/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buckets of examples on their way into a data set: filled in any order, emptied one by one.
 * When they hold more than their budget of memory, they are put aside as objects
 * PREFIX/aside/BUCKET-PART, and fetched when their bucket is taken.
 */
#ifndef GUST_DATA_BUCKET_H
#define GUST_DATA_BUCKET_H

#include "data/dataset.h"

/* Row numbers are below this. */
#define BUCKETS_ROWS_MAX ((uint64_t)1 << 38)

struct bucket_chunk;

struct bucket {
    struct bucket_chunk *first, *last; /* what is in memory, in order */
    uint32_t parts;                    /* objects put aside, all older than what is in memory */
    uint64_t rows;
};

struct buckets {
    struct objects *objects;
    const char *prefix; /* borrowed */
    struct heap *heap;
    struct bucket *all;
    uint32_t count;
    size_t chunk_bytes, used_bytes, budget_bytes;
};

void buckets_init(struct buckets *b, struct objects *objects, const char *prefix, struct heap *heap,
                  uint32_t count, size_t budget_bytes);
/* Deletes what was put aside. Accepts zeroed buckets. */
void buckets_release(struct buckets *b);

/* Append an example to a bucket. E_MEMORY, E_FULL. */
int buckets_add(struct buckets *b, uint32_t bucket, enum dataset_split split, uint64_t row,
                const uint32_t *example, uint32_t words, struct error *err);

struct bucket_row {
    uint64_t key; /* to sort by; set by the caller */
    uint64_t row;
    uint32_t *example; /* may be changed */
    uint32_t words;
    enum dataset_split split;
};

/* A bucket's examples in memory. */
struct bucket_rows {
    struct heap *heap;
    struct bucket_row *rows;
    size_t count;
    struct buf bytes;
};

/* Empty a bucket into ROWS, in the order in which they were added. */
int buckets_take(struct buckets *b, uint32_t bucket, struct bucket_rows *rows, struct error *err);
/* Sort by key; equal keys keep their order. Keys must be below 2^48. E_MEMORY. */
int bucket_rows_sort(struct bucket_rows *rows, struct error *err);
/* Accepts zeroed rows. */
void bucket_rows_release(struct bucket_rows *rows);

#endif
