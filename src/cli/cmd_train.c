/* SPDX-License-Identifier: Apache-2.0 */
/* gust train: one job on the embedded default, from data to a model, a report and a bill. */
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/job_args.h"
#include "cli/job_data.h"
#include "cli/job_folder.h"
#include "cli/model_command.h"
#include "cli/progress.h"
#include "cli/result.h"
#include "cli/text.h"
#include "cli/wrap.h"
#include "client/record.h"
#include "platform/local_env.h"

/* Ctrl-C: the first asks the job to stop and save, the second ends the program. */
static volatile sig_atomic_t interrupt_count;

static void on_interrupt(int signal_number UNUSED)
{
    if (++interrupt_count > 1)
        _exit(130);
}

/* Other programs send SIGTERM where a person presses Ctrl-C, and terminals SIGHUP when they close.
 */
static void catch_interrupts(void)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action = { .sa_handler = on_interrupt }, before;

    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        /* What nohup, or a shell for programs in the background, has ignored stays so. */
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
}

struct train {
    bool quiet, json, force;
    struct job_file file;       /* what is to be done */
    struct model_command start; /* a model to start from, if there is one */
    struct session session;
    struct record record;
    struct display display;
    struct run run;
    struct bill bill;
    bool saved; /* there is a model */
};

/* ---- what is shown and recorded while it runs ---- */

static void on_ready(void *arg, double start_seconds)
{
    struct train *t = arg;

    events_ready(&t->record.events, start_seconds);
}

static void on_progressed(void *arg, const struct progress *p)
{
    struct train *t = arg;

    events_steps(&t->record.events, p);
    display_progress(&t->display, p);
}

static void on_evaluated(void *arg, const struct evaluation *e)
{
    struct train *t = arg;

    events_evaluation(&t->record.events, e);
    display_evaluation(&t->display, e);
}

static void on_based(void *arg, uint64_t step, double seconds)
{
    struct train *t = arg;

    events_base(&t->record.events, step, seconds);
}

static void on_stopping(void *arg, enum run_end why, uint64_t step)
{
    struct train *t = arg;

    events_stop(&t->record.events, why, step);
    display_stopping(&t->display, why);
}

static void on_exited(void *arg, uint32_t rank, const struct platform_exit *e)
{
    struct train *t = arg;

    events_exit(&t->record.events, rank, e);
}

/* ---- what is printed before and after ---- */

static void print_wrapped(struct buf *sentence)
{
    struct buf lines;

    buf_init(&lines, sentence->heap, 64 * KIB);
    wrap(&lines, sentence->data, 0, 0);
    printf("%s", lines.data);
    buf_release(&lines);
}

static void print_header(const struct train *t)
{
    const struct session *s = &t->session;
    const struct gust_data *d = &s->data.data;
    struct buf text;

    buf_init(&text, s->heap, 64 * KIB);
    buf_printf(&text, "Training %s on %s examples", t->file.model, text_count(d->rows).s);
    if (d->keys >= 2)
        buf_printf(&text, " (%s x %s)", text_count(d->key_rows[0]).s, text_count(d->key_rows[1]).s);
    buf_printf(&text, " with %" PRIu32 " function%s of %" PRIu32 " MB, of which %s needs %s",
               t->file.job.fleet.workers, t->file.job.fleet.workers == 1 ? "" : "s",
               t->file.job.fleet.memory_mb, t->file.job.fleet.workers == 1 ? "it" : "each",
               text_bytes((double)s->need.total).s);
    print_wrapped(&text);
    printf("\n");
    buf_release(&text);
}

static unsigned core_count(void)
{
    cpu_set_t cpus;

    return sched_getaffinity(0, sizeof(cpus), &cpus) < 0 ? 0 : (unsigned)CPU_COUNT(&cpus);
}

static void print_bill(const struct train *t)
{
    const struct fleet *fleet = &t->file.job.fleet;
    struct buf text;

    buf_init(&text, t->session.heap, 64 * KIB);
    bill_write(&t->bill, true, &text);
    printf("\n%s", text.data);
    buf_reset(&text);
    if (bill_crowded(&t->session.prices, fleet->workers, fleet->memory_mb, core_count(), &text))
        print_wrapped(&text);
    buf_release(&text);
}

static void print_result(const struct train *t)
{
    struct summary summary;

    if (summary_read(&summary, buf_slice(&t->record.summary), NULL) == 0) {
        printf("\n");
        result_print(&summary, summary.status, t->file.out);
        print_bill(t);
    }
    summary_release(&summary);
}

/* ---- the run ---- */

