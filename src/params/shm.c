/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The `shm` store's operations: opening and closing, waiting, and which part serves which kind of
 * key. The parts and the map of them are in shm_internal.h.
 */
#include "params/shm.h"

#include <assert.h>
#include <unistd.h>

#include "params/shm_internal.h"

static struct shm_params *shm(struct params *p)
{
    assert(p->ops == &params_shm);
    return container_of(p, struct shm_params, base);
}

static int check_open(struct shm_params *s, struct error *err)
{
    if (atomic_load_explicit(&s->file->closed, memory_order_acquire))
        return fail(err, E_CLOSED, "the store was closed by its creator");
    return 0;
}

/* ---- opening and closing ---- */

static int open_handle(int fd, const struct params_open *open, bool creator, struct params **out,
                       struct error *err)
{
    struct shm_params *s = heap_alloc(open->heap, sizeof(*s));
    int rc = shm_map_open(fd, &s->map, err);

    if (rc) {
        heap_free(open->heap, s);
        return rc;
    }
    s->env = open->env;
    s->heap = open->heap;
    s->fd = -1;
    s->file = s->map->file;
    s->at = (char *)s->file;
    s->plan = &s->file->plan;
    s->base = (struct params){ .ops = &params_shm, .layout = s->file->layout };
    s->ranks = heap_alloc(s->heap, s->base.layout.ranks * sizeof(*s->ranks));
    s->shards = heap_alloc(s->heap, s->base.layout.shards * sizeof(*s->shards));
    for (uint32_t i = 0; i < s->base.layout.ranks; i++)
        s->ranks[i].seat = SHM_NONE;
    for (uint32_t i = 0; i < s->base.layout.shards; i++)
        s->shards[i].bank = SHM_NONE;
    if (creator) {
        shm_lock(s);
        shm_general_rebuild(s);
        shm_unlock(s);
    }
    rc = check_open(s, err);
    if (!rc)
        rc = shm_handle_take(s, err);
    if (rc) {
        shm_map_close(s->map);
        heap_free(s->heap, s->ranks);
        heap_free(s->heap, s->shards);
        heap_free(s->heap, s);
        return rc;
    }
    *out = &s->base;
    return 0;
}

int params_shm_create(const struct params_layout *layout, const struct params_open *open,
                      struct params **out, struct error *err)
{
    int fd, rc = shm_file_create(layout, &fd, err);

    if (rc)
        return rc;
    rc = open_handle(fd, open, true, out, err);
    if (rc) {
        close(fd);
        return rc;
    }
    shm(*out)->creator = true;
    shm(*out)->fd = fd;
    return 0;
}

int params_shm_open(const char *url, int fd, const struct params_open *open, struct params **out,
                    struct error *err)
{
    if (strcmp(url, "shm:") != 0)
        return fail(err, E_INVALID, "the address of a shared-memory store is 'shm:', not '%s'",
                    url);
    if (fd < 0)
        return fail(err, E_INVALID, "a shared-memory store is opened by its inherited descriptor");
    return open_handle(fd, open, false, out, err);
}

static int shm_address(struct params *p, struct params_address *out, struct error *err)
{
    struct shm_params *s = shm(p);

    if (s->fd < 0)
        return fail(err, E_UNSUPPORTED, "only its creator gives a shared-memory store away");
    snprintf(out->url, sizeof(out->url), "shm:");
    out->fd = s->fd;
    return 0;
}

static void shm_close(struct params *p)
{
    struct shm_params *s = shm(p);

    shm_arena_leave(s);
    shm_general_leave(s);
    shm_handle_give(s);
    if (s->creator) {
        atomic_store_explicit(&s->file->closed, 1, memory_order_release);
        shm_signal_all(s);
        close(s->fd);
    }
    shm_map_close(s->map);
    heap_free(s->heap, s->ranks);
    heap_free(s->heap, s->shards);
    heap_free(s->heap, s);
}

/* ---- values ---- */

static int shm_reserve(struct params *p, const struct params_key *keys, const size_t *sizes,
                       unsigned count, void **out, struct error *err)
{
    struct shm_params *s = shm(p);
    int rc = check_open(s, err);

    if (rc)
        return rc;
    if (keys->kind == PARAMS_PART)
        return shm_part_reserve(s, keys, sizes, count, out, err);
    if (keys->kind == PARAMS_SUM)
        return shm_sum_reserve(s, keys, sizes, count, out, err);
    return shm_general_reserve(s, keys, sizes, count, out, err);
}

static int shm_publish(struct params *p, const struct params_key *keys, unsigned count,
                       struct error *err)
{
    struct shm_params *s = shm(p);
    int rc = check_open(s, err);

    if (rc)
        return rc;
    if (keys->kind == PARAMS_PART)
        return shm_part_publish(s, keys, count, err);
    if (keys->kind == PARAMS_SUM)
        return shm_sum_publish(s, keys, count, err);
    return shm_general_publish(s, keys, count, err);
}

static bool find(struct shm_params *s, const struct params_key *key, struct slice *view)
{
    if (key->kind == PARAMS_PART)
        return shm_part_find(s, key, view);
    if (key->kind == PARAMS_SUM)
        return shm_sum_find(s, key, view);
    if (key->kind == PARAMS_CONTROL)
        return atomic_load(&shm_control(s)->version) != 0;
    return shm_general_find(s, key, view);
}

