/* SPDX-License-Identifier: Apache-2.0 */
#include "client/scheduler.h"

#include <inttypes.h>

#include "client/tally.h"
#include "client/warm_start.h"
#include "worker/base.h"

/*
 * How often the client looks at reports and exits. It has two sources to wait for, a store
 * and a platform; looking at both a hundred times a second costs a thousandth of a core.
 */
#define LOOK_EVERY_NS (10 * NS_PER_MS)
/* The first step should not wait for the client. */
#define LOOK_EVERY_NS_STARTING (500 * NS_PER_US)

/* The horizon is kept this far ahead of the reports, in time and at least in steps. */
#define WINDOW_NS    (250 * NS_PER_MS)
#define WINDOW_FIRST 64

#define LOG_READ_MAX (4 * MIB)

/* Bases may take one part in so many of the time. */
#define BASE_COST_INVERSE 100

/* Sealed bases at once: the best, the newest, and any that wait for their evaluation. */
#define KEPT_MAX TALLY_OPEN_MAX

/* Speed is what was done in so much training. */
#define SPEED_OVER_NS (500 * NS_PER_MS)

enum state { STARTING, RUNNING, STOPPING, ENDED, FAILED };

struct member {
    uint64_t id;     /* of its invocation */
    uint64_t cursor; /* in its log */
    uint64_t steps;  /* done, as reported */
    bool ready, done, exited;
};

struct scheduler {
    const struct scheduler_options *o;
    const struct job *job;
    struct run *run;
    enum state state;
    uint64_t began, ready_at; /* env times */

    uint32_t workers;
    struct member *members;
    uint32_t ready_count, done_count, exit_count;

    struct control *control;
    uint64_t control_version;
    struct buf control_text;
    uint64_t steps_per_epoch; /* T of the first epoch */
    uint64_t steps_limit;     /* the horizon never passes this */

    struct tally evals, bases, hashes;
    struct buf log;
    struct report *report; /* the one being read */
    unsigned evaluation_room;

    /* With patience, the base of the best evaluation is kept beside the newest. */
    uint64_t kept[KEPT_MAX]; /* sealed bases, in order of their steps */
    unsigned kept_count;

    double loss_sum, weight_sum; /* since the last evaluation */
    uint64_t evaluated_step;     /* of the last complete evaluation */
    uint64_t clock_ns;           /* highest training clock reported by rank 0 */

    /* Speed of late: from a mark that moves on when it is old. */
    uint64_t mark_step, mark_ns;
    double steps_per_second;
};

const char *run_end_text(enum run_end end)
{
    static const char *const texts[] = { [RUN_LIMIT] = "limit",
                                         [RUN_TARGET] = "target",
                                         [RUN_PATIENCE] = "patience",
                                         [RUN_INTERRUPTED] = "interrupted",
                                         [RUN_FAILED] = "failed" };

    return texts[end];
}

void scheduler_layout(const struct blueprint *b, const struct job *job, struct params_layout *out)
{
    uint32_t shards = job->shards ? job->shards : job->fleet.workers;

    exchange_layout(&b->shape, job->fleet.workers, shards, 2, out);
    out->spares = 1;
    /* Claims, control record, and logs that hold some seconds of reports. */
    out->general_bytes = 2 * MIB + (size_t)job->fleet.workers * 256 * KIB;
}

static uint32_t shards_of(const struct scheduler *s)
{
    return s->job->shards ? s->job->shards : s->workers;
}

/* Steps of one pass, and after how many steps a limit ends the run. */
static void count_steps(struct scheduler *s)
{
    const struct dataset *d = s->o->blueprint->data;
    uint64_t batch = s->job->fleet.batch;
    uint64_t limit = UINT64_MAX;

    s->steps_per_epoch = (d->rows[DATASET_TRAIN] + batch - 1) / batch;
    if (s->job->steps_max)
        limit = s->job->steps_max;
    if (s->job->epochs_max > 0)
        limit = MIN(limit, (uint64_t)ceil(s->job->epochs_max * (double)s->steps_per_epoch));
    s->steps_limit = limit;
}

