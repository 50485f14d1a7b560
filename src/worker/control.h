/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control record: the one small versioned value that says who is who and what the plan
 * is. Only the client changes it, by compare-and-set; every wait of every worker watches it.
 *
 * Invariants (checked by control_check(), which both sides call):
 *  C1  Plans are in order of `from`, the first begins at or before the oldest step that can
 *      still be computed, and none begins after the horizon.
 *  C2  A plan, once published for steps below the horizon, never changes: the client only
 *      appends plans that begin at the horizon and moves the horizon up.
 *  C3  No worker begins step t before it has seen horizon > t. A plan with `stop` has no
 *      steps: the horizon never passes its `from`.
 *  C4  The member table has an entry for every rank of every plan in the record.
 */
#ifndef GUST_WORKER_CONTROL_H
#define GUST_WORKER_CONTROL_H

#include "base/buf.h"
#include "params/params.h"

#define CONTROL_VERSION   1
#define CONTROL_PLANS_MAX 8
#define CONTROL_RANKS_MAX 2048

/* What holds from one step until the next plan. */
struct plan {
    uint64_t from;           /* first step */
    uint32_t workers;        /* the fleet's size n */
    uint32_t shards;         /* pieces m of a result, at least n */
    uint32_t threads;        /* in each function; part of the order of sums */
    uint32_t stop;           /* 1: there are no steps from here on */
    uint64_t batch;          /* nominal global batch */
    uint64_t evaluate_every; /* steps between evaluations; 0: only at the end */
    uint64_t base_every;     /* steps between bases; 0: only at the end */
    uint64_t hash_every;     /* steps between comparisons of the common state; 0: only at the end */
};

struct control {
    uint64_t term;    /* which client owns the job */
    uint32_t era;     /* counts losses of the whole parameter store */
    uint64_t floor;   /* step of the last complete base; nothing under it is needed */
    uint64_t horizon; /* steps below this may be computed */
    uint32_t plan_count;
    struct plan plans[CONTROL_PLANS_MAX];
    uint32_t member_count;
    uint32_t attempts[CONTROL_RANKS_MAX]; /* by rank: the attempt that counts */
};

extern const struct params_key control_key;

/* The plan in force at STEP (which may be the horizon itself, for a stop). Never NULL on a checked record. */
const struct plan *control_plan(const struct control *c, uint64_t step);

/* 0, or E_FORMAT naming the invariant that does not hold. */
int control_check(const struct control *c, struct error *err);

/* Encode into OUT (reset first). */
void control_encode(const struct control *c, struct buf *out);

/* Decode and check. C is untouched on failure. */
int control_decode(struct control *c, struct slice from, struct error *err);

#endif
