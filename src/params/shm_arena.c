/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The step path of the `shm` store: contributions (PART) and results (SUM), in place and without
 * locks. What is visible is said by step words (shm_internal.h); a word changes only by
 * compare-and-swap, and only to a higher tag, or from no place to a place under the same tag.
 *
 * A PART lies in a seat: two buffers by parity of the step, taken by a handle when it first
 * contributes as a rank. A second attempt at the same rank has a seat of its own, so two never
 * write to the same memory; the first to swap its seat into the rank's word wins.
 *
 * The pieces of a SUM have different owners, so every piece has a room of fixed size in each of
 * sums_kept + 1 banks. Who wants to write a piece claims its room in some bank; a second writer
 * of the same piece (the replacement of an owner thought dead) claims it in another.
 *
 * Invariants:
 *   A1  Tags grow. A publication under a tag that is lower than the word's, or equal with a
 *       place, changes nothing and is told E_EXISTS.
 *   A2  Memory that a word names is not written to. A seat's buffer that its rank's word names
 *       under an older tag is retired first: the word gets the new tag and no place, so that the
 *       old contribution is absent before it is overwritten.
 *   A3  A room is written to by the holder of its claim only, and only if, after claiming, no
 *       word of its shard named it. A claim is held until the word is swapped, so whoever gets
 *       it next sees that word. The claim of a dead handle is taken over by compare-and-swap
 *       from its number, which nobody else will ever have (O1); if the dead one had published
 *       after all, the word says so, and the room is left alone. Of sums_kept + 1 rooms at most
 *       sums_kept are named.
 *   A4  A late aggregator may read contributions that are being overwritten. What it makes of
 *       them is never seen: contributions to t+2 exist only once every shard of t has a result,
 *       so by then its word's tag is t or higher, and A1 refuses it.
 *   A5  A seat of a dead owner is given away only when no word names it, or those that do are
 *       two steps older than the newest contribution (they are retired first, A2). A new attempt
 *       at the same rank may take it over as it is: it goes on exactly as the dead one would
 *       have.
 *   A6  A reader looks at the word again after it has read where a piece lies, so that what it
 *       returns was consistent at that moment. That the bytes stay is the exchange's barrier.
 */
#include "params/shm_internal.h"

#include <assert.h>
#include <inttypes.h>

/* ---- step words ---- */

static int check_tag(const struct params_key *key, struct error *err)
{
    if (key->era >> SHM_ERA_BITS || key->step >> SHM_STEP_BITS)
        return fail(err, E_LIMIT, "era %" PRIu32 " or step %" PRIu64 " is too high", key->era,
                    key->step);
    return 0;
}

static bool is_published(uint64_t word, uint64_t tag)
{
    return word > tag && (shm_word_tag(word) > tag || shm_word_place(word) != SHM_NONE);
}

/* A1. True if PLACE is now what the word names. */
static bool word_publish(_Atomic uint64_t *word, uint64_t tag, uint32_t place)
{
    uint64_t old = atomic_load_explicit(word, memory_order_acquire);

    do {
        if (is_published(old, tag))
            return false;
    } while (!atomic_compare_exchange_weak_explicit(word, &old, tag | (place + 1),
                                                    memory_order_acq_rel, memory_order_acquire));
    return true;
}

/* A2. Afterwards the word names nothing under a tag lower than TAG. */
static void word_retire(_Atomic uint64_t *word, uint64_t tag)
{
    uint64_t old = atomic_load_explicit(word, memory_order_acquire);

    while (shm_word_tag(old) < tag &&
           !atomic_compare_exchange_weak_explicit(word, &old, tag, memory_order_acq_rel,
                                                  memory_order_acquire))
        ;
}

/* Release, and acquire below: who sees a new place also sees that the word was retired before. */
static void piece_set(struct shm_piece *piece, uint64_t offset, uint64_t size)
{
    atomic_store_explicit(&piece->offset, offset, memory_order_release);
    atomic_store_explicit(&piece->size, size, memory_order_release);
}

