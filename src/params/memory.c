/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The `memory` store: a hub that the handles of one process share. Handles belong to threads, or
 * to the twin's coroutines; waiting is parking in the handle's environment.
 *
 * What outlives a function lies in plain memory; a handle lies in its function's heap. The hub
 * knows a handle by a `member`, and nothing in the hub points into a heap but a member's
 * environment, which is used only while the member waits. So the twin can drop a function's heap
 * after params_memory_forget().
 *
 * The hub's lock is never held while parked. Waiters are woken in the order in which they began to
 * wait, and watchers of the control record in the order in which they opened the store, so that
 * the twin repeats itself.
 *
 * Memory of the step path is used again but not given back before the hub goes: a late reader
 * may see wrong bytes, which it cannot publish (shm_arena.c, A4), never memory that is gone.
 */
#include "params/memory.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>

#include "base/props.h"
#include "base/random.h"
#include "base/wire.h"

#define READ_BYTES_MAX MIB
#define BUCKETS        1024

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
    struct item *buckets[BUCKETS];
    struct log *logs;
    size_t used_bytes, log_bytes;
    uint64_t control_version;
    size_t control_size;
    char control[PARAMS_CAS_MAX];
};

struct memory_params {
    struct params base;
    struct env *env;
    struct heap *heap;
    struct hub *hub;
    struct member *member;
    bool creator;
};

static struct memory_params *memory(struct params *p)
{
    assert(p->ops == &params_memory);
    return container_of(p, struct memory_params, base);
}

/* Small and zeroed, never NULL. */
static void *small_alloc(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);

    if (!p) {
        heap_exhausted(count * size);
        abort();
    }
    return p;
}

static size_t extent(size_t size)
{
    return round_up(size, CACHE_LINE);
}

/* ---- blocks ---- */

static struct block *block_new(struct hub *h, size_t size, bool pooled)
{
    size_t room = MAX(extent(size), CACHE_LINE);
    struct block **link = &h->pool, *b;

    while (pooled && *link) {
        b = *link;
        if (b->room >= room && b->room / 2 <= room) {
            *link = b->next;
            b->refs = 1;
            return b;
        }
        link = &b->next;
    }
    b = small_alloc(1, sizeof(*b));
    b->room = room;
    b->refs = 1;
    b->bytes = aligned_alloc(CACHE_LINE, room);
    if (!b->bytes) {
        free(b);
        return NULL;
    }
    return b;
}

static void block_free(struct block *b)
{
    free(b->bytes);
    free(b);
}

static void block_drop(struct hub *h, struct block *b, bool pooled)
{
    if (!b || --b->refs)
        return;
    if (pooled) {
        b->next = h->pool;
        h->pool = b;
    } else {
        block_free(b);
    }
}

static bool is_step_path(const struct params_key *key)
{
    return key->kind == PARAMS_PART || key->kind == PARAMS_SUM;
}

/* ---- waking ---- */

static struct queue *queue_of(struct hub *h, const struct params_key *key)
{
    if (key && key->kind == PARAMS_PART)
        return &h->rank_queues[key->rank];
    if (key && key->kind == PARAMS_SUM)
        return &h->shard_queues[key->shard];
    return &h->general_queue;
}

static void enqueue(struct queue *q, struct member *m, bool watches)
{
    m->queue = q;
    m->behind = NULL;
    m->watches = watches;
    if (q->last)
        q->last->behind = m;
    else
        q->first = m;
    q->last = m;
}

static void dequeue(struct member *m)
{
    struct queue *q = m->queue;
    struct member *before = NULL, *at;

    if (!q)
        return;
    for (at = q->first; at != m; at = at->behind)
        before = at;
    if (before)
        before->behind = m->behind;
    else
        q->first = m->behind;
    if (q->last == m)
        q->last = before;
    m->queue = NULL;
}

static void wake(struct member *m)
{
    dequeue(m);
    env_unpark(m->env);
}

static void wake_queue(struct queue *q)
{
    while (q->first)
        wake(q->first);
}

/* Everyone, or everyone who watches the control record. */
static void wake_members(struct hub *h, bool all)
{
    for (struct member *m = h->members; m; m = m->next)
        if (m->queue && (all || m->watches))
            wake(m);
}

