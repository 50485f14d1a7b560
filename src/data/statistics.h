/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the first pass of an import finds out about examples, piece by piece: ranges of numbers,
 * which labels there are, which indices. Pieces are merged in any order to the same result.
 */
#ifndef GUST_DATA_STATISTICS_H
#define GUST_DATA_STATISTICS_H

#include "data/transform.h"

struct statistics {
    struct heap *heap;
    uint32_t dense;
    float *min, *max; /* by dense value; min > max while there were none */

    /* Different labels, sorted; `many` when there are more than fit. */
    float values[TRANSFORM_CLASSES_MAX];
    uint32_t value_count;
    bool many;
    char (*texts)[TRANSFORM_NAME_MAX]; /* where labels are texts */
    uint32_t text_count;

    /* libsvm */
    uint32_t index_min, index_max;     /* index_min > index_max: no entries */
    uint32_t entries_min, entries_max; /* per line */
    bool all_ones;
};

/* Empty; T says how many numbers there are and what labels are. */
void statistics_init(struct statistics *s, const struct transform *t, struct heap *heap);
/* Accepts zeroed statistics. */
void statistics_release(struct statistics *s);
void statistics_reset(struct statistics *s);

/* An example made with transform_file.looking. Uses no heap. */
void statistics_note(struct statistics *s, const struct transform *t,
                     const struct transform_example *e);
void statistics_merge(struct statistics *into, const struct statistics *from);

enum labels_wish { LABELS_FIND_OUT, LABELS_AS_CLASSES, LABELS_AS_NUMBERS };

/* Complete T: E_INVALID when the labels are not what was wished for. */
int statistics_finish(const struct statistics *s, struct transform *t, enum labels_wish wish,
                      struct error *err);

#endif
