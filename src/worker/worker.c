/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/worker.h"

#include "model/model.h"
#include "worker/control.h"
#include "worker/replica.h"
#include "worker/report.h"
#include "worker/team.h"

/* Reports are sent at least this often while steps are short. */
#define REPORT_EVERY_NS (40 * NS_PER_MS)

struct worker {
    const struct worker_call *call;
    struct env *env;
    struct heap *heap;
    struct props payload;
    uint32_t rank, attempt, workers, ranks_max, shards_max;

    struct params *params;
    struct objects *objects, *data_objects;
    struct dataset data;
    struct blueprint blueprint;
    struct replica replica;
    bool from_base;      /* it started from a base: */
    uint64_t step_first; /* of this step; otherwise 0 */
    struct exchange *exchange;

    struct control *control;
    uint64_t control_version;
    struct buf control_text;

    struct team team;
    struct minibatch scratch; /* for evaluations */

    uint64_t started;      /* env time of the call */
    uint64_t first_at;     /* env time of the first contribution */
    uint64_t clock_from;   /* env time at which the training clock was started */
    uint64_t clock_away;   /* time since then that does not count: evaluation, idling */
    uint64_t report_due;   /* env time of the next report */
    struct report *report; /* of the steps since the last one */
    struct buf report_text;
};

/* ---- reports -------------------------------------------------------------------------- */

static uint64_t training_clock(const struct worker *w)
{
    return w->clock_from ? env_now(w->env) - w->clock_from - w->clock_away : 0;
}

/* Append a report to this rank's log, waiting while the client is behind. */
static int send_report(struct worker *w, struct report *r, struct error *err)
{
    struct params_key log = report_log(w->rank);
    int rc;

    r->rank = w->rank;
    r->attempt = w->attempt;
    r->clock_ns = training_clock(w);
    report_encode(r, &w->report_text);
    while ((rc = params_append(w->params, &log, buf_slice(&w->report_text), err)) == E_FULL) {
        if (env_now(w->env) >= w->call->deadline)
            return fail(err, E_CLOSED, "the client has not read reports for too long");
        env_sleep(w->env, NS_PER_MS);
    }
    return rc;
}

/* Send what was gathered about steps, if anything. */
static int flush_steps(struct worker *w, struct error *err)
{
    int rc;

    if (w->report->count == 0)
        return 0;
    w->report->times.exchange = w->exchange->times;
    rc = send_report(w, w->report, err);
    memset(&w->exchange->times, 0, sizeof(w->exchange->times));
    w->report->step += w->report->count;
    w->report->count = 0;
    w->report->examples = 0;
    w->report->times = (struct report_times){ 0 };
    w->report_due = env_after(w->env, REPORT_EVERY_NS);
    return rc;
}

static int note_step(struct worker *w, const struct exchange_result *result, uint64_t examples,
                     struct error *err)
{
    struct report *r = w->report;

    r->losses[r->count] = result->loss;
    r->weights[r->count] = result->weight;
    r->examples += examples;
    r->count++;
    if (r->count == REPORT_STEPS_MAX || env_now(w->env) >= w->report_due)
        return flush_steps(w, err);
    return 0;
}

static int send_simple(struct worker *w, enum report_kind kind, uint64_t step, struct error *err)
{
    struct report *r = heap_alloc(w->heap, sizeof(*r));
    int rc;

    r->kind = kind;
    r->step = step;
    r->ready_ns = env_now(w->env) - w->started;
    r->heap_bytes = w->heap->peak_bytes;
    r->first_at = w->first_at;
    rc = send_report(w, r, err);
    heap_free(w->heap, r);
    return rc;
}

/* ---- the control record ------------------------------------------------------------------ */

static int read_control(struct worker *w, struct error *err)
{
    uint64_t version;
    int rc = params_get(w->params, &control_key, &w->control_text, &version, err);

    if (rc == E_NOT_FOUND)
        return 0;
    if (!rc)
        rc = control_decode(w->control, buf_slice(&w->control_text), err);
    if (!rc)
        w->control_version = version;
    return rc;
}

static bool plan_known(const struct worker *w, uint64_t step)
{
    return w->control_version != 0 &&
           (w->control->horizon > step || control_plan(w->control, step)->stop);
}

