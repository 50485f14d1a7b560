/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean ...?": the candidate nearest to what somebody typed. */
#ifndef GUST_BASE_SUGGEST_H
#define GUST_BASE_SUGGEST_H

#include "base/util.h"

/* Longer words are not compared: nobody mistypes them by one letter. */
#define SUGGEST_WORD_MAX 64

/*
 * Letters to insert, delete, replace or swap with their neighbour to make A of B; '-' and '_'
 * and upper and lower case count as the same. UINT_MAX for words that are too long.
 */
unsigned suggest_distance(const char *a, const char *b);

/* Begin with { .word = WORD }, offer every candidate, then look at `best`. */
struct suggest {
    const char *word;
    const char *best; /* NULL: nothing is near enough; otherwise the first of the nearest */
    unsigned distance;
};

/* CANDIDATE is borrowed. It counts when at most a third of its letters, but at least one, are off.
 */
void suggest_offer(struct suggest *s, const char *candidate);

#endif
