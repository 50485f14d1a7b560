/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports: what a worker tells the client, as entries of its log in the parameter store. Each
 * is small and checked on arrival. What decisions rest on (losses, evaluations, hashes) is a
 * pure function of the step; times and bytes are only shown and modelled.
 */
#ifndef GUST_WORKER_REPORT_H
#define GUST_WORKER_REPORT_H

#include "gust.h"
#include "params/params.h"
#include "sync/exchange.h"

#define REPORT_STEPS_MAX 1024

enum report_kind {
    REPORT_READY = 1, /* loaded, and waiting for the plan that counts on it */
    REPORT_STEPS,     /* a run of steps is done */
    REPORT_EVAL,      /* sums over this rank's held-out lanes */
    REPORT_HASH,      /* hash of the common state before a step */
    REPORT_BASE,      /* this rank's part of a base is in the object store */
    REPORT_DONE,      /* reached the stop */
    REPORT_KINDS
};

/* Where a worker's time went over a run of steps, nanoseconds. */
struct report_times {
    uint64_t batch_ns;   /* gathering examples */
    uint64_t compute_ns; /* in the trainer */
    uint64_t apply_ns;   /* optimiser */
    uint64_t idle_ns;    /* waiting for the plan */
    uint64_t base_ns;    /* writing bases */
    struct exchange_times exchange;
};

struct report {
    enum report_kind kind;
    uint32_t rank, attempt;
    uint64_t step;     /* STEPS: the first; otherwise the step before which it holds */
    uint64_t clock_ns; /* training time of this worker so far: evaluation and waiting to begin
                          excluded */

    /* READY and DONE */
    uint64_t ready_ns;   /* from the call of the entry point to ready */
    uint64_t heap_bytes; /* highest use of the function's heap */
    uint64_t first_at;   /* env time of the first contribution; 0 before it */

    /* STEPS */
    uint32_t count;
    uint64_t examples; /* of this rank */
    struct report_times times;
    double losses[REPORT_STEPS_MAX];  /* rank 0 only: sum of losses per step, else zeroes */
    double weights[REPORT_STEPS_MAX]; /* and of examples */

    /* EVAL and BASE */
    uint64_t took_ns; /* how long it took */

    /* EVAL */
    double sums[GUST_SUMS_MAX];

    /* HASH */
    uint64_t hash;
};

/* Encode into OUT (reset first). */
void report_encode(const struct report *r, struct buf *out);

/* Decode and check; E_FORMAT. OUT may be changed on failure. */
int report_decode(struct report *out, struct slice entry, struct error *err);

/* The log of RANK. */
struct params_key report_log(uint32_t rank);

/* A += B. */
void report_times_add(struct report_times *a, const struct report_times *b);

#endif
