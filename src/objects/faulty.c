/* SPDX-License-Identifier: Apache-2.0 */
/* An object store on a bad day: calls fail before or after they took effect, as a seed says. */
#include <assert.h>

#include "base/random.h"
#include "objects/decorators.h"

struct faulty_objects {
    struct objects base;
    struct objects *inner;
    struct objects_faults faults;
    uint64_t calls;
};

static struct faulty_objects *faulty(struct objects *o)
{
    assert(o->ops == &objects_faulty);
    return container_of(o, struct faulty_objects, base);
}

static bool strikes(struct faulty_objects *f, double probability, unsigned kind)
{
    return random_unit64(random_at(f->faults.seed, f->calls, kind, 0)) < probability;
}

/* Whether this call fails before anything happens. */
static int before(struct faulty_objects *f, const char *verb, const char *name, struct error *err)
{
    f->calls++;
    if (strikes(f, f->faults.fails, 0))
        return fail_retriable(err, E_IO, "cannot %s '%s': the store did not answer", verb, name);
    return 0;
}

/* What the caller hears of a change that ended with RC. */
static int after(struct faulty_objects *f, int rc, const char *name, struct error *err)
{
    if (rc == 0 && strikes(f, f->faults.lost_reply, 1))
        return fail_retriable(err, E_IO, "the store's answer about '%s' was lost", name);
    return rc;
}

static int faulty_put(struct objects *o, const char *name, struct slice value, struct error *err)
{
    struct faulty_objects *f = faulty(o);
    int rc = before(f, "put", name, err);

    return rc ? rc : after(f, objects_put(f->inner, name, value, err), name, err);
}

static int faulty_create(struct objects *o, const char *name, struct slice value, struct error *err)
{
    struct faulty_objects *f = faulty(o);
    int rc = before(f, "create", name, err);

    return rc ? rc : after(f, objects_create(f->inner, name, value, err), name, err);
}

static int faulty_get(struct objects *o, const char *name, uint64_t offset, size_t size, void *into,
                      size_t *got, struct error *err)
{
    struct faulty_objects *f = faulty(o);
    int rc = before(f, "get", name, err);

    return rc ? rc : objects_get(f->inner, name, offset, size, into, got, err);
}

static int faulty_list(struct objects *o, const char *prefix, objects_list_fn each, void *arg,
                       struct error *err)
{
    struct faulty_objects *f = faulty(o);
    int rc = before(f, "list", prefix, err);

    return rc ? rc : objects_list(f->inner, prefix, each, arg, err);
}

static int faulty_stat(struct objects *o, const char *name, struct objects_stat *out,
                       struct error *err)
{
    struct faulty_objects *f = faulty(o);
    int rc = before(f, "stat", name, err);

    return rc ? rc : objects_stat(f->inner, name, out, err);
}

static int faulty_delete(struct objects *o, const char *name, struct error *err)
{
    struct faulty_objects *f = faulty(o);
    int rc = before(f, "delete", name, err);

    return rc ? rc : after(f, objects_delete(f->inner, name, err), name, err);
}

static void faulty_close(struct objects *o)
{
    objects_close(faulty(o)->inner);
    heap_free(o->heap, faulty(o));
}

struct objects *objects_faulty_new(struct objects *inner, const struct objects_faults *faults)
{
    struct faulty_objects *f = heap_alloc(inner->heap, sizeof(*f));

    f->base = (struct objects){ .ops = &objects_faulty, .env = inner->env, .heap = inner->heap };
    f->inner = inner;
    f->faults = *faults;
    return &f->base;
}

const struct objects_ops objects_faulty = {
    .name = "faulty",
    .put = faulty_put,
    .create = faulty_create,
    .get = faulty_get,
    .list = faulty_list,
    .stat = faulty_stat,
    .delete = faulty_delete,
    .close = faulty_close,
};
