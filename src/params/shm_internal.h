/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the `shm` store lies in its memory file, and what its files tell each other.
 *
 *   shm_map.c      the file: its plan, its making, its mappings; is there room for it
 *   shm_owner.c    handles, who is alive, the lock, sleeping and waking
 *   shm_arena.c    the step path: PART and SUM, without locks
 *   shm_general.c  CLAIM, VALUE and LOG under the lock; the control record
 *   shm_check.c    walks all of it and verifies the invariants
 *   shm.c          the store's operations, made of these
 *
 * The rule of the whole: whatever instant a process is killed at, what it leaves in the file is
 * a state that the others know how to go on from. Every change of what is visible is therefore
 * one atomic store or compare-and-swap, and everything that takes more than one is derived
 * from what does not, and is rebuilt.
 *
 * Nothing in the file is an address: processes map it where they like.
 */
#ifndef GUST_PARAMS_SHM_INTERNAL_H
#define GUST_PARAMS_SHM_INTERNAL_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>

#include "params/params.h"
#include "params/shm.h"

#define SHM_MAGIC 0x31306d6873747367ull /* "gstshm01" */

/* How long a sleeper trusts that it will be woken: a waker can be killed before it wakes. */
#define SHM_RECHECK_NS (20 * NS_PER_MS)

#define SHM_NONE UINT32_MAX

/*
 * A step word says which version of something is visible: 12 bits of era, 40 of step, 12 of
 * place + 1 (a seat or a bank), 0 for no place. Without the place it is a tag; tags only grow.
 */
#define SHM_PLACE_BITS 12
#define SHM_STEP_BITS  40
#define SHM_ERA_BITS   12
#define SHM_PLACES_MAX ((1u << SHM_PLACE_BITS) - 2)

static inline uint64_t shm_tag(uint32_t era, uint64_t step)
{
    return ((uint64_t)era << SHM_STEP_BITS | step) << SHM_PLACE_BITS;
}

static inline uint64_t shm_word_tag(uint64_t word)
{
    return word >> SHM_PLACE_BITS << SHM_PLACE_BITS;
}

/* The place, or SHM_NONE. */
static inline uint32_t shm_word_place(uint64_t word)
{
    return (uint32_t)(word & ((1u << SHM_PLACE_BITS) - 1)) - 1;
}

/*
 * What sleepers of one kind sleep on: a count of events in the upper 31 bits, and in the lowest
 * whether somebody sleeps, so that waking nobody costs no system call. See shm_owner.c.
 */
typedef _Atomic uint32_t shm_event;

/* An open handle. Its number is never used again: (count of handles so far) << 16 | index. */
struct shm_handle {
    _Atomic uint64_t id; /* 0: free; written last */
    _Atomic uint64_t started;
    _Atomic uint32_t pid;
};

/* What a rank has contributed, by parity of the step, and those who wait for it. */
struct shm_rank {
    alignas(CACHE_LINE) _Atomic uint64_t published[2]; /* step words; the place is a seat */
    shm_event event;
};

/* Two contribution buffers, for a handle that contributes as a rank. */
struct shm_seat {
    alignas(CACHE_LINE) _Atomic uint64_t owner; /* handle number; 0: free */
    _Atomic uint32_t rank;
};

/* Where a piece is: in a contribution buffer, from its first byte; in a bank, likewise. */
struct shm_piece {
    _Atomic uint64_t offset;
    _Atomic uint64_t size; /* SHM_ABSENT: no such piece */
};
#define SHM_ABSENT UINT64_MAX

/* Those who wait for a shard's results; its step words are in the plan's sum_words. */
struct shm_shard {
    alignas(CACHE_LINE) shm_event event;
};

enum shm_state { SHM_FREE, SHM_RESERVED, SHM_LIVE };

/* One value of the general part. The truth but for the last three fields, which are derived. */
struct shm_slot {
    _Atomic uint32_t state; /* enum shm_state; written last */
    uint32_t unused;
    struct params_key key; /* LOG: step is the entry's number */
    uint64_t owner;        /* RESERVED: handle number */
    uint64_t version;      /* of equal LIVE keys the highest counts */
    uint64_t offset;       /* in the general part */
    uint64_t length;
    uint32_t chain;       /* next in the bucket, or in the list of free slots */
    uint32_t left, right; /* neighbours by offset */
};

/* The log of a rank: entries head .. tail-1 are there. Both only grow. */
struct shm_log {
    uint64_t head, tail; /* entries count from 1 */
};

/* The control record: version v lies in copy v & 1. */
struct shm_control {
    _Atomic uint64_t version; /* 0: absent */
    uint32_t length[2];
    alignas(CACHE_LINE) unsigned char bytes[2][PARAMS_CAS_MAX];
};

