/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the `memory` store: what its handles share. Everything here is called with the
 * hub's lock held.
 *
 *   memory_values.c  values, and the memory they lie in
 *   memory.c         handles, hubs, waiting, and the store's operations
 */
#ifndef GUST_PARAMS_MEMORY_HUB_H
#define GUST_PARAMS_MEMORY_HUB_H

#include <pthread.h>

#include "params/params.h"

#define HUB_BUCKETS 1024

/* Memory of values that were reserved together. */
struct block {
    struct block *next; /* in the pool */
    unsigned refs;      /* a reservation, or values that lie in it */
    size_t room;
    char *bytes;
};

struct piece {
    uint32_t shard;
    size_t offset, size;
};

/* Values that were reserved and not yet published. */
struct reservation {
    struct reservation *next;
    struct block *block;
    unsigned count;
    struct params_key *keys;
    struct piece *pieces;
};

/* A rank's contribution of one parity. */
struct part {
    bool set;
    uint32_t era;
    uint64_t step;
    struct block *block;
    struct piece *pieces;
    unsigned count;
};

/* One piece of a result. */
struct sum {
    bool set;
    uint32_t era;
    uint64_t step;
    struct block *block;
    struct piece piece;
};

/* A claim or a value. */
struct item {
    struct item *next;
    struct params_key key;
    uint64_t version;
    struct block *block;
    struct piece piece;
};

/* Counted with a byte more than it has, so that even empty ones fill a log. */
struct entry {
    struct entry *next;
    uint64_t number;
    size_t size;
    char bytes[];
};

struct log {
    struct entry *first, **end;
    uint64_t count; /* entries so far */
};

struct member;

/* Those who wait for one thing, the longest first. */
struct queue {
    struct member *first, *last;
};

/* The hub's side of a handle. */
struct member {
    struct member *next;
    struct env *env;
    struct queue *queue; /* the one it waits in; NULL: it does not wait */
    struct member *behind;
    bool watches; /* the control record, while it waits */
    struct reservation *reservations;
    uint32_t *seats; /* ranks that it has contributed as */
    unsigned seat_count;
};

struct hub {
    struct hub *next;
    uint64_t number;
    unsigned users;
    bool closed;
    struct params_layout layout;
    pthread_mutex_t lock;
    struct member *members, **members_end;
    unsigned seats;
    struct part (*parts)[2]; /* by rank and parity */
    struct sum *sums;        /* by step % sums_kept and shard */
    struct queue *rank_queues, *shard_queues, general_queue;
    struct block *pool;
    struct item *buckets[HUB_BUCKETS];
    struct log *logs;
    size_t used_bytes, log_bytes;
    uint64_t control_version;
    size_t control_size;
    char control[PARAMS_CAS_MAX];
};

/* Small and zeroed, never NULL. */
void *hub_alloc(size_t count, size_t size);

/* What SIZE bytes take of the general room. */
static inline size_t hub_extent(size_t size)
{
    return round_up(size, CACHE_LINE);
}

/* Where a value is; false if it is not there. */
bool hub_find(struct hub *h, const struct params_key *key, struct slice *view);

/* As reserve() and publish() of params.h. BYTES: how many became visible. */
int hub_reserve(struct hub *h, struct member *m, const struct params_key *keys, const size_t *sizes,
                unsigned count, void **out, struct error *err);
int hub_publish(struct hub *h, struct member *m, const struct params_key *keys, unsigned count,
                uint64_t *bytes, struct error *err);
/* Give back all that a member has reserved, and its seats. */
void hub_forget(struct hub *h, struct member *m);

/* Count NEED bytes of the general room as used. E_LIMIT, E_FULL. */
int hub_take(struct hub *h, size_t need, struct error *err);

/* The link to a claim or value; *link is NULL where there is none. */
struct item **hub_item(struct hub *h, const struct params_key *key);
/* Make VALUE the item's, as VERSION. Replaces what is there. */
int hub_set_item(struct hub *h, const struct params_key *key, uint64_t version, struct slice value,
                 struct error *err);
void hub_remove_item(struct hub *h, struct item **link);

/* Free all values. */
void hub_release_values(struct hub *h);

#endif
