/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads of a function. Each member has lanes of its own, gathers their examples of a step
 * and computes a contribution; the first adds straight into the store's memory, the others
 * into buffers of their own that are added to it in the order of the members. So the number of
 * threads is part of the order of sums, and how they run is not.
 */
#ifndef GUST_WORKER_TEAM_H
#define GUST_WORKER_TEAM_H

#include "sync/exchange.h"
#include "worker/replica.h"

struct team_member;

struct team {
    struct env *env;
    struct heap *heap;
    struct replica *replica; /* borrowed, as its blueprint and data */
    uint32_t threads;        /* members; 0 before the first team_resize() */
    struct team_member *members;
    bool gathered; /* the members have the examples of the pass's current step */
};

void team_init(struct team *t, struct env *env, struct heap *heap, struct replica *replica);
/* Accepts a zeroed team. */
void team_release(struct team *t);

/* Have THREADS members, each with its share of the replica's lanes. E_MEMORY. */
int team_resize(struct team *t, uint32_t threads, struct error *err);

/* Gather the examples of the pass's current step, unless the members have them. */
int team_gather(struct team *t, struct error *err);

/* The pass has moved: what was gathered is of no use. */
void team_forget(struct team *t);

/* Compute PART from what was gathered; returns how many examples that was. */
uint64_t team_compute(struct team *t, struct exchange_part *part, uint64_t step, double rate);

#endif
