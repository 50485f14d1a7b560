/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameter stores: where the functions of a job leave bytes for one another. Fast and soft:
 * everything in here can be rebuilt from the object store and the functions.
 *
 * Keys are small structures, not strings; a backend spells them as it likes. What a key can
 * name, and how long a value lives:
 *
 *   CONTROL          the control record; changed only by params_cas(), which counts versions
 *   CLAIM  rank,     who runs as (rank, attempt): first wins
 *          attempt
 *   PART   era, step, rank, shard    one piece of what a rank contributes to a step
 *   SUM    era, step, shard          one piece of a step's result
 *   VALUE  era, step, rank, shard    anything else (hashes, pieces of bases): until dropped
 *   LOG    rank                      reports: appended by one rank, read by the client
 *
 * PART and SUM are the step path. Their room is fixed when the store is created (struct
 * params_layout) and their life is that of the steps: a PART of step t is not read after any
 * rank has contributed to step t+2; a SUM of step t may be overwritten once `sums_kept` later
 * steps exist. Both follow from the barrier that every step is, and the exchange holds them.
 *
 * All pieces of a rank's PART are reserved in one call and become visible by one publish. Pieces
 * of a SUM belong to different owners: each is reserved and published by its own, several at once
 * where one owns consecutive shards.
 *
 * First wins: a value that exists is never changed by putting it again. Equal keys carry
 * equal bytes (rule 3 of the design), so whoever loses simply goes on.
 *
 * A struct params is one function's (or the client's) own handle on the store: it is used by
 * one thread at a time. Different handles on one store are used by different processes,
 * threads or coroutines at once.
 */
#ifndef GUST_PARAMS_PARAMS_H
#define GUST_PARAMS_PARAMS_H

#include "base/buf.h"
#include "base/env.h"

enum params_kind {
    PARAMS_CONTROL = 1,
    PARAMS_CLAIM,
    PARAMS_PART,
    PARAMS_SUM,
    PARAMS_VALUE,
    PARAMS_LOG,
    PARAMS_KINDS
};

struct params_key {
    uint32_t kind;  /* enum params_kind */
    uint32_t era;   /* counts losses of the whole store */
    uint64_t step;  /* CLAIM: the attempt */
    uint32_t rank;  /* 0 for CONTROL and SUM */
    uint32_t shard; /* the piece; 0 where there is one only */
};

/* What the step path needs room for; fixed for the life of the store. */
struct params_layout {
    uint32_t ranks;       /* most ranks of any fleet of the job */
    uint32_t spares;      /* further functions that may be open at once (standbys) */
    uint32_t shards;      /* most pieces of a PART or SUM */
    uint32_t sums_kept;   /* results kept, at least 2 */
    size_t part_bytes;    /* all pieces of one PART together, each rounded up to a cache line */
    size_t sum_bytes;     /* all pieces of one SUM together; each has the same room, see below */
    size_t general_bytes; /* for everything else */
};

/* The room of one piece of a SUM: the pieces have different owners, so each has an equal share. */
static inline size_t params_sum_room(const struct params_layout *l)
{
    return round_up((l->sum_bytes + l->shards - 1) / l->shards, CACHE_LINE);
}

/* The largest control record, and the largest value params_cas() takes. */
#define PARAMS_CAS_MAX 16384
/* The largest entry of a log. */
#define PARAMS_ENTRY_MAX 65536

/* For params_wait(): do not watch the control record. */
#define PARAMS_UNWATCHED UINT64_MAX

struct params_wait {
    const struct params_key *keys; /* all of these must exist */
    unsigned count;                /* 0: wait for a new control record or the time only */
    struct slice *views;           /* out: where their bytes are, count of them */
    uint64_t seen_version; /* return E_CHANGED once the control record's version is not this */
    uint64_t until;        /* env time; ENV_FOREVER: no limit; 0: do not wait */
};

/* What a function is handed to find the store: text for its payload, and maybe a descriptor. */
struct params_address {
    char url[256];
    int fd; /* to be inherited by the function; -1: none */
};

enum params_caps {
    PARAMS_CAP_IN_PLACE = 1 << 0, /* reserve() returns the memory that readers will see */
};

struct params_counts {
    uint64_t published;            /* values made visible through this handle */
    uint64_t published_bytes;      /* their bytes; added by the store, which knows them */
    uint64_t viewed, viewed_bytes; /* values and bytes that wait() returned */
    uint64_t waits;                /* calls of wait() */
};

struct params;

struct params_ops {
    const char *name; /* URL scheme and log label */
    unsigned caps;    /* enum params_caps */

    /*
     * Memory for COUNT new values of SIZES bytes, to be filled and then published; *OUT is where
     * the first begins. The pieces lie one after the other, each starting on a cache line, so that
     * sizes that are multiples of a cache line make one array. The memory is NOT zeroed and may
     * hold an older value's bytes. Reserving the same keys again before publishing returns the
     * same memory. Nothing is visible yet. A reservation whose owner died is taken back by the
     * store.
     *
     * The keys of one call are of one kind (CLAIM, PART, SUM or VALUE); PARTs have the same era,
     * step and rank and ascending shards, SUMs the same era and step and consecutive shards.
     *
     * E_LIMIT when keys or sizes exceed the layout. E_FULL (retriable) when the room is used up.
     * E_EXISTS when the first of them is there already and there is no memory to fill: a store
     * may also notice that only in publish(), and gives memory as long as it can.
     */
    int (*reserve)(struct params *p, const struct params_key *keys, const size_t *sizes,
                   unsigned count, void **out, struct error *err);