/* ---- values ---- */

static bool same_key(const struct params_key *a, const struct params_key *b)
{
    return a->kind == b->kind && a->era == b->era && a->step == b->step && a->rank == b->rank &&
           a->shard == b->shard;
}

static struct item **item_link(struct hub *h, const struct params_key *key)
{
    uint64_t bits =
        random_at(key->kind, (uint64_t)key->era << 32 | key->rank, key->step, key->shard);
    struct item **link = &h->buckets[bits % BUCKETS];

    while (*link && !same_key(&(*link)->key, key))
        link = &(*link)->next;
    return link;
}

static void item_add(struct hub *h, const struct params_key *key, uint64_t version,
                     struct block *block, struct piece piece)
{
    struct item *item = small_alloc(1, sizeof(*item)), **link = item_link(h, key);

    *item = (struct item){ .key = *key, .version = version, .block = block, .piece = piece };
    block->refs++;
    *link = item;
}

static void item_remove(struct hub *h, struct item **link)
{
    struct item *item = *link;

    *link = item->next;
    h->used_bytes -= extent(item->piece.size);
    block_drop(h, item->block, false);
    free(item);
}

static struct sum *sum_of(struct hub *h, const struct params_key *key)
{
    return &h->sums[key->step % h->layout.sums_kept * h->layout.shards + key->shard];
}

static int compare_piece(const void *shard, const void *piece)
{
    uint32_t a = *(const uint32_t *)shard, b = ((const struct piece *)piece)->shard;

    return a < b ? -1 : a > b;
}

static bool find_part(struct hub *h, const struct params_key *key, struct slice *view)
{
    const struct part *part = &h->parts[key->rank][key->step & 1];
    const struct piece *piece;

    if (!part->set || part->era != key->era || part->step != key->step)
        return false;
    piece = bsearch(&key->shard, part->pieces, part->count, sizeof(*piece), compare_piece);
    if (piece)
        *view = slice(part->block->bytes + piece->offset, piece->size);
    return piece;
}

static bool find_value(struct hub *h, const struct params_key *key, struct slice *view)
{
    if (key->kind == PARAMS_PART)
        return find_part(h, key, view);
    if (key->kind == PARAMS_CONTROL) {
        *view = slice(h->control, h->control_size);
        return h->control_version != 0;
    }
    if (key->kind == PARAMS_SUM) {
        const struct sum *sum = sum_of(h, key);

        if (!sum->set || sum->era != key->era || sum->step != key->step)
            return false;
        *view = slice(sum->block->bytes + sum->piece.offset, sum->piece.size);
    } else {
        const struct item *item = *item_link(h, key);

        if (!item)
            return false;
        *view = slice(item->block->bytes + item->piece.offset, item->piece.size);
    }
    return true;
}

/* Is it there, or was it followed by a later one in its place? */
static bool is_past(struct hub *h, const struct params_key *key)
{
    const struct part *part;
    const struct sum *sum;

    if (key->kind == PARAMS_PART) {
        part = &h->parts[key->rank][key->step & 1];
        return part->set &&
               (part->era > key->era || (part->era == key->era && part->step >= key->step));
    }
    if (key->kind == PARAMS_SUM) {
        sum = sum_of(h, key);
        return sum->set &&
               (sum->era > key->era || (sum->era == key->era && sum->step >= key->step));
    }
    return *item_link(h, key);
}

/* ---- reservations ---- */

static struct reservation **find_reservation(struct member *m, const struct params_key *keys,
                                             unsigned count)
{
    struct reservation **link = &m->reservations;

    for (; *link; link = &(*link)->next) {
        struct reservation *r = *link;
        unsigned i = 0;

        while (i < count && i < r->count && same_key(&r->keys[i], &keys[i]))
            i++;
        if (i == count && i == r->count)
            break;
    }
    return link;
}

static void reservation_drop(struct hub *h, struct reservation **link)
{
    struct reservation *r = *link;

    *link = r->next;
    block_drop(h, r->block, is_step_path(r->keys));
    free(r->keys);
    free(r->pieces);
    free(r);
}

