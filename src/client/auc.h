/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The area under the ROC curve: how often a positive example scores higher than a negative one,
 * ties counting half. Sorting all scores would need memory for all of them; instead they are
 * counted in a million fixed bins, by the first 20 bits of the float: 2,048 bins from each power of
 * two to the next. Within a bin the order is unknown, and how much that matters at most is known
 * exactly.
 */
#ifndef GUST_CLIENT_AUC_H
#define GUST_CLIENT_AUC_H

#include <stdbool.h>

#include "base/heap.h"

struct auc {
    struct heap *heap;
    uint64_t (*bins)[2]; /* negatives, positives */
};

/* 16 MiB. */
void auc_open(struct auc *a, struct heap *heap);
/* Accepts a zeroed one. */
void auc_close(struct auc *a);

/* SCORE is not NaN. */
void auc_add(struct auc *a, float score, bool positive);

/*
 * The area, at most *ERROR_MAX away from what sorting would give; NaN when one class did not
 * occur.
 */
double auc_value(const struct auc *a, double *error_max);

#endif