/* Wait until the plan for STEP is known (W1). The time spent here does not count as training. */
static int await_plan(struct worker *w, uint64_t step, struct error *err)
{
    struct params_wait wait = { .until = w->call->deadline };
    uint64_t from;
    int rc = 0;

    if (plan_known(w, step))
        return 0;
    from = env_now(w->env);
    rc = flush_steps(w, err);
    while (!rc && !plan_known(w, step)) {
        rc = read_control(w, err);
        if (rc || plan_known(w, step))
            break;
        wait.seen_version = w->control_version;
        rc = params_wait(w->params, &wait, err);
        if (rc == E_CHANGED)
            rc = 0;
    }
    if (rc == E_TIMEOUT)
        rc = fail(err, E_CLOSED, "no plan for step %llu came before the time limit",
                  (unsigned long long)step);
    w->report->times.idle_ns += env_now(w->env) - from;
    if (w->clock_from)
        w->clock_away += env_now(w->env) - from;
    return rc;
}

/* ---- one step ----------------------------------------------------------------------------- */

static struct exchange_step step_of(const struct worker *w, const struct plan *plan, uint64_t step)
{
    return (struct exchange_step){ .era = w->control->era,
                                   .step = step,
                                   .rank = w->rank,
                                   .n = plan->workers,
                                   .shards = plan->shards,
                                   .seen_version = w->control_version,
                                   .until = w->call->deadline };
}

/* Collect the result; a changed control record in between is read and does not disturb. */
static int collect(struct worker *w, struct exchange_step *s, struct exchange_result *result,
                   struct error *err)
{
    for (;;) {
        int rc = exchange_collect(w->exchange, s, result, err);

        if (rc == E_TIMEOUT)
            return fail(err, E_TIMEOUT, "the other functions did not finish step %llu in time",
                        (unsigned long long)s->step);
        if (rc != E_CHANGED)
            return rc;
        rc = read_control(w, err);
        if (rc)
            return rc;
        s->seen_version = w->control_version;
    }
}

static int gather(struct worker *w, struct error *err)
{
    uint64_t from = env_now(w->env);
    int rc = team_gather(&w->team, err);

    w->report->times.batch_ns += env_now(w->env) - from;
    return rc;
}

/*
 * This step's examples are used up; the next step's are fetched while others still compute, but
 * only until they have: then they wait for the sums that are this rank's to make.
 */
static int gather_ahead(struct worker *w, const struct exchange_step *s, struct error *err)
{
    uint64_t from = env_now(w->env);
    int rc = 0;

    pass_advance(&w->replica.pass);
    team_forget(&w->team);
    while (!rc && !team_has_gathered(&w->team) && !exchange_is_due(w->exchange, s))
        rc = team_gather_some(&w->team, err);
    w->report->times.batch_ns += env_now(w->env) - from;
    return rc;
}

static uint64_t compute(struct worker *w, struct exchange_part *part, uint64_t step, double rate)
{
    uint64_t from = env_now(w->env), examples = team_compute(&w->team, part, step, rate);

    w->report->times.compute_ns += env_now(w->env) - from;
    return examples;
}

static void apply(struct worker *w, const struct exchange_result *result, uint64_t step,
                  double rate)
{
    uint64_t from = env_now(w->env);

    replica_apply(&w->replica, result, step, rate);
    env_charge(w->env, ENV_CHARGE_APPLY_ROWS, w->blueprint.shape.floats);
    w->report->times.apply_ns += env_now(w->env) - from;
    params_release(w->params, step);
}

static int one_step(struct worker *w, const struct plan *plan, uint64_t step, struct error *err)
{
    struct exchange_step s = step_of(w, plan, step);
    struct exchange_part part;
    struct exchange_result result;
    uint64_t examples;
    double rate;
    int rc;

    if (plan->workers != w->workers)
        return fail(err, E_UNSUPPORTED, "a plan for %u functions came to a fleet of %u",
                    plan->workers, w->workers);
    if (plan->batch != w->replica.pass.batch) {
        pass_set_batch(&w->replica.pass, plan->batch);
        team_forget(&w->team);
    }
    rate = replica_rate(&w->replica);
    rc = team_resize(&w->team, plan->threads, err);
    if (!rc)
        rc = gather(w, err);
    if (!rc)
        rc = exchange_begin(w->exchange, &s, &part, err);
    if (rc)
        return rc;
    examples = compute(w, &part, step, rate);
    if (!w->first_at)
        w->first_at = env_now(w->env);
    rc = exchange_publish(w->exchange, &s, &part, err);
    if (!rc)
        rc = gather_ahead(w, &s, err);
    if (!rc)
        rc = collect(w, &s, &result, err);
    if (rc)
        return rc;
    apply(w, &result, step, rate);
    return note_step(w, &result, examples, err);
}

/* ---- between steps ------------------------------------------------------------------------ */

static int evaluate(struct worker *w, uint64_t step, struct error *err)
{
    uint64_t from = env_now(w->env);
    struct report *r = heap_alloc(w->heap, sizeof(*r));
    int rc = flush_steps(w, err);

    r->kind = REPORT_EVAL;
    r->step = step;
    replica_settle(&w->replica);
    if (!rc)
        rc = replica_evaluate(&w->replica, w->env, &w->scratch, r->sums, err);
    r->took_ns = env_now(w->env) - from;
    w->clock_away += r->took_ns;
    if (!rc)
        rc = send_report(w, r, err);
    heap_free(w->heap, r);
    return rc;
}

