/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler's plans: how far steps may go, and when they end. */
#include "client/scheduler_internal.h"

/* The horizon is kept this far ahead of the reports, in time and at least in steps. */
#define WINDOW_NS    (250 * NS_PER_MS)
#define WINDOW_FIRST 4u
#define WINDOW_LEAST 2u

int scheduler_publish(struct scheduler *s, struct error *err)
{
    int rc = control_check(s->control, err);

    if (rc)
        return rc;
    control_encode(s->control, &s->control_text);
    return params_cas(s->o->params, &control_key, s->control_version, buf_slice(&s->control_text),
                      &s->control_version, err);
}

/*
 * Where a decision hangs on evaluations, steps are planned no further than one evaluation more
 * than there are results of.
 */
static uint64_t decision_limit(const struct scheduler *s)
{
    uint64_t every = s->job->evaluate_every, limit = s->steps_limit;

    if ((s->job->has_target || s->job->patience) && every > 0)
        limit = MIN(limit, s->evaluated_step / every * every + 2 * every);
    return limit;
}

/* Everyone is ready: the first plan. */
int scheduler_begin(struct scheduler *s, struct error *err)
{
    struct control *c = s->control;

    *c = (struct control){ .term = 1, .plan_count = 1, .member_count = s->workers };
    c->plans[0] = (struct plan){ .workers = s->workers,
                                 .shards = scheduler_shards(s),
                                 .threads = s->job->threads,
                                 .batch = s->job->fleet.batch,
                                 .evaluate_every = s->job->evaluate_every,
                                 .base_every = s->job->base_every,
                                 .hash_every = s->job->hash_every };
    for (uint32_t r = 0; r < s->workers; r++)
        c->attempts[r] = 1;
    c->horizon = MIN((uint64_t)WINDOW_FIRST, decision_limit(s));
    s->state = RUNNING;
    s->ready_at = env_now(s->o->env);
    s->run->start_seconds = (double)(s->ready_at - s->began) / NS_PER_S;
    if (s->o->listener && s->o->listener->ready)
        s->o->listener->ready(s->o->listener->arg, s->run->start_seconds);
    return scheduler_publish(s, err);
}

/* A stop is a plan that begins at the horizon and has no steps. */
int scheduler_stop(struct scheduler *s, enum run_end why, struct error *err)
{
    struct control *c = s->control;
    struct plan stop = c->plans[c->plan_count - 1];

    stop.from = c->horizon;
    stop.stop = 1;
    /* The only plan so far may not have had a step yet: then the stop replaces it. */
    if (c->plans[c->plan_count - 1].from == c->horizon)
        c->plan_count--;
    c->plans[c->plan_count++] = stop;
    s->run->end = why;
    s->state = STOPPING;
    if (s->o->listener && s->o->listener->stopping)
        s->o->listener->stopping(s->o->listener->arg, why, stop.from);
    return scheduler_publish(s, err);
}

int scheduler_stop_after(struct scheduler *s, uint64_t step, enum run_end why, struct error *err)
{
    /* decision_limit() has kept the horizon from passing this. */
    uint64_t end = MIN(s->steps_limit, step + s->job->evaluate_every);

    s->control->horizon = MAX(s->control->horizon, end);
    return scheduler_stop(s, why, err);
}

/* Steps that all have done. */
static uint64_t steps_done(const struct scheduler *s)
{
    uint64_t least = UINT64_MAX;

    for (uint32_t r = 0; r < s->workers; r++)
        least = MIN(least, s->members[r].steps);
    return least;
}

/*
 * Keep the horizon ahead by a quarter of a second's steps, so that no worker waits for the
 * client, and not much further, so that a decision does not come late.
 */
static int extend_plan(struct scheduler *s, struct error *err)
{
    uint64_t done = steps_done(s), window = WINDOW_FIRST, horizon, limit = decision_limit(s);
    uint64_t now = env_now(s->o->env);

    if (s->control->horizon == s->steps_limit)
        return scheduler_stop(s, RUN_LIMIT, err);
    if (done > 0)
        window = MAX(WINDOW_LEAST, done * WINDOW_NS / MAX(now - s->ready_at, 1u));
    horizon = MIN(done + window, limit);
    if (horizon <= s->control->horizon ||
        (horizon < limit && horizon < s->control->horizon + window / 4))
        return 0;
    s->control->horizon = horizon;
    return scheduler_publish(s, err);
}

int scheduler_decide(struct scheduler *s, struct error *err)
{
    if (scheduler_interrupted(s))
        return scheduler_stop(s, RUN_INTERRUPTED, err);
    if (s->job->seconds_max > 0 && (double)s->clock_ns / NS_PER_S >= s->job->seconds_max)
        return scheduler_stop(s, RUN_LIMIT, err);
    return extend_plan(s, err);
}
