/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting from a model instead of from the trainer's first values: the model becomes base 0 of the
 * new job, which workers load when their payload says `base: 0`. The new data set may have other
 * users and items: rows are found by their original ids, new ones begin as init makes them.
 */
#ifndef GUST_CLIENT_WARM_START_H
#define GUST_CLIENT_WARM_START_H

#include "objects/objects.h"
#include "worker/blueprint.h"

struct warm_start {
    uint64_t rows, rows_known; /* of groups that belong to users or items, and those in the model */
    bool state;                /* the optimiser's state was taken over, too */
};

/*
 * Write base 0 of the job that B describes, complete and sealed, from the bytes of a model file.
 * OUT, which may be NULL, says what was taken over. E_INVALID when the model is of another kind or
 * shape, or the data set was made in another way; other errors as of model_file_open().
 */
int warm_start_write(const struct blueprint *b, struct slice model, struct objects *objects,
                     struct warm_start *out, struct error *err);

#endif
