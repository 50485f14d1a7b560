/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The general part of the `shm` store: claims, values and logs under the lock, and the control
 * record. The truth is the array of slots; the index by key, the order by place and the sums are
 * derived, and rebuilt when somebody died holding the lock.
 *
 * Invariants:
 *   G1  A slot's state is its last field to be written. A slot that is not FREE is complete.
 *   G2  Slots that are not FREE lie in the general part and do not overlap. They are put where
 *       nobody is before their state is written, and their place is used again only after it is
 *       FREE.
 *   G3  Of LIVE slots with the same key the highest version counts. A replacement becomes LIVE
 *       by one store; the slot it replaces is freed afterwards, by the rebuild if need be.
 *   G4  A RESERVED slot belongs to its owner, who fills it without the lock. It is freed only by
 *       its owner, or once that is dead.
 *   G5  The control record changes by one store of its version; the copy that the new version
 *       selects was written before, and is not the one that the old version selects.
 *   G6  Entries of a log have numbers head .. tail-1; neither goes back, so no entry is read
 *       twice.
 *   G7  Logs take at most half of the bytes and slots, so that reports cannot keep out the
 *       values.
 */
#include "params/shm_internal.h"

#include <inttypes.h>

#include "base/random.h"
#include "base/wire.h"

#define READ_BYTES_MAX MIB

static uint32_t state_of(const struct shm_slot *slot)
{
    return atomic_load_explicit(&slot->state, memory_order_acquire);
}

static void set_state(struct shm_slot *slot, enum shm_state state)
{
    atomic_store_explicit(&slot->state, state, memory_order_release);
}

static bool same_key(const struct params_key *a, const struct params_key *b)
{
    return a->kind == b->kind && a->era == b->era && a->step == b->step && a->rank == b->rank &&
           a->shard == b->shard;
}

uint32_t shm_bucket_of(const struct shm_plan *plan, const struct params_key *key)
{
    uint64_t bits =
        random_at(key->kind, (uint64_t)key->era << 32 | key->rank, key->step, key->shard);

    return (uint32_t)random_below(bits, plan->bucket_count);
}

/* ---- what is derived ---- */

static void index_add(struct shm_params *s, uint32_t i)
{
    struct shm_slot *slot = &shm_slots(s)[i];
    uint32_t *bucket = &shm_buckets(s)[shm_bucket_of(s->plan, &slot->key)];

    slot->chain = *bucket;
    *bucket = i;
}

static void index_remove(struct shm_params *s, uint32_t i)
{
    struct shm_slot *slots = shm_slots(s);
    uint32_t *link = &shm_buckets(s)[shm_bucket_of(s->plan, &slots[i].key)];

    while (*link != i)
        link = &slots[*link].chain;
    *link = slots[i].chain;
}

/* Into the order by place, after LEFT (SHM_NONE: at the front). */
static void order_add(struct shm_params *s, uint32_t i, uint32_t left)
{
    struct shm_slot *slots = shm_slots(s);
    uint32_t right = left == SHM_NONE ? s->file->leftmost : slots[left].right;

    slots[i].left = left;
    slots[i].right = right;
    if (right != SHM_NONE)
        slots[right].left = i;
    if (left == SHM_NONE)
        s->file->leftmost = i;
    else
        slots[left].right = i;
}

static void order_remove(struct shm_params *s, uint32_t i)
{
    struct shm_slot *slots = shm_slots(s);
    uint32_t left = slots[i].left, right = slots[i].right;

    if (right != SHM_NONE)
        slots[right].left = left;
    if (left == SHM_NONE)
        s->file->leftmost = right;
    else
        slots[left].right = right;
}

static void count_in(struct shm_params *s, const struct shm_slot *slot)
{
    s->file->used_slots++;
    s->file->used_bytes += shm_extent(slot->length);
    if (slot->key.kind == PARAMS_LOG) {
        s->file->log_slots++;
        s->file->log_bytes += shm_extent(slot->length);
    }
}

static void count_out(struct shm_params *s, const struct shm_slot *slot)
{
    s->file->used_slots--;
    s->file->used_bytes -= shm_extent(slot->length);
    if (slot->key.kind == PARAMS_LOG) {
        s->file->log_slots--;
        s->file->log_bytes -= shm_extent(slot->length);
    }
}

static void free_slot(struct shm_params *s, uint32_t i)
{
    struct shm_slot *slot = &shm_slots(s)[i];

    set_state(slot, SHM_FREE);
    index_remove(s, i);
    order_remove(s, i);
    count_out(s, slot);
    slot->chain = s->file->free_slots;
    s->file->free_slots = i;
}

