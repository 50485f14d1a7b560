/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exchanges: how everyone's contributions to a step become the one result that all apply. An
 * exchange adds opaque arrays and returns the sum with the total weight; dividing and
 * optimising are the caller's. Every exchange gives the same bits for the same fleet: sums
 * run in the order that its file documents.
 *
 * A step goes begin, (the trainer adds in place), publish, collect. Each may be repeated
 * after a failure or after E_CHANGED with the same arguments: what exists is not put again
 * and not waited for. That is also how a replacement catches up.
 */
#ifndef GUST_SYNC_EXCHANGE_H
#define GUST_SYNC_EXCHANGE_H

#include "params/params.h"
#include "sync/part.h"
#include "sync/shape.h"

/* Where the time of an exchange goes, in SMLT's words, summed since the last reset. */
struct exchange_times {
    uint64_t ul_shard_ns; /* handing in one's own pieces */
    uint64_t dl_wait_ns;  /* waiting until others' pieces are there */
    uint64_t dl_shard_ns; /* fetching and adding the pieces one is responsible for */
    uint64_t ul_aggr_ns;  /* handing in the added pieces */
    uint64_t dl_grad_ns;  /* waiting for and fetching all added pieces */
    uint64_t bytes_up, bytes_down;
};

/* One step as the exchange sees it. */
struct exchange_step {
    uint32_t era;
    uint64_t step;
    uint32_t rank, n;
    uint32_t shards;       /* pieces of the result */
    uint64_t seen_version; /* of the control record, which every wait watches */
    uint64_t until;        /* env time after which waits give up with E_TIMEOUT */
};

/* This rank's contribution while it is being made. */
struct exchange_part {
    struct part_head *head;
    float *floats;
    struct gust_out out; /* points into the two above */
};

/* The step's result: views into the store, valid until the next step's collect. */
struct exchange_result {
    double weight, loss;
    unsigned count;
    struct sum_view *pieces;
};

struct exchange;

struct exchange_ops {
    const char *name;

    /* Room for this rank's contribution, with its outputs ready for a trainer. */
    int (*begin)(struct exchange *x, const struct exchange_step *s, struct exchange_part *part,
                 struct error *err);

    /* Hand it in. A contribution that is there already is no error. */
    int (*publish)(struct exchange *x, const struct exchange_step *s, struct exchange_part *part,
                   struct error *err);

    /* Whether others wait for this rank: collect() has something to add up at once. Does not wait.
     */
    bool (*is_due)(struct exchange *x, const struct exchange_step *s);

    /* Do this rank's part of adding up, and wait for the whole result. E_CHANGED, E_TIMEOUT: call
     * again. */
    int (*collect)(struct exchange *x, const struct exchange_step *s, struct exchange_result *out,
                   struct error *err);
};

struct exchange {
    const struct exchange_ops *ops;
    struct env *env;
    struct heap *heap;
    struct params *params;
    const struct shape *shape;
    const struct kernels *kernels;
    uint32_t ranks_max, shards_max;
    struct exchange_times times;
    /* Arrays of an exchange's own, sized by ranks_max and shards_max. */
    struct params_key *keys;
    size_t *sizes;
    struct slice *views;
    struct sum_view *pieces;
    struct sum_sources sources;
    void *
        spare; /* room for a contribution that is there already and only has to be computed again */
};

struct exchange_options {
    struct env *env;
    struct heap *heap;
    struct params *params;
    const struct shape *shape; /* outlives the exchange */
    const struct kernels *kernels;
    uint32_t ranks_max, shards_max;
};

/* By name: "scatter". E_NOT_FOUND, naming those that exist. */
int exchange_new(const char *name, const struct exchange_options *o, struct exchange **out,
                 struct error *err);
/* X may be NULL. */
void exchange_free(struct exchange *x);

int exchange_begin(struct exchange *x, const struct exchange_step *s, struct exchange_part *part,
                   struct error *err);
int exchange_publish(struct exchange *x, const struct exchange_step *s, struct exchange_part *part,
                     struct error *err);
bool exchange_is_due(struct exchange *x, const struct exchange_step *s);
int exchange_collect(struct exchange *x, const struct exchange_step *s, struct exchange_result *out,
                     struct error *err);

/* The store's layout for this shape: room for RANKS functions, SHARDS pieces, SUMS results. */
void exchange_layout(const struct shape *shape, uint32_t ranks, uint32_t shards, uint32_t sums,
                     struct params_layout *out);

extern const struct exchange_ops exchange_scatter;

#endif
