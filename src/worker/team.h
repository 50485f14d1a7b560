/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads of a function. Each member has lanes of its own, gathers their examples of a step
 * and computes a contribution; the first adds straight into the store's memory, the others
 * into buffers of their own that are added to it in the order of the members. So the number of
 * threads is part of the order of sums, and how they run is not.
 *
 * A member's lanes are gathered, and go through the trainer, in TEAM_CHUNKS portions one after
 * the other, so that gathering can be put aside as soon as others wait for this function.
 */
#ifndef GUST_WORKER_TEAM_H
#define GUST_WORKER_TEAM_H

#include "sync/exchange.h"
#include "worker/replica.h"

#define TEAM_CHUNKS 4

struct team_member;

struct team {
    struct env *env;
    struct heap *heap;
    struct replica *replica; /* borrowed, as its blueprint and data */
    uint32_t threads;        /* members; 0 before the first team_resize() */
    struct team_member *members;
    uint32_t gathered; /* chunks of the pass's current step that the members have */
};

void team_init(struct team *t, struct env *env, struct heap *heap, struct replica *replica);
/* Accepts a zeroed team. */
void team_release(struct team *t);

/* Have THREADS members, each with its share of the replica's lanes. E_MEMORY. */
int team_resize(struct team *t, uint32_t threads, struct error *err);

/* Gather what is missing of the examples of the pass's current step. */
int team_gather(struct team *t, struct error *err);

/* Gather a part of it: for the time in which there is nothing better to do. */
int team_gather_some(struct team *t, struct error *err);

/* Whether the members have all of it. */
bool team_has_gathered(const struct team *t);

/* The pass has moved: what was gathered is of no use. */
void team_forget(struct team *t);

/* Compute PART from what was gathered; returns how many examples that was. */
uint64_t team_compute(struct team *t, struct exchange_part *part, uint64_t step, double rate);

#endif
