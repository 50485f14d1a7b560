/* SPDX-License-Identifier: Apache-2.0 */
/* An object store that tells of every call to the one inside. */
#include <assert.h>
#include <stdarg.h>

#include "objects/decorators.h"

struct traced_objects {
    struct objects base;
    struct objects *inner;
    objects_trace_fn write;
    void *arg;
};

static struct traced_objects *traced(struct objects *o)
{
    assert(o->ops == &objects_traced);
    return container_of(o, struct traced_objects, base);
}

static PRINTF(3, 4) int tell(struct traced_objects *t, int rc, const char *format, ...)
{
    char line[OBJECTS_NAME_MAX + 128];
    va_list args;
    size_t used;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    used = strlen(line);
    snprintf(line + used, sizeof(line) - used, ": %s", rc ? error_name(rc) : "ok");
    t->write(t->arg, line);
    return rc;
}

static int traced_put(struct objects *o, const char *name, struct slice value, struct error *err)
{
    struct traced_objects *t = traced(o);

    return tell(t, objects_put(t->inner, name, value, err), "put %s %zu bytes", name, value.size);
}

static int traced_create(struct objects *o, const char *name, struct slice value, struct error *err)
{
    struct traced_objects *t = traced(o);

    return tell(t, objects_create(t->inner, name, value, err), "create %s %zu bytes", name,
                value.size);
}

static int traced_get(struct objects *o, const char *name, uint64_t offset, size_t size, void *into,
                      size_t *got, struct error *err)
{
    struct traced_objects *t = traced(o);

    return tell(t, objects_get(t->inner, name, offset, size, into, got, err),
                "get %s %zu bytes at %llu", name, size, (unsigned long long)offset);
}

static int traced_map(struct objects *o, const char *name, struct slice *out, struct error *err)
{
    struct traced_objects *t = traced(o);

    return tell(t, objects_map(t->inner, name, out, err), "map %s", name);
}

static void traced_unmap(struct objects *o, struct slice view)
{
    struct traced_objects *t = traced(o);

    objects_unmap(t->inner, view);
    tell(t, 0, "unmap %zu bytes", view.size);
}

static int traced_list(struct objects *o, const char *prefix, objects_list_fn each, void *arg,
                       struct error *err)
{
    struct traced_objects *t = traced(o);

    return tell(t, objects_list(t->inner, prefix, each, arg, err), "list %s", prefix);
}

static int traced_stat(struct objects *o, const char *name, struct objects_stat *out,
                       struct error *err)
{
    struct traced_objects *t = traced(o);

    return tell(t, objects_stat(t->inner, name, out, err), "stat %s", name);
}

static int traced_delete(struct objects *o, const char *name, struct error *err)
{
    struct traced_objects *t = traced(o);

    return tell(t, objects_delete(t->inner, name, err), "delete %s", name);
}

static void traced_close(struct objects *o)
{
    struct traced_objects *t = traced(o);

    tell(t, 0, "close");
    objects_close(t->inner);
    heap_free(o->heap, t);
}

struct objects *objects_traced_new(struct objects *inner, objects_trace_fn write, void *arg)
{
    struct traced_objects *t = heap_alloc(inner->heap, sizeof(*t));

    t->base = (struct objects){ .ops = &objects_traced, .env = inner->env, .heap = inner->heap };
    t->inner = inner;
    t->write = write;
    t->arg = arg;
    return &t->base;
}

const struct objects_ops objects_traced = {
    .name = "traced",
    .put = traced_put,
    .create = traced_create,
    .get = traced_get,
    .map = traced_map,
    .unmap = traced_unmap,
    .list = traced_list,
    .stat = traced_stat,
    .delete = traced_delete,
    .close = traced_close,
};