/* The slot with this key and state that counts, or SHM_NONE; OWNER 0: anyone's. */
static uint32_t find_slot(struct shm_params *s, const struct params_key *key, enum shm_state state,
                          uint64_t owner)
{
    struct shm_slot *slots = shm_slots(s);
    uint32_t i = shm_buckets(s)[shm_bucket_of(s->plan, key)];

    while (i != SHM_NONE && !(state_of(&slots[i]) == state && same_key(&slots[i].key, key) &&
                              (!owner || slots[i].owner == owner)))
        i = slots[i].chain;
    return i;
}

/* G3: of two LIVE slots with one key, frees the older. */
static void settle_replacement(struct shm_params *s, uint32_t i)
{
    struct shm_slot *slots = shm_slots(s);
    uint32_t other = find_slot(s, &slots[i].key, SHM_LIVE, 0);

    if (state_of(&slots[i]) == SHM_LIVE && other != SHM_NONE && other != i)
        set_state(&slots[slots[other].version < slots[i].version ? other : i], SHM_FREE);
}

/* Sorts the list of slots that begins with HEAD by place; merge sort on the `right` links. */
static uint32_t sort_by_place(struct shm_slot *slots, uint32_t head)
{
    uint32_t slow = head, fast = head, other, *link = &head;

    if (head == SHM_NONE || slots[head].right == SHM_NONE)
        return head;
    while ((fast = slots[fast].right) != SHM_NONE && (fast = slots[fast].right) != SHM_NONE)
        slow = slots[slow].right;
    other = slots[slow].right;
    slots[slow].right = SHM_NONE;
    head = sort_by_place(slots, head);
    other = sort_by_place(slots, other);
    for (uint32_t a = head, b = other; a != SHM_NONE || b != SHM_NONE; link = &slots[*link].right) {
        if (b == SHM_NONE || (a != SHM_NONE && slots[a].offset < slots[b].offset)) {
            *link = a;
            a = slots[a].right;
        } else {
            *link = b;
            b = slots[b].right;
        }
    }
    return head;
}

static void rebuild_order(struct shm_params *s)
{
    struct shm_slot *slots = shm_slots(s);
    uint32_t head = SHM_NONE, left = SHM_NONE;

    for (uint32_t i = 0; i < s->plan->slot_count; i++)
        if (state_of(&slots[i]) != SHM_FREE) {
            slots[i].right = head;
            head = i;
        }
    head = sort_by_place(slots, head);
    s->file->leftmost = head;
    for (uint32_t i = head; i != SHM_NONE; left = i, i = slots[i].right)
        slots[i].left = left;
}

void shm_general_rebuild(struct shm_params *s)
{
    struct shm_slot *slots = shm_slots(s);
    struct shm_file *file = s->file;

    file->used_slots = file->log_slots = 0;
    file->used_bytes = file->log_bytes = 0;
    file->free_slots = SHM_NONE;
    for (uint32_t i = 0; i < s->plan->bucket_count; i++)
        shm_buckets(s)[i] = SHM_NONE;
    for (uint32_t i = 0; i < s->plan->slot_count; i++)
        if (state_of(&slots[i]) != SHM_FREE) {
            settle_replacement(s, i);
            index_add(s, i);
        }
    /* Some that were put into the index are free now: once more, without them. */
    for (uint32_t i = 0; i < s->plan->bucket_count; i++)
        shm_buckets(s)[i] = SHM_NONE;
    for (uint32_t i = s->plan->slot_count; i-- > 0;) {
        struct shm_slot *slot = &slots[i];

        if (state_of(slot) == SHM_FREE) {
            slot->chain = file->free_slots;
            file->free_slots = i;
            continue;
        }
        index_add(s, i);
        count_in(s, slot);
        if (slot->key.kind == PARAMS_LOG) {
            struct shm_log *log = &shm_logs(s)[slot->key.rank];

            log->tail = MAX(log->tail, slot->key.step + 1);
        }
    }
    rebuild_order(s);
}

void shm_general_sweep(struct shm_params *s)
{
    for (uint32_t i = 0; i < s->plan->slot_count; i++) {
        struct shm_slot *slot = &shm_slots(s)[i];

        if (state_of(slot) == SHM_RESERVED && !shm_alive(s, slot->owner))
            free_slot(s, i);
    }
}

void shm_general_leave(struct shm_params *s)
{
    shm_lock(s);
    for (uint32_t i = 0; i < s->plan->slot_count; i++) {
        struct shm_slot *slot = &shm_slots(s)[i];

        if (state_of(slot) == SHM_RESERVED && slot->owner == s->id)
            free_slot(s, i);
    }
    shm_unlock(s);
}