/* A6. Where the piece lies, if it is there and the word still says what it said. */
static bool piece_view(struct shm_piece *piece, const char *bytes, const _Atomic uint64_t *word,
                       uint64_t seen, struct slice *view)
{
    uint64_t offset = atomic_load_explicit(&piece->offset, memory_order_acquire);
    uint64_t size = atomic_load_explicit(&piece->size, memory_order_acquire);

    if (size == SHM_ABSENT || atomic_load_explicit(word, memory_order_relaxed) != seen)
        return false;
    if (view)
        *view = slice(bytes + offset, size);
    return true;
}

/* ---- seats ---- */

/* Does the rank's word name this buffer of the seat? */
static bool names(struct shm_params *s, uint32_t rank, unsigned parity, uint32_t seat,
                  uint64_t *word)
{
    *word = atomic_load_explicit(&shm_ranks(s)[rank].published[parity], memory_order_acquire);
    return shm_word_place(*word) == seat;
}

/* The newest step that any rank has contributed to, as a tag. */
static uint64_t newest_tag(struct shm_params *s)
{
    uint64_t newest = 0;

    for (uint32_t r = 0; r < s->base.layout.ranks; r++)
        for (unsigned parity = 0; parity < 2; parity++)
            newest = MAX(newest, atomic_load(&shm_ranks(s)[r].published[parity]));
    return shm_word_tag(newest);
}

/* A5. True if nothing names the seat any more; what is old enough is retired. */
static bool seat_clear(struct shm_params *s, uint32_t seat, uint64_t newest)
{
    uint32_t rank = atomic_load(&shm_seats(s)[seat].rank);

    for (unsigned parity = 0; parity < 2; parity++) {
        uint64_t word, tag;

        if (!names(s, rank, parity, seat, &word))
            continue;
        tag = shm_word_tag(word);
        if (tag + ((uint64_t)2 << SHM_PLACE_BITS) > newest)
            return false;
        word_retire(&shm_ranks(s)[rank].published[parity], tag + ((uint64_t)2 << SHM_PLACE_BITS));
    }
    return true;
}

/*
 * Under the lock. Best is a seat that nobody holds; else one that a dead attempt at the same
 * rank held, as it is.
 */
static uint32_t choose_seat(struct shm_params *s, uint32_t rank)
{
    uint64_t newest = newest_tag(s);
    uint32_t inherited = SHM_NONE;

    for (uint32_t i = 0; i < s->plan->seat_count; i++) {
        struct shm_seat *seat = &shm_seats(s)[i];
        uint64_t owner = atomic_load(&seat->owner);

        if (owner == 0)
            return i;
        if (shm_alive(s, owner))
            continue;
        if (seat_clear(s, i, newest))
            return i;
        if (atomic_load(&seat->rank) == rank)
            inherited = i;
    }
    return inherited;
}

static int take_seat(struct shm_params *s, uint32_t rank, struct error *err)
{
    uint32_t seat;

    shm_lock(s);
    seat = choose_seat(s, rank);
    if (seat != SHM_NONE) {
        /* The owner first: killed in between, the seat has a dead owner and still the old rank. */
        atomic_store(&shm_seats(s)[seat].owner, s->id);
        atomic_store(&shm_seats(s)[seat].rank, rank);
    }
    shm_unlock(s);
    if (seat == SHM_NONE)
        return fail_retriable(err, E_FULL,
                              "all %u contribution buffers are taken: more functions "
                              "are open than the store was made for",
                              s->plan->seat_count);
    s->ranks[rank].seat = seat;
    return 0;
}

/* ---- contributions ---- */

static void *write_pieces(struct shm_params *s, uint32_t seat, unsigned parity,
                          const struct params_key *keys, const size_t *sizes, unsigned count)
{
    struct shm_piece *pieces = shm_part_pieces(s, seat, parity);
    uint64_t offset = 0;
    uint32_t shard = 0;

    for (unsigned i = 0; i < count; i++) {
        for (; shard < keys[i].shard; shard++)
            piece_set(&pieces[shard], 0, SHM_ABSENT);
        piece_set(&pieces[shard++], offset, sizes[i]);
        offset += round_up(sizes[i], CACHE_LINE);
    }
    for (; shard < s->base.layout.shards; shard++)
        piece_set(&pieces[shard], 0, SHM_ABSENT);
    return shm_part_bytes(s, seat, parity);
}

