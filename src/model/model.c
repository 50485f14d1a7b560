/* SPDX-License-Identifier: Apache-2.0 */
#include "model/model.h"

static const struct gust_trainer *const trainers[] = {
    &model_logistic,
    &model_svm,
    &model_softmax,
    &model_factorisation,
};

const struct gust_trainer *model_at(unsigned i)
{
    return i < ARRAY_SIZE(trainers) ? trainers[i] : NULL;
}

const struct gust_trainer *model_find(const char *name)
{
    for (unsigned i = 0; model_at(i); i++)
        if (strcmp(model_at(i)->name, name) == 0)
            return model_at(i);
    return NULL;
}

void model_defaults(const struct gust_trainer *trainer, struct props *settings)
{
    for (const struct gust_default *d = trainer->defaults; d && d->name; d++)
        if (!props_find(settings, d->name))
            props_set(settings, d->name, d->value);
}
