/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The function: from invocation to the end. A platform calls worker_entry() with a payload
 * (settings as text):
 *
 *   params: URL       parameter store; its descriptor, if any, is the call's
 *   objects: URL      object store of the job: `job`, bases
 *   data: URL         object store of the data set
 *   rank: R           which member of the fleet this is
 *   attempt: A        counts starts of the rank; (rank, attempt) is claimed, the loser leaves
 *   workers: N        the fleet that the first plan will have
 *   ranks_max: N      most ranks and shards of any fleet of the job
 *   shards_max: M
 *   base: STEP        optional: start from this base instead of the trainer's first values
 *
 * Its life:
 *
 *   claim -> load -> ready -> [ plan -> batch -> contribute -> collect -> apply ]* -> stop
 *
 * Invariants:
 *  W1  Step t begins only when a control record with horizon > t was seen (C3 in control.h).
 *  W2  Shared rows change only in replica_apply(), with a step's whole result in hand.
 *  W3  What is contributed to step t depends on State(t), seed and data alone: never on time,
 *      on who else is there, or on how often the step is tried.
 */
#ifndef GUST_WORKER_WORKER_H
#define GUST_WORKER_WORKER_H

#include "base/buf.h"
#include "base/env.h"

/* How the entry point is called, whatever runs it; the platforms hand on exactly this. */
struct worker_call {
    struct env *env;
    struct heap *heap;
    struct slice payload;
    int fd;            /* the parameter store's descriptor; -1: none */
    uint32_t memory_mb;
    uint64_t deadline; /* env time at which the function is ended */
};

/* Runs to the stop. 0, or a negative code with ERR set: the function's last words. */
int worker_run(const struct worker_call *call, struct error *err);

#endif