static void give_back(struct hub *h, struct reservation **link)
{
    for (unsigned i = 0; i < (*link)->count && !is_step_path((*link)->keys); i++)
        h->used_bytes -= extent((*link)->pieces[i].size);
    reservation_drop(h, link);
}

/* Give back reservations of the member that have one of these keys, with all that is in them. */
static void forget_overlapping(struct hub *h, struct member *m, const struct params_key *keys,
                               unsigned count)
{
    struct reservation **link = &m->reservations;

    while (*link) {
        struct reservation *r = *link;
        bool overlaps = false;

        for (unsigned i = 0; i < r->count && !overlaps; i++)
            for (unsigned k = 0; k < count && !overlaps; k++)
                overlaps = same_key(&r->keys[i], &keys[k]);
        if (overlaps)
            give_back(h, link);
        else
            link = &r->next;
    }
}

static bool has_sizes(const struct reservation *r, const size_t *sizes)
{
    for (unsigned i = 0; i < r->count; i++)
        if (r->pieces[i].size != sizes[i])
            return false;
    return true;
}

/* The same limit that contribution buffers are in shared memory. */
static int take_seat(struct hub *h, struct member *m, uint32_t rank, struct error *err)
{
    for (unsigned i = 0; i < m->seat_count; i++)
        if (m->seats[i] == rank)
            return 0;
    if (h->seats >= h->layout.ranks + h->layout.spares)
        return fail_retriable(err, E_FULL,
                              "all %u contribution buffers are taken: more functions "
                              "are open than the store was made for",
                              h->seats);
    if (!m->seats)
        m->seats = small_alloc(h->layout.ranks, sizeof(*m->seats));
    m->seats[m->seat_count++] = rank;
    h->seats++;
    return 0;
}

static int take_general(struct hub *h, size_t need, struct error *err)
{
    if (need > h->layout.general_bytes)
        return fail(err, E_LIMIT, "values of %zu bytes exceed the store's %zu", need,
                    h->layout.general_bytes);
    if (need > h->layout.general_bytes - h->used_bytes)
        return fail_retriable(err, E_FULL, "%zu bytes do not fit: %zu of the store's %zu are used",
                              need, h->used_bytes, h->layout.general_bytes);
    h->used_bytes += need;
    return 0;
}

static int reserve_new(struct hub *h, struct member *m, const struct params_key *keys,
                       const size_t *sizes, unsigned count, struct reservation **out,
                       struct error *err)
{
    bool of_step = is_step_path(keys);
    struct reservation *r;
    size_t total = 0;
    int rc = 0;

    for (unsigned i = 0; i < count; i++)
        total += extent(sizes[i]);
    if (keys->kind == PARAMS_PART)
        rc = take_seat(h, m, keys->rank, err);
    else if (!of_step)
        rc = take_general(h, total, err);
    if (rc)
        return rc;
    r = small_alloc(1, sizeof(*r));
    r->block = block_new(h, total, of_step);
    if (!r->block) {
        free(r);
        h->used_bytes -= of_step ? 0 : total;
        return fail(err, E_MEMORY, "no memory for values of %zu bytes", total);
    }
    r->count = count;
    r->keys = small_alloc(count, sizeof(*r->keys));
    r->pieces = small_alloc(count, sizeof(*r->pieces));
    total = 0;
    for (unsigned i = 0; i < count; i++) {
        r->keys[i] = keys[i];
        r->pieces[i] = (struct piece){ keys[i].shard, total, sizes[i] };
        total += extent(sizes[i]);
    }
    r->next = m->reservations;
    m->reservations = r;
    *out = r;
    return 0;
}

/* ---- operations ---- */

/* Takes the lock unless the store is closed. */
static int enter(struct memory_params *m, struct error *err)
{
    pthread_mutex_lock(&m->hub->lock);
    if (!m->hub->closed)
        return 0;
    pthread_mutex_unlock(&m->hub->lock);
    return fail(err, E_CLOSED, "the store was closed by its creator");
}

static void leave(struct memory_params *m)
{
    pthread_mutex_unlock(&m->hub->lock);
}