/* ---- taking room ---- */

/* The first gap of NEED bytes: where it begins and the slot before it. False: there is none. */
static bool find_gap(struct shm_params *s, uint64_t need, uint64_t *offset, uint32_t *left)
{
    struct shm_slot *slots = shm_slots(s);
    uint64_t at = 0;

    *left = SHM_NONE;
    for (uint32_t i = s->file->leftmost; i != SHM_NONE; i = slots[i].right) {
        if (slots[i].offset - at >= need)
            break;
        at = slots[i].offset + shm_extent(slots[i].length);
        *left = i;
    }
    *offset = at;
    return need <= s->base.layout.general_bytes && at <= s->base.layout.general_bytes - need;
}

static bool has_room(struct shm_params *s, uint64_t need, uint32_t count, uint64_t *offset,
                     uint32_t *left)
{
    return s->plan->slot_count - s->file->used_slots >= count && find_gap(s, need, offset, left);
}

/* As has_room(), taking from the dead if need be. */
static int find_room(struct shm_params *s, uint64_t need, uint32_t count, uint64_t *offset,
                     uint32_t *left, struct error *err)
{
    if (has_room(s, need, count, offset, left))
        return 0;
    shm_sweep(s);
    if (has_room(s, need, count, offset, left))
        return 0;
    return fail_retriable(err, E_FULL,
                          "%" PRIu64 " bytes do not fit: %" PRIu64 " of the store's %zu are used",
                          need, s->file->used_bytes, s->base.layout.general_bytes);
}

/* A RESERVED slot at OFFSET, after LEFT, for which there is room. */
static uint32_t take_slot(struct shm_params *s, const struct params_key *key, uint64_t length,
                          uint64_t version, uint64_t offset, uint32_t left)
{
    uint32_t i = s->file->free_slots;
    struct shm_slot *slot = &shm_slots(s)[i];

    s->file->free_slots = slot->chain;
    slot->key = *key;
    slot->owner = s->id;
    slot->version = version;
    slot->offset = offset;
    slot->length = length;
    set_state(slot, SHM_RESERVED);
    index_add(s, i);
    order_add(s, i, left);
    count_in(s, slot);
    return i;
}

static char *slot_bytes(struct shm_params *s, uint32_t i)
{
    return s->at + s->plan->general + shm_slots(s)[i].offset;
}

/* A new slot filled with VALUE, still RESERVED. */
static int take_filled(struct shm_params *s, const struct params_key *key, struct slice value,
                       uint64_t version, uint32_t *out, struct error *err)
{
    uint64_t offset;
    uint32_t left;
    int rc = find_room(s, shm_extent(value.size), 1, &offset, &left, err);

    if (rc)
        return rc;
    *out = take_slot(s, key, value.size, version, offset, left);
    if (value.size)
        memcpy(slot_bytes(s, *out), value.data, value.size);
    return 0;
}

/* ---- values and claims ---- */

/* The memory of an equal reservation of ours, or NULL after giving back what differs. */
static char *reserved_before(struct shm_params *s, const struct params_key *keys,
                             const size_t *sizes, unsigned count)
{
    uint32_t first = find_slot(s, keys, SHM_RESERVED, s->id);
    uint64_t at = first == SHM_NONE ? 0 : shm_slots(s)[first].offset;
    bool same = true;

    for (unsigned i = 0; i < count; i++) {
        uint32_t k = find_slot(s, &keys[i], SHM_RESERVED, s->id);

        same = same && k != SHM_NONE && shm_slots(s)[k].offset == at &&
               shm_slots(s)[k].length == sizes[i];
        at += shm_extent(sizes[i]);
    }
    if (same)
        return slot_bytes(s, first);
    for (unsigned i = 0; i < count; i++) {
        uint32_t k = find_slot(s, &keys[i], SHM_RESERVED, s->id);

        if (k != SHM_NONE)
            free_slot(s, k);
    }
    return NULL;
}

int shm_general_reserve(struct shm_params *s, const struct params_key *keys, const size_t *sizes,
                        unsigned count, void **out, struct error *err)
{
    uint64_t need = 0, offset;
    uint32_t left;
    char *bytes;
    int rc = 0;

    for (unsigned i = 0; i < count; i++)
        need += shm_extent(sizes[i]);
    if (need > s->base.layout.general_bytes)
        return fail(err, E_LIMIT, "values of %" PRIu64 " bytes exceed the store's %zu", need,
                    s->base.layout.general_bytes);
    shm_lock(s);
    bytes = reserved_before(s, keys, sizes, count);
    if (!bytes)
        rc = find_room(s, need, count, &offset, &left, err);
    if (!bytes && !rc) {
        for (unsigned i = 0; i < count; i++) {
            left = take_slot(s, &keys[i], sizes[i], 1, offset, left);
            offset += shm_extent(sizes[i]);
            bytes = bytes ? bytes : slot_bytes(s, left);
        }
    }
    shm_unlock(s);
    if (!rc)
        *out = bytes;
    return rc;
}

