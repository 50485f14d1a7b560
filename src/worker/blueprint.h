/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What everyone derives alike from the job's settings and the data: the trainer, its groups,
 * the shape of the exchange, and what a function of a given fleet will need in memory. The
 * client uses it to check a job before anything starts, a worker to become a replica.
 */
#ifndef GUST_WORKER_BLUEPRINT_H
#define GUST_WORKER_BLUEPRINT_H

#include "data/dataset.h"
#include "math/kernels.h"
#include "model/host.h"
#include "model/optimiser.h"
#include "sync/shape.h"

struct blueprint {
    struct heap *heap;
    struct dataset *data;  /* borrowed */
    struct props settings; /* the job's, with the trainer's proposals where the job is silent */
    const struct gust_trainer *trainer;
    struct gust_host host;
    void *self; /* the trainer's */
    unsigned group_count;
    struct gust_group groups[GUST_GROUPS_MAX];
    struct shape shape;
    const struct kernels *kernels;
    struct optimiser_config optimiser;
    uint64_t seed;
    bool has_private;
    unsigned metric_count;
    char fingerprint[32]; /* of model, shape and data: what a base must match */
};

/*
 * SETTINGS holds at least `model`. Errors name the setting or the group and what would do. DATA outlives
 * the blueprint.
 */
int blueprint_open(struct blueprint *b, struct heap *heap, const struct props *settings,
                   struct dataset *data, struct error *err);
/* Accepts a zeroed blueprint. */
void blueprint_close(struct blueprint *b);

/* Held-out examples that go through the trainer at a time. */
#define BLUEPRINT_EVALUATE_ROWS 16384u

/* What one function needs, by item, in bytes. */
struct need {
    size_t shared;      /* shared parameters */
    size_t state;       /* optimiser state */
    size_t private_rows;
    size_t parts;       /* two contribution buffers */
    size_t minibatches; /* one to train on, one to evaluate on */
    size_t blocks;      /* two blocks of data */
    size_t window;      /* what an exchange holds: a result, and the buffers of further threads */
    size_t rest;        /* program, stacks, tables: 8 MiB */
    size_t total;
};

/* The need of the rank of an N-worker fleet that needs most, with BATCH examples per step and THREADS threads. */
struct need blueprint_need(const struct blueprint *b, uint32_t n, uint64_t batch, uint32_t threads);

/* E_LIMIT, with the items and the smallest size that would do, when NEED exceeds MEMORY_MB. */
int need_check(const struct need *need, uint32_t memory_mb, struct error *err);

/* Private keys of lanes lo .. hi-1: first .. first+count-1. */
void blueprint_keys(const struct blueprint *b, uint32_t lo, uint32_t hi, uint64_t *first,
                    uint64_t *count);

#endif