static int save_base(struct worker *w, uint64_t step, struct error *err)
{
    uint64_t from = env_now(w->env);
    struct report *r = heap_alloc(w->heap, sizeof(*r));
    int rc;

    replica_settle(&w->replica);
    rc = replica_save(&w->replica, w->objects, step, w->rank, err);
    r->kind = REPORT_BASE;
    r->step = step;
    r->took_ns = env_now(w->env) - from;
    w->report->times.base_ns += r->took_ns;
    if (!rc)
        rc = send_report(w, r, err);
    heap_free(w->heap, r);
    return rc;
}

static int send_hash(struct worker *w, uint64_t step, struct error *err)
{
    struct report *r = heap_alloc(w->heap, sizeof(*r));
    int rc;

    r->kind = REPORT_HASH;
    r->step = step;
    replica_settle(&w->replica);
    r->hash = replica_hash(&w->replica);
    rc = send_report(w, r, err);
    heap_free(w->heap, r);
    return rc;
}

static bool is_due(uint64_t every, uint64_t step)
{
    return every != 0 && step != 0 && step % every == 0;
}

/* What the plan wants done before STEP. */
static int between_steps(struct worker *w, const struct plan *plan, uint64_t step,
                         struct error *err)
{
    int rc = 0;

    if (is_due(plan->hash_every, step))
        rc = send_hash(w, step, err);
    if (!rc && is_due(plan->evaluate_every, step))
        rc = evaluate(w, step, err);
    if (!rc && is_due(plan->base_every, step))
        rc = save_base(w, step, err);
    return rc;
}

static int run_steps(struct worker *w, struct error *err)
{
    uint64_t step = w->step_first;
    int rc;

    for (;; step++) {
        const struct plan *plan;

        rc = await_plan(w, step, err);
        if (rc)
            return rc;
        plan = control_plan(w->control, step);
        if (plan->stop)
            break;
        if (!w->clock_from)
            w->clock_from = env_now(w->env);
        rc = between_steps(w, plan, step, err);
        if (!rc)
            rc = one_step(w, plan, step, err);
        if (rc)
            return rc;
    }
    rc = flush_steps(w, err);
    if (!rc && step > 0)
        rc = send_hash(w, step, err);
    if (!rc)
        rc = evaluate(w, step, err);
    /* A base that nobody has moved on from is complete as it is. */
    if (!rc && !(w->from_base && step == w->step_first))
        rc = save_base(w, step, err);
    if (!rc)
        rc = send_simple(w, REPORT_DONE, step, err);
    return rc;
}

/* ---- from invocation to ready ---------------------------------------------------------------- */

static int read_payload(struct worker *w, struct error *err)
{
    static const struct {
        const char *name;
        size_t offset;
        uint64_t min, max;
    } numbers[] = {
        { "rank", offsetof(struct worker, rank), 0, CONTROL_RANKS_MAX - 1 },
        { "attempt", offsetof(struct worker, attempt), 1, UINT32_MAX },
        { "workers", offsetof(struct worker, workers), 1, CONTROL_RANKS_MAX },
        { "ranks_max", offsetof(struct worker, ranks_max), 1, CONTROL_RANKS_MAX },
        { "shards_max", offsetof(struct worker, shards_max), 1, SHAPE_PIECES_MAX },
    };
    int rc = props_parse(&w->payload, w->call->payload, err);

    for (size_t i = 0; !rc && i < ARRAY_SIZE(numbers); i++) {
        uint64_t value;

        if (!props_find(&w->payload, numbers[i].name))
            return fail(err, E_FORMAT, "the payload has no '%s'", numbers[i].name);
        rc =
            props_u64(&w->payload, numbers[i].name, 0, numbers[i].min, numbers[i].max, &value, err);
        if (!rc)
            *(uint32_t *)((char *)w + numbers[i].offset) = (uint32_t)value;
    }
    if (!rc && (w->rank >= w->workers || w->workers > w->ranks_max))
        rc = fail(err, E_FORMAT, "the payload asks for rank %u of %u", w->rank, w->workers);
    return rc;
}

static int open_stores(struct worker *w, struct error *err)
{
    struct params_open po = { .env = w->env, .heap = w->heap };
    struct objects_open oo = { .env = w->env, .heap = w->heap, .existing = true };
    int rc;

    rc = params_open(props_str(&w->payload, "params", ""), w->call->fd, &po, &w->params, err);
    if (!rc)
        rc = objects_open(props_str(&w->payload, "objects", ""), &oo, &w->objects, err);
    if (!rc)
        rc = objects_open(props_str(&w->payload, "data", ""), &oo, &w->data_objects, err);
    return rc;
}

