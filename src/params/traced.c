/* SPDX-License-Identifier: Apache-2.0 */
/* A parameter store that tells of every call; see decorators.h. It changes nothing. */
#include <assert.h>
#include <inttypes.h>

#include "params/decorators.h"

struct traced {
    struct params base;
    struct params *inner;
    struct heap *heap;
    params_trace_fn write;
    void *arg;
};

static struct traced *traced(struct params *p)
{
    assert(p->ops == &params_traced);
    return container_of(p, struct traced, base);
}

static const char *kind_name(uint32_t kind)
{
    static const char *const names[PARAMS_KINDS] = {
        [PARAMS_CONTROL] = "control", [PARAMS_CLAIM] = "claim", [PARAMS_PART] = "part",
        [PARAMS_SUM] = "sum",         [PARAMS_VALUE] = "value", [PARAMS_LOG] = "log",
    };

    return kind < PARAMS_KINDS && names[kind] ? names[kind] : "?";
}

/* "publish part era 0 step 7 rank 1 shard 0 +3: ok": the first key and how many more. */
static int tell(struct traced *t, const char *call, const struct params_key *keys, unsigned count,
                int rc)
{
    const char *result = rc ? error_name(rc) : "ok";
    char line[256], more[16] = "";

    if (count > 1)
        snprintf(more, sizeof(more), " +%u", count - 1);
    if (count)
        snprintf(line, sizeof(line),
                 "%s %s era %" PRIu32 " step %" PRIu64 " rank %" PRIu32 " shard %" PRIu32 "%s: %s",
                 call, kind_name(keys->kind), keys->era, keys->step, keys->rank, keys->shard, more,
                 result);
    else
        snprintf(line, sizeof(line), "%s: %s", call, result);
    t->write(t->arg, line);
    return rc;
}

static int traced_reserve(struct params *p, const struct params_key *keys, const size_t *sizes,
                          unsigned count, void **out, struct error *err)
{
    struct traced *t = traced(p);

    return tell(t, "reserve", keys, count, params_reserve(t->inner, keys, sizes, count, out, err));
}

static int traced_publish(struct params *p, const struct params_key *keys, unsigned count,
                          struct error *err)
{
    struct traced *t = traced(p);
    int rc = params_publish(t->inner, keys, count, err);

    p->counts.published_bytes = t->inner->counts.published_bytes;
    return tell(t, "publish", keys, count, rc);
}

static int traced_cas(struct params *p, const struct params_key *key, uint64_t expected,
                      struct slice value, uint64_t *version, struct error *err)
{
    struct traced *t = traced(p);

    return tell(t, "cas", key, 1, params_cas(t->inner, key, expected, value, version, err));
}

static int traced_get(struct params *p, const struct params_key *key, struct buf *out,
                      uint64_t *version, struct error *err)
{
    struct traced *t = traced(p);

    return tell(t, "get", key, 1, params_get(t->inner, key, out, version, err));
}

static int traced_wait(struct params *p, const struct params_wait *w, struct error *err)
{
    struct traced *t = traced(p);

    return tell(t, "wait", w->keys, w->count, params_wait(t->inner, w, err));
}

static void traced_release(struct params *p, uint64_t step)
{
    struct traced *t = traced(p);

    params_release(t->inner, step);
    tell(t, "release", NULL, 0, 0);
}

static int traced_missing(struct params *p, const struct params_key *keys, unsigned count,
                          bool *out, struct error *err)
{
    struct traced *t = traced(p);

    return tell(t, "missing", keys, count, params_missing(t->inner, keys, count, out, err));
}

static int traced_append(struct params *p, const struct params_key *log, struct slice entry,
                         struct error *err)
{
    struct traced *t = traced(p);

    return tell(t, "append", log, 1, params_append(t->inner, log, entry, err));
}

static int traced_read(struct params *p, const struct params_key *log, uint64_t *cursor,
                       struct buf *out, struct error *err)
{
    struct traced *t = traced(p);

    return tell(t, "read", log, 1, params_read(t->inner, log, cursor, out, err));
}

static int traced_drop(struct params *p, const struct params_key *keys, unsigned count,
                       struct error *err)
{
    struct traced *t = traced(p);

    return tell(t, "drop", keys, count, params_drop(t->inner, keys, count, err));
}

static int traced_address(struct params *p, struct params_address *out, struct error *err)
{
    struct traced *t = traced(p);

    return tell(t, "address", NULL, 0, params_address(t->inner, out, err));
}

static void traced_close(struct params *p)
{
    struct traced *t = traced(p);

    params_close(t->inner);
    tell(t, "close", NULL, 0, 0);
    heap_free(t->heap, t);
}

struct params *params_traced_new(struct params *inner, struct heap *heap, params_trace_fn write,
                                 void *arg)
{
    struct traced *t = heap_alloc(heap, sizeof(*t));

    t->base = (struct params){ .ops = &params_traced, .layout = inner->layout };
    t->inner = inner;
    t->heap = heap;
    t->write = write;
    t->arg = arg;
    return &t->base;
}

const struct params_ops params_traced = {
    .name = "traced",
    .caps = PARAMS_CAP_IN_PLACE,
    .reserve = traced_reserve,
    .publish = traced_publish,
    .cas = traced_cas,
    .get = traced_get,
    .wait = traced_wait,
    .release = traced_release,
    .missing = traced_missing,
    .append = traced_append,
    .read = traced_read,
    .drop = traced_drop,
    .address = traced_address,
    .close = traced_close,
};