int shm_part_reserve(struct shm_params *s, const struct params_key *keys, const size_t *sizes,
                     unsigned count, void **out, struct error *err)
{
    uint32_t rank = keys->rank;
    struct shm_rank_use *use = &s->ranks[rank];
    uint64_t tag = shm_tag(keys->era, keys->step), word;
    unsigned parity = keys->step & 1;
    int rc = check_tag(keys, err);

    if (!rc && use->seat == SHM_NONE)
        rc = take_seat(s, rank, err);
    if (rc)
        return rc;
    if (names(s, rank, parity, use->seat, &word)) {
        if (shm_word_tag(word) >= tag)
            return fail(err, E_EXISTS,
                        "rank %" PRIu32 " has contributed to step %" PRIu64 " already", rank,
                        keys->step);
        word_retire(&shm_ranks(s)[rank].published[parity], tag);
    }
    *out = write_pieces(s, use->seat, parity, keys, sizes, count);
    use->tag[parity] = tag;
    use->reserved[parity] = true;
    return 0;
}

/* The number of pieces in a buffer, or 0 if one of KEYS is not among them. */
static unsigned count_pieces(struct shm_params *s, struct shm_piece *pieces,
                             const struct params_key *keys, unsigned count, uint64_t *bytes)
{
    unsigned total = 0;

    for (uint32_t shard = 0; shard < s->base.layout.shards; shard++) {
        uint64_t size = atomic_load_explicit(&pieces[shard].size, memory_order_relaxed);

        if (size == SHM_ABSENT)
            continue;
        if (total >= count || keys[total].shard != shard)
            return 0;
        total++;
        *bytes += size;
    }
    return total;
}

int shm_part_publish(struct shm_params *s, const struct params_key *keys, unsigned count,
                     struct error *err)
{
    struct shm_rank_use *use = &s->ranks[keys->rank];
    struct shm_rank *rank = &shm_ranks(s)[keys->rank];
    uint64_t tag = shm_tag(keys->era, keys->step), bytes = 0;
    unsigned parity = keys->step & 1;
    int rc = check_tag(keys, err);

    if (rc)
        return rc;
    if (!use->reserved[parity] || use->tag[parity] != tag) {
        if (is_published(atomic_load(&rank->published[parity]), tag))
            return fail(err, E_EXISTS, "the contribution was there already");
        return fail(err, E_NOT_FOUND, "the contribution to step %" PRIu64 " is not reserved",
                    keys->step);
    }
    if (count_pieces(s, shm_part_pieces(s, use->seat, parity), keys, count, &bytes) != count)
        return fail(err, E_INVALID, "a contribution is published whole, as it was reserved");
    use->reserved[parity] = false;
    if (!word_publish(&rank->published[parity], tag, use->seat))
        return fail(err, E_EXISTS, "the contribution was there already");
    shm_signal(&rank->event);
    s->base.counts.published_bytes += bytes;
    return 0;
}

bool shm_part_find(struct shm_params *s, const struct params_key *key, struct slice *view)
{
    unsigned parity = key->step & 1;
    const _Atomic uint64_t *word = &shm_ranks(s)[key->rank].published[parity];
    uint64_t seen = atomic_load_explicit(word, memory_order_acquire);
    uint32_t seat = shm_word_place(seen);

    if (shm_word_tag(seen) != shm_tag(key->era, key->step) || seat == SHM_NONE)
        return false;
    return piece_view(&shm_part_pieces(s, seat, parity)[key->shard],
                      shm_part_bytes(s, seat, parity), word, seen, view);
}

/* ---- results ---- */

static _Atomic uint64_t *word_of(struct shm_params *s, const struct params_key *key)
{
    return shm_sum_word(s, (uint32_t)(key->step % s->base.layout.sums_kept), key->shard);
}

/* A3: does any word name this room? */
static bool is_named(struct shm_params *s, uint32_t bank, uint32_t shard)
{
    for (uint32_t k = 0; k < s->base.layout.sums_kept; k++)
        if (shm_word_place(atomic_load_explicit(shm_sum_word(s, k, shard), memory_order_acquire)) ==
            bank)
            return true;
    return false;
}

static void unclaim(struct shm_params *s, uint32_t bank, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        atomic_store_explicit(shm_sum_claim(s, bank, first + i), 0, memory_order_release);
}

