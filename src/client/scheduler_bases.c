/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler's bases: sealed when every rank has written its part, deleted when a better one is
 * there. */
#include "client/scheduler_internal.h"

#include "worker/base.h"

/* Bases may take one part in so many of the time. */
#define BASE_COST_INVERSE 100

/* The evaluation before STEP, or NULL while there is none. */
static const struct evaluation *evaluation_at(const struct scheduler *s, uint64_t step)
{
    for (unsigned i = s->run->evaluation_count; i > 0; i--)
        if (s->run->evaluations[i - 1].step == step)
            return &s->run->evaluations[i - 1];
    return NULL;
}

/*
 * Delete the bases that nobody will want: all but the newest. With patience, that of the best
 * evaluation and those whose evaluation is not known yet stay, too.
 */
int scheduler_drop_bases(struct scheduler *s, struct error *err)
{
    const struct run *run = s->run;
    bool patient = s->job->patience > 0;
    uint64_t newest = s->kept[s->kept_count - 1], chosen = newest;
    unsigned left = 0;
    int rc = 0;

    for (unsigned i = 0; i < s->kept_count; i++) {
        uint64_t step = s->kept[i];
        const struct evaluation *e = patient ? evaluation_at(s, step) : NULL;
        bool best = e && e == &run->evaluations[run->best];

        if (best)
            chosen = step;
        if (step == newest || best || (patient && !e))
            s->kept[left++] = step;
        else if (!rc)
            rc = base_delete(s->o->objects, s->o->heap, step, err);
    }
    s->kept_count = left;
    s->run->base_step = chosen;
    return rc;
}

/* Base STEP is complete. */
int scheduler_keep_base(struct scheduler *s, uint64_t step, struct error *err)
{
    if (s->kept_count == KEPT_MAX)
        return fail(err, E_LIMIT, "%u states wait for their evaluation", s->kept_count);
    s->kept[s->kept_count++] = step;
    s->run->has_base = true;
    return scheduler_drop_bases(s, err);
}

/*
 * Bases may cost a hundredth of the time. When they cost more, a new plan makes them rarer:
 * whole multiples of what was asked for, so that they stay where a person expects them.
 */
static int space_bases(struct scheduler *s, uint64_t base_ns, struct error *err)
{
    struct control *c = s->control;
    struct plan plan = c->plans[c->plan_count - 1];
    uint64_t steps = MAX(s->run->steps, 1u), step_ns = MAX(s->clock_ns / steps, 1u);
    uint64_t wanted = BASE_COST_INVERSE * base_ns / step_ns, every = s->job->base_every;

    /* The best state can only be kept if every evaluation has one. */
    if (s->job->patience)
        return 0;
    if (s->state != RUNNING || every == 0 || wanted <= plan.base_every)
        return 0;
    plan.base_every = (wanted + every - 1) / every * every;
    /* Nobody needs plans that were over before the last complete base. */
    while (c->plan_count > 1 && c->plans[1].from <= c->floor) {
        memmove(&c->plans[0], &c->plans[1], (c->plan_count - 1) * sizeof(c->plans[0]));
        c->plan_count--;
    }
    if (c->plan_count >= CONTROL_PLANS_MAX - 1 || c->plans[c->plan_count - 1].from >= c->horizon)
        return 0;
    plan.from = c->horizon;
    c->plans[c->plan_count++] = plan;
    return scheduler_publish(s, err);
}

int scheduler_on_base(struct scheduler *s, struct error *err)
{
    struct objects *objects = s->o->objects;
    uint64_t step = s->report->step;
    struct tally_entry *entry;
    uint64_t took_ns;
    int rc = tally_add(&s->bases, s->report, &entry, err);

    if (rc)
        return rc;
    entry->note = entry->count == 1 ? 0 : entry->note;
    entry->note = MAX(entry->note, (double)s->report->took_ns);
    if (!tally_complete(&s->bases, entry))
        return 0;
    took_ns = (uint64_t)entry->note;
    tally_free_entry(entry);
    if (s->kept_count && s->kept[s->kept_count - 1] >= step)
        return 0;
    rc = base_seal(objects, s->o->heap, step, s->workers, s->o->blueprint->fingerprint, err);
    if (!rc)
        rc = scheduler_keep_base(s, step, err);
    if (rc)
        return rc;
    s->control->floor = step;
    if (s->o->listener && s->o->listener->based)
        s->o->listener->based(s->o->listener->arg, step, (double)took_ns / NS_PER_S);
    return space_bases(s, took_ns, err);
}
