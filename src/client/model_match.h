/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the examples of a data set mean the same to a model as those that it was trained on. */
#ifndef GUST_CLIENT_MODEL_MATCH_H
#define GUST_CLIENT_MODEL_MATCH_H

#include "client/model_file.h"
#include "data/dataset.h"

/*
 * 0 when the same line became the same example in both: the same columns, scaling, hashing and
 * classes. How many dimensions or keys there are does not matter. E_INVALID otherwise.
 */
int model_match(const struct model_file *m, struct dataset *d, struct error *err);

#endif