/* Where everything lies: offsets in the file, and counts. A pure function of the layout. */
struct shm_plan {
    size_t handles, ranks, seats, shards;
    size_t sum_words;  /* [sums_kept][shards] step words; the place is a bank */
    size_t sum_claims; /* [banks][shards] handle numbers */
    size_t sum_pieces; /* [banks][shards] */
    size_t logs, slots, buckets, control;
    size_t parts, sums, general;
    size_t total;
    size_t part_header, part_stride; /* piece table; the whole buffer */
    size_t room, bank_stride;        /* of one piece of a SUM; of one whole SUM */
    uint32_t handle_count, seat_count, banks, slot_count, bucket_count, log_count;
};

/* The start of the file. */
struct shm_file {
    uint64_t magic;
    struct params_layout layout;
    struct shm_plan plan;
    _Atomic uint32_t closed;                     /* by its creator */
    _Atomic uint32_t ready;                      /* everything before is in place */
    alignas(CACHE_LINE) shm_event general_event; /* CLAIM, VALUE, and the control record */

    /* Under the lock. */
    alignas(CACHE_LINE) pthread_mutex_t lock; /* see shm_lock() */
    shm_event lock_event;
    uint64_t handles_so_far;
    uint32_t free_slots, leftmost;  /* derived: list heads */
    uint32_t used_slots, log_slots; /* derived */
    uint64_t used_bytes, log_bytes; /* derived */
};

/* What a handle has reserved of the step path and not published. */
struct shm_rank_use {
    uint32_t seat;   /* SHM_NONE: has none for this rank */
    uint64_t tag[2]; /* by parity */
    bool reserved[2];
};

struct shm_shard_use {
    uint64_t tag;
    size_t size;
    uint32_t bank;         /* SHM_NONE: not in place */
    uint32_t first, count; /* the shards that were reserved with it; count 0: nothing reserved */
    void *copy;            /* the first's: their memory where it is not in place */
};

struct shm_params {
    struct params base;
    struct env *env;
    struct heap *heap;
    struct shm_map *map; /* this process's mapping, shared by its handles */
    struct shm_file *file;
    char *at; /* the same address, for offsets */
    const struct shm_plan *plan;
    uint64_t id;
    uint64_t started; /* when this process did */
    bool creator;
    int fd;                       /* the creator's; -1 */
    struct shm_rank_use *ranks;   /* by rank */
    struct shm_shard_use *shards; /* by shard */
    unsigned last[PARAMS_KINDS];  /* the key that came last in the latest wait of a kind */
};

/* ---- shm_map.c ---- */

/* One mapping of a file in this process. */
struct shm_map {
    struct shm_map *next;
    uint64_t device, inode;
    unsigned users;
    size_t size;
    struct shm_file *file;
};

int shm_make_plan(const struct params_layout *l, struct shm_plan *plan, struct error *err);
/* A new file, sized, allocated and touched, with its plan and lock in place. */
int shm_file_create(const struct params_layout *l, int *fd, struct error *err);
/* Map the file behind FD, or find the mapping that this process has. */
int shm_map_open(int fd, struct shm_map **out, struct error *err);
void shm_map_close(struct shm_map *map);

/* ---- shm_owner.c ---- */

/* Never fails: if the lock's owner died, what is derived has been rebuilt on return. */
void shm_lock(struct shm_params *s);
void shm_unlock(struct shm_params *s);
/* Take a place in the table of handles. E_FULL. */
int shm_handle_take(struct shm_params *s, struct error *err);
void shm_handle_give(struct shm_params *s);
/* Is the handle of this number open and its process alive? 0 is not. */
bool shm_alive(struct shm_params *s, uint64_t id);
/* Under the lock: take back handles and reservations of the dead. */
void shm_sweep(struct shm_params *s);
/* Something happened: wake those who sleep. */
void shm_signal(shm_event *event);
/* Sleep if the event is still as SEEN, until it is signalled or NS have passed. True: time passed.
 */
bool shm_sleep(shm_event *event, uint32_t seen, uint64_t ns);
/* Everything that anyone may sleep on. */
void shm_signal_all(struct shm_params *s);

/* ---- shm_arena.c ---- */

int shm_part_reserve(struct shm_params *s, const struct params_key *keys, const size_t *sizes,
                     unsigned count, void **out, struct error *err);
int shm_part_publish(struct shm_params *s, const struct params_key *keys, unsigned count,
                     struct error *err);
bool shm_part_find(struct shm_params *s, const struct params_key *key, struct slice *view);
int shm_sum_reserve(struct shm_params *s, const struct params_key *keys, const size_t *sizes,
                    unsigned count, void **out, struct error *err);
