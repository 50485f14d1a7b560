/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model that answers: everything that a model file holds, put together so that examples become
 * predictions. Needs no data set, no store and no function.
 *
 * Users and items that training has not seen have a row of their own, behind the others, whose
 * fields are zero: what is left of a prediction is the mean and the bias of the one that is known.
 */
#ifndef GUST_CLIENT_PREDICTOR_H
#define GUST_CLIENT_PREDICTOR_H

#include "client/model_file.h"
#include "data/id_map.h"
#include "data/transform.h"

struct predictor {
    struct heap *heap;
    struct model_file model;
    struct transform transform; /* for new lines; heap NULL: generated data, there is none */
    struct gust_data data;      /* examples from new lines; otherwise as in training */
    struct gust_host host;
    void *self;
    struct gust_group groups[GUST_GROUPS_MAX];
    unsigned group_count;
    struct gust_field fields[GUST_FIELDS_MAX];
    unsigned field_count;
    struct gust_view views[GUST_GROUPS_MAX];
    struct id_map rows[MODEL_KEYS_MAX]; /* row of an original id, plus 1 */
};

/*
 * Make a predictor from the bytes of a model file, which outlive it. Errors as of
 * model_file_open(); E_MEMORY.
 */
int predictor_open(struct predictor *p, struct heap *heap, struct slice file, struct error *err);
/* Accepts a zeroed predictor. */
void predictor_close(struct predictor *p);

/* The row of original id ID of key column COLUMN; the row for unknown ones, data.key_rows[COLUMN].
 */
uint32_t predictor_row(const struct predictor *p, uint32_t column, uint32_t id);

/* One prediction per example of BATCH, whose key columns hold rows. */
void predictor_predict(const struct predictor *p, const struct gust_batch *batch, float *out);

#endif
