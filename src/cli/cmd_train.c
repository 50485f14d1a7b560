/* SPDX-License-Identifier: Apache-2.0 */
/* gust train: one job on the embedded default, from a data set to a model and a bill. */
#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/job_args.h"
#include "cli/job_data.h"
#include "cli/model_command.h"
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
    bool quiet, json, force;
    struct job_file file;       /* what is to be done */
    struct model_command start; /* a model to start from, if there is one */
    struct session session;
};

static void print_header(const struct train *t)
{
    const struct session *s = &t->session;
    const struct gust_data *d = &s->data.data;

    printf("Training %s on %s examples", t->file.model, text_count(d->rows).s);
    if (d->keys >= 2)
        printf(" (%s x %s)", text_count(d->key_rows[0]).s, text_count(d->key_rows[1]).s);
    printf(" with %" PRIu32 " function%s of %" PRIu32 " MB\n", t->file.job.fleet.workers,
           t->file.job.fleet.workers == 1 ? "" : "s", t->file.job.fleet.memory_mb);
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
               text_short((double)run->examples / run->seconds).s, text_short(run->compute_rate).s);
    printf("Memory  %s resident in the largest function, %s of %" PRIu32 " MB planned\n",
           text_bytes((double)run->peak_bytes_max).s, text_bytes((double)s->need.total).s,
           t->file.job.fleet.memory_mb);
    if (saved)
        printf("Model   %s/model.safetensors\n", t->file.out);
    printf("Bill    %s as if on %s (%" PRIu64 " invocations, %.3f GB-s; prices of %s)\n",
           text_usd(bill.total_usd).s, s->prices.name, s->meter.invocations, s->meter.gb_seconds,
           s->prices.date);
}

static void json_result(const struct train *t, const struct run *run, struct json *w)
{
    const struct session *s = &t->session;
    struct bill bill = meter_bill(&s->meter);

    json_open(w, NULL, '{');
    json_str(w, "model", t->file.model);
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

/* The folder must be new, or one of ours. */
static int check_out(const struct train *t, struct error *err)
{
    char path[1024];

    snprintf(path, sizeof(path), "%s/model.safetensors", t->file.out);
    if (!t->force && access(path, F_OK) == 0)
        return fail(err, E_EXISTS, "'%s' exists; choose another --out, or --force to replace it",
                    path);
    return 0;
}

static int train(struct train *t, struct env *env, struct heap *heap, struct run *run, bool *saved,
                 struct error *err)
{
    struct listener listener = { .arg = t, .evaluated = on_evaluated };
    char data[JOB_DATA_PATH_MAX];
    struct error again;
    int rc = check_out(t, err);

    if (!rc && t->file.start)
        rc = model_command_open(&t->start, t->file.start, err);
    if (!rc)
        rc = job_data_find(&t->file, env, heap, t->quiet, &interrupt_count, data, err);
    if (!rc)
        rc = session_open(&t->session, env, heap, data, t->file.out, &t->file.settings, err);
    t->file.job.model = t->start.bytes;
    if (!rc)
        rc = job_file_fit(&t->file, &t->session, err);
    if (rc)
        return rc;
    if (!t->quiet && !t->json)
        print_header(t);
    rc = session_train(&t->session, &t->file.job, &listener, &interrupt_count, run, err);
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
    if (t->file.job.has_target && run->end != RUN_TARGET) {
        fprintf(stderr, "gust train: the target was not reached; the model is saved\n");
        return 3;
    }
    return 0;
}

/* From a checked job to an exit status. */
static int run_job(struct train *t, struct heap *heap)
{
    struct sigaction action = { .sa_handler = on_interrupt };
    struct env *env = local_env_new(heap);
    struct run run = { .end = RUN_FAILED };
    struct error err = { 0 };
    bool saved = false;
    int rc;

    sigaction(SIGINT, &action, NULL);
    rc = train(t, env, heap, &run, &saved, &err);
    rc = finish(t, &run, saved, rc, &err);
    session_close(&t->session);
    model_command_close(&t->start);
    local_env_free(env);
    return rc;
}

int cmd_train(int argc, char **argv)
{
    struct train t = { 0 };
    const struct arg own[] = {
        { "force", ARG_FLAG, &t.force, NULL, "replace a model that is there" },
        { "quiet", ARG_FLAG, &t.quiet, NULL, "print nothing but errors" },
        { "json", ARG_FLAG, &t.json, NULL, "print one JSON object at the end" },
        { NULL },
    };
    struct job_args args;
    const struct args_command command = {
        .name = "gust train",
        .summary = "Train a model on local functions, through shared memory and a folder.",
        .words = "[JOB.yaml]",
        .words_max = 1,
        .table = args.table,
        .notes = "Options override the job file. 'gust help job' explains every "
                 "setting, 'gust check' a job file without running it.",
    };
    struct args_words words = { 0 };
    struct heap heap;
    int rc;

    job_args_init(&args, own);
    heap_init(&heap, 0);
    job_file_init(&t.file, &heap);
    rc = args_parse(&command, argc, argv, &words);
    if (rc == ARGS_GO && job_args_load(&args, words.count ? words.items[0] : NULL, &t.file))
        rc = job_args_complain(&command, &t.file);
    if (rc == ARGS_GO)
        rc = run_job(&t, &heap);
    job_file_release(&t.file);
    heap_release(&heap);
    job_args_release(&args);
    return rc;
}
