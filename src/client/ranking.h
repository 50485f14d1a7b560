/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recommendations: the items of a model of ratings in the order of what a user would give them.
 * Scores are predictions that are not cut off at the highest rating, or many items would share the
 * first place; of equal ones the item with the lower row, which had more ratings, comes first.
 */
#ifndef GUST_CLIENT_RANKING_H
#define GUST_CLIENT_RANKING_H

#include "client/predictor.h"

#define RANKING_CHUNK 512u

struct ranking {
    const struct predictor *p; /* borrowed */
    struct gust_data data;     /* the predictor's, with labels that have no bounds */
    struct gust_host host;
    void *self;      /* the trainer, opened with that */
    uint32_t *words; /* RANKING_CHUNK examples */
    float scores[RANKING_CHUNK];
};

struct ranked {
    uint32_t item; /* row */
    float score;
};

/* E_UNSUPPORTED when the model is not one of users and items. P outlives R. */
int ranking_open(struct ranking *r, const struct predictor *p, struct error *err);
/* Accepts a zeroed ranking. */
void ranking_close(struct ranking *r);

/*
 * The best K items for row USER, best first, in OUT; returns how many there are. SKIP has a byte
 * per item, non-zero for those that are left out; may be NULL.
 */
uint32_t ranking_top(struct ranking *r, uint32_t user, uint32_t k, const uint8_t *skip,
                     struct ranked *out);

/* Whether ITEM is among the best K of all items for row USER. */
bool ranking_has(struct ranking *r, uint32_t user, uint32_t item, uint32_t k);

#endif
