/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built-in trainers. Each is one file here that uses nothing but gust.h and math/, and is
 * the example for people who write their own.
 */
#ifndef GUST_MODEL_MODEL_H
#define GUST_MODEL_MODEL_H

#include "base/props.h"
#include "gust.h"

extern const struct gust_trainer model_logistic;
extern const struct gust_trainer model_svm;
extern const struct gust_trainer model_softmax;
extern const struct gust_trainer model_factorisation;

/* The trainer called NAME, or NULL. */
const struct gust_trainer *model_find(const char *name);
/* The I-th trainer, or NULL after the last. */
const struct gust_trainer *model_at(unsigned i);

/* Add the trainer's proposals to SETTINGS wherever the job says nothing itself. */
void model_defaults(const struct gust_trainer *trainer, struct props *settings);

#endif
