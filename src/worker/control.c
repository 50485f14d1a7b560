/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/control.h"

#include "base/wire.h"

#define CONTROL_MAGIC 0x4c525443u /* "CTRL" */

const struct params_key control_key = { .kind = PARAMS_CONTROL };

const struct plan *control_plan(const struct control *c, uint64_t step)
{
    uint32_t i = c->plan_count - 1;

    while (i > 0 && c->plans[i].from > step)
        i--;
    return &c->plans[i];
}

static int check_plan(const struct control *c, const struct plan *p, struct error *err)
{
    if (p->from > c->horizon || (p->stop && p->from < c->horizon))
        return fail(err, E_FORMAT, "a plan for step %llu does not fit horizon %llu",
                    (unsigned long long)p->from, (unsigned long long)c->horizon);
    if (p->workers == 0 || p->workers > c->member_count || p->shards < p->workers ||
        p->threads == 0 || p->threads > 256 || p->batch == 0 || p->stop > 1)
        return fail(err, E_FORMAT, "the plan for step %llu is impossible",
                    (unsigned long long)p->from);
    return 0;
}

int control_check(const struct control *c, struct error *err)
{
    if (c->plan_count == 0 || c->plan_count > CONTROL_PLANS_MAX ||
        c->member_count > CONTROL_RANKS_MAX)
        return fail(err, E_FORMAT, "a control record with %u plans and %u members", c->plan_count,
                    c->member_count);
    for (uint32_t i = 0; i < c->plan_count; i++) {
        int rc = check_plan(c, &c->plans[i], err);

        if (rc)
            return rc;
        if (i > 0 && c->plans[i].from <= c->plans[i - 1].from)
            return fail(err, E_FORMAT, "plans of a control record are out of order");
    }
    return 0;
}

void control_encode(const struct control *c, struct buf *out)
{
    buf_reset(out);
    wire_put_u32(out, CONTROL_MAGIC);
    wire_put_u32(out, CONTROL_VERSION);
    wire_put_u64(out, c->term);
    wire_put_u32(out, c->era);
    wire_put_u64(out, c->floor);
    wire_put_u64(out, c->horizon);
    wire_put_u32(out, c->plan_count);
    for (uint32_t i = 0; i < c->plan_count; i++) {
        const struct plan *p = &c->plans[i];

        wire_put_u64(out, p->from);
        wire_put_u32(out, p->workers);
        wire_put_u32(out, p->shards);
        wire_put_u32(out, p->threads);
        wire_put_u32(out, p->stop);
        wire_put_u64(out, p->batch);
        wire_put_u64(out, p->evaluate_every);
        wire_put_u64(out, p->base_every);
        wire_put_u64(out, p->hash_every);
    }
    wire_put_u32(out, c->member_count);
    for (uint32_t i = 0; i < c->member_count; i++)
        wire_put_u32(out, c->attempts[i]);
}

static void decode_plan(struct wire_reader *r, struct plan *p)
{
    p->from = wire_u64(r);
    p->workers = wire_u32(r);
    p->shards = wire_u32(r);
    p->threads = wire_u32(r);
    p->stop = wire_u32(r);
    p->batch = wire_u64(r);
    p->evaluate_every = wire_u64(r);
    p->base_every = wire_u64(r);
    p->hash_every = wire_u64(r);
}

int control_decode(struct control *c, struct slice from, struct error *err)
{
    struct control made = { 0 };
    struct wire_reader r;
    uint32_t magic, version;
    int rc;

    wire_read(&r, from);
    magic = wire_u32(&r);
    version = wire_u32(&r);
    if (magic != CONTROL_MAGIC || version != CONTROL_VERSION)
        return fail(err, E_FORMAT, "not a control record of version %d", CONTROL_VERSION);
    made.term = wire_u64(&r);
    made.era = wire_u32(&r);
    made.floor = wire_u64(&r);
    made.horizon = wire_u64(&r);
    made.plan_count = wire_u32(&r);
    if (made.plan_count > CONTROL_PLANS_MAX)
        return fail(err, E_FORMAT, "a control record with %u plans", made.plan_count);
    for (uint32_t i = 0; i < made.plan_count; i++)
        decode_plan(&r, &made.plans[i]);
    made.member_count = wire_u32(&r);
    if (made.member_count > CONTROL_RANKS_MAX)
        return fail(err, E_FORMAT, "a control record with %u members", made.member_count);
    for (uint32_t i = 0; i < made.member_count; i++)
        made.attempts[i] = wire_u32(&r);
    if (!wire_done(&r))
        return fail(err, E_FORMAT, "a control record of %zu bytes is cut off or too long",
                    from.size);
    rc = control_check(&made, err);
    if (!rc)
        *c = made;
    return rc;
}
