/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One function's copy of the model at a step: all shared rows with their optimiser's state,
 * the private rows of the lanes it owns, and its place in the data. State(t+1) is State(t)
 * with the result of step t applied; private rows are changed by the trainer while it
 * computes its contribution to step t.
 */
#ifndef GUST_WORKER_REPLICA_H
#define GUST_WORKER_REPLICA_H

#include "objects/objects.h"
#include "sync/exchange.h"
#include "worker/base.h"
#include "worker/blueprint.h"

struct replica {
    const struct blueprint *plan; /* borrowed */
    struct heap *heap;
    uint32_t lane_lo, lane_hi;
    struct gust_view views[GUST_GROUPS_MAX]; /* by group number */
    struct optimiser optimiser;              /* unused for GUST_STATISTIC */
    float *sums;                             /* GUST_STATISTIC: the result in one piece */
    struct pass pass;
};

/* At step 0 of a run with nominal batch BATCH, owning lanes LO .. HI-1. E_MEMORY. */
int replica_init(struct replica *r, const struct blueprint *plan, struct heap *heap, uint32_t lo,
                 uint32_t hi, uint64_t batch, struct error *err);
void replica_release(struct replica *r);

/*
 * Take on the state of BASE, whoever wrote it and with how many functions. A base of step 0 that
 * lacks the optimiser's state or the place in the data leaves those as replica_init() made them: so
 * begins a run from a model. E_FORMAT, E_IO; R is to be released then.
 */
int replica_load(struct replica *r, struct base_reader *base, struct error *err);

/* Bring the rows that BATCH is going to read up to date, where the optimiser is lazy. */
void replica_prepare(struct replica *r, const struct gust_batch *batch);

/*
 * Apply the result of STEP, whose step size was RATE. The pass has been advanced by the caller: the
 * next examples are gathered while others still compute.
 */
void replica_apply(struct replica *r, const struct exchange_result *result, uint64_t step,
                   double rate);

/* Bring every row up to date: before an evaluation, a hash or a base. */
void replica_settle(struct replica *r);

/* The step size of the current step. */
double replica_rate(const struct replica *r);

/* A hash of all shared rows: equal on all ranks at the same step. Call replica_settle() first. */
uint64_t replica_hash(const struct replica *r);

/* Write rank RANK's part of base STEP; rank 0 also writes what is common. */
int replica_save(struct replica *r, struct objects *objects, uint64_t step, uint32_t rank,
                 struct error *err);

/* Add the sums over this replica's held-out lanes to SUMS. */
int replica_evaluate(struct replica *r, struct env *env, struct minibatch *scratch, double *sums,
                     struct error *err);

#endif