/* ---- bases --------------------------------------------------------------------------------- */

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
static int drop_bases(struct scheduler *s, struct error *err)
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
static int keep_base(struct scheduler *s, uint64_t step, struct error *err)
{
    if (s->kept_count == KEPT_MAX)
        return fail(err, E_LIMIT, "%u states wait for their evaluation", s->kept_count);
    s->kept[s->kept_count++] = step;
    s->run->has_base = true;
    return drop_bases(s, err);
}

/* ---- starting ----------------------------------------------------------------------------- */

/* The job in its store, without what an earlier run in the same place left. */
static int put_job(struct scheduler *s, struct error *err)
{
    struct buf text;
    int rc;

    buf_init(&text, s->o->heap, PROPS_MAX_BYTES);
    props_write(&s->o->blueprint->settings, &text);
    rc = base_delete_all(s->o->objects, s->o->heap, err);
    if (!rc)
        rc = objects_put(s->o->objects, "job", buf_slice(&text), err);
    if (!rc && s->job->model.size) {
        rc = warm_start_write(s->o->blueprint, s->job->model, s->o->objects, NULL, err);
        if (!rc)
            rc = keep_base(s, 0, err);
    }
    buf_release(&text);
    return rc;
}

static int start_rank(struct scheduler *s, uint32_t rank, const struct params_address *address,
                      struct error *err)
{
    struct platform_start start = { .memory_mb = s->job->fleet.memory_mb,
                                    .timeout_ms = s->job->timeout_ms,
                                    .fd = address->fd };
    struct buf payload;
    int rc;

    buf_init(&payload, s->o->heap, PLATFORM_PAYLOAD_MAX);
    buf_printf(&payload,
               "params: %s\nobjects: %s\ndata: %s\nrank: %" PRIu32 "\nattempt: 1\n"
               "workers: %" PRIu32 "\nranks_max: %" PRIu32 "\nshards_max: %" PRIu32 "\n",
               address->url, s->job->objects_url, s->job->data_url, rank, s->workers, s->workers,
               shards_of(s));
    if (s->job->model.size)
        buf_str(&payload, "base: 0\n");
    start.payload = buf_slice(&payload);
    rc = platform_start(s->o->platform, &start, &s->members[rank].id, err);
    if (rc)
        rc = fail_within(err, rc, "cannot start function %u of %u", rank, s->workers);
    buf_release(&payload);
    return rc;
}

static int start_fleet(struct scheduler *s, struct error *err)
{
    struct params_address address;
    int rc = put_job(s, err);

    if (!rc)
        rc = params_address(s->o->params, &address, err);
    for (uint32_t r = 0; !rc && r < s->workers; r++)
        rc = start_rank(s, r, &address, err);
    return rc;
}

/* ---- the plan ------------------------------------------------------------------------------ */

static int publish_control(struct scheduler *s, struct error *err)
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

    if (s->job->has_target && every > 0)
        limit = MIN(limit, s->evaluated_step / every * every + 2 * every);
    return limit;
}

/* Everyone is ready: the first plan. */
static int begin_steps(struct scheduler *s, struct error *err)
{
    struct control *c = s->control;

    *c = (struct control){ .term = 1, .plan_count = 1, .member_count = s->workers };
    c->plans[0] = (struct plan){ .workers = s->workers,
                                 .shards = shards_of(s),
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
    return publish_control(s, err);
}

/* A stop is a plan that begins at the horizon and has no steps. */
static int plan_stop(struct scheduler *s, enum run_end why, struct error *err)
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
    return publish_control(s, err);
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
        return plan_stop(s, RUN_LIMIT, err);
    if (done > 0)
        window = MAX(window, done * WINDOW_NS / MAX(now - s->ready_at, 1u));
    horizon = MIN(done + window, limit);
    if (horizon <= s->control->horizon ||
        (horizon < limit && horizon < s->control->horizon + window / 4))
        return 0;
    s->control->horizon = horizon;
    return publish_control(s, err);
}