/* Everything up to the first function. */
static int prepare(struct train *t, struct env *env, struct heap *heap, struct error *err)
{
    char data[JOB_DATA_PATH_MAX], now[32];
    struct record_client client = { .version = GUST_VERSION };
    struct tm utc;
    time_t seconds = time(NULL);
    bool was_there = access(t->file.out, F_OK) == 0;
    int rc = job_folder_check_free(t->file.out, t->force, err);

    if (!rc && t->file.start)
        rc = model_command_open(&t->start, t->file.start, err);
    if (!rc)
        rc = job_data_find(&t->file, env, heap, t->quiet, &interrupt_count, data, err);
    if (!rc)
        rc = session_open(&t->session, env, heap, data, t->file.out, &t->file.settings, err);
    t->file.job.model = t->start.bytes;
    if (!rc)
        rc = job_file_fit(&t->file, &t->session, err);
    if (rc) {
        /* What is refused leaves nothing behind; a folder that is not empty stays anyway. */
        if (!was_there)
            rmdir(t->file.out);
        return rc;
    }
    strftime(now, sizeof(now), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &utc));
    client.time = heap_strdup(heap, now);
    client.pid = (uint64_t)getpid();
    client.pid_started = process_started(client.pid);
    return record_begin(&t->record, &t->file, &t->session, &client, err);
}

static int save(struct train *t, struct error *err)
{
    int rc = session_save(&t->session, &t->run, err);

    t->saved = rc == 0;
    if (t->saved)
        events_saved(&t->record.events, t->run.base_step, MODEL_NAME);
    return rc;
}

/* The bill, and all files beside the model. FAILED says what went wrong; NULL: nothing. */
static int conclude(struct train *t, const struct error *failed, struct error *err)
{
    const struct fleet *fleet = &t->file.job.fleet;
    struct record_end end = { .run = &t->run, .bill = &t->bill, .saved = t->saved };

    end.error = failed ? failed->text : NULL;
    end.interrupted = failed && failed->code == E_INTERRUPTED;
    t->bill = meter_bill(&t->session.meter);
    bill_compare(&t->bill, fleet->workers, fleet->memory_mb, (uint64_t)(t->run.wall_seconds * 1e3));
    return record_finish(&t->record, &end, err);
}

static int train(struct train *t, struct env *env, struct error *err)
{
    const struct listener listener = { .arg = t,
                                       .ready = on_ready,
                                       .progressed = on_progressed,
                                       .evaluated = on_evaluated,
                                       .based = on_based,
                                       .stopping = on_stopping,
                                       .exited = on_exited };
    struct error other = { 0 };
    int rc, next = 0;

    display_open(&t->display, env, t->session.blueprint.trainer->metrics, t->file.job.patience,
                 t->quiet || t->json);
    display_begin(&t->display, t->file.job.fleet.workers);
    rc = session_train(&t->session, &t->file.job, &listener, &interrupt_count, &t->run, err);
    if (t->run.has_base)
        next = save(t, rc ? &other : err);
    display_end(&t->display);
    rc = rc ? rc : next;
    next = conclude(t, rc ? err : NULL, rc ? &other : err);
    return rc ? rc : next;
}

static int exit_status(const struct train *t, int rc, const struct error *err)
{
    if (rc) {
        fprintf(stderr, "gust train: %s%s\n", err->text,
                t->saved ? "; the model of the last complete state was saved" : "");
        return error_exit_status(rc);
    }
    if (t->run.end == RUN_INTERRUPTED)
        return 130;
    if (t->file.job.has_target && t->run.end != RUN_TARGET) {
        fprintf(stderr, "gust train: the target was not reached; the model is saved\n");
        return 3;
    }
    return 0;
}

/* From a checked job to an exit status. */
static int run_job(struct train *t, struct heap *heap)
{
    struct env *env = local_env_new(heap);
    struct error err = { 0 };
    int rc;

    catch_interrupts();
    rc = prepare(t, env, heap, &err);
    if (!rc && !t->quiet && !t->json)
        print_header(t);
    if (!rc)
        rc = train(t, env, &err);
    if (t->run.steps > 0 && t->json)
        printf("%s", t->record.summary.data);
    else if (t->run.steps > 0 && !t->quiet)
        print_result(t);
    rc = exit_status(t, rc, &err);
    record_close(&t->record);
    session_close(&t->session);
    model_command_close(&t->start);
    local_env_free(env);
    return rc;
}

int cmd_train(int argc, char **argv)
{
    struct train t = { 0 };
    const struct arg own[] = {
        { "force", ARG_FLAG, &t.force, NULL,
          "replace a model that is there, or use a folder with other files in it" },
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
