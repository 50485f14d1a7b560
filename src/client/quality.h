/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How good a model is on examples that stream by: the trainer's own figures (RMSE and MAE of
 * ratings; log-loss and accuracy of classes); the area under the ROC curve where predictions are
 * scores of two classes; and, if asked for, the hit rate of recommendations:
 *
 *   hit-rate@K   of the examples with a label of at least `relevant` whose item the model knows,
 *                the share whose item is among the K that the model ranks highest for that user,
 *                out of all items. Items that the user rated in training are not left out.
 */
#ifndef GUST_CLIENT_QUALITY_H
#define GUST_CLIENT_QUALITY_H

#include "client/auc.h"
#include "client/ranking.h"

#define QUALITY_FIGURES_MAX (GUST_SUMS_MAX + 2)

struct quality_options {
    uint32_t top;   /* K of the hit rate; 0: leave it out */
    float relevant; /* what a label must be for the hit rate */
};

struct quality {
    struct heap *heap;
    const struct predictor *p; /* borrowed */
    struct quality_options options;
    uint64_t rows;
    double sums[GUST_SUMS_MAX];
    float *scores; /* room for a batch */
    uint32_t scores_room;
    struct auc auc; /* heap NULL: not measured */
    struct ranking ranking;
    uint64_t relevant, hits;
};

struct quality_figure {
    char name[32];
    double value;
    double error_max; /* how far off it may be; 0: exact */
};

/* E_UNSUPPORTED when a hit rate is asked of a model without users and items. P outlives Q. */
int quality_open(struct quality *q, struct heap *heap, const struct predictor *p,
                 const struct quality_options *options, struct error *err);
/* Accepts a zeroed one. */
void quality_close(struct quality *q);

/* BATCH holds rows of the model in its key columns and has labels. E_MEMORY. */
int quality_add(struct quality *q, const struct gust_batch *batch, struct error *err);

/* What has been found; returns how many figures there are. Not before the first example. */
unsigned quality_figures(const struct quality *q, struct quality_figure out[QUALITY_FIGURES_MAX]);

#endif
