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
 */
#include "params/memory.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>

#include "base/props.h"
#include "base/wire.h"
#include "params/memory_hub.h"

#define READ_BYTES_MAX MIB

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
    int rc = enter(m, err);

    if (rc)
        return rc;
    rc = hub_reserve(m->hub, m->member, keys, sizes, count, out, err);
    leave(m);
    return rc;
}

static int memory_publish(struct params *p, const struct params_key *keys, unsigned count,
                          struct error *err)
{
    struct memory_params *m = memory(p);
    int rc = enter(m, err);

    if (rc)
        return rc;
    rc = hub_publish(m->hub, m->member, keys, count, &p->counts.published_bytes, err);
    for (unsigned i = 0; i < count && !rc; i++)
        wake_queue(queue_of(m->hub, &keys[i]));
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
    const struct item *item = *hub_item(h, key);
    uint64_t version = item ? item->version : 0;
    int rc;

    if (version != expected)
        return changed(expected, version, err);
    rc = hub_set_item(h, key, version + 1, value, err);
    if (!rc)
        wake_queue(&h->general_queue);
    return rc;
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
    if (!hub_find(m->hub, key, &value)) {
        rc = fail(err, E_NOT_FOUND, "there is no such value");
    } else {
        buf_reset(out);
        buf_add(out, value.data, value.size);
        if (out->failed)
            rc = fail(err, E_LIMIT, "a value of %zu bytes does not fit into %zu", value.size,
                      out->max_bytes);
        else
            *version = key->kind == PARAMS_CONTROL ? m->hub->control_version
                                                   : (*hub_item(m->hub, key))->version;
    }
    leave(m);
    return rc;
}

/* The first key that is not there; COUNT if all are. */
static unsigned first_missing(struct hub *h, const struct params_wait *w)
{
    unsigned i = 0;

    while (i < w->count && hub_find(h, &w->keys[i], &w->views[i]))
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
        out[i] = !hub_find(m->hub, &keys[i], &view);
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
    if (h->log_bytes + hub_extent(bytes.size + 1) > h->layout.general_bytes / 2)
        rc = fail_retriable(err, E_FULL, "the logs are full: the reader is too far behind");
    else
        rc = hub_take(h, hub_extent(bytes.size + 1), err);
    if (!rc) {
        entry = hub_alloc(1, sizeof(*entry) + bytes.size);
        entry->number = ++log->count;
        entry->size = bytes.size;
        if (bytes.size)
            memcpy(entry->bytes, bytes.data, bytes.size);
        *log->end = entry;
        log->end = &entry->next;
        h->log_bytes += hub_extent(bytes.size + 1);
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
    h->used_bytes -= hub_extent(entry->size + 1);
    h->log_bytes -= hub_extent(entry->size + 1);
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
        } else if (*hub_item(h, &keys[i])) {
            hub_remove_item(h, hub_item(h, &keys[i]));
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
    struct hub *h = hub_alloc(1, sizeof(*h));

    h->layout = *l;
    pthread_mutex_init(&h->lock, NULL);
    h->members_end = &h->members;
    h->parts = hub_alloc(l->ranks, sizeof(*h->parts));
    h->sums = hub_alloc((size_t)l->sums_kept * l->shards, sizeof(*h->sums));
    h->rank_queues = hub_alloc(l->ranks, sizeof(*h->rank_queues));
    h->shard_queues = hub_alloc(l->shards, sizeof(*h->shard_queues));
    h->logs = hub_alloc((size_t)l->ranks + l->spares, sizeof(*h->logs));
    for (uint32_t i = 0; i < l->ranks + l->spares; i++)
        h->logs[i].end = &h->logs[i].first;
    return h;
}

static void hub_free(struct hub *h)
{
    for (uint32_t i = 0; i < h->layout.ranks + h->layout.spares; i++)
        while (h->logs[i].first)
            entry_drop(h, &h->logs[i]);
    hub_release_values(h);
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
    struct member *member = hub_alloc(1, sizeof(*member));

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
    hub_forget(h, m);
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
