/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrappers and the registry: the only file that knows which stores there are, and the only
 * one that calls ops. Every argument is checked here, so that a store sees sensible ones only.
 */
#include "params/params.h"

#include "params/memory.h"
#include "params/shm.h"

struct backend {
    const struct params_ops *ops;
    int (*create)(const struct params_layout *layout, const struct params_open *open,
                  struct params **out, struct error *err);
    int (*open)(const char *url, int fd, const struct params_open *open, struct params **out,
                struct error *err);
};

static const struct backend backends[] = {
    { &params_memory, params_memory_create, params_memory_open },
    { &params_shm, params_shm_create, params_shm_open },
};

static const struct backend *find_backend(const char *url)
{
    size_t scheme = strcspn(url, ":");

    for (size_t i = 0; i < ARRAY_SIZE(backends); i++) {
        const char *name = backends[i].ops->name;

        if (url[scheme] == ':' && strlen(name) == scheme && memcmp(name, url, scheme) == 0)
            return &backends[i];
    }
    return NULL;
}

static int unknown_scheme(const char *url, struct error *err)
{
    return fail(err, E_INVALID, "there is no parameter store '%s': use memory: or shm:", url);
}

static int check_layout(const struct params_layout *l, struct error *err)
{
    if (l->ranks == 0 || l->shards == 0)
        return fail(err, E_INVALID, "a parameter store needs at least one rank and one shard");
    if (l->sums_kept < 2)
        return fail(err, E_INVALID, "a parameter store keeps at least 2 results, not %u",
                    l->sums_kept);
    if (l->part_bytes > SIZE_MAX / 4 || l->sum_bytes > SIZE_MAX / 4)
        return fail(err, E_LIMIT, "a contribution of %zu bytes or a result of %zu is too large",
                    l->part_bytes, l->sum_bytes);
    return 0;
}

int params_create(const char *url, const struct params_layout *layout,
                  const struct params_open *open, struct params **out, struct error *err)
{
    const struct backend *b = find_backend(url);
    int rc;

    if (!b)
        return unknown_scheme(url, err);
    rc = check_layout(layout, err);
    return rc ? rc : b->create(layout, open, out, err);
}

int params_open(const char *url, int fd, const struct params_open *open, struct params **out,
                struct error *err)
{
    const struct backend *b = find_backend(url);

    return b ? b->open(url, fd, open, out, err) : unknown_scheme(url, err);
}

#define KIND(kind) (1u << (kind))

/* The kinds that are reserved, published and waited for. */
#define KINDS_PUT     (KIND(PARAMS_CLAIM) | KIND(PARAMS_PART) | KIND(PARAMS_SUM) | KIND(PARAMS_VALUE))
#define KINDS_CAS     (KIND(PARAMS_CONTROL) | KIND(PARAMS_VALUE))
#define KINDS_DROP    (KINDS_CAS | KIND(PARAMS_CLAIM) | KIND(PARAMS_LOG))
#define KINDS_MISSING (KINDS_PUT | KIND(PARAMS_CONTROL))

static int check_key(const struct params *p, const struct params_key *key, unsigned kinds,
                     struct error *err)
{
    const struct params_layout *l = &p->layout;
    bool of_step = key->kind == PARAMS_PART || key->kind == PARAMS_SUM;

    if (key->kind >= PARAMS_KINDS || !(KIND(key->kind) & kinds))
        return fail(err, E_INVALID, "a key of kind %u cannot be used for this", key->kind);
    if (of_step && key->shard >= l->shards)
        return fail(err, E_LIMIT, "shard %u is outside the store's %u", key->shard, l->shards);
    if (key->kind == PARAMS_PART && key->rank >= l->ranks)
        return fail(err, E_LIMIT, "rank %u is outside the store's %u", key->rank, l->ranks);
    if (key->kind == PARAMS_LOG && key->rank >= l->ranks + l->spares)
        return fail(err, E_LIMIT, "log %u is outside the store's %u", key->rank,
                    l->ranks + l->spares);
    return 0;
}

static int check_keys(const struct params *p, const struct params_key *keys, unsigned count,
                      unsigned kinds, struct error *err)
{
    for (unsigned i = 0; i < count; i++) {
        int rc = check_key(p, &keys[i], kinds, err);

        if (rc)
            return rc;
    }
    return 0;
}

/* The keys of one reservation: what reserve() of params.h says. */
static int check_group(const struct params *p, const struct params_key *keys, unsigned count,
                       struct error *err)
{
    int rc;

    if (count == 0)
        return fail(err, E_INVALID, "nothing to reserve or publish");
    rc = check_keys(p, keys, count, KINDS_PUT, err);
    for (unsigned i = 1; i < count && !rc; i++) {
        const struct params_key *a = &keys[i - 1], *b = &keys[i];
        bool good = a->kind == b->kind;

        if (b->kind == PARAMS_PART || b->kind == PARAMS_SUM)
            good = good && a->era == b->era && a->step == b->step && a->rank == b->rank;
        if (b->kind == PARAMS_PART)
            good = good && b->shard > a->shard;
        if (b->kind == PARAMS_SUM)
            good = good && b->shard == a->shard + 1;
        if (!good)
            rc = fail(err, E_INVALID, "keys %u and %u cannot be reserved together", i - 1, i);
    }
    return rc;
}