/* From the last to the first, for the reason given in shm_arena.c. */
static int publish_slots(struct shm_params *s, const struct params_key *keys, unsigned count,
                         struct error *err)
{
    bool there = find_slot(s, keys, SHM_LIVE, 0) != SHM_NONE;

    for (unsigned i = 0; i < count && !there; i++)
        if (find_slot(s, &keys[i], SHM_RESERVED, s->id) == SHM_NONE)
            return fail(err, E_NOT_FOUND, "what is to be published is not reserved");
    for (unsigned i = count; i-- > 0;) {
        uint32_t k = find_slot(s, &keys[i], SHM_RESERVED, s->id);

        if (k == SHM_NONE)
            continue;
        if (there || find_slot(s, &keys[i], SHM_LIVE, 0) != SHM_NONE) {
            free_slot(s, k);
        } else {
            set_state(&shm_slots(s)[k], SHM_LIVE);
            s->base.counts.published_bytes += shm_slots(s)[k].length;
        }
    }
    return there ? fail(err, E_EXISTS, "the value was there already") : 0;
}

int shm_general_publish(struct shm_params *s, const struct params_key *keys, unsigned count,
                        struct error *err)
{
    int rc;

    shm_lock(s);
    rc = publish_slots(s, keys, count, err);
    shm_unlock(s);
    if (!rc)
        shm_signal(&s->file->general_event);
    return rc;
}

bool shm_general_find(struct shm_params *s, const struct params_key *key, struct slice *view)
{
    uint32_t i;

    shm_lock(s);
    i = find_slot(s, key, SHM_LIVE, 0);
    if (i != SHM_NONE && view)
        *view = slice(slot_bytes(s, i), shm_slots(s)[i].length);
    shm_unlock(s);
    return i != SHM_NONE;
}

void shm_general_drop(struct shm_params *s, const struct params_key *keys, unsigned count)
{
    bool control = false;

    shm_lock(s);
    for (unsigned i = 0; i < count; i++) {
        struct params_key key = keys[i];
        uint32_t k;

        if (key.kind == PARAMS_CONTROL) {
            atomic_store_explicit(&shm_control(s)->version, 0, memory_order_release);
            control = true;
        } else if (key.kind == PARAMS_LOG) {
            struct shm_log *log = &shm_logs(s)[key.rank];

            key = (struct params_key){ .kind = PARAMS_LOG, .rank = key.rank };
            for (; log->head < log->tail; log->head++) {
                key.step = log->head;
                k = find_slot(s, &key, SHM_LIVE, 0);
                if (k != SHM_NONE)
                    free_slot(s, k);
            }
        } else if ((k = find_slot(s, &key, SHM_LIVE, 0)) != SHM_NONE) {
            free_slot(s, k);
        }
    }
    shm_unlock(s);
    if (control)
        shm_signal_all(s);
}

/* ---- compare and set ---- */

static int changed(uint64_t expected, uint64_t found, struct error *err)
{
    return fail(err, E_CHANGED, "the value has version %" PRIu64 ", not %" PRIu64, found, expected);
}

/* G5. */
static int control_cas(struct shm_params *s, uint64_t expected, struct slice value,
                       struct error *err)
{
    struct shm_control *c = shm_control(s);
    uint64_t version = atomic_load(&c->version);
    unsigned copy = (version + 1) & 1;

    if (version != expected)
        return changed(expected, version, err);
    if (value.size)
        memcpy(c->bytes[copy], value.data, value.size);
    c->length[copy] = (uint32_t)value.size;
    atomic_store_explicit(&c->version, version + 1, memory_order_release);
    return 0;
}

/* G3. */
static int value_cas(struct shm_params *s, const struct params_key *key, uint64_t expected,
                     struct slice value, struct error *err)
{
    uint32_t old = find_slot(s, key, SHM_LIVE, 0), new;
    uint64_t version = old == SHM_NONE ? 0 : shm_slots(s)[old].version;
    int rc;

    if (version != expected)
        return changed(expected, version, err);
    rc = take_filled(s, key, value, version + 1, &new, err);
    if (rc)
        return rc;
    set_state(&shm_slots(s)[new], SHM_LIVE);
    if (old != SHM_NONE)
        free_slot(s, old);
    return 0;
}