static int memory_reserve(struct params *p, const struct params_key *keys, const size_t *sizes,
                          unsigned count, void **out, struct error *err)
{
    struct memory_params *m = memory(p);
    struct reservation *r;
    int rc = enter(m, err);

    if (rc)
        return rc;
    r = *find_reservation(m->member, keys, count);
    if (!r || !has_sizes(r, sizes)) {
        forget_overlapping(m->hub, m->member, keys, count);
        rc = reserve_new(m->hub, m->member, keys, sizes, count, &r, err);
    }
    if (!rc)
        *out = r->block->bytes;
    leave(m);
    return rc;
}

static void publish_part(struct hub *h, struct reservation *r)
{
    struct part *part = &h->parts[r->keys->rank][r->keys->step & 1];

    block_drop(h, part->block, true);
    free(part->pieces);
    *part = (struct part){
        .set = true,
        .era = r->keys->era,
        .step = r->keys->step,
        .block = r->block,
        .pieces = r->pieces,
        .count = r->count,
    };
    r->block->refs++;
    r->pieces = NULL;
}

static void publish_one(struct hub *h, struct reservation *r, unsigned i)
{
    const struct params_key *key = &r->keys[i];

    if (key->kind == PARAMS_SUM) {
        struct sum *sum = sum_of(h, key);

        block_drop(h, sum->block, true);
        *sum = (struct sum){
            .set = true,
            .era = key->era,
            .step = key->step,
            .block = r->block,
            .piece = r->pieces[i],
        };
        r->block->refs++;
    } else {
        item_add(h, key, 1, r->block, r->pieces[i]);
    }
}

static void publish_all(struct hub *h, struct reservation *r)
{
    if (r->keys->kind == PARAMS_PART) {
        publish_part(h, r);
        return;
    }
    for (unsigned i = 0; i < r->count; i++) {
        if (!is_past(h, &r->keys[i]))
            publish_one(h, r, i);
        else if (!is_step_path(r->keys))
            h->used_bytes -= extent(r->pieces[i].size);
    }
}

static int memory_publish(struct params *p, const struct params_key *keys, unsigned count,
                          struct error *err)
{
    struct memory_params *m = memory(p);
    struct hub *h = m->hub;
    struct reservation **link;
    int rc = enter(m, err);

    if (rc)
        return rc;
    link = find_reservation(m->member, keys, count);
    if (is_past(h, keys)) {
        forget_overlapping(h, m->member, keys, count);
        rc = fail(err, E_EXISTS, "the value was there already");
    } else if (!*link) {
        rc = fail(err, E_NOT_FOUND, "what is to be published is not reserved");
    } else {
        for (unsigned i = 0; i < count; i++)
            p->counts.published_bytes += (*link)->pieces[i].size;
        publish_all(h, *link);
        reservation_drop(h, link);
        for (unsigned i = 0; i < count; i++)
            wake_queue(queue_of(h, &keys[i]));
    }
    leave(m);
    return rc;
}

static int changed(uint64_t expected, uint64_t found, struct error *err)
{
    return fail(err, E_CHANGED, "the value has version %" PRIu64 ", not %" PRIu64, found, expected);
}

static int control_cas(struct hub *h, uint64_t expected, struct slice value, struct error *err)
{
    if (h->control_version != expected)
        return changed(expected, h->control_version, err);
    if (value.size)
        memcpy(h->control, value.data, value.size);
    h->control_size = value.size;
    h->control_version++;
    wake_members(h, false);
    return 0;
}

static int value_cas(struct hub *h, const struct params_key *key, uint64_t expected,
                     struct slice value, struct error *err)
{
    struct item **link = item_link(h, key);
    uint64_t version = *link ? (*link)->version : 0;
    struct block *block;
    int rc;

    if (version != expected)
        return changed(expected, version, err);
    rc = take_general(h, extent(value.size), err);
    if (rc)
        return rc;
    block = block_new(h, value.size, false);
    if (!block) {
        h->used_bytes -= extent(value.size);
        return fail(err, E_MEMORY, "no memory for a value of %zu bytes", value.size);
    }
    if (value.size)
        memcpy(block->bytes, value.data, value.size);
    if (*link)
        item_remove(h, link);
    item_add(h, key, version + 1, block, (struct piece){ 0, 0, value.size });
    block_drop(h, block, false);
    wake_queue(&h->general_queue);
    return 0;
}