static int shm_missing(struct params *p, const struct params_key *keys, unsigned count, bool *out,
                       struct error *err)
{
    struct shm_params *s = shm(p);
    int rc = check_open(s, err);

    for (unsigned i = 0; i < count && !rc; i++)
        out[i] = !find(s, &keys[i], NULL);
    return rc;
}

static int shm_cas(struct params *p, const struct params_key *key, uint64_t expected,
                   struct slice value, uint64_t *version, struct error *err)
{
    struct shm_params *s = shm(p);
    int rc = check_open(s, err);

    return rc ? rc : shm_general_cas(s, key, expected, value, version, err);
}

static int shm_get(struct params *p, const struct params_key *key, struct buf *out,
                   uint64_t *version, struct error *err)
{
    struct shm_params *s = shm(p);
    int rc = check_open(s, err);

    return rc ? rc : shm_general_get(s, key, out, version, err);
}

static int shm_append(struct params *p, const struct params_key *log, struct slice entry,
                      struct error *err)
{
    struct shm_params *s = shm(p);
    int rc = check_open(s, err);

    return rc ? rc : shm_log_append(s, log, entry, err);
}

static int shm_read(struct params *p, const struct params_key *log, uint64_t *cursor,
                    struct buf *out, struct error *err)
{
    struct shm_params *s = shm(p);
    int rc = check_open(s, err);

    return rc ? rc : shm_log_read(s, log, cursor, out, err);
}

static int shm_drop(struct params *p, const struct params_key *keys, unsigned count,
                    struct error *err)
{
    struct shm_params *s = shm(p);
    int rc = check_open(s, err);

    if (!rc)
        shm_general_drop(s, keys, count);
    return rc;
}

/* Rooms are used again by step numbers alone: what a handle reads is not recorded anywhere. */
static void shm_release(struct params *p, uint64_t step)
{
    (void)p;
    (void)step;
}

/* ---- waiting ---- */

/*
 * The first key that is not there, looking from START on and round; COUNT if all are. Starting
 * where the last wait ended finds the slowest rank at once, so that a waiter sleeps once a step
 * and not once for every rank.
 */
static unsigned first_missing(struct shm_params *s, const struct params_wait *w, unsigned start)
{
    for (unsigned i = 0; i < w->count; i++) {
        unsigned k = start + i < w->count ? start + i : start + i - w->count;

        if (!find(s, &w->keys[k], &w->views[k]))
            return k;
    }
    return w->count;
}

static shm_event *event_of(struct shm_params *s, const struct params_key *key)
{
    if (key && key->kind == PARAMS_PART)
        return &shm_ranks(s)[key->rank].event;
    if (key && key->kind == PARAMS_SUM)
        return &shm_shards(s)[key->shard].event;
    return &s->file->general_event;
}

static bool control_changed(struct shm_params *s, const struct params_wait *w)
{
    return w->seen_version != PARAMS_UNWATCHED &&
           atomic_load_explicit(&shm_control(s)->version, memory_order_acquire) != w->seen_version;
}

/* Sleep until KEY may be there, or the record changed, or it is time to look again. */
static int sleep_for(struct shm_params *s, const struct params_wait *w,
                     const struct params_key *key, struct error *err)
{
    shm_event *event = event_of(s, key);
    uint32_t seen = atomic_load_explicit(event, memory_order_acquire);
    uint64_t now, ns = SHM_RECHECK_NS;

    if (key && find(s, key, NULL))
        return 0;
    if (atomic_load_explicit(&s->file->closed, memory_order_acquire))
        return check_open(s, err);
    if (control_changed(s, w))
        return E_CHANGED;
    if (w->until == 0)
        return E_TIMEOUT;
    if (w->until != ENV_FOREVER) {
        now = env_now(s->env);
        if (now >= w->until)
            return E_TIMEOUT;
        ns = MIN(ns, w->until - now);
    }
    if (shm_sleep(event, seen, ns) && key && key->kind != PARAMS_PART && key->kind != PARAMS_SUM) {
        /* Nothing for a while: somebody may have died with the lock, and nobody else noticed. */
        shm_lock(s);
        shm_unlock(s);
    }
    return 0;
}

static int shm_wait(struct params *p, const struct params_wait *w, struct error *err)
{
    struct shm_params *s = shm(p);
    unsigned *last = &s->last[w->count ? w->keys->kind : PARAMS_CONTROL];
    unsigned at = *last < w->count ? *last : 0;
    int rc = 0;

    while (!rc) {
        at = first_missing(s, w, at);
        if (w->count && at == w->count)
            return 0;
        rc = sleep_for(s, w, w->count ? &w->keys[at] : NULL, err);
        *last = at;
    }
    if (rc == E_CHANGED)
        return fail(err, rc, "the control record changed");
    if (rc == E_TIMEOUT)
        return fail_retriable(err, rc, "not all of %u values came in time", w->count);
    return rc;
}

const struct params_ops params_shm = {
    .name = "shm",
    .caps = PARAMS_CAP_IN_PLACE,
    .reserve = shm_reserve,
    .publish = shm_publish,
    .cas = shm_cas,
    .get = shm_get,
    .wait = shm_wait,
    .release = shm_release,
    .missing = shm_missing,
    .append = shm_append,
    .read = shm_read,
    .drop = shm_drop,
    .address = shm_address,
    .close = shm_close,
};
