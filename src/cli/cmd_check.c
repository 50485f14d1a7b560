/* SPDX-License-Identifier: Apache-2.0 */
/* gust check: what a job would run, or all that is wrong with it. Starts and creates nothing. */
#include <inttypes.h>

#include "base/json.h"
#include "base/quantity.h"
#include "cli/commands.h"
#include "cli/job_args.h"
#include "cli/text.h"
#include "cli/job_data.h"
#include "model/model.h"
#include "platform/local_env.h"

struct check {
    bool json;
    struct heap heap;
    struct env *env;
    struct job_file file;
    struct session session;
    bool raw;  /* the data would have to be imported first */
    bool fits; /* data, model and fleet fit one another */
};

/* Where the value of S comes from. */
static const char *origin(const struct job_file *f, const struct setting *s, char *out, size_t size)
{
    const struct setting_value *v = &f->values[setting_index(s)];
    const char *proposed = setting_default(s, f->model);

    if (v->line)
        snprintf(out, size, "line %u", v->line);
    else if (v->given)
        snprintf(out, size, "%s", v->source);
    else
        snprintf(out, size, proposed && proposed != s->fallback ? "for %s" : "default", f->model);
    return out;
}

/* Settings that mean something for this job and have a value. */
static const char *shown(const struct job_file *f, const struct setting *s)
{
    const struct setting *ruler = s->when ? setting_find(s->when) : NULL;
    const char *chosen = ruler ? job_file_effective(f, ruler) : NULL;

    /* The model's proposal was fitted to the data; the sentence above the list has the outcome. */
    if (strcmp(s->name, "batch") == 0 && !f->values[setting_index(s)].given)
        return NULL;
    if (ruler && (!chosen || !setting_listed(s->is, chosen)))
        return NULL;
    return job_file_effective(f, s);
}

/* "10 epochs, 90s of training or rmse 0.75" */
static void write_limits(const struct check *c, struct buf *out)
{
    const struct job *job = &c->file.job;
    char time[QUANTITY_TEXT_MAX];

    if (job->epochs_max > 0)
        buf_printf(out, ", %g epoch%s", job->epochs_max, job->epochs_max == 1 ? "" : "s");
    if (job->steps_max)
        buf_printf(out, ", %s steps", text_count(job->steps_max).s);
    quantity_write_duration(job->seconds_max, time);
    if (job->seconds_max > 0)
        buf_printf(out, ", %s of training", time);
    if (job->patience)
        buf_printf(out, ", %" PRIu32 " evaluation%s without a better one", job->patience,
                   job->patience == 1 ? "" : "s");
    if (job->has_target)
        buf_printf(out, ", %s %g", model_find(c->file.model)->metrics[0].name, job->target);
}

static void print_limits(struct check *c)
{
    struct buf text;

    buf_init(&text, &c->heap, KIB);
    write_limits(c, &text);
    printf("It would stop at the first of: %s.\n", text.data + 2);
    buf_release(&text);
}

static void print_fit(const struct check *c)
{
    const struct job_file *f = &c->file;
    const struct session *s = &c->session;
    const struct fleet *fleet = &f->job.fleet;

    printf("Would train %s on %s examples of '%s' (%s held out),\n", f->model,
           text_count(s->data.rows[DATASET_TRAIN]).s, f->data,
           text_count(s->data.rows[DATASET_TEST]).s);
    printf("%s at a step, with %" PRIu32 " function%s of %" PRIu32 " MB of which each needs %s,\n",
           text_count(fleet->batch).s, fleet->workers, fleet->workers == 1 ? "" : "s",
           fleet->memory_mb, text_bytes((double)s->need.total).s);
}

static void print_text(struct check *c)
{
    const struct job_file *f = &c->file;
    const struct fleet *fleet = &f->job.fleet;

    if (c->raw)
        printf("Would import '%s' (unless that was done before), then train %s\n"
               "with %" PRIu32 " function%s of %" PRIu32 " MB,\n",
               f->data, f->model, fleet->workers, fleet->workers == 1 ? "" : "s", fleet->memory_mb);
    else
        print_fit(c);
    printf("and leave the model in '%s'.\n", f->out);
    print_limits(c);
    printf("\n");
    for (unsigned i = 0; setting_at(i); i++) {
        const struct setting *it = setting_at(i);
        const char *text = shown(f, it);
        char name[64], from[64];

        if (!text)
            continue;
        snprintf(name, sizeof(name), "%s.%s", it->section, it->name);
        printf("  %-26s %-24s %s\n", name, text, origin(f, it, from, sizeof(from)));
    }
}