static int memory_cas(struct params *p, const struct params_key *key, uint64_t expected,
                      struct slice value, uint64_t *version, struct error *err)
{
    struct memory_params *m = memory(p);
    int rc = enter(m, err);

    if (rc)
        return rc;
    rc = key->kind == PARAMS_CONTROL ? control_cas(m->hub, expected, value, err)
                                     : value_cas(m->hub, key, expected, value, err);
    leave(m);
    if (!rc)
        *version = expected + 1;
    return rc;
}

static int memory_get(struct params *p, const struct params_key *key, struct buf *out,
                      uint64_t *version, struct error *err)
{
    struct memory_params *m = memory(p);
    struct slice value;
    int rc = enter(m, err);

    if (rc)
        return rc;
    if (!find_value(m->hub, key, &value)) {
        rc = fail(err, E_NOT_FOUND, "there is no such value");
    } else {
        buf_reset(out);
        buf_add(out, value.data, value.size);
        if (out->failed)
            rc = fail(err, E_LIMIT, "a value of %zu bytes does not fit into %zu", value.size,
                      out->max_bytes);
        else
            *version = key->kind == PARAMS_CONTROL ? m->hub->control_version
                                                   : (*item_link(m->hub, key))->version;
    }
    leave(m);
    return rc;
}

/* The first key that is not there; COUNT if all are. */
static unsigned first_missing(struct hub *h, const struct params_wait *w)
{
    unsigned i = 0;

    while (i < w->count && find_value(h, &w->keys[i], &w->views[i]))
        i++;
    return i;
}

static int memory_wait(struct params *p, const struct params_wait *w, struct error *err)
{
    struct memory_params *m = memory(p);
    bool watches = w->seen_version != PARAMS_UNWATCHED;
    int rc = 0;

    for (;;) {
        unsigned at;

        if (enter(m, err))
            return E_CLOSED;
        dequeue(m->member);
        at = first_missing(m->hub, w);
        if (w->count && at == w->count)
            break;
        if (watches && m->hub->control_version != w->seen_version) {
            rc = fail(err, E_CHANGED, "the control record changed");
            break;
        }
        if (w->until == 0 || (w->until != ENV_FOREVER && env_now(m->env) >= w->until)) {
            rc = fail_retriable(err, E_TIMEOUT, "not all of %u values came in time", w->count);
            break;
        }
        enqueue(queue_of(m->hub, w->count ? &w->keys[at] : NULL), m->member, watches);
        leave(m);
        env_park(m->env, w->until);
    }
    leave(m);
    return rc;
}

static void memory_release(struct params *p, uint64_t step)
{
    (void)p;
    (void)step;
}

static int memory_missing(struct params *p, const struct params_key *keys, unsigned count,
                          bool *out, struct error *err)
{
    struct memory_params *m = memory(p);
    struct slice view;
    int rc = enter(m, err);

    if (rc)
        return rc;
    for (unsigned i = 0; i < count; i++)
        out[i] = !find_value(m->hub, &keys[i], &view);
    leave(m);
    return 0;
}

static int memory_append(struct params *p, const struct params_key *key, struct slice bytes,
                         struct error *err)
{
    struct memory_params *m = memory(p);
    struct hub *h = m->hub;
    struct log *log = &h->logs[key->rank];
    struct entry *entry;
    int rc = enter(m, err);

    if (rc)
        return rc;
    if (h->log_bytes + extent(bytes.size + 1) > h->layout.general_bytes / 2)
        rc = fail_retriable(err, E_FULL, "the logs are full: the reader is too far behind");
    else
        rc = take_general(h, extent(bytes.size + 1), err);
    if (!rc) {
        entry = small_alloc(1, sizeof(*entry) + bytes.size);
        entry->number = ++log->count;
        entry->size = bytes.size;
        if (bytes.size)
            memcpy(entry->bytes, bytes.data, bytes.size);
        *log->end = entry;
        log->end = &entry->next;
        h->log_bytes += extent(bytes.size + 1);
    }
    leave(m);
    return rc;
}

