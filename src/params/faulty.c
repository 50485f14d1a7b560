/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A parameter store whose calls fail now and then, by a seed; see decorators.h. It fails only in
 * ways in which a store over a network may: a request that does not arrive, a reply that is
 * lost, a wait that ends early.
 */
#include <assert.h>

#include "base/random.h"
#include "params/decorators.h"

/* Which fault a draw is for, so that one kind's probability does not shift another's draws. */
enum fault { FAULT_FAILS, FAULT_LOST_REPLY, FAULT_TIMEOUT };

struct faulty {
    struct params base;
    struct params *inner;
    struct heap *heap;
    struct params_faults faults;
    uint64_t calls;
};

static struct faulty *faulty(struct params *p)
{
    assert(p->ops == &params_faulty);
    return container_of(p, struct faulty, base);
}

static bool strikes(struct faulty *f, enum fault fault, double probability)
{
    return random_unit64(random_at(f->faults.seed, f->calls, fault, 0)) < probability;
}

/* Begins a call: E_IO if the request does not arrive. */
static int request(struct faulty *f, struct error *err)
{
    f->calls++;
    if (strikes(f, FAULT_FAILS, f->faults.fails))
        return fail_retriable(err, E_IO, "an injected fault: the request did not arrive");
    return 0;
}

/* Ends a call that returned RC: E_IO if its reply is lost. */
static int reply(struct faulty *f, double lost, int rc, struct error *err)
{
    if (strikes(f, FAULT_LOST_REPLY, lost))
        return fail_retriable(err, E_IO, "an injected fault: the reply was lost");
    return rc;
}

static int faulty_reserve(struct params *p, const struct params_key *keys, const size_t *sizes,
                          unsigned count, void **out, struct error *err)
{
    struct faulty *f = faulty(p);
    int rc = request(f, err);

    return rc ? rc : params_reserve(f->inner, keys, sizes, count, out, err);
}

static int faulty_publish(struct params *p, const struct params_key *keys, unsigned count,
                          struct error *err)
{
    struct faulty *f = faulty(p);
    int rc = request(f, err);

    if (rc)
        return rc;
    rc = params_publish(f->inner, keys, count, err);
    p->counts.published_bytes = f->inner->counts.published_bytes;
    return reply(f, f->faults.lost_reply, rc, err);
}

static int faulty_cas(struct params *p, const struct params_key *key, uint64_t expected,
                      struct slice value, uint64_t *version, struct error *err)
{
    struct faulty *f = faulty(p);
    uint64_t made;
    int rc = request(f, err);

    if (rc)
        return rc;
    rc = params_cas(f->inner, key, expected, value, &made, err);
    rc = reply(f, f->faults.lost_reply, rc, err);
    if (!rc)
        *version = made;
    return rc;
}

static int faulty_get(struct params *p, const struct params_key *key, struct buf *out,
                      uint64_t *version, struct error *err)
{
    struct faulty *f = faulty(p);
    int rc = request(f, err);

    return rc ? rc : params_get(f->inner, key, out, version, err);
}

static int faulty_wait(struct params *p, const struct params_wait *w, struct error *err)
{
    struct faulty *f = faulty(p);
    int rc = request(f, err);

    if (rc)
        return rc;
    if (strikes(f, FAULT_TIMEOUT, f->faults.timeout))
        return fail_retriable(err, E_TIMEOUT, "an injected fault: the wait ended early");
    return params_wait(f->inner, w, err);
}

static void faulty_release(struct params *p, uint64_t step)
{
    params_release(faulty(p)->inner, step);
}

static int faulty_missing(struct params *p, const struct params_key *keys, unsigned count,
                          bool *out, struct error *err)
{
    struct faulty *f = faulty(p);
    int rc = request(f, err);

    return rc ? rc : params_missing(f->inner, keys, count, out, err);
}

static int faulty_append(struct params *p, const struct params_key *log, struct slice entry,
                         struct error *err)
{
    struct faulty *f = faulty(p);
    int rc = request(f, err);

    if (rc)
        return rc;
    return reply(f, f->faults.lost_append, params_append(f->inner, log, entry, err), err);
}

/* A lost reply would lose the entries, for reading takes them: over a network a store keeps them.
 */
static int faulty_read(struct params *p, const struct params_key *log, uint64_t *cursor,
                       struct buf *out, struct error *err)
{
    struct faulty *f = faulty(p);
    int rc = request(f, err);

    return rc ? rc : params_read(f->inner, log, cursor, out, err);
}

static int faulty_drop(struct params *p, const struct params_key *keys, unsigned count,
                       struct error *err)
{
    struct faulty *f = faulty(p);
    int rc = request(f, err);

    if (rc)
        return rc;
    return reply(f, f->faults.lost_reply, params_drop(f->inner, keys, count, err), err);
}

static int faulty_address(struct params *p, struct params_address *out, struct error *err)
{
    return params_address(faulty(p)->inner, out, err);
}

static void faulty_close(struct params *p)
{
    struct faulty *f = faulty(p);

    params_close(f->inner);
    heap_free(f->heap, f);
}

struct params *params_faulty_new(struct params *inner, struct heap *heap,
                                 const struct params_faults *faults)
{
    struct faulty *f = heap_alloc(heap, sizeof(*f));

    f->base = (struct params){ .ops = &params_faulty, .layout = inner->layout };
    f->inner = inner;
    f->heap = heap;
    f->faults = *faults;
    return &f->base;
}

const struct params_ops params_faulty = {
    .name = "faulty",
    .caps = PARAMS_CAP_IN_PLACE,
    .reserve = faulty_reserve,
    .publish = faulty_publish,
    .cas = faulty_cas,
    .get = faulty_get,
    .wait = faulty_wait,
    .release = faulty_release,
    .missing = faulty_missing,
    .append = faulty_append,
    .read = faulty_read,
    .drop = faulty_drop,
    .address = faulty_address,
    .close = faulty_close,
};
