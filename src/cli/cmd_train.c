/* SPDX-License-Identifier: Apache-2.0 */
/* gust train: one job on the embedded default, from a data set to a model and a bill. */
#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/text.h"
#include "client/session.h"
#include "platform/local_env.h"

/* Ctrl-C: the first asks the job to stop and save, the second ends the program. */
static volatile sig_atomic_t interrupt_count;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    if (++interrupt_count > 1)
        _exit(130);
}

struct train {
    const char *model, *data, *out, *target;
    uint64_t workers, memory_mb, batch, threads, shards, seed, steps, evaluate_every, timeout_s;
    double epochs, seconds;
    struct arg_list set;
    bool quiet, json, force;
    struct session session;
    struct job job;
};

static void print_header(const struct train *t)
{
    const struct session *s = &t->session;
    const struct gust_data *d = &s->data.data;

    printf("Training %s on %s examples", t->model, text_count(d->rows).s);
    if (d->keys >= 2)
        printf(" (%s x %s)", text_count(d->key_rows[0]).s, text_count(d->key_rows[1]).s);
    printf(" with %" PRIu32 " function%s of %" PRIu32 " MB\n", t->job.fleet.workers,
           t->job.fleet.workers == 1 ? "" : "s", t->job.fleet.memory_mb);
    printf("A function needs %s: parameters %s, optimiser %s, private rows %s, contributions %s,\n"
           "minibatches %s, data blocks %s, exchange %s, program %s\n\n",
           text_bytes((double)s->need.total).s, text_bytes((double)s->need.shared).s,
           text_bytes((double)s->need.state).s, text_bytes((double)s->need.private_rows).s,
           text_bytes((double)s->need.parts).s, text_bytes((double)s->need.minibatches).s,
           text_bytes((double)s->need.blocks).s, text_bytes((double)s->need.window).s,
           text_bytes((double)s->need.rest).s);
    printf("%8s %9s %10s %12s", "epoch", "step", "time", "train loss");
    for (unsigned i = 0; i < s->blueprint.metric_count; i++)
        printf(" %12s", s->blueprint.trainer->metrics[i].name);
    printf("\n");
    fflush(stdout);
}

static void on_evaluated(void *arg, const struct evaluation *e)
{
    const struct train *t = arg;

    if (t->quiet || t->json)
        return;
    printf("%8.2f %9s %10s %12.5f", e->epoch, text_count(e->step).s, text_seconds(e->seconds).s,
           e->loss_train);
    for (unsigned i = 0; i < t->session.blueprint.metric_count; i++)
        printf(" %12.5f", e->values[i]);
    printf("\n");
    fflush(stdout);
}

static const char *end_text(const struct run *run)
{
    switch (run->end) {
    case RUN_LIMIT:
        return "limit";
    case RUN_TARGET:
        return "target";
    case RUN_INTERRUPTED:
        return "interrupted";
    case RUN_FAILED:
        return "failed";
    }
    return "?";
}

static void print_result(const struct train *t, const struct run *run, bool saved)
{
    const struct session *s = &t->session;
    struct bill bill = meter_bill(&s->meter);
    const struct evaluation *last =
        run->evaluation_count ? &run->evaluations[run->evaluation_count - 1] : NULL;

    printf("\n%s", run->end == RUN_TARGET        ? "Reached the target"
                   : run->end == RUN_INTERRUPTED ? "Stopped"
                   : run->end == RUN_FAILED      ? "Failed"
                                                 : "Done");
    if (last)
        printf(": %s %.5f", s->blueprint.trainer->metrics[0].name, last->values[0]);
    printf(" after %.2f epochs, %s steps\n", run->epochs, text_count(run->steps).s);
    printf("Time    %s training, %s in all (%s until all functions were ready)\n",
           text_seconds(run->seconds).s, text_seconds(run->wall_seconds).s,
           text_seconds(run->start_seconds).s);
    if (run->seconds > 0)
        printf("Speed   %s examples/s, of which in the trainer %s examples/s per function\n",
               text_short((double)run->examples / run->seconds).s,
               text_short(run->compute_rate).s);
    printf("Memory  %s resident in the largest function, %s of %" PRIu32 " MB planned\n",
           text_bytes((double)run->peak_bytes_max).s, text_bytes((double)s->need.total).s,
           t->job.fleet.memory_mb);
    if (saved)
        printf("Model   %s/model.safetensors\n", t->out);
    printf("Bill    %s as if on %s (%" PRIu64 " invocations, %.3f GB-s; prices of %s)\n",
           text_usd(bill.total_usd).s, s->prices.name, s->meter.invocations, s->meter.gb_seconds,
           s->prices.date);
}

