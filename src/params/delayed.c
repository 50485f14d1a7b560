/* SPDX-License-Identifier: Apache-2.0 */
/* A parameter store whose calls take time, as over a link; see decorators.h. */
#include <assert.h>

#include "params/decorators.h"

struct delayed {
    struct params base;
    struct params *inner;
    struct env *env;
    struct heap *heap;
    struct params_delays delays;
};

static struct delayed *delayed(struct params *p)
{
    assert(p->ops == &params_delayed);
    return container_of(p, struct delayed, base);
}

/* The request is on its way; returns the store it arrives at. */
static struct params *travel(struct delayed *d)
{
    if (d->delays.latency_ns)
        env_sleep(d->env, d->delays.latency_ns);
    return d->inner;
}

/* BYTES cross the link. */
static void transfer(struct delayed *d, uint64_t bytes)
{
    if (d->delays.bytes_per_s > 0 && bytes)
        env_sleep(d->env, (uint64_t)((double)bytes / d->delays.bytes_per_s * (double)NS_PER_S));
}

/* Reserving asks nobody: over a link the memory is the function's own until it is published. */
static int delayed_reserve(struct params *p, const struct params_key *keys, const size_t *sizes,
                           unsigned count, void **out, struct error *err)
{
    return params_reserve(delayed(p)->inner, keys, sizes, count, out, err);
}

static int delayed_publish(struct params *p, const struct params_key *keys, unsigned count,
                           struct error *err)
{
    struct delayed *d = delayed(p);
    int rc = params_publish(travel(d), keys, count, err);
    uint64_t bytes = d->inner->counts.published_bytes - p->counts.published_bytes;

    p->counts.published_bytes += bytes;
    transfer(d, bytes);
    return rc;
}

static int delayed_cas(struct params *p, const struct params_key *key, uint64_t expected,
                       struct slice value, uint64_t *version, struct error *err)
{
    struct delayed *d = delayed(p);

    transfer(d, value.size);
    return params_cas(travel(d), key, expected, value, version, err);
}

static int delayed_get(struct params *p, const struct params_key *key, struct buf *out,
                       uint64_t *version, struct error *err)
{
    struct delayed *d = delayed(p);
    int rc = params_get(travel(d), key, out, version, err);

    transfer(d, rc ? 0 : out->size);
    return rc;
}

static int delayed_wait(struct params *p, const struct params_wait *w, struct error *err)
{
    struct delayed *d = delayed(p);
    uint64_t before = d->inner->counts.viewed_bytes;
    int rc = params_wait(travel(d), w, err);

    transfer(d, d->inner->counts.viewed_bytes - before);
    return rc;
}

static void delayed_release(struct params *p, uint64_t step)
{
    params_release(delayed(p)->inner, step);
}

static int delayed_missing(struct params *p, const struct params_key *keys, unsigned count,
                           bool *out, struct error *err)
{
    return params_missing(travel(delayed(p)), keys, count, out, err);
}

static int delayed_append(struct params *p, const struct params_key *log, struct slice entry,
                          struct error *err)
{
    struct delayed *d = delayed(p);

    transfer(d, entry.size);
    return params_append(travel(d), log, entry, err);
}

static int delayed_read(struct params *p, const struct params_key *log, uint64_t *cursor,
                        struct buf *out, struct error *err)
{
    struct delayed *d = delayed(p);
    size_t before = out->size;
    int rc = params_read(travel(d), log, cursor, out, err);

    transfer(d, out->size - before);
    return rc;
}

static int delayed_drop(struct params *p, const struct params_key *keys, unsigned count,
                        struct error *err)
{
    return params_drop(travel(delayed(p)), keys, count, err);
}

static int delayed_address(struct params *p, struct params_address *out, struct error *err)
{
    return params_address(delayed(p)->inner, out, err);
}

static void delayed_close(struct params *p)
{
    struct delayed *d = delayed(p);

    params_close(d->inner);
    heap_free(d->heap, d);
}

struct params *params_delayed_new(struct params *inner, const struct params_open *open,
                                  const struct params_delays *delays)
{
    struct delayed *d = heap_alloc(open->heap, sizeof(*d));

    d->base = (struct params){ .ops = &params_delayed, .layout = inner->layout };
    d->inner = inner;
    d->env = open->env;
    d->heap = open->heap;
    d->delays = *delays;
    return &d->base;
}

const struct params_ops params_delayed = {
    .name = "delayed",
    .reserve = delayed_reserve,
    .publish = delayed_publish,
    .cas = delayed_cas,
    .get = delayed_get,
    .wait = delayed_wait,
    .release = delayed_release,
    .missing = delayed_missing,
    .append = delayed_append,
    .read = delayed_read,
    .drop = delayed_drop,
    .address = delayed_address,
    .close = delayed_close,
};