static void entry_drop(struct hub *h, struct log *log)
{
    struct entry *entry = log->first;

    log->first = entry->next;
    if (!log->first)
        log->end = &log->first;
    h->used_bytes -= extent(entry->size + 1);
    h->log_bytes -= extent(entry->size + 1);
    free(entry);
}

static int read_entries(struct hub *h, struct log *log, uint64_t *cursor, struct buf *out,
                        struct error *err)
{
    size_t before = out->size;

    while (log->first && out->size - before < READ_BYTES_MAX) {
        const struct entry *entry = log->first;

        if (entry->number > *cursor) {
            if (out->max_bytes - out->size < entry->size + sizeof(uint32_t))
                return out->size > before
                           ? 0
                           : fail(err, E_LIMIT, "no room for an entry of %zu bytes", entry->size);
            wire_put_bytes(out, slice(entry->bytes, entry->size));
            if (out->failed)
                return fail(err, E_MEMORY, "no memory for an entry of %zu bytes", entry->size);
            *cursor = entry->number;
        }
        entry_drop(h, log);
    }
    return 0;
}

static int memory_read(struct params *p, const struct params_key *key, uint64_t *cursor,
                       struct buf *out, struct error *err)
{
    struct memory_params *m = memory(p);
    int rc = enter(m, err);

    if (rc)
        return rc;
    rc = read_entries(m->hub, &m->hub->logs[key->rank], cursor, out, err);
    leave(m);
    return rc;
}

static int memory_drop(struct params *p, const struct params_key *keys, unsigned count,
                       struct error *err)
{
    struct memory_params *m = memory(p);
    struct hub *h = m->hub;
    int rc = enter(m, err);

    if (rc)
        return rc;
    for (unsigned i = 0; i < count; i++) {
        if (keys[i].kind == PARAMS_CONTROL) {
            h->control_version = 0;
            wake_members(h, false);
        } else if (keys[i].kind == PARAMS_LOG) {
            while (h->logs[keys[i].rank].first)
                entry_drop(h, &h->logs[keys[i].rank]);
        } else if (*item_link(h, &keys[i])) {
            item_remove(h, item_link(h, &keys[i]));
        }
    }
    leave(m);
    return 0;
}

/* ---- hubs ---- */

static pthread_mutex_t hubs_lock = PTHREAD_MUTEX_INITIALIZER;
static struct hub *hubs;
static uint64_t hubs_so_far;

static struct hub *hub_new(const struct params_layout *l)
{
    struct hub *h = small_alloc(1, sizeof(*h));

    h->layout = *l;
    pthread_mutex_init(&h->lock, NULL);
    h->members_end = &h->members;
    h->parts = small_alloc(l->ranks, sizeof(*h->parts));
    h->sums = small_alloc((size_t)l->sums_kept * l->shards, sizeof(*h->sums));
    h->rank_queues = small_alloc(l->ranks, sizeof(*h->rank_queues));
    h->shard_queues = small_alloc(l->shards, sizeof(*h->shard_queues));
    h->logs = small_alloc((size_t)l->ranks + l->spares, sizeof(*h->logs));
    for (uint32_t i = 0; i < l->ranks + l->spares; i++)
        h->logs[i].end = &h->logs[i].first;
    return h;
}

static void hub_free(struct hub *h)
{
    const struct params_layout *l = &h->layout;

    for (uint32_t r = 0; r < l->ranks; r++)
        for (unsigned parity = 0; parity < 2; parity++) {
            block_drop(h, h->parts[r][parity].block, true);
            free(h->parts[r][parity].pieces);
        }
    for (size_t i = 0; i < (size_t)l->sums_kept * l->shards; i++)
        block_drop(h, h->sums[i].block, true);
    for (size_t i = 0; i < BUCKETS; i++)
        while (h->buckets[i])
            item_remove(h, &h->buckets[i]);
    for (uint32_t i = 0; i < l->ranks + l->spares; i++)
        while (h->logs[i].first)
            entry_drop(h, &h->logs[i]);
    while (h->pool) {
        struct block *b = h->pool;

        h->pool = b->next;
        block_free(b);
    }
    pthread_mutex_destroy(&h->lock);
    free(h->parts);
    free(h->sums);
    free(h->rank_queues);
    free(h->shard_queues);
    free(h->logs);
    free(h);
}