int shm_general_cas(struct shm_params *s, const struct params_key *key, uint64_t expected,
                    struct slice value, uint64_t *version, struct error *err)
{
    bool control = key->kind == PARAMS_CONTROL;
    int rc;

    shm_lock(s);
    rc = control ? control_cas(s, expected, value, err) : value_cas(s, key, expected, value, err);
    shm_unlock(s);
    if (rc)
        return rc;
    if (control)
        shm_signal_all(s);
    else
        shm_signal(&s->file->general_event);
    *version = expected + 1;
    return 0;
}

static int get_locked(struct shm_params *s, const struct params_key *key, struct buf *out,
                      uint64_t *version, struct error *err)
{
    struct shm_control *c = shm_control(s);
    struct slice value;

    if (key->kind == PARAMS_CONTROL) {
        *version = atomic_load(&c->version);
        if (*version == 0)
            return fail(err, E_NOT_FOUND, "there is no control record");
        value = slice(c->bytes[*version & 1], c->length[*version & 1]);
    } else {
        uint32_t i = find_slot(s, key, SHM_LIVE, 0);

        if (i == SHM_NONE)
            return fail(err, E_NOT_FOUND, "there is no such value");
        *version = shm_slots(s)[i].version;
        value = slice(slot_bytes(s, i), shm_slots(s)[i].length);
    }
    buf_reset(out);
    buf_add(out, value.data, value.size);
    return out->failed ? fail(err, E_LIMIT, "a value of %zu bytes does not fit into %zu",
                              value.size, out->max_bytes)
                       : 0;
}

int shm_general_get(struct shm_params *s, const struct params_key *key, struct buf *out,
                    uint64_t *version, struct error *err)
{
    uint64_t found = 0;
    int rc;

    shm_lock(s);
    rc = get_locked(s, key, out, &found, err);
    shm_unlock(s);
    if (!rc)
        *version = found;
    return rc;
}

/* ---- logs ---- */

static int append_locked(struct shm_params *s, struct params_key *key, struct slice entry,
                         struct error *err)
{
    struct shm_log *log = &shm_logs(s)[key->rank];
    uint64_t extent = shm_extent(entry.size);
    uint32_t i;
    int rc;

    if (s->file->log_slots >= s->plan->slot_count / 2 ||
        s->file->log_bytes + extent > s->base.layout.general_bytes / 2)
        return fail_retriable(err, E_FULL, "the logs are full: the reader is too far behind");
    /* Entries count from 1, so that a cursor of 0 is before all of them. */
    log->head = MAX(log->head, 1);
    log->tail = MAX(log->tail, 1);
    key->step = log->tail;
    rc = take_filled(s, key, entry, 1, &i, err);
    if (rc)
        return rc;
    set_state(&shm_slots(s)[i], SHM_LIVE);
    log->tail++;
    return 0;
}

int shm_log_append(struct shm_params *s, const struct params_key *log, struct slice entry,
                   struct error *err)
{
    struct params_key key = { .kind = PARAMS_LOG, .rank = log->rank };
    int rc;

    shm_lock(s);
    rc = append_locked(s, &key, entry, err);
    shm_unlock(s);
    return rc;
}

static int read_locked(struct shm_params *s, uint32_t rank, uint64_t *cursor, struct buf *out,
                       struct error *err)
{
    struct shm_log *log = &shm_logs(s)[rank];
    struct params_key key = { .kind = PARAMS_LOG, .rank = rank };
    size_t before = out->size;

    for (; log->head < log->tail && out->size - before < READ_BYTES_MAX; log->head++) {
        uint32_t i;

        key.step = log->head;
        i = find_slot(s, &key, SHM_LIVE, 0);
        if (i == SHM_NONE)
            continue;
        if (key.step > *cursor) {
            size_t length = shm_slots(s)[i].length;

            if (out->max_bytes - out->size < length + sizeof(uint32_t))
                return out->size > before
                           ? 0
                           : fail(err, E_LIMIT, "no room for an entry of %zu bytes", length);
            wire_put_bytes(out, slice(slot_bytes(s, i), length));
            if (out->failed)
                return fail(err, E_MEMORY, "no memory for an entry of %zu bytes", length);
            *cursor = key.step;
        }
        free_slot(s, i);
    }
    return 0;
}

int shm_log_read(struct shm_params *s, const struct params_key *log, uint64_t *cursor,
                 struct buf *out, struct error *err)
{
    int rc;

    shm_lock(s);
    rc = read_locked(s, log->rank, cursor, out, err);
    shm_unlock(s);
    return rc;
}