static void json_result(const struct train *t, const struct run *run, struct json *w)
{
    const struct session *s = &t->session;
    struct bill bill = meter_bill(&s->meter);

    json_open(w, NULL, '{');
    json_str(w, "model", t->model);
    json_str(w, "end", end_text(run));
    json_u64(w, "steps", run->steps);
    json_f64(w, "epochs", run->epochs);
    json_f64(w, "seconds_training", run->seconds);
    json_f64(w, "seconds_start", run->start_seconds);
    json_f64(w, "seconds_wall", run->wall_seconds);
    json_u64(w, "examples", run->examples);
    json_f64(w, "examples_per_second_in_trainer", run->compute_rate);
    json_u64(w, "need_bytes", s->need.total);
    json_u64(w, "peak_bytes", run->peak_bytes_max);
    json_f64(w, "bill_usd", bill.total_usd);
    json_open(w, "evaluations", '[');
    for (unsigned i = 0; i < run->evaluation_count; i++) {
        const struct evaluation *e = &run->evaluations[i];

        json_open(w, NULL, '{');
        json_u64(w, "step", e->step);
        json_f64(w, "epoch", e->epoch);
        json_f64(w, "seconds", e->seconds);
        json_f64(w, "loss_train", e->loss_train);
        for (unsigned m = 0; m < s->blueprint.metric_count; m++)
            json_f64(w, s->blueprint.trainer->metrics[m].name, e->values[m]);
        json_close(w);
    }
    json_close(w);
    json_close(w);
}

static void print_json(struct train *t, const struct run *run)
{
    struct json w;
    struct buf text;

    buf_init(&text, t->session.heap, 16 * MIB);
    json_init(&w, &text);
    json_result(t, run, &w);
    printf("%s\n", text.data);
    buf_release(&text);
}

/* "--set key=value", which also reaches settings that have no option of their own. */
static int collect_settings(struct train *t, struct props *settings, struct error *err)
{
    for (unsigned i = 0; i < t->set.count; i++) {
        int rc = props_assign(settings, t->set.items[i], err);

        if (rc)
            return fail_within(err, rc, "--set");
    }
    props_set(settings, "model", t->model);
    props_setf(settings, "seed", "%" PRIu64, t->seed);
    if (t->batch)
        props_setf(settings, "batch", "%" PRIu64, t->batch);
    return 0;
}

static int make_job(struct train *t, struct error *err)
{
    const struct props *settings = &t->session.blueprint.settings;
    uint64_t rows = t->session.data.rows[DATASET_TRAIN];
    uint64_t batch;
    int rc = props_u64(settings, "batch", MIN(rows, 10000u), 1, UINT64_MAX, &batch, err);

    if (rc)
        return rc;
    if (!t->batch)
        batch = MIN(batch, rows);
    props_setf(&t->session.blueprint.settings, "batch", "%" PRIu64, batch);
    t->job = (struct job){ .fleet = { .workers = (uint32_t)t->workers,
                                      .memory_mb = (uint32_t)t->memory_mb,
                                      .batch = batch },
                           .threads = (uint32_t)t->threads,
                           .shards = (uint32_t)t->shards,
                           .steps_max = t->steps,
                           .epochs_max = t->epochs,
                           .seconds_max = t->seconds,
                           .evaluate_every = t->evaluate_every,
                           .timeout_ms = t->timeout_s * 1000 };
    if (t->target) {
        t->job.has_target = true;
        if (!parse_f64(t->target, &t->job.target))
            return fail(err, E_INVALID, "--target: '%s' is not a number", t->target);
    }
    if (!t->steps && t->epochs <= 0 && t->seconds <= 0)
        t->job.epochs_max = 10;
    return session_check(&t->session, &t->job, err);
}

/* The folder must be new, or one of ours. */
static int check_out(const struct train *t, struct error *err)
{
    char path[1024];

    snprintf(path, sizeof(path), "%s/model.safetensors", t->out);
    if (!t->force && access(path, F_OK) == 0)
        return fail(err, E_EXISTS, "'%s' exists; choose another --out, or --force to replace it",
                    path);
    return 0;
}