static bool claim(struct shm_params *s, uint32_t bank, uint32_t shard)
{
    _Atomic uint64_t *word = shm_sum_claim(s, bank, shard);
    uint64_t owner = atomic_load_explicit(word, memory_order_acquire);

    /* Looked at before claiming too, so that those who look for a room do not disturb each other.
     */
    if ((owner && shm_alive(s, owner)) || is_named(s, bank, shard))
        return false;
    if (!atomic_compare_exchange_strong(word, &owner, s->id))
        return false;
    if (is_named(s, bank, shard)) {
        unclaim(s, bank, shard, 1);
        return false;
    }
    return true;
}

/* One bank for all of these shards, or SHM_NONE. */
static uint32_t claim_rooms(struct shm_params *s, uint32_t first, uint32_t count)
{
    for (uint32_t bank = 0; bank < s->plan->banks; bank++) {
        uint32_t got = 0;

        while (got < count && claim(s, bank, first + got))
            got++;
        if (got == count)
            return bank;
        unclaim(s, bank, first, got);
    }
    return SHM_NONE;
}

/* Give back what this handle has reserved of these shards, with all that was reserved together. */
static void forget_sums(struct shm_params *s, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++) {
        struct shm_shard_use use = s->shards[i];

        if (!use.count)
            continue;
        if (use.bank != SHM_NONE)
            unclaim(s, use.bank, use.first, use.count);
        heap_free(s->heap, s->shards[use.first].copy);
        for (uint32_t k = use.first; k < use.first + use.count; k++)
            s->shards[k] = (struct shm_shard_use){ .bank = SHM_NONE };
    }
}

static bool is_reserved(struct shm_params *s, const struct params_key *keys, unsigned count)
{
    const struct shm_shard_use *use = &s->shards[keys->shard];

    return use->count == count && use->first == keys->shard &&
           use->tag == shm_tag(keys->era, keys->step);
}

static bool has_sizes(struct shm_params *s, uint32_t first, const size_t *sizes, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (s->shards[first + i].size != sizes[i])
            return false;
    return true;
}

/* Do the pieces lie one after the other when each starts where its room does? */
static bool fill_rooms(struct shm_params *s, const size_t *sizes, unsigned count)
{
    for (unsigned i = 0; i + 1 < count; i++)
        if (round_up(sizes[i], CACHE_LINE) != s->plan->room)
            return false;
    return true;
}

/*
 * In place if one bank has all the rooms; else, which takes a group of odd sizes, or deaths that
 * left neighbouring shards in different banks, in memory of our own that publish() copies from.
 * So a reservation depends on nobody else's, and nobody waits for a room.
 */
static int place_sums(struct shm_params *s, const struct params_key *keys, const size_t *sizes,
                      unsigned count, struct error *err)
{
    uint32_t first = keys->shard;
    struct shm_shard_use use = { .bank = SHM_NONE, .first = first, .count = count };
    size_t total = 0;

    use.tag = shm_tag(keys->era, keys->step);
    if (fill_rooms(s, sizes, count))
        use.bank = claim_rooms(s, first, count);
    for (unsigned i = 0; i < count; i++)
        total += round_up(sizes[i], CACHE_LINE);
    if (use.bank == SHM_NONE) {
        use.copy = heap_try_alloc_raw(s->heap, total, 1);
        if (!use.copy)
            return fail(err, E_MEMORY, "no memory for a result of %zu bytes", total);
    }
    for (unsigned i = 0; i < count; i++) {
        use.size = sizes[i];
        s->shards[first + i] = use;
        use.copy = NULL;
        if (use.bank != SHM_NONE)
            piece_set(shm_sum_piece(s, use.bank, first + i), (first + i) * s->plan->room, sizes[i]);
    }
    return 0;
}

int shm_sum_reserve(struct shm_params *s, const struct params_key *keys, const size_t *sizes,
                    unsigned count, void **out, struct error *err)
{
    const struct shm_shard_use *use = &s->shards[keys->shard];
    int rc = check_tag(keys, err);

    if (!rc && !(is_reserved(s, keys, count) && has_sizes(s, keys->shard, sizes, count))) {
        forget_sums(s, keys->shard, count);
        rc = place_sums(s, keys, sizes, count, err);
    }
    if (!rc)
        *out = use->copy ? use->copy : shm_sum_bank(s, use->bank) + keys->shard * s->plan->room;
    return rc;
}