/* Under hubs_lock. */
static void open_handle(struct hub *h, const struct params_open *open, struct params **out)
{
    struct memory_params *m = heap_alloc(open->heap, sizeof(*m));
    struct member *member = small_alloc(1, sizeof(*member));

    member->env = open->env;
    pthread_mutex_lock(&h->lock);
    *h->members_end = member;
    h->members_end = &member->next;
    pthread_mutex_unlock(&h->lock);
    h->users++;
    *m = (struct memory_params){
        .base = { .ops = &params_memory, .layout = h->layout },
        .env = open->env,
        .heap = open->heap,
        .hub = h,
        .member = member,
    };
    *out = &m->base;
}

/* Under hubs_lock. Takes a member out of its hub, which goes with the last one. */
static void member_leave(struct hub *h, struct member *m, bool close)
{
    struct member **link = &h->members;
    struct hub **hub_link = &hubs;

    pthread_mutex_lock(&h->lock);
    dequeue(m);
    while (m->reservations)
        give_back(h, &m->reservations);
    h->seats -= m->seat_count;
    while (*link != m)
        link = &(*link)->next;
    *link = m->next;
    if (!*link)
        h->members_end = link;
    free(m->seats);
    free(m);
    if (close) {
        h->closed = true;
        wake_members(h, true);
    }
    pthread_mutex_unlock(&h->lock);
    if (--h->users)
        return;
    while (*hub_link != h)
        hub_link = &(*hub_link)->next;
    *hub_link = h->next;
    hub_free(h);
}

int params_memory_create(const struct params_layout *layout, const struct params_open *open,
                         struct params **out, struct error *err)
{
    struct hub *h = hub_new(layout);

    (void)err;
    pthread_mutex_lock(&hubs_lock);
    h->number = ++hubs_so_far;
    h->next = hubs;
    hubs = h;
    open_handle(h, open, out);
    pthread_mutex_unlock(&hubs_lock);
    memory(*out)->creator = true;
    return 0;
}

int params_memory_open(const char *url, int fd, const struct params_open *open, struct params **out,
                       struct error *err)
{
    uint64_t number;
    struct hub *h;

    (void)fd;
    if (strncmp(url, "memory:", 7) != 0 || !parse_u64(url + 7, &number))
        return fail(err, E_INVALID, "'%s' is not the address of a memory store", url);
    pthread_mutex_lock(&hubs_lock);
    h = hubs;
    while (h && (h->number != number || h->closed))
        h = h->next;
    if (h)
        open_handle(h, open, out);
    pthread_mutex_unlock(&hubs_lock);
    return h ? 0 : fail(err, E_NOT_FOUND, "there is no store '%s' in this process", url);
}

void params_memory_forget(const struct env *env)
{
    struct hub *h, *next_hub;

    pthread_mutex_lock(&hubs_lock);
    for (h = hubs; h; h = next_hub) {
        struct member *m, *next;

        next_hub = h->next;
        for (m = h->members; m; m = next) {
            next = m->next;
            if (m->env == env)
                member_leave(h, m, false);
        }
    }
    pthread_mutex_unlock(&hubs_lock);
}

static int memory_address(struct params *p, struct params_address *out, struct error *err)
{
    (void)err;
    snprintf(out->url, sizeof(out->url), "memory:%" PRIu64, memory(p)->hub->number);
    out->fd = -1;
    return 0;
}

static void memory_close(struct params *p)
{
    struct memory_params *m = memory(p);

    pthread_mutex_lock(&hubs_lock);
    member_leave(m->hub, m->member, m->creator);
    pthread_mutex_unlock(&hubs_lock);
    heap_free(m->heap, m);
}

const struct params_ops params_memory = {
    .name = "memory",
    .caps = PARAMS_CAP_IN_PLACE,
    .reserve = memory_reserve,
    .publish = memory_publish,
    .cas = memory_cas,
    .get = memory_get,
    .wait = memory_wait,
    .release = memory_release,
    .missing = memory_missing,
    .append = memory_append,
    .read = memory_read,
    .drop = memory_drop,
    .address = memory_address,
    .close = memory_close,
};
