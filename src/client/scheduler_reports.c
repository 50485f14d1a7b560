/* SPDX-License-Identifier: Apache-2.0 */
/* What the scheduler makes of reports: evaluations, losses, progress. */
#include "client/scheduler_internal.h"

#include <inttypes.h>

/* Speed is what was done in so much training. */
#define SPEED_OVER_NS (500 * NS_PER_MS)

/* Whether A is better than B; anything is better than what is not a number. */
static bool better(const struct scheduler *s, double a, double b)
{
    const struct gust_metric *m = s->o->blueprint->trainer->metrics;

    if (isnan(a) || isnan(b))
        return !isnan(a);
    return m[0].higher_is_better ? a > b : a < b;
}

static void remember_evaluation(struct scheduler *s, const struct evaluation *e)
{
    struct run *run = s->run;

    if (run->evaluation_count == s->evaluation_room) {
        unsigned room = MAX(2 * s->evaluation_room, 64u);
        struct evaluation *more = heap_alloc(s->o->heap, room * sizeof(*more));

        if (run->evaluation_count)
            memcpy(more, run->evaluations, run->evaluation_count * sizeof(*more));
        heap_free(s->o->heap, run->evaluations);
        run->evaluations = more;
        s->evaluation_room = room;
    }
    run->evaluations[run->evaluation_count++] = *e;
    if (better(s, e->values[0], run->evaluations[run->best].values[0]))
        run->best = run->evaluation_count - 1;
}

static bool reached(const struct scheduler *s, double value)
{
    const struct gust_metric *m = s->o->blueprint->trainer->metrics;

    if (!s->job->has_target)
        return false;
    return m[0].higher_is_better ? value >= s->job->target : value <= s->job->target;
}

/* After an evaluation: whether this was the last one needed. */
static int judge(struct scheduler *s, const struct evaluation *e, struct error *err)
{
    unsigned since = s->run->evaluation_count - 1 - s->run->best;
    int rc = s->job->patience && s->kept_count ? scheduler_drop_bases(s, err) : 0;

    if (rc)
        return rc;
    /* The last evaluations of a run that ends anyway may still reach it. */
    if (s->state == STOPPING && s->run->end == RUN_LIMIT && reached(s, e->values[0]))
        s->run->end = RUN_TARGET;
    if (s->state != RUNNING)
        return 0;
    if (reached(s, e->values[0]))
        return scheduler_stop_after(s, e->step, RUN_TARGET, err);
    if (s->job->patience && since >= s->job->patience)
        return scheduler_stop_after(s, e->step, RUN_PATIENCE, err);
    return 0;
}

static int on_eval(struct scheduler *s, struct error *err)
{
    const struct blueprint *b = s->o->blueprint;
    struct evaluation e = { .step = s->report->step, .epoch = scheduler_epoch(s, s->report->step) };
    struct tally_entry *entry;
    double sums[GUST_SUMS_MAX];
    int rc = tally_add(&s->evals, s->report, &entry, err);

    if (rc)
        return rc;
    /* Rank 0's steps come before its evaluation, whenever the others' reports come. */
    if (s->report->rank == 0) {
        entry->note = s->weight_sum > 0 ? s->loss_sum / s->weight_sum : 0;
        s->loss_sum = s->weight_sum = 0;
    }
    if (!tally_complete(&s->evals, entry))
        return 0;
    tally_sums(&s->evals, entry, sums);
    e.seconds = (double)tally_clock(&s->evals, entry) / NS_PER_S;
    e.loss_train = entry->note;
    tally_free_entry(entry);
    b->trainer->score(b->self, sums, e.values);
    s->evaluated_step = e.step;
    remember_evaluation(s, &e);
    if (s->o->listener && s->o->listener->evaluated)
        s->o->listener->evaluated(s->o->listener->arg, &e);
    return judge(s, &e, err);
}

static int on_hash(struct scheduler *s, struct error *err)
{
    struct tally_entry *entry;
    uint32_t odd;
    int rc = tally_add(&s->hashes, s->report, &entry, err);

    if (rc || !tally_complete(&s->hashes, entry))
        return rc;
    odd = tally_odd_one(&s->hashes, entry);
    tally_free_entry(entry);
    if (odd == s->workers)
        return 0;
    return fail(err, E_MISMATCH,
                "rank %u's parameters differ from rank 0's before step %" PRIu64
                ": this should never happen and the result cannot be trusted",
                odd, s->report->step);
}

/* Steps per second of training, of late. */
static double speed(struct scheduler *s)
{
    uint64_t passed = s->clock_ns - s->mark_ns;

    /* Before the first stretch is over, what there is of it. */
    if (passed > 0 && (passed >= SPEED_OVER_NS || s->mark_ns == 0))
        s->steps_per_second = (double)(s->run->steps - s->mark_step) * NS_PER_S / (double)passed;
    if (passed >= SPEED_OVER_NS) {
        s->mark_step = s->run->steps;
        s->mark_ns = s->clock_ns;
    }
    return s->steps_per_second;
}