static bool is_interrupted(const struct scheduler *s)
{
    return s->o->interrupted && *s->o->interrupted;
}

static int decide(struct scheduler *s, struct error *err)
{
    if (is_interrupted(s))
        return plan_stop(s, RUN_INTERRUPTED, err);
    if (s->job->seconds_max > 0 && (double)s->clock_ns / NS_PER_S >= s->job->seconds_max)
        return plan_stop(s, RUN_LIMIT, err);
    return extend_plan(s, err);
}

/* ---- reports ------------------------------------------------------------------------------ */

static double epoch_of(const struct scheduler *s, uint64_t step)
{
    return (double)step / (double)s->steps_per_epoch;
}

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
    int rc = s->job->patience && s->kept_count ? drop_bases(s, err) : 0;

    if (rc || s->state != RUNNING)
        return rc;
    if (reached(s, e->values[0]))
        return plan_stop(s, RUN_TARGET, err);
    if (s->job->patience && since >= s->job->patience)
        return plan_stop(s, RUN_PATIENCE, err);
    return 0;
}

static int on_eval(struct scheduler *s, struct error *err)
{
    const struct blueprint *b = s->o->blueprint;
    struct evaluation e = { .step = s->report->step, .epoch = epoch_of(s, s->report->step) };
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
    return publish_control(s, err);
}

static int on_base(struct scheduler *s, struct error *err)
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
        rc = keep_base(s, step, err);
    if (rc)
        return rc;
    s->control->floor = step;
    if (s->o->listener && s->o->listener->based)
        s->o->listener->based(s->o->listener->arg, step, (double)took_ns / NS_PER_S);
    return space_bases(s, took_ns, err);
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
                          .epoch = epoch_of(s, run->steps),
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
        return on_base(s, err);
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

static int read_logs(struct scheduler *s, struct error *err)
{
    int rc = 0;

    for (uint32_t r = 0; !rc && r < s->workers; r++)
        rc = read_log(s, r, err);
    return rc;
}

/* ---- exits -------------------------------------------------------------------------------- */

static uint32_t rank_of(const struct scheduler *s, uint64_t id)
{
    uint32_t r = 0;

    while (r < s->workers && s->members[r].id != id)
        r++;
    return r;
}

static int on_exit_of(struct scheduler *s, const struct platform_exit *e, struct error *err)
{
    uint32_t rank = rank_of(s, e->id);

    meter_function(s->o->meter, s->job->fleet.memory_mb, e->billed_ms);
    s->run->peak_bytes_max = MAX(s->run->peak_bytes_max, e->peak_bytes);
    if (rank == s->workers)
        return 0;
    s->members[rank].exited = true;
    s->exit_count++;
    if (s->o->listener && s->o->listener->exited)
        s->o->listener->exited(s->o->listener->arg, rank, e);
    if (e->reason == PLATFORM_DONE && s->members[rank].done)
        return 0;
    if (s->state == FAILED)
        return 0;
    /* What is wrong with job or data stays so, and is not the platform's fault. */
    if (e->reason == PLATFORM_FAILED && error_exit_status(e->code) == 2)
        return fail(err, e->code, "function %u of %u: %s", rank, s->workers, e->words);
    return fail(err, E_FAILED, "function %u of %u ended: %s%s%s", rank, s->workers,
                platform_reason_text(e->reason), e->words[0] ? ": " : "", e->words);
}