int shm_sum_publish(struct shm_params *s, const struct params_key *keys, unsigned count,
                    struct error *err);
bool shm_sum_find(struct shm_params *s, const struct params_key *key, struct slice *view);
/* Give back seats and claims of a handle that closes. */
void shm_arena_leave(struct shm_params *s);

/* ---- shm_general.c; all but the last three take the lock themselves ---- */

int shm_general_reserve(struct shm_params *s, const struct params_key *keys, const size_t *sizes,
                        unsigned count, void **out, struct error *err);
int shm_general_publish(struct shm_params *s, const struct params_key *keys, unsigned count,
                        struct error *err);
bool shm_general_find(struct shm_params *s, const struct params_key *key, struct slice *view);
int shm_general_cas(struct shm_params *s, const struct params_key *key, uint64_t expected,
                    struct slice value, uint64_t *version, struct error *err);
int shm_general_get(struct shm_params *s, const struct params_key *key, struct buf *out,
                    uint64_t *version, struct error *err);
int shm_log_append(struct shm_params *s, const struct params_key *log, struct slice entry,
                   struct error *err);
int shm_log_read(struct shm_params *s, const struct params_key *log, uint64_t *cursor,
                 struct buf *out, struct error *err);
void shm_general_drop(struct shm_params *s, const struct params_key *keys, unsigned count);
/* Give back what a handle reserved. */
void shm_general_leave(struct shm_params *s);
void shm_general_sweep(struct shm_params *s);
/* Make everything derived from the slots again. */
void shm_general_rebuild(struct shm_params *s);
uint32_t shm_bucket_of(const struct shm_plan *plan, const struct params_key *key);

/* ---- parts of the file ---- */

static inline struct shm_handle *shm_handles(const struct shm_params *s)
{
    return (struct shm_handle *)(s->at + s->plan->handles);
}

static inline struct shm_rank *shm_ranks(const struct shm_params *s)
{
    return (struct shm_rank *)(s->at + s->plan->ranks);
}

static inline struct shm_seat *shm_seats(const struct shm_params *s)
{
    return (struct shm_seat *)(s->at + s->plan->seats);
}

static inline struct shm_shard *shm_shards(const struct shm_params *s)
{
    return (struct shm_shard *)(s->at + s->plan->shards);
}

static inline _Atomic uint64_t *shm_sum_word(const struct shm_params *s, uint32_t kept,
                                             uint32_t shard)
{
    return (_Atomic uint64_t *)(s->at + s->plan->sum_words) + (size_t)kept * s->base.layout.shards +
           shard;
}

static inline _Atomic uint64_t *shm_sum_claim(const struct shm_params *s, uint32_t bank,
                                              uint32_t shard)
{
    return (_Atomic uint64_t *)(s->at + s->plan->sum_claims) +
           (size_t)bank * s->base.layout.shards + shard;
}

static inline struct shm_piece *shm_sum_piece(const struct shm_params *s, uint32_t bank,
                                              uint32_t shard)
{
    return (struct shm_piece *)(s->at + s->plan->sum_pieces) +
           (size_t)bank * s->base.layout.shards + shard;
}

static inline char *shm_sum_bank(const struct shm_params *s, uint32_t bank)
{
    return s->at + s->plan->sums + bank * s->plan->bank_stride;
}

/* A contribution buffer: its piece table; the bytes come part_header later. */
static inline struct shm_piece *shm_part_pieces(const struct shm_params *s, uint32_t seat,
                                                unsigned parity)
{
    return (struct shm_piece *)(s->at + s->plan->parts +
                                (2 * (size_t)seat + parity) * s->plan->part_stride);
}

static inline char *shm_part_bytes(const struct shm_params *s, uint32_t seat, unsigned parity)
{
    return (char *)shm_part_pieces(s, seat, parity) + s->plan->part_header;
}

static inline struct shm_slot *shm_slots(const struct shm_params *s)
{
    return (struct shm_slot *)(s->at + s->plan->slots);
}

static inline uint32_t *shm_buckets(const struct shm_params *s)
{
    return (uint32_t *)(s->at + s->plan->buckets);
}

static inline struct shm_log *shm_logs(const struct shm_params *s)
{
    return (struct shm_log *)(s->at + s->plan->logs);
}

static inline struct shm_control *shm_control(const struct shm_params *s)
{
    return (struct shm_control *)(s->at + s->plan->control);
}

/* The bytes that a value of LENGTH takes of the general part. */
static inline uint64_t shm_extent(uint64_t length)
{
    return round_up(length, CACHE_LINE);
}

#endif
