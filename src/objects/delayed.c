/* SPDX-License-Identifier: Apache-2.0 */
/* An object store as far away as its settings say. */
#include <assert.h>

#include "objects/decorators.h"

struct delayed_objects {
    struct objects base;
    struct objects *inner;
    struct objects_delays delays;
};

static struct delayed_objects *delayed(struct objects *o)
{
    assert(o->ops == &objects_delayed);
    return container_of(o, struct delayed_objects, base);
}

static void travel(struct delayed_objects *d, uint64_t bytes)
{
    if (d->delays.bytes_per_s > 0 && bytes)
        env_sleep(d->base.env, (uint64_t)((double)bytes / d->delays.bytes_per_s * NS_PER_S));
}

/* The inner store of a call that carries BYTES towards it. */
static struct objects *reach(struct objects *o, uint64_t bytes)
{
    struct delayed_objects *d = delayed(o);

    if (d->delays.latency_ns)
        env_sleep(o->env, d->delays.latency_ns);
    travel(d, bytes);
    return d->inner;
}

static int delayed_put(struct objects *o, const char *name, struct slice value, struct error *err)
{
    return objects_put(reach(o, value.size), name, value, err);
}

static int delayed_create(struct objects *o, const char *name, struct slice value,
                          struct error *err)
{
    return objects_create(reach(o, value.size), name, value, err);
}

static int delayed_get(struct objects *o, const char *name, uint64_t offset, size_t size,
                       void *into, size_t *got, struct error *err)
{
    int rc = objects_get(reach(o, 0), name, offset, size, into, got, err);

    if (!rc)
        travel(delayed(o), *got);
    return rc;
}

static int delayed_map(struct objects *o, const char *name, struct slice *out, struct error *err)
{
    int rc = objects_map(reach(o, 0), name, out, err);

    if (!rc)
        travel(delayed(o), out->size);
    return rc;
}

static void delayed_unmap(struct objects *o, struct slice view)
{
    objects_unmap(delayed(o)->inner, view);
}

static int delayed_list(struct objects *o, const char *prefix, objects_list_fn each, void *arg,
                        struct error *err)
{
    return objects_list(reach(o, 0), prefix, each, arg, err);
}

static int delayed_stat(struct objects *o, const char *name, struct objects_stat *out,
                        struct error *err)
{
    return objects_stat(reach(o, 0), name, out, err);
}

static int delayed_delete(struct objects *o, const char *name, struct error *err)
{
    return objects_delete(reach(o, 0), name, err);
}

static void delayed_close(struct objects *o)
{
    objects_close(delayed(o)->inner);
    heap_free(o->heap, delayed(o));
}

struct objects *objects_delayed_new(struct objects *inner, const struct objects_delays *delays)
{
    struct delayed_objects *d = heap_alloc(inner->heap, sizeof(*d));

    d->base = (struct objects){ .ops = &objects_delayed, .env = inner->env, .heap = inner->heap };
    d->inner = inner;
    d->delays = *delays;
    return &d->base;
}

const struct objects_ops objects_delayed = {
    .name = "delayed",
    .put = delayed_put,
    .create = delayed_create,
    .get = delayed_get,
    .map = delayed_map,
    .unmap = delayed_unmap,
    .list = delayed_list,
    .stat = delayed_stat,
    .delete = delayed_delete,
    .close = delayed_close,
};
