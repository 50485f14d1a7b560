/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks a shared-memory store and verifies its invariants: for tests, and for the doctor. What is
 * under the lock is verified exactly; the step path goes on meanwhile and is looked at for what
 * is true at every instant.
 */
#include "params/shm_internal.h"

#include <assert.h>
#include <inttypes.h>

/* The order by place holds each used slot once, and no two overlap (G2). */
static int check_order(struct shm_params *s, struct error *err)
{
    struct shm_slot *slots = shm_slots(s);
    uint64_t end = 0;
    uint32_t count = 0, left = SHM_NONE;

    for (uint32_t i = s->file->leftmost; i != SHM_NONE; left = i, i = slots[i].right) {
        if (count++ >= s->plan->slot_count || atomic_load(&slots[i].state) == SHM_FREE)
            return fail(err, E_MISMATCH, "the order by place holds a free slot or a circle");
        if (slots[i].left != left || slots[i].offset < end)
            return fail(err, E_MISMATCH, "slots %" PRIu32 " and %" PRIu32 " overlap", left, i);
        end = slots[i].offset + shm_extent(slots[i].length);
    }
    if (end > s->base.layout.general_bytes)
        return fail(err, E_MISMATCH, "a slot reaches beyond the general part");
    if (count != s->file->used_slots)
        return fail(err, E_MISMATCH, "%" PRIu32 " slots are in the order and %" PRIu32 " are used",
                    count, s->file->used_slots);
    return 0;
}

/* Every used slot is in its bucket once, and nothing else is. */
static int check_index(struct shm_params *s, struct error *err)
{
    struct shm_slot *slots = shm_slots(s);
    uint32_t count = 0;

    for (uint32_t b = 0; b < s->plan->bucket_count; b++)
        for (uint32_t i = shm_buckets(s)[b]; i != SHM_NONE; i = slots[i].chain) {
            if (count++ >= s->plan->slot_count || atomic_load(&slots[i].state) == SHM_FREE ||
                shm_bucket_of(s->plan, &slots[i].key) != b)
                return fail(err, E_MISMATCH, "the index holds slot %" PRIu32 " wrongly", i);
        }
    if (count != s->file->used_slots)
        return fail(err, E_MISMATCH, "%" PRIu32 " slots are in the index and %" PRIu32 " are used",
                    count, s->file->used_slots);
    return 0;
}

static int check_free(struct shm_params *s, struct error *err)
{
    uint32_t count = 0;

    for (uint32_t i = s->file->free_slots; i != SHM_NONE; i = shm_slots(s)[i].chain)
        if (count++ >= s->plan->slot_count || atomic_load(&shm_slots(s)[i].state) != SHM_FREE)
            return fail(err, E_MISMATCH, "the list of free slots holds a used one or a circle");
    if (count + s->file->used_slots != s->plan->slot_count)
        return fail(err, E_MISMATCH, "%" PRIu32 " slots are neither free nor used",
                    s->plan->slot_count - s->file->used_slots - count);
    return 0;
}

/* G3 after settling: of LIVE slots with one key there is one. */
static bool is_alone(struct shm_params *s, uint32_t i)
{
    struct shm_slot *slots = shm_slots(s);

    for (uint32_t k = slots[i].chain; k != SHM_NONE; k = slots[k].chain)
        if (atomic_load(&slots[k].state) == SHM_LIVE &&
            memcmp(&slots[k].key, &slots[i].key, sizeof(slots[i].key)) == 0)
            return false;
    return true;
}

static int count_slots(struct shm_params *s, struct params_shm_report *r, struct error *err)
{
    uint64_t log_bytes = 0;

    for (uint32_t i = 0; i < s->plan->slot_count; i++) {
        struct shm_slot *slot = &shm_slots(s)[i];
        uint32_t state = atomic_load(&slot->state);
        bool log = slot->key.kind == PARAMS_LOG;

        if (state == SHM_FREE)
            continue;
        r->used_bytes += shm_extent(slot->length);
        log_bytes += log ? shm_extent(slot->length) : 0;
        r->reserved += state == SHM_RESERVED;
        r->values += state == SHM_LIVE && !log;
        r->entries += state == SHM_LIVE && log;
        if (state == SHM_LIVE && !is_alone(s, i))
            return fail(err, E_MISMATCH, "two values have the key of slot %" PRIu32, i);
    }
    if (r->used_bytes != s->file->used_bytes || log_bytes != s->file->log_bytes)
        return fail(err, E_MISMATCH, "%zu bytes are used and %" PRIu64 " are counted",
                    r->used_bytes, s->file->used_bytes);
    return 0;
}