    /*
     * Make reserved values visible, all of them before any waiter is woken. Returns 0, or
     * E_EXISTS when the first of them was there already (then none is replaced, and the reserved
     * memory is given back); so publishing twice, after a reply was lost, is harmless. E_NOT_FOUND
     * when they are neither reserved nor there. The caller must not write to the memory afterwards.
     */
    int (*publish)(struct params *p, const struct params_key *keys, unsigned count,
                   struct error *err);

    /*
     * Replace the value under KEY (CONTROL or VALUE) if its version is EXPECTED (0: absent) and
     * store the new version, EXPECTED + 1, through VERSION. E_CHANGED otherwise. At most
     * PARAMS_CAS_MAX bytes. Changing the control record wakes everyone who watches it. A VALUE
     * that was published has version 1; views of a VALUE end when cas() replaces it.
     */
    int (*cas)(struct params *p, const struct params_key *key, uint64_t expected,
               struct slice value, uint64_t *version, struct error *err);

    /*
     * Copy a CONTROL or VALUE into OUT (which is reset) with its version. Never torn.
     * E_NOT_FOUND.
     */
    int (*get)(struct params *p, const struct params_key *key, struct buf *out, uint64_t *version,
               struct error *err);

    /*
     * Wait for all keys (CLAIM, PART, SUM, VALUE), or for a new control record, or for the time,
     * whichever is first: 0 (views are set), E_CHANGED or E_TIMEOUT (views are unspecified). When
     * the keys are all there, 0 wins. E_CLOSED once the store's creator has closed it. Views stay
     * readable until release() passes their step or they are dropped.
     */
    int (*wait)(struct params *p, const struct params_wait *w, struct error *err);

    /* This handle reads nothing of a step under STEP any more. */
    void (*release)(struct params *p, uint64_t step);

    /* For each key, set out[i] to whether it is absent. Used to offer again after a reconnect. */
    int (*missing)(struct params *p, const struct params_key *keys, unsigned count, bool *out,
                   struct error *err);

    /* Add an entry to a log. E_FULL when the reader is too far behind: try again later. */
    int (*append)(struct params *p, const struct params_key *log, struct slice entry,
                  struct error *err);

    /*
     * Append to OUT the entries of a log after *CURSOR (0 at first), each as u32 length and
     * bytes, and advance *CURSOR. The entries are gone afterwards: a log has one reader. At most
     * about 1 MiB a call, and no more than OUT may grow to: call again until *CURSOR stays.
     */
    int (*read)(struct params *p, const struct params_key *log, uint64_t *cursor, struct buf *out,
                struct error *err);

    /*
     * Forget these values (VALUE, CLAIM, LOG, CONTROL; absent ones are no error). PART and SUM
     * go by themselves.
     */
    int (*drop)(struct params *p, const struct params_key *keys, unsigned count, struct error *err);

    /* Optional. NULL: functions cannot be given this store by address. */
    int (*address)(struct params *p, struct params_address *out, struct error *err);

    /*
     * Close the handle and free it; what it reserved and did not publish goes. The creator's
     * handle also removes the store: calls of others fail with E_CLOSED from then on.
     */
    void (*close)(struct params *p);
};

struct params {
    const struct params_ops *ops;
    struct params_layout layout; /* of the store; set by whoever makes the handle */
    struct params_counts counts; /* kept by the wrappers */
};

/* What a handle is opened with. */
struct params_open {
    struct env *env;   /* the function's own; outlives the handle */
    struct heap *heap; /* where the handle lives; outlives it */
};

/*
 * Create a store: URL is "memory:" or "shm:". E_FULL or E_LIMIT, saying what is needed and what
 * there is, when the machine has no room for the layout.
 */
int params_create(const char *url, const struct params_layout *layout,
                  const struct params_open *open, struct params **out, struct error *err);

/* Open a store that exists, by the address its creator gave. FD is the inherited descriptor. */
int params_open(const char *url, int fd, const struct params_open *open, struct params **out,
                struct error *err);

/* The wrappers: they check arguments, count, and are the only callers of ops. */
int params_reserve(struct params *p, const struct params_key *keys, const size_t *sizes,
                   unsigned count, void **out, struct error *err);
int params_publish(struct params *p, const struct params_key *keys, unsigned count,
                   struct error *err);
/* Reserve, copy, publish. E_EXISTS when it was there: no error for most callers. */
int params_put_new(struct params *p, const struct params_key *key, struct slice value,
                   struct error *err);
int params_cas(struct params *p, const struct params_key *key, uint64_t expected,
               struct slice value, uint64_t *version, struct error *err);
int params_get(struct params *p, const struct params_key *key, struct buf *out, uint64_t *version,
               struct error *err);
int params_wait(struct params *p, const struct params_wait *w, struct error *err);
void params_release(struct params *p, uint64_t step);
int params_missing(struct params *p, const struct params_key *keys, unsigned count, bool *out,
                   struct error *err);
int params_append(struct params *p, const struct params_key *log, struct slice entry,
                  struct error *err);
int params_read(struct params *p, const struct params_key *log, uint64_t *cursor, struct buf *out,
                struct error *err);
int params_drop(struct params *p, const struct params_key *keys, unsigned count, struct error *err);
int params_address(struct params *p, struct params_address *out, struct error *err);
bool params_has(const struct params *p, enum params_caps cap);
/* P may be NULL. */
void params_close(struct params *p);

extern const struct params_ops params_memory;
extern const struct params_ops params_shm;

#endif
