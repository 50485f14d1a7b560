/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of the `memory` store and the blocks that they lie in. Values that were reserved
 * together share a block, which goes with the last of them.
 *
 * Blocks of the step path are used again but not given back before the hub goes: a late reader
 * may see wrong bytes, which it cannot publish (shm_arena.c, A4), never memory that is gone.
 */
#include "params/memory_hub.h"

#include "base/random.h"

void *hub_alloc(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);

    if (!p) {
        heap_exhausted(count * size);
        abort();
    }
    return p;
}

/* ---- blocks ---- */

static struct block *block_new(struct hub *h, size_t size, bool pooled)
{
    size_t room = MAX(hub_extent(size), CACHE_LINE);
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
    b = hub_alloc(1, sizeof(*b));
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

/* ---- values ---- */

static bool same_key(const struct params_key *a, const struct params_key *b)
{
    return a->kind == b->kind && a->era == b->era && a->step == b->step && a->rank == b->rank &&
           a->shard == b->shard;
}

struct item **hub_item(struct hub *h, const struct params_key *key)
{
    uint64_t bits =
        random_at(key->kind, (uint64_t)key->era << 32 | key->rank, key->step, key->shard);
    struct item **link = &h->buckets[bits % HUB_BUCKETS];

    while (*link && !same_key(&(*link)->key, key))
        link = &(*link)->next;
    return link;
}

static void item_add(struct hub *h, const struct params_key *key, uint64_t version,
                     struct block *block, struct piece piece)
{
    struct item *item = hub_alloc(1, sizeof(*item)), **link = hub_item(h, key);

    *item = (struct item){ .key = *key, .version = version, .block = block, .piece = piece };
    block->refs++;
    *link = item;
}

void hub_remove_item(struct hub *h, struct item **link)
{
    struct item *item = *link;

    *link = item->next;
    h->used_bytes -= hub_extent(item->piece.size);
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

bool hub_find(struct hub *h, const struct params_key *key, struct slice *view)
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
        const struct item *item = *hub_item(h, key);

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
    return *hub_item(h, key);
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
        h->used_bytes -= hub_extent((*link)->pieces[i].size);
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
        m->seats = hub_alloc(h->layout.ranks, sizeof(*m->seats));
    m->seats[m->seat_count++] = rank;
    h->seats++;
    return 0;
}

int hub_take(struct hub *h, size_t need, struct error *err)
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
        total += hub_extent(sizes[i]);
    if (keys->kind == PARAMS_PART)
        rc = take_seat(h, m, keys->rank, err);
    else if (!of_step)
        rc = hub_take(h, total, err);
    if (rc)
        return rc;
    r = hub_alloc(1, sizeof(*r));
    r->block = block_new(h, total, of_step);
    if (!r->block) {
        free(r);
        h->used_bytes -= of_step ? 0 : total;
        return fail(err, E_MEMORY, "no memory for values of %zu bytes", total);
    }
    r->count = count;
    r->keys = hub_alloc(count, sizeof(*r->keys));
    r->pieces = hub_alloc(count, sizeof(*r->pieces));
    total = 0;
    for (unsigned i = 0; i < count; i++) {
        r->keys[i] = keys[i];
        r->pieces[i] = (struct piece){ keys[i].shard, total, sizes[i] };
        total += hub_extent(sizes[i]);
    }
    r->next = m->reservations;
    m->reservations = r;
    *out = r;
    return 0;
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
            h->used_bytes -= hub_extent(r->pieces[i].size);
    }
}

/* ---- what the operations are made of ---- */

int hub_reserve(struct hub *h, struct member *m, const struct params_key *keys, const size_t *sizes,
                unsigned count, void **out, struct error *err)
{
    struct reservation *r = *find_reservation(m, keys, count);
    int rc = 0;

    if (!r || !has_sizes(r, sizes)) {
        forget_overlapping(h, m, keys, count);
        rc = reserve_new(h, m, keys, sizes, count, &r, err);
    }
    if (!rc)
        *out = r->block->bytes;
    return rc;
}

int hub_publish(struct hub *h, struct member *m, const struct params_key *keys, unsigned count,
                uint64_t *bytes, struct error *err)
{
    struct reservation **link = find_reservation(m, keys, count);

    if (is_past(h, keys)) {
        forget_overlapping(h, m, keys, count);
        return fail(err, E_EXISTS, "the value was there already");
    }
    if (!*link)
        return fail(err, E_NOT_FOUND, "what is to be published is not reserved");
    for (unsigned i = 0; i < count; i++)
        *bytes += (*link)->pieces[i].size;
    publish_all(h, *link);
    reservation_drop(h, link);
    return 0;
}

void hub_forget(struct hub *h, struct member *m)
{
    while (m->reservations)
        give_back(h, &m->reservations);
    h->seats -= m->seat_count;
    m->seat_count = 0;
}

int hub_set_item(struct hub *h, const struct params_key *key, uint64_t version, struct slice value,
                 struct error *err)
{
    struct item **link = hub_item(h, key);
    struct block *block;
    int rc = hub_take(h, hub_extent(value.size), err);

    if (rc)
        return rc;
    block = block_new(h, value.size, false);
    if (!block) {
        h->used_bytes -= hub_extent(value.size);
        return fail(err, E_MEMORY, "no memory for a value of %zu bytes", value.size);
    }
    if (value.size)
        memcpy(block->bytes, value.data, value.size);
    if (*link)
        hub_remove_item(h, link);
    item_add(h, key, version, block, (struct piece){ 0, 0, value.size });
    block_drop(h, block, false);
    return 0;
}

void hub_release_values(struct hub *h)
{
    const struct params_layout *l = &h->layout;

    for (uint32_t r = 0; r < l->ranks; r++)
        for (unsigned parity = 0; parity < 2; parity++) {
            block_drop(h, h->parts[r][parity].block, true);
            free(h->parts[r][parity].pieces);
        }
    for (size_t i = 0; i < (size_t)l->sums_kept * l->shards; i++)
        block_drop(h, h->sums[i].block, true);
    for (size_t i = 0; i < HUB_BUCKETS; i++)
        while (h->buckets[i])
            hub_remove_item(h, &h->buckets[i]);
    while (h->pool) {
        struct block *b = h->pool;

        h->pool = b->next;
        block_free(b);
    }
}
