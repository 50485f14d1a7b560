/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of the data set reader share: opening and checking, and gathering rows. */
#ifndef GUST_DATA_DATASET_INTERNAL_H
#define GUST_DATA_DATASET_INTERNAL_H

#include "data/dataset.h"
#include "data/format.h"
#include "data/shard.h"

/* One split. Valid are the shards of checked blocks only. */
struct dataset_shards {
    struct slice *views; /* by shard; data NULL: not mapped yet */
    struct shard *shards;
    uint8_t *checked;     /* by block of the split */
    uint64_t *lane_first; /* lanes + 1 entries */
    uint32_t count;
};

/* Map (if need be) and check the block of ROW, which was not read yet. E_FORMAT, naming it. */
int dataset_first_read(struct dataset *d, enum dataset_split split, uint64_t row,
                       struct error *err);

/* Do so for every block of rows from .. to-1. */
int dataset_check_range(struct dataset *d, enum dataset_split split, uint64_t from, uint64_t to,
                        struct error *err);

#endif