/* How near the nearest limit is. */
static void fill_outlook(struct scheduler *s, struct progress *p)
{
    double steps = (double)s->run->steps, per_second = speed(s);

    p->rate = per_second * (double)s->o->blueprint->data->rows[DATASET_TRAIN] /
              (double)s->steps_per_epoch;
    p->seconds_left = INFINITY;
    if (s->steps_limit != UINT64_MAX) {
        p->share = steps / (double)s->steps_limit;
        if (per_second > 0)
            p->seconds_left = ((double)s->steps_limit - steps) / per_second;
    }
    if (s->job->seconds_max > 0) {
        p->share = MAX(p->share, MIN(p->seconds / s->job->seconds_max, 1.0));
        p->seconds_left = MIN(p->seconds_left, MAX(s->job->seconds_max - p->seconds, 0.0));
    }
}

static void tell_progress(struct scheduler *s)
{
    const struct run *run = s->run;
    uint64_t ms = (env_now(s->o->env) - s->began) / NS_PER_MS;
    struct progress p = { .step = run->steps,
                          .epoch = scheduler_epoch(s, run->steps),
                          .seconds = (double)s->clock_ns / NS_PER_S,
                          .loss_train = run->loss_train,
                          .examples = run->examples,
                          .workers = s->workers - s->exit_count };

    fill_outlook(s, &p);
    p.bill_usd =
        meter_so_far_usd(s->o->meter, p.workers, s->job->fleet.memory_mb, ms, s->o->store_bytes);
    s->o->listener->progressed(s->o->listener->arg, &p);
}

static void on_steps(struct scheduler *s)
{
    const struct report *r = s->report;
    struct run *run = s->run;
    double loss = 0, weight = 0;

    s->members[r->rank].steps = r->step + r->count;
    run->examples += r->examples;
    report_times_add(&run->times, &r->times);
    if (r->rank != 0)
        return;
    for (uint32_t i = 0; i < r->count; i++) {
        loss += r->losses[i];
        weight += r->weights[i];
    }
    s->loss_sum += loss;
    s->weight_sum += weight;
    s->clock_ns = r->clock_ns;
    run->steps = r->step + r->count;
    run->loss_train = weight > 0 ? loss / weight : 0;
    if (s->o->listener && s->o->listener->progressed)
        tell_progress(s);
}

static int on_report(struct scheduler *s, struct error *err)
{
    struct member *m = &s->members[s->report->rank];

    s->run->heap_bytes_max = MAX(s->run->heap_bytes_max, s->report->heap_bytes);
    /* Functions of one machine, and of the twin, have one clock; this is only shown. */
    if (s->report->first_at > s->began)
        s->run->first_seconds =
            MAX(s->run->first_seconds, (double)(s->report->first_at - s->began) / NS_PER_S);
    switch (s->report->kind) {
    case REPORT_READY:
        s->ready_count += !m->ready;
        m->ready = true;
        s->run->ready_ns_max = MAX(s->run->ready_ns_max, s->report->ready_ns);
        return 0;
    case REPORT_STEPS:
        on_steps(s);
        return 0;
    case REPORT_EVAL:
        return on_eval(s, err);
    case REPORT_HASH:
        return on_hash(s, err);
    case REPORT_BASE:
        return scheduler_on_base(s, err);
    case REPORT_DONE:
        s->done_count += !m->done;
        m->done = true;
        return 0;
    default:
        return 0;
    }
}

static int read_log(struct scheduler *s, uint32_t rank, struct error *err)
{
    struct params_key log = report_log(rank);
    size_t at = 0;
    int rc;

    buf_reset(&s->log);
    rc = params_read(s->o->params, &log, &s->members[rank].cursor, &s->log, err);
    while (!rc && at + sizeof(uint32_t) <= s->log.size) {
        uint32_t size;

        memcpy(&size, s->log.data + at, sizeof(size));
        at += sizeof(size);
        if (size > s->log.size - at)
            return fail(err, E_FORMAT, "the log of rank %u is cut off", rank);
        memset(s->report, 0, offsetof(struct report, losses));
        rc = report_decode(s->report, slice(s->log.data + at, size), err);
        if (!rc && s->report->rank != rank)
            rc = fail(err, E_FORMAT, "rank %u's log holds a report of rank %u", rank,
                      s->report->rank);
        if (!rc)
            rc = on_report(s, err);
        at += size;
    }
    return rc;
}

int scheduler_read_logs(struct scheduler *s, struct error *err)
{
    int rc = 0;

    for (uint32_t r = 0; !rc && r < s->workers; r++)
        rc = read_log(s, r, err);
    return rc;
}