static int train(struct train *t, struct env *env, struct heap *heap, struct run *run,
                 bool *saved, struct error *err)
{
    struct listener listener = { .arg = t, .evaluated = on_evaluated };
    struct props settings;
    struct error again;
    int rc;

    props_init(&settings, heap);
    rc = collect_settings(t, &settings, err);
    if (!rc)
        rc = check_out(t, err);
    if (!rc)
        rc = session_open(&t->session, env, heap, t->data, t->out, &settings, err);
    if (!rc)
        rc = make_job(t, err);
    if (rc)
        return rc;
    if (!t->quiet && !t->json)
        print_header(t);
    rc = session_train(&t->session, &t->job, &listener, &interrupt_count, run, err);
    if (run->has_base) {
        int save = session_save(&t->session, run, rc ? &again : err);

        *saved = save == 0;
        rc = rc ? rc : save;
    }
    return rc;
}

static int finish(struct train *t, struct run *run, bool saved, int rc, const struct error *err)
{
    if (run->steps > 0 && t->json)
        print_json(t, run);
    else if (run->steps > 0 && !t->quiet)
        print_result(t, run, saved);
    if (rc) {
        fprintf(stderr, "gust train: %s%s\n", err->text,
                run->has_base && saved ? "; the model of the last complete state was saved" : "");
        return error_exit_status(rc);
    }
    if (run->end == RUN_INTERRUPTED)
        return 130;
    if (t->job.has_target && run->end != RUN_TARGET) {
        fprintf(stderr, "gust train: the target was not reached; the model is saved\n");
        return 3;
    }
    return 0;
}

int cmd_train(int argc, char **argv)
{
    struct train t = { .model = "factorisation",
                       .out = "out",
                       .workers = 2,
                       .memory_mb = 1769,
                       .seed = 1 };
    const struct arg table[] = {
        { "data", ARG_TEXT, &t.data, "FOLDER", "the data set", .required = true },
        { "model", ARG_TEXT, &t.model, "NAME", "factorisation, logistic, svm, softmax" },
        { "out", ARG_TEXT, &t.out, "FOLDER", "where the model goes (out)" },
        { "workers", ARG_COUNT, &t.workers, "N", "functions (2)", 1, CONTROL_RANKS_MAX },
        { "memory", ARG_COUNT, &t.memory_mb, "MB", "of each function (1769: one vCPU)", 128, 10240 },
        { "batch", ARG_COUNT, &t.batch, "N", "examples of a step, over all functions", 1, 1e12 },
        { "epochs", ARG_NUMBER, &t.epochs, "N", "stop after so many passes (10)", 0, 1e9 },
        { "steps", ARG_COUNT, &t.steps, "N", "stop after so many steps", 1, 1e15 },
        { "seconds", ARG_NUMBER, &t.seconds, "S", "stop after so much training", 0, 1e9 },
        { "target", ARG_TEXT, &t.target, "X", "stop when the first metric reaches X" },
        { "evaluate-every", ARG_COUNT, &t.evaluate_every, "N", "steps (once an epoch)", 1, 1e15 },
        { "threads", ARG_COUNT, &t.threads, "N", "in each function (one per vCPU)", 1, 256 },
        { "shards", ARG_COUNT, &t.shards, "N", "pieces of an exchange (as many as workers)", 1,
          SHAPE_PIECES_MAX },
        { "time-limit", ARG_COUNT, &t.timeout_s, "S", "of a function (900)", 1, 86400 },
        { "seed", ARG_COUNT, &t.seed, "N", "of everything random (1)" },
        { "set", ARG_LIST, &t.set, "KEY=VALUE", "a setting of the model or the optimiser" },
        { "force", ARG_FLAG, &t.force, NULL, "replace a model that is there" },
        { "quiet", ARG_FLAG, &t.quiet, NULL, "print nothing but errors" },
        { "json", ARG_FLAG, &t.json, NULL, "print one JSON object at the end" },
        { NULL }
    };
    const struct args_command command = { .name = "gust train",
                                          .summary = "Train a model on local functions, through "
                                                     "shared memory and a folder.",
                                          .table = table };
    struct sigaction action = { .sa_handler = on_interrupt };
    struct error err = { 0 };
    struct run run = { .end = RUN_FAILED };
    struct heap heap;
    struct env *env;
    bool saved = false;
    int rc = args_parse(&command, argc, argv, NULL);

    if (rc != ARGS_GO)
        return rc;
    heap_init(&heap, 0);
    env = local_env_new(&heap);
    sigaction(SIGINT, &action, NULL);
    rc = train(&t, env, &heap, &run, &saved, &err);
    rc = finish(&t, &run, saved, rc, &err);
    session_close(&t.session);
    local_env_free(env);
    heap_release(&heap);
    return rc;
}
