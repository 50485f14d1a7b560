/* SPDX-License-Identifier: Apache-2.0 */
#include "client/scheduler_internal.h"

#include <inttypes.h>

#include "client/warm_start.h"
#include "worker/base.h"

/*
 * How often the client looks at reports and exits. It has two sources to wait for, a store
 * and a platform; looking at both a hundred times a second costs a thousandth of a core.
 */
#define LOOK_EVERY_NS (10 * NS_PER_MS)
/* The first steps should not wait for the client: their plans are short. */
#define LOOK_EVERY_NS_STARTING (500 * NS_PER_US)
#define STEPS_STARTING         64

#define LOG_READ_MAX (4 * MIB)

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
            rc = scheduler_keep_base(s, 0, err);
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
    struct props p;
    int rc;

    /* Names of folders may hold anything: the list of settings knows how to write them. */
    props_init(&p, s->o->heap);
    props_set(&p, "params", address->url);
    props_set(&p, "objects", s->job->objects_url);
    props_set(&p, "data", s->job->data_url);
    props_setf(&p, "rank", "%" PRIu32, rank);
    props_set(&p, "attempt", "1");
    props_setf(&p, "workers", "%" PRIu32, s->workers);
    props_setf(&p, "ranks_max", "%" PRIu32, s->workers);
    props_setf(&p, "shards_max", "%" PRIu32, scheduler_shards(s));
    if (s->job->model.size)
        props_set(&p, "base", "0");
    buf_init(&payload, s->o->heap, PLATFORM_PAYLOAD_MAX);
    props_write(&p, &payload);
    props_release(&p);
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
            rc = scheduler_read_logs(s, err);
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
    for (unsigned tries = 0; tries < 30000; tries++) {
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
    int rc = scheduler_read_logs(s, err);

    if (!rc)
        rc = poll_exits(s, err);
    if (rc)
        return rc;
    switch (s->state) {
    case STARTING:
        if (scheduler_interrupted(s))
            return fail(err, E_INTERRUPTED, "interrupted before the first step");
        return s->ready_count == s->workers ? scheduler_begin(s, err) : 0;
    case RUNNING:
        return scheduler_decide(s, err);
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

    run->epochs = scheduler_epoch(s, run->steps);
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

static bool is_starting(const struct scheduler *s)
{
    return s->state == STARTING || (s->state == RUNNING && s->run->steps < STEPS_STARTING);
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
            env_sleep(o->env, is_starting(&s) ? LOOK_EVERY_NS_STARTING : LOOK_EVERY_NS);
    }
    if (rc)
        stop_fleet(&s);
    finish(&s);
    return rc;
}
