/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the shards of one split, example after example, with one shard in memory. */
#ifndef GUST_DATA_WRITER_H
#define GUST_DATA_WRITER_H

#include "data/shard.h"

struct writer {
    struct objects *objects;
    const char *prefix;       /* borrowed */
    const struct manifest *m; /* borrowed; complete but for row_words_max */
    enum dataset_split split;
    uint32_t shard, row; /* being written */
    uint32_t rows;       /* of this shard */
    struct buf bytes;    /* of this shard */
    uint64_t *nonzeros;  /* by block of this shard */
};

void writer_init(struct writer *w, struct objects *objects, const char *prefix,
                 const struct manifest *m, enum dataset_split split, struct heap *heap);
/* Accepts a zeroed writer. */
void writer_release(struct writer *w);

/*
 * Append an example of WORDS words with NONZEROS indices. The last of a shard puts it. Exactly
 * m->rows[split] examples must be added.
 */
int writer_add(struct writer *w, const uint32_t *example, uint32_t words, uint64_t nonzeros,
               struct error *err);

#endif