/* Only one process may be (rank, attempt). E_EXISTS: another is, and this one leaves quietly. */
static int claim(struct worker *w, struct error *err)
{
    struct params_key key = { .kind = PARAMS_CLAIM, .rank = w->rank, .step = w->attempt };
    uint64_t token = env_random(w->env);

    return params_put_new(w->params, &key, slice(&token, sizeof(token)), err);
}

static int load_job(struct worker *w, struct error *err)
{
    struct props settings;
    struct buf text;
    int rc;

    buf_init(&text, w->heap, PROPS_MAX_BYTES);
    props_init(&settings, w->heap);
    rc = objects_get_all(w->objects, "job", &text, err);
    if (!rc)
        rc = props_parse(&settings, buf_slice(&text), err);
    if (!rc)
        rc = dataset_open(&w->data, w->data_objects, "data", w->heap, err);
    if (!rc)
        rc = blueprint_open(&w->blueprint, w->heap, &settings, &w->data, err);
    props_release(&settings);
    buf_release(&text);
    return rc;
}

/* Start from a base, where the payload names one. */
static int load_base(struct worker *w, struct error *err)
{
    struct base_reader base;
    int rc;

    if (!props_find(&w->payload, "base"))
        return 0;
    rc = props_u64(&w->payload, "base", 0, 0, UINT64_MAX, &w->step_first, err);
    if (!rc)
        rc = base_open(&base, w->objects, w->heap, w->step_first, w->blueprint.fingerprint, err);
    if (rc)
        return rc;
    rc = replica_load(&w->replica, &base, err);
    base_close(&base);
    w->from_base = true;
    w->report->step = w->step_first;
    return rc;
}

static int load_replica(struct worker *w, struct error *err)
{
    struct exchange_options options = { .env = w->env,
                                        .heap = w->heap,
                                        .params = w->params,
                                        .shape = &w->blueprint.shape,
                                        .kernels = w->blueprint.kernels,
                                        .ranks_max = w->ranks_max,
                                        .shards_max = w->shards_max };
    uint32_t lo, hi;
    uint64_t batch;
    int rc;

    rc = props_u64(&w->blueprint.settings, "batch", 1, 1, UINT64_MAX, &batch, err);
    if (rc)
        return rc;
    lanes_of_rank(w->data.lanes, w->workers, w->rank, &lo, &hi);
    rc = replica_init(&w->replica, &w->blueprint, w->heap, lo, hi, batch, err);
    if (!rc)
        rc = load_base(w, err);
    team_init(&w->team, w->env, w->heap, &w->replica);
    if (!rc)
        rc = exchange_new(props_str(&w->blueprint.settings, "exchange", "scatter"), &options,
                          &w->exchange, err);
    return rc;
}

static int run(struct worker *w, struct error *err)
{
    int rc = read_payload(w, err);

    if (!rc)
        rc = open_stores(w, err);
    if (!rc)
        rc = claim(w, err);
    if (rc == E_EXISTS)
        return 0;
    if (!rc)
        rc = load_job(w, err);
    if (!rc)
        rc = load_replica(w, err);
    if (!rc)
        rc = send_simple(w, REPORT_READY, 0, err);
    if (!rc)
        rc = run_steps(w, err);
    return rc;
}

int worker_run(const struct worker_call *call, struct error *err)
{
    struct heap *heap = call->heap;
    struct worker *w = heap_alloc(heap, sizeof(*w));
    int rc;

    w->call = call;
    w->env = call->env;
    w->heap = heap;
    w->started = env_now(call->env);
    w->control = heap_alloc(heap, sizeof(*w->control));
    w->report = heap_alloc(heap, sizeof(*w->report));
    w->report->kind = REPORT_STEPS;
    props_init(&w->payload, heap);
    buf_init(&w->control_text, heap, PARAMS_CAS_MAX);
    buf_init(&w->report_text, heap, PARAMS_ENTRY_MAX);

    minibatch_init(&w->scratch, heap);
    rc = run(w, err);

    minibatch_release(&w->scratch);
    team_release(&w->team);
    exchange_free(w->exchange);
    replica_release(&w->replica);
    blueprint_close(&w->blueprint);
    dataset_close(&w->data);
    objects_close(w->data_objects);
    objects_close(w->objects);
    params_close(w->params);
    buf_release(&w->report_text);
    buf_release(&w->control_text);
    props_release(&w->payload);
    heap_free(heap, w->report);
    heap_free(heap, w->control);
    heap_free(heap, w);
    return rc;
}
