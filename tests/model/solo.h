/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One trainer with its parameters, sums and optimiser in one process and without stores: the
 * smallest thing that trains. Tests of models drive it step by step.
 */
#ifndef GUST_TESTS_MODEL_SOLO_H
#define GUST_TESTS_MODEL_SOLO_H

#include "support/test.h"

#include "model/host.h"
#include "model/model.h"
#include "model/optimiser.h"

struct solo {
    struct heap heap;
    struct props settings;
    const struct gust_trainer *trainer;
    struct gust_host host;
    void *self;
    struct gust_group groups[GUST_GROUPS_MAX];
    unsigned count;
    struct gust_view views[GUST_GROUPS_MAX];
    struct gust_out out;
    struct optimiser optimiser;
    void *scratch;
};

static size_t solo_units(const struct gust_group *g)
{
    return (size_t)(g->rows >> gust_unit_shift(gust_stride(g->cols))) + 1;
}

static void solo_group(struct solo *s, unsigned g)
{
    const struct gust_group *group = &s->groups[g];
    uint32_t stride = gust_stride(group->cols), shift = gust_unit_shift(stride);
    size_t floats = (solo_units(group) << shift) * stride;

    s->views[g] =
        (struct gust_view){ heap_alloc(&s->heap, floats * sizeof(float)), 0, group->rows, stride };
    if (s->trainer->init)
        s->trainer->init(s->self, g, &s->views[g]);
    if (group->scope == GUST_PRIVATE)
        return;
    s->out.groups[g] = (struct gust_out_group){
        .rows = heap_alloc(&s->heap, floats * sizeof(float)), .stride = stride, .unit_shift = shift
    };
    if (group->sparse)
        s->out.groups[g].touched =
            heap_alloc(&s->heap, (solo_units(group) / 64 + 1) * sizeof(uint64_t));
}

/* SETTINGS are lines of `key: value`. */
UNUSED static void solo_open(struct solo *s, const struct gust_trainer *trainer,
                             const struct gust_data *data, const char *settings)
{
    struct optimiser_config config;
    struct error err = { 0 };

    *s = (struct solo){ .trainer = trainer };
    heap_init(&s->heap, 0);
    props_init(&s->settings, &s->heap);
    assert_int_equal(props_parse(&s->settings, slice_str(settings), &err), 0);
    model_defaults(trainer, &s->settings);
    host_init(&s->host, &s->settings, &s->heap, 42);
    assert_int_equal(host_open(&s->host, trainer, data, &s->self, &err), 0);
    assert_int_equal(host_groups(trainer, s->self, data, s->groups, &s->count, &err), 0);
    for (unsigned g = 0; g < s->count; g++)
        solo_group(s, g);
    assert_int_equal(optimiser_config_read(&config, &s->settings, &err), 0);
    if (trainer->kind == GUST_UPDATE)
        optimiser_config_updates(&config, trainer->mean);
    assert_int_equal(
        optimiser_open(&s->optimiser, &s->heap, &config, s->groups, s->views, s->count, &err), 0);
    s->scratch = trainer->scratch_bytes
                     ? heap_alloc(&s->heap, trainer->scratch_bytes(s->self, 1 << 16))
                     : NULL;
}

UNUSED static void solo_close(struct solo *s)
{
    host_close(s->trainer, s->self);
    heap_release(&s->heap);
}

/* What BATCH says about the parameters as they are, left in s->out. Nothing shared moves. */
UNUSED static void solo_contribute(struct solo *s, const struct gust_batch *batch, double rate)
{
    struct gust_step step = { batch, s->views, &s->out, s->scratch, rate, s->optimiser.steps };

    for (unsigned g = 0; g < s->count; g++) {
        struct gust_out_group *out = &s->out.groups[g];

        if (out->touched)
            memset(out->touched, 0, (solo_units(&s->groups[g]) / 64 + 1) * sizeof(uint64_t));
        else if (out->rows)
            memset(out->rows, 0, s->groups[g].rows * out->stride * sizeof(float));
    }
    s->out.loss = 0;
    s->out.weight = batch->rows;
    optimiser_prepare(&s->optimiser, batch);
    s->trainer->step(s->self, &step);
}

/* Change the shared parameters by what is in s->out. */
UNUSED static void solo_apply(struct solo *s, double rate)
{
    if (s->trainer->kind == GUST_STATISTIC) {
        struct gust_view sums[GUST_GROUPS_MAX];

        for (unsigned g = 0; g < s->count; g++)
            sums[g] = (struct gust_view){ s->out.groups[g].rows, 0, s->groups[g].rows,
                                          s->out.groups[g].stride };
        s->trainer->apply(s->self, s->views, sums, s->out.weight, s->optimiser.steps++);
        return;
    }
    optimiser_begin(&s->optimiser, rate, s->out.weight);
    for (unsigned g = 0; g < s->count; g++) {
        struct optimiser_piece piece = { .group = g,
                                         .end = s->groups[g].rows,
                                         .sums = s->out.groups[g].rows,
                                         .touched = s->out.groups[g].touched };

        if (s->optimiser.groups[g].rows)
            optimiser_apply(&s->optimiser, &piece);
    }
    optimiser_end(&s->optimiser);
}

/* A whole step after EPOCHS epochs; returns the mean loss before it. */
UNUSED static double solo_step(struct solo *s, const struct gust_batch *batch, double epochs)
{
    double rate = optimiser_rate(&s->optimiser, epochs);

    solo_contribute(s, batch, rate);
    /* A weighted mean of updates is a sum of weighted ones, divided by the weight. */
    if (s->trainer->kind == GUST_UPDATE && s->trainer->mean)
        for (unsigned g = 0; g < s->count; g++)
            s->optimiser.kernels->scale(s->out.groups[g].rows, (float)batch->rows,
                                        s->groups[g].rows * s->out.groups[g].stride);
    solo_apply(s, rate);
    return s->out.loss / batch->rows;
}

/* The first metric on BATCH. */
UNUSED static double solo_score(struct solo *s, const struct gust_batch *batch)
{
    double sums[GUST_SUMS_MAX] = { 0 }, values[GUST_SUMS_MAX];

    optimiser_finish(&s->optimiser);
    s->trainer->evaluate(s->self, batch, s->views, sums);
    s->trainer->score(s->self, sums, values);
    return values[0];
}

#endif