/* Take in ended invocations. The first failure is the one that is told. */
static int poll_exits(struct scheduler *s, struct error *err)
{
    struct platform_exit exits[8];
    unsigned count;
    int rc = 0;

    while ((count = platform_poll(s->o->platform, exits, ARRAY_SIZE(exits))) > 0) {
        /* Their last reports came before their exits. */
        if (!rc && s->state != FAILED)
            rc = read_logs(s, err);
        for (unsigned i = 0; i < count; i++) {
            int one = on_exit_of(s, &exits[i], rc ? NULL : err);

            rc = rc ? rc : one;
        }
    }
    return rc;
}

/* End what still runs and wait until it is gone, so that nothing outlives the job. */
static void stop_fleet(struct scheduler *s)
{
    s->state = FAILED;
    s->run->end = RUN_FAILED;
    for (uint32_t r = 0; r < s->workers; r++)
        if (s->members[r].id && !s->members[r].exited)
            platform_stop(s->o->platform, s->members[r].id);
    for (unsigned tries = 0; tries < 1000; tries++) {
        uint32_t running = 0;

        poll_exits(s, NULL);
        for (uint32_t r = 0; r < s->workers; r++)
            running += s->members[r].id && !s->members[r].exited;
        if (!running)
            return;
        env_sleep(s->o->env, NS_PER_MS);
    }
}

/* ---- the loop ------------------------------------------------------------------------------ */

static int look(struct scheduler *s, struct error *err)
{
    int rc = read_logs(s, err);

    if (!rc)
        rc = poll_exits(s, err);
    if (rc)
        return rc;
    switch (s->state) {
    case STARTING:
        if (is_interrupted(s))
            return fail(err, E_INTERRUPTED, "interrupted before the first step");
        return s->ready_count == s->workers ? begin_steps(s, err) : 0;
    case RUNNING:
        return decide(s, err);
    case STOPPING:
        if (s->exit_count == s->workers)
            s->state = ENDED;
        return 0;
    default:
        return 0;
    }
}

static void init(struct scheduler *s, const struct scheduler_options *o, struct run *run)
{
    struct fleet fleet = policy_decide(o->policy);

    *s = (struct scheduler){ .o = o, .job = o->job, .run = run, .workers = fleet.workers };
    *run = (struct run){ .end = RUN_FAILED };
    s->began = env_now(o->env);
    s->members = heap_alloc(o->heap, s->workers * sizeof(*s->members));
    s->control = heap_alloc(o->heap, sizeof(*s->control));
    s->report = heap_alloc(o->heap, sizeof(*s->report));
    buf_init(&s->control_text, o->heap, PARAMS_CAS_MAX);
    buf_init(&s->log, o->heap, LOG_READ_MAX);
    tally_init(&s->evals, o->heap, s->workers);
    tally_init(&s->bases, o->heap, s->workers);
    tally_init(&s->hashes, o->heap, s->workers);
    count_steps(s);
}

static void finish(struct scheduler *s)
{
    struct run *run = s->run;
    double compute = (double)run->times.compute_ns / NS_PER_S;

    run->epochs = epoch_of(s, run->steps);
    run->wall_seconds = (double)(env_now(s->o->env) - s->began) / NS_PER_S;
    run->seconds = (double)s->clock_ns / NS_PER_S;
    run->compute_rate = compute > 0 ? (double)run->examples / compute : 0;
    tally_release(&s->evals);
    tally_release(&s->bases);
    tally_release(&s->hashes);
    buf_release(&s->log);
    buf_release(&s->control_text);
    heap_free(s->o->heap, s->report);
    heap_free(s->o->heap, s->control);
    heap_free(s->o->heap, s->members);
}

int scheduler_run(const struct scheduler_options *o, struct run *out, struct error *err)
{
    struct scheduler s;
    int rc;

    init(&s, o, out);
    rc = start_fleet(&s, err);
    while (!rc && s.state != ENDED) {
        rc = look(&s, err);
        if (!rc && s.state != ENDED)
            env_sleep(o->env, s.state == STARTING ? LOOK_EVERY_NS_STARTING : LOOK_EVERY_NS);
    }
    if (rc)
        stop_fleet(&s);
    finish(&s);
    return rc;
}