/* A piece that was filled elsewhere: into a room of its own, then as any other. */
static int publish_copy(struct shm_params *s, const struct params_key *key, const char *from,
                        bool *won, struct error *err)
{
    uint64_t tag = shm_tag(key->era, key->step);
    size_t size = s->shards[key->shard].size, offset = key->shard * s->plan->room;
    uint32_t bank;

    *won = false;
    if (is_published(atomic_load(word_of(s, key)), tag))
        return 0;
    bank = claim_rooms(s, key->shard, 1);
    if (bank == SHM_NONE) {
        /* Others write here too: the oldest result has to go before its successor is there. */
        word_retire(word_of(s, key), tag);
        bank = claim_rooms(s, key->shard, 1);
    }
    if (bank == SHM_NONE)
        return fail_retriable(err, E_FULL,
                              "shard %" PRIu32 " of step %" PRIu64 " is being written by others",
                              key->shard, key->step);
    if (size)
        memcpy(shm_sum_bank(s, bank) + offset, from, size);
    piece_set(shm_sum_piece(s, bank, key->shard), offset, size);
    *won = word_publish(word_of(s, key), tag, bank);
    unclaim(s, bank, key->shard, 1);
    return 0;
}

/*
 * From the last to the first, so that if the first is there then all are: whoever replaces an
 * owner that was killed in the middle is not told E_EXISTS while some are still to come.
 */
static int publish_all(struct shm_params *s, const struct params_key *keys, unsigned count,
                       bool *won, struct error *err)
{
    const struct shm_shard_use *first = &s->shards[keys->shard];
    size_t offset = 0;
    int rc = 0;

    for (unsigned i = 0; i < count; i++)
        offset += round_up(first[i].size, CACHE_LINE);
    for (unsigned i = count; i-- > 0 && !rc;) {
        offset -= round_up(first[i].size, CACHE_LINE);
        if (first->copy)
            rc = publish_copy(s, &keys[i], (const char *)first->copy + offset, won, err);
        else
            *won = word_publish(word_of(s, &keys[i]), first->tag, first->bank);
    }
    return rc;
}

int shm_sum_publish(struct shm_params *s, const struct params_key *keys, unsigned count,
                    struct error *err)
{
    bool there, won = false;
    uint64_t bytes = 0;
    int rc = check_tag(keys, err);

    if (rc)
        return rc;
    there = is_published(atomic_load(word_of(s, keys)), shm_tag(keys->era, keys->step));
    if (!is_reserved(s, keys, count))
        return there ? fail(err, E_EXISTS, "the result was there already")
                     : fail(err, E_NOT_FOUND, "the result of step %" PRIu64 " is not reserved",
                            keys->step);
    if (!there)
        rc = publish_all(s, keys, count, &won, err);
    if (rc)
        return rc;
    for (unsigned i = 0; i < count; i++)
        bytes += s->shards[keys[i].shard].size;
    forget_sums(s, keys->shard, count);
    if (!won)
        return fail(err, E_EXISTS, "the result was there already");
    for (unsigned i = 0; i < count; i++)
        shm_signal(&shm_shards(s)[keys[i].shard].event);
    s->base.counts.published_bytes += bytes;
    return 0;
}

bool shm_sum_find(struct shm_params *s, const struct params_key *key, struct slice *view)
{
    const _Atomic uint64_t *word = word_of(s, key);
    uint64_t seen = atomic_load_explicit(word, memory_order_acquire);
    uint32_t bank = shm_word_place(seen);

    if (shm_word_tag(seen) != shm_tag(key->era, key->step) || bank == SHM_NONE)
        return false;
    return piece_view(shm_sum_piece(s, bank, key->shard), shm_sum_bank(s, bank), word, seen, view);
}

/* ---- leaving ---- */

void shm_arena_leave(struct shm_params *s)
{
    forget_sums(s, 0, s->base.layout.shards);
    shm_lock(s);
    for (uint32_t r = 0; r < s->base.layout.ranks; r++) {
        uint32_t seat = s->ranks[r].seat;
        uint64_t word;

        /* One that is still named keeps its owner's number, which will be nobody's: A5. */
        if (seat != SHM_NONE && !names(s, r, 0, seat, &word) && !names(s, r, 1, seat, &word))
            atomic_store(&shm_seats(s)[seat].owner, 0);
    }
    shm_unlock(s);
}