static int check_sizes(const struct params *p, const struct params_key *keys, const size_t *sizes,
                       unsigned count, struct error *err)
{
    size_t room = params_sum_room(&p->layout), total = 0;

    for (unsigned i = 0; i < count; i++) {
        if (sizes[i] > SIZE_MAX / 4 ||
            __builtin_add_overflow(total, round_up(sizes[i], CACHE_LINE), &total))
            return fail(err, E_LIMIT, "a value of %zu bytes is too large", sizes[i]);
        if (keys->kind == PARAMS_SUM && sizes[i] > room)
            return fail(err, E_LIMIT,
                        "a piece of a result has %zu bytes, more than its share of %zu", sizes[i],
                        room);
    }
    if (keys->kind == PARAMS_PART && total > round_up(p->layout.part_bytes, CACHE_LINE))
        return fail(err, E_LIMIT, "a contribution has %zu bytes, more than the store's %zu", total,
                    p->layout.part_bytes);
    return 0;
}

int params_reserve(struct params *p, const struct params_key *keys, const size_t *sizes,
                   unsigned count, void **out, struct error *err)
{
    int rc = check_group(p, keys, count, err);

    if (!rc)
        rc = check_sizes(p, keys, sizes, count, err);
    return rc ? rc : p->ops->reserve(p, keys, sizes, count, out, err);
}

int params_publish(struct params *p, const struct params_key *keys, unsigned count,
                   struct error *err)
{
    int rc = check_group(p, keys, count, err);

    if (!rc)
        rc = p->ops->publish(p, keys, count, err);
    if (!rc)
        p->counts.published += count;
    return rc;
}

int params_put_new(struct params *p, const struct params_key *key, struct slice value,
                   struct error *err)
{
    void *room = NULL;
    int rc = params_reserve(p, key, &value.size, 1, &room, err);

    if (rc)
        return rc;
    if (value.size)
        memcpy(room, value.data, value.size);
    return params_publish(p, key, 1, err);
}

int params_cas(struct params *p, const struct params_key *key, uint64_t expected,
               struct slice value, uint64_t *version, struct error *err)
{
    int rc = check_key(p, key, KINDS_CAS, err);

    if (rc)
        return rc;
    if (value.size > PARAMS_CAS_MAX)
        return fail(err, E_LIMIT, "a value to be compared and set has %zu bytes, more than %d",
                    value.size, PARAMS_CAS_MAX);
    return p->ops->cas(p, key, expected, value, version, err);
}

int params_get(struct params *p, const struct params_key *key, struct buf *out, uint64_t *version,
               struct error *err)
{
    int rc = check_key(p, key, KINDS_CAS, err);

    return rc ? rc : p->ops->get(p, key, out, version, err);
}

int params_wait(struct params *p, const struct params_wait *w, struct error *err)
{
    int rc = check_keys(p, w->keys, w->count, KINDS_PUT, err);

    if (rc)
        return rc;
    p->counts.waits++;
    rc = p->ops->wait(p, w, err);
    if (!rc) {
        p->counts.viewed += w->count;
        for (unsigned i = 0; i < w->count; i++)
            p->counts.viewed_bytes += w->views[i].size;
    }
    return rc;
}

void params_release(struct params *p, uint64_t step)
{
    p->ops->release(p, step);
}

int params_missing(struct params *p, const struct params_key *keys, unsigned count, bool *out,
                   struct error *err)
{
    int rc = check_keys(p, keys, count, KINDS_MISSING, err);

    return rc ? rc : p->ops->missing(p, keys, count, out, err);
}

int params_append(struct params *p, const struct params_key *log, struct slice entry,
                  struct error *err)
{
    int rc = check_key(p, log, KIND(PARAMS_LOG), err);

    if (rc)
        return rc;
    if (entry.size > PARAMS_ENTRY_MAX)
        return fail(err, E_LIMIT, "an entry of a log has %zu bytes, more than %d", entry.size,
                    PARAMS_ENTRY_MAX);
    return p->ops->append(p, log, entry, err);
}

int params_read(struct params *p, const struct params_key *log, uint64_t *cursor, struct buf *out,
                struct error *err)
{
    int rc = check_key(p, log, KIND(PARAMS_LOG), err);

    return rc ? rc : p->ops->read(p, log, cursor, out, err);
}

int params_drop(struct params *p, const struct params_key *keys, unsigned count, struct error *err)
{
    int rc = check_keys(p, keys, count, KINDS_DROP, err);

    return rc ? rc : p->ops->drop(p, keys, count, err);
}

int params_address(struct params *p, struct params_address *out, struct error *err)
{
    if (!p->ops->address)
        return fail(err, E_UNSUPPORTED, "a store of kind %s cannot be given by address",
                    p->ops->name);
    return p->ops->address(p, out, err);
}

bool params_has(const struct params *p, enum params_caps cap)
{
    return p->ops->caps & cap;
}

void params_close(struct params *p)
{
    if (p)
        p->ops->close(p);
}