static int check_general(struct shm_params *s, struct params_shm_report *r, struct error *err)
{
    int rc = check_order(s, err);

    if (!rc)
        rc = check_index(s, err);
    if (!rc)
        rc = check_free(s, err);
    if (!rc)
        rc = count_slots(s, r, err);
    return rc;
}

/* Seats: a word names a seat of its rank; a free seat is named by none (A5). Under the lock. */
static int check_seats(struct shm_params *s, struct params_shm_report *r, struct error *err)
{
    for (uint32_t i = 0; i < s->plan->seat_count; i++)
        r->seats += atomic_load(&shm_seats(s)[i].owner) != 0;
    for (uint32_t rank = 0; rank < s->base.layout.ranks; rank++)
        for (unsigned parity = 0; parity < 2; parity++) {
            uint64_t word = atomic_load(&shm_ranks(s)[rank].published[parity]);
            uint32_t seat = shm_word_place(word);

            if (seat == SHM_NONE)
                continue;
            if (seat >= s->plan->seat_count || atomic_load(&shm_seats(s)[seat].owner) == 0 ||
                atomic_load(&shm_seats(s)[seat].rank) != rank)
                return fail(err, E_MISMATCH,
                            "rank %" PRIu32 " names seat %" PRIu32 ", which is not its own", rank,
                            seat);
            if ((word >> SHM_PLACE_BITS & 1) != parity)
                return fail(err, E_MISMATCH, "rank %" PRIu32 " has a step of the wrong parity",
                            rank);
        }
    return 0;
}

/* Rooms: no two results of a shard are in one bank (A3). */
static int check_rooms(struct shm_params *s, struct params_shm_report *r, struct error *err)
{
    for (uint32_t shard = 0; shard < s->base.layout.shards; shard++) {
        for (uint32_t bank = 0; bank < s->plan->banks; bank++) {
            uint64_t owner = atomic_load(shm_sum_claim(s, bank, shard));

            r->rooms_claimed += owner && shm_alive(s, owner);
        }
        for (uint32_t k = 1; k < s->base.layout.sums_kept; k++)
            for (uint32_t j = 0; j < k; j++) {
                uint64_t a = atomic_load(shm_sum_word(s, k, shard));
                uint64_t b = atomic_load(shm_sum_word(s, j, shard));

                if (shm_word_place(a) == SHM_NONE || shm_word_place(a) != shm_word_place(b))
                    continue;
                /* Not read at one instant: it counts only if neither has changed since. */
                if (a == atomic_load(shm_sum_word(s, k, shard)) &&
                    b == atomic_load(shm_sum_word(s, j, shard)))
                    return fail(err, E_MISMATCH, "two results of shard %" PRIu32 " share a room",
                                shard);
            }
    }
    return 0;
}

int params_shm_check(struct params *p, struct params_shm_report *out, struct error *err)
{
    struct shm_params *s = container_of(p, struct shm_params, base);
    struct params_shm_report r = { 0 };
    int rc;

    assert(p->ops == &params_shm);
    shm_lock(s);
    shm_sweep(s);
    rc = check_general(s, &r, err);
    if (!rc)
        rc = check_seats(s, &r, err);
    for (uint32_t i = 0; i < s->plan->handle_count; i++)
        r.handles += atomic_load(&shm_handles(s)[i].id) != 0;
    shm_unlock(s);
    if (!rc)
        rc = check_rooms(s, &r, err);
    if (rc)
        return rc;
    r.general_bytes = s->base.layout.general_bytes;
    r.total_bytes = s->plan->total;
    r.control_version = atomic_load(&shm_control(s)->version);
    *out = r;
    return 0;
}
