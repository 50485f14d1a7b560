/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optimisers: what turns the exchanged sums of a step into new shared parameters, alike in
 * every function.
 *
 * Settings:
 *
 *   optimiser    sgd, momentum, nesterov, adam, adagrad, adagrad-row
 *   reduce       sum or mean: what of a batch's gradients is applied
 *   rate, ...    the schedule (model/schedule.h)
 *   l1, l2       strengths per example: the objective is the mean of the losses
 *                + l1 |w| + l2 w^2 / 2; L2 is part of the gradient, L1 a soft threshold after it
 *   momentum     of momentum and nesterov (0.9); Adam's first decay
 *   adam-decay   Adam's second decay (0.999)
 *   epsilon      Adam: 1e-8, beside the root; AdaGrad: 1e-10, under it
 *   accumulator  what AdaGrad's sums of squares start from (0)
 *
 * The formulas are those of math/kernels.h.
 *
 * A step is: optimiser_begin(), then optimiser_apply() for pieces that together cover every
 * row of every shared group once, in any order, then optimiser_end(). Groups that are exchanged
 * sparsely come with a mask of touched units. Under some optimisers untouched rows move too
 * (optimiser_moves_untouched()): momentum rolls on, L2 pulls. Such rows are not swept but
 * remember how many steps they have seen, and the missed steps are made up when somebody
 * needs the row: optimiser_prepare() before a batch reads rows, optimiser_apply() when a unit is
 * touched, optimiser_finish() before all rows are read.
 *
 * Making up repeats each missed step with its own step size and strengths. That costs no more
 * arithmetic than sweeping everything at every step would have, touches memory far less
 * often, and has a property that closed forms (powers of the decays) lack: catching up from
 * a to c gives the same bits whether or not one stopped at b. So functions that read different
 * rows, write bases at different steps or sweep densely instead all keep the same parameters,
 * bit for bit, and rows can be brought up to date in place at any time.
 *
 * One thread at a time, but optimiser_apply() may run on disjoint pieces at once.
 */
#ifndef GUST_MODEL_OPTIMISER_H
#define GUST_MODEL_OPTIMISER_H

#include "base/props.h"
#include "gust.h"
#include "math/kernels.h"
#include "model/schedule.h"

struct optimiser_rule;

/* The settings, read and checked. */
struct optimiser_config {
    const struct optimiser_rule *rule;
    struct schedule schedule;
    const struct kernels *kernels; /* NULL: the best that there are */
    bool mean;
    double l1, l2, momentum, decay, epsilon, accumulator;
};

/* E_INVALID naming the setting that is wrong. */
int optimiser_config_read(struct optimiser_config *c, const struct props *settings,
                          struct error *err);

/* For trainers of kind GUST_UPDATE: the sums (or their mean) are simply added. */
void optimiser_config_updates(struct optimiser_config *c, bool mean);

/* Bytes of state that the optimiser keeps for GROUP, for planning memory. */
size_t optimiser_state_bytes(const struct optimiser_config *c, const struct gust_group *group);

/*
 * How that state lies: *SLOTS arrays, one after the other, each with a row per row of the group; a row
 * is one float (*PER_ROW) or a stride of them. 0 slots: there is none.
 */
void optimiser_state_shape(const struct optimiser_config *c, const struct gust_group *group,
                           unsigned *slots, bool *per_row);

/* Whether rows of GROUP change in steps that do not touch them. */
bool optimiser_moves_untouched(const struct optimiser_config *c, const struct gust_group *group);

/* One shared group as the optimiser sees it. */
struct optimiser_group {
    struct gust_group group;
    float *rows;  /* the parameters; borrowed; NULL: not this optimiser's (private, statistic) */
    float *state; /* slots of [rows][stride], or one of [rows] */
    size_t state_floats;
    uint64_t *seen; /* per unit: steps it has been through; NULL: always all of them */
    uint32_t stride, unit_shift;
};

/* What a step did, to be repeated for rows that missed it. */
struct optimiser_past {
    struct sweep regularised, plain;
};

struct optimiser {
    struct heap *heap;
    const struct kernels *kernels;
    struct optimiser_config config;
    struct optimiser_group groups[GUST_GROUPS_MAX];
    unsigned count;
    uint64_t steps;              /* steps that are complete */
    struct optimiser_past now;   /* the step that optimiser_begin() began */
    struct optimiser_past *past; /* of steps past_first .. steps-1; NULL: nobody lags */
    uint64_t past_first;
};

/*
 * State for the shared groups among GROUPS, whose parameters are all rows of VIEWS (borrowed).
 * E_MEMORY.
 */
int optimiser_open(struct optimiser *o, struct heap *heap, const struct optimiser_config *config,
                   const struct gust_group *groups, const struct gust_view *views, unsigned count,
                   struct error *err);
/* Accepts a zeroed optimiser. */
void optimiser_close(struct optimiser *o);

/* This step's step size, also for struct gust_step. EPOCHS: passes over the data so far. */
double optimiser_rate(const struct optimiser *o, double epochs);

/* Bring up to date, in place, every row of a shared group that BATCH reads. */
void optimiser_prepare(struct optimiser *o, const struct gust_batch *batch);

/* Begin step o->steps with step size RATE and the WEIGHT (number of examples) of its sums. */
void optimiser_begin(struct optimiser *o, double rate, double weight);

/* Rows first .. end-1 of a group, with FIRST the first row of a unit. */
struct optimiser_piece {
    unsigned group;
    uint64_t first, end;
    const float *sums; /* of row `first` and on, rows a stride apart */
    const uint64_t
        *touched; /* bit 0 is the unit of row `first`; NULL: all, sums hold zeroes then */
};

void optimiser_apply(struct optimiser *o, const struct optimiser_piece *piece);

/* All pieces were applied. */
void optimiser_end(struct optimiser *o);

/* Bring every row up to date: before evaluating, hashing, saving. */
void optimiser_finish(struct optimiser *o);

/* The state of GROUP as one block of *FLOATS floats (may be 0), complete after optimiser_finish().
 */
float *optimiser_state(struct optimiser *o, unsigned group, size_t *floats);

/* Parameters and state were filled in from a base taken after STEPS steps. */
void optimiser_restored(struct optimiser *o, uint64_t steps);

#endif
