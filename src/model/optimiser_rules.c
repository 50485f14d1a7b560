/* SPDX-License-Identifier: Apache-2.0 */
#include "model/optimiser_rules.h"

#include "base/util.h"

static void sweep_sgd(const struct kernels *k, const struct optimiser_span *s,
                      const struct sweep *p)
{
    k->sgd(s->w, s->sums, s->rows * s->stride, p);
}

static void sweep_momentum(const struct kernels *k, const struct optimiser_span *s,
                           const struct sweep *p)
{
    k->momentum(s->w, s->state[0], s->sums, s->rows * s->stride, p);
}

static void sweep_nesterov(const struct kernels *k, const struct optimiser_span *s,
                           const struct sweep *p)
{
    k->nesterov(s->w, s->state[0], s->sums, s->rows * s->stride, p);
}

static void sweep_adam(const struct kernels *k, const struct optimiser_span *s,
                       const struct sweep *p)
{
    k->adam(s->w, s->state[0], s->state[1], s->sums, s->rows * s->stride, p);
}

static void sweep_adagrad(const struct kernels *k, const struct optimiser_span *s,
                          const struct sweep *p)
{
    k->adagrad(s->w, s->state[0], s->sums, s->rows * s->stride, p);
}

static void sweep_adagrad_row(const struct kernels *k, const struct optimiser_span *s,
                              const struct sweep *p)
{
    k->adagrad_row(s->w, s->state[0], s->sums, s->rows, s->cols, s->stride, p);
}

/* Adding is descending with a step size of minus one. */
static void sweep_update(const struct kernels *k, const struct optimiser_span *s,
                         const struct sweep *p)
{
    struct sweep add = { .scale = p->scale, .rate = -1 };

    k->sgd(s->w, s->sums, s->rows * s->stride, &add);
}

static const struct optimiser_rule rules[] = {
    { .name = "sgd", .sweep = sweep_sgd },
    { .name = "momentum", .slots = 1, .rolls_on = true, .momentum = 0.9, .sweep = sweep_momentum },
    { .name = "nesterov", .slots = 1, .rolls_on = true, .momentum = 0.9, .sweep = sweep_nesterov },
    { .name = "adam",
      .slots = 2,
      .rolls_on = true,
      .momentum = 0.9,
      .epsilon = 1e-8,
      .sweep = sweep_adam },
    { .name = "adagrad",
      .slots = 1,
      .accumulates = true,
      .epsilon = 1e-10,
      .sweep = sweep_adagrad },
    { .name = "adagrad-row",
      .slots = 1,
      .per_row = true,
      .accumulates = true,
      .epsilon = 1e-10,
      .sweep = sweep_adagrad_row },
};

const struct optimiser_rule optimiser_rule_update = { .name = "update", .sweep = sweep_update };

const struct optimiser_rule *optimiser_rule_find(const char *name)
{
    for (unsigned i = 0; i < ARRAY_SIZE(rules); i++)
        if (strcmp(rules[i].name, name) == 0)
            return &rules[i];
    return NULL;
}