static void json_settings(struct json *w, const struct job_file *f)
{
    json_open(w, "settings", '{');
    for (unsigned i = 0; setting_at(i); i++) {
        const struct setting *s = setting_at(i);
        const char *text = shown(f, s);
        char name[64], from[64];

        if (!text)
            continue;
        snprintf(name, sizeof(name), "%s.%s", s->section, s->name);
        json_open(w, name, '{');
        json_str(w, "value", text);
        json_str(w, "from", origin(f, s, from, sizeof(from)));
        json_close(w);
    }
    json_close(w);
}

static void json_problems(struct json *w, const struct problems *p)
{
    json_open(w, "problems", '[');
    for (unsigned i = 0; i < p->kept; i++) {
        json_open(w, NULL, '{');
        json_str(w, "source", p->items[i].source);
        if (p->items[i].line)
            json_u64(w, "line", p->items[i].line);
        json_str(w, "text", p->items[i].text);
        json_close(w);
    }
    json_close(w);
}

static void print_json(struct check *c)
{
    const struct job_file *f = &c->file;
    struct buf text;
    struct json w;

    buf_init(&text, &c->heap, 4 * MIB);
    json_init(&w, &text);
    json_open(&w, NULL, '{');
    json_bool(&w, "valid", f->problems.count == 0);
    json_problems(&w, &f->problems);
    if (f->problems.count == 0) {
        json_str(&w, "model", f->model);
        json_str(&w, "data", f->data);
        json_str(&w, "out", f->out);
        json_u64(&w, "workers", f->job.fleet.workers);
        json_u64(&w, "memory_mb", f->job.fleet.memory_mb);
        json_bool(&w, "imports", c->raw);
        json_settings(&w, f);
    }
    if (c->fits) {
        json_u64(&w, "examples", c->session.data.rows[DATASET_TRAIN]);
        json_u64(&w, "batch", f->job.fleet.batch);
        json_u64(&w, "need_bytes", c->session.need.total);
    }
    json_close(&w);
    printf("%s\n", text.data);
    buf_release(&text);
}

/* Whether data, model and fleet go together. */
static int fit(struct check *c, struct error *err)
{
    int rc =
        session_open(&c->session, c->env, &c->heap, c->file.data, NULL, &c->file.settings, err);

    rc = rc ? rc : job_file_fit(&c->file, &c->session, err);
    c->fits = rc == 0;
    return rc;
}

/* What can be said without starting anything; one more problem if it is bad. */
static void check_fit(struct check *c)
{
    const struct setting_value *data = job_file_value(&c->file, "data.path");
    struct error err = { 0 };
    int rc = job_data_check(&c->file, &c->heap, &err);

    c->raw = job_data_is_raw(&c->file);
    if (!rc && !c->raw)
        rc = fit(c, &err);
    if (rc == E_NOT_FOUND)
        problems_add(&c->file.problems, data->source, data->line, "data.path: %s", err.text);
    else if (rc)
        problems_add(&c->file.problems, c->file.source ? c->file.source : "the job", 0, "%s",
                     err.text);
}

static int check(struct check *c, const struct args_command *command, const struct job_args *args,
                 const char *path)
{
    int status = 0;

    c->env = local_env_new(&c->heap);
    if (job_args_load(args, path, &c->file) == 0)
        check_fit(c);
    if (c->file.problems.count)
        status = c->json ? 2 : job_args_complain(command, &c->file);
    else if (!c->json)
        print_text(c);
    if (c->json)
        print_json(c);
    session_close(&c->session);
    local_env_free(c->env);
    return status;
}

int cmd_check(int argc, char **argv)
{
    struct check c = { 0 };
    const struct arg own[] = {
        { "json", ARG_FLAG, &c.json, NULL, "print one JSON object" },
        { NULL },
    };
    struct job_args args;
    const struct args_command command = {
        .name = "gust check",
        .summary = "Say what a job would run, or all that is wrong with it. Nothing is started.",
        .words = "[JOB.yaml]",
        .words_max = 1,
        .table = args.table,
        .notes = "The options of 'gust train' that describe a job override the file here too.",
    };
    struct args_words words = { 0 };
    int rc;

    job_args_init(&args, own);
    heap_init(&c.heap, 0);
    job_file_init(&c.file, &c.heap);
    rc = args_parse(&command, argc, argv, &words);
    if (rc == ARGS_GO)
        rc = check(&c, &command, &args, words.count ? words.items[0] : NULL);
    job_file_release(&c.file);
    heap_release(&c.heap);
    job_args_release(&args);
    return rc;
}
