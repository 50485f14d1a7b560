/* SPDX-License-Identifier: Apache-2.0 */
/* What of a job contradicts itself or is missing, and what follows from the rest. */
#include <assert.h>
#include <inttypes.h>

#include "client/job_internal.h"

#define EPOCHS_DEFAULT 10
#define BATCH_DEFAULT  10000u

/* Two settings of which at most one can be given. */
static const struct {
    const char *one, *other;
} exclusive[] = {
    { "training.batch", "training.batch_per_worker" },
    { "data.test", "data.held_out" },
};

const struct setting *job_file_rival(const struct setting *s)
{
    for (size_t i = 0; i < ARRAY_SIZE(exclusive); i++) {
        const struct setting *one = setting_find(exclusive[i].one);
        const struct setting *other = setting_find(exclusive[i].other);

        if (s == one || s == other)
            return s == one ? other : one;
    }
    return NULL;
}

/* How a problem names the place of another value: "line 7" or "--batch". */
static void write_place(const struct setting_value *v, char *out, size_t size)
{
    if (v->line)
        snprintf(out, size, "line %u", v->line);
    else
        snprintf(out, size, "%s", v->source ? v->source : "the default");
}

/* "a|b" as "a, b". */
static void write_list(const char *choices, char *out, size_t size)
{
    size_t used = 0;

    for (; *choices && used + 2 < size; choices++) {
        out[used++] = *choices == '|' ? ',' : *choices;
        if (*choices == '|')
            out[used++] = ' ';
    }
    out[used] = 0;
}

static void check_exclusive(struct job_file *f)
{
    for (size_t i = 0; i < ARRAY_SIZE(exclusive); i++) {
        const struct setting_value *one = job_file_value(f, exclusive[i].one);
        const struct setting_value *other = job_file_value(f, exclusive[i].other);
        char place[64];

        if (!one->given || !other->given)
            continue;
        write_place(one, place, sizeof(place));
        problems_add(&f->problems, other->source, other->line,
                     "%s: contradicts %s (%s); give one of the two", exclusive[i].other,
                     exclusive[i].one, place);
    }
}

/* Settings that mean nothing for the model, optimiser or schedule that was chosen. */
static void check_conditions(struct job_file *f)
{
    for (unsigned i = 0; setting_at(i); i++) {
        const struct setting *s = setting_at(i);
        struct setting_value *v = &f->values[i];
        const struct setting_value *ruler;
        const char *chosen;
        char place[64], list[128];

        if (!s->when || !v->given)
            continue;
        ruler = job_file_value(f, s->when);
        chosen = job_file_effective(f, setting_find(s->when));
        if (!chosen || setting_listed(s->is, chosen))
            continue;
        /* The command line chose another: what the file says about the first one is moot. */
        if (v->line && ruler->given && !ruler->line) {
            job_file_forget(f, s);
            continue;
        }
        write_place(ruler, place, sizeof(place));
        write_list(s->is, list, sizeof(list));
        problems_add(&f->problems, v->source, v->line,
                     "%s.%s: has no meaning for '%s' (%s, %s), only for %s; leave it out",
                     s->section, s->name, chosen, s->when, place, list);
    }
}

static bool same_folder(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);

    while (n > 1 && a[n - 1] == '/')
        n--;
    while (m > 1 && b[m - 1] == '/')
        m--;
    return n == m && memcmp(a, b, n) == 0;
}

static void check_folders(struct job_file *f)
{
    const struct setting_value *data = job_file_value(f, "data.path");
    const struct setting_value *out = job_file_value(f, "out.folder");

    if (data->given && !data->bad && out->given && !out->bad && same_folder(data->text, out->text))
        problems_add(&f->problems, out->source, out->line,
                     "out.folder: '%.*s' is the folder of the data; choose another", QUOTED_MAX,
                     out->text);
}

/* The number that holds for PATH: given, or the table's fallback; 0 where there is neither. */
static struct setting_value number(const struct job_file *f, const char *path)
{
    const struct setting *s = setting_find(path);
    struct setting_value v = *job_file_value(f, path);

    if (!v.given && s->fallback) {
        int rc = setting_value_read(s, s->fallback, &v, NULL);

        assert(rc == 0);
        (void)rc;
    }
    return v;
}

static uint32_t count32(const struct job_file *f, const char *path)
{
    return (uint32_t)number(f, path).count;
}

static void fill_job(struct job_file *f)
{
    const struct setting_value *target = job_file_value(f, "stop.target");
    double memory_mb = ceil(number(f, "fleet.memory").number / (double)MIB);

    f->job = (struct job){
        .fleet = { .workers = count32(f, "fleet.workers"), .memory_mb = (uint32_t)memory_mb },
        .threads = count32(f, "fleet.threads"),
        .shards = count32(f, "training.shards"),
        .steps_max = number(f, "stop.steps").count,
        .epochs_max = number(f, "stop.epochs").number,
        .seconds_max = number(f, "stop.time").number,
        .has_target = target->given,
        .target = target->number,
        .patience = count32(f, "stop.patience"),
        .evaluate_every = number(f, "training.evaluate_every").count,
        .timeout_ms = (uint64_t)(number(f, "fleet.time_limit").number * 1000),
    };
    if (!f->job.steps_max && f->job.epochs_max <= 0 && f->job.seconds_max <= 0)
        f->job.epochs_max = EPOCHS_DEFAULT;
    if (job_file_value(f, "training.batch_per_worker")->given)
        f->job.fleet.batch = number(f, "training.batch_per_worker").count * f->job.fleet.workers;
    else
        f->job.fleet.batch = number(f, "training.batch").count;
}

/*
 * What workers are told: what was given, in the form in which they read numbers. The order does not
 * depend on where it was given, and so the same job leaves the same bytes in the model file.
 */
static void fill_settings(struct job_file *f)
{
    props_set(&f->settings, "model", f->model);
    props_setf(&f->settings, "seed", "%" PRIu64, number(f, "training.seed").count);
    for (unsigned i = 0; setting_at(i); i++) {
        const struct setting *s = setting_at(i);
        const struct setting_value *v = &f->values[i];

        if (!s->prop || !v->given)
            continue;
        if (s->type == SETTING_COUNT)
            props_setf(&f->settings, s->prop, "%" PRIu64, v->count);
        else if (s->type == SETTING_DURATION || s->type == SETTING_SIZE ||
                 s->type == SETTING_MONEY || s->type == SETTING_SWITCH)
            props_setf(&f->settings, s->prop, "%.17g", v->number);
        else
            props_set(&f->settings, s->prop, v->text);
    }
    if (f->job.fleet.batch)
        props_setf(&f->settings, "batch", "%" PRIu64, f->job.fleet.batch);
}

static void check_missing(struct job_file *f)
{
    if (job_file_value(f, "data.path")->given || f->partial)
        return;
    if (f->source)
        problems_add(&f->problems, f->source, 0,
                     "data.path: is missing; name the data set's folder, as in 'data: FOLDER'");
    else
        problems_add(&f->problems, "--data FOLDER", 0,
                     "is missing; name the data set, or a job file that does ('gust help job')");
}

int job_file_check(struct job_file *f)
{
    check_exclusive(f);
    check_conditions(f);
    check_folders(f);
    check_missing(f);
    if (f->problems.count)
        return E_INVALID;
    f->model = job_file_effective(f, setting_find("model.kind"));
    f->data = job_file_effective(f, setting_find("data.path"));
    f->out = job_file_effective(f, setting_find("out.folder"));
    f->start = job_file_value(f, "model.start")->text;
    f->test = job_file_value(f, "data.test")->text;
    fill_job(f);
    fill_settings(f);
    return 0;
}

void job_file_import(const struct job_file *f, struct import_options *out)
{
    const struct setting_value *format = job_file_value(f, "data.format");
    const struct setting_value *scale = job_file_value(f, "data.scale");
    const struct setting_value *bad = job_file_value(f, "data.bad_rows");

    *out = (struct import_options){
        .tests = &f->test,
        .test_count = f->test ? 1 : 0,
        .held_out = f->test ? 0 : number(f, "data.held_out").number,
        .format = format->given ? transform_format_find(format->text) : -1,
        .columns = job_file_value(f, "data.columns")->text,
        .scale = scale->given ? (enum transform_scale)transform_scale_find(scale->text) : 0,
        .scale_set = scale->given,
        .hash_width = number(f, "data.hash_width").count,
        .hash_seed = number(f, "data.hash_seed").count,
        .labels = job_file_value(f, "data.labels")->text,
        .bad_rows = bad->given ? bad->count : IMPORT_BAD_DEFAULT,
        .lanes = count32(f, "data.lanes"),
    };
}

int job_file_fit(struct job_file *f, struct session *s, struct error *err)
{
    uint64_t rows = s->data.rows[DATASET_TRAIN], batch = f->job.fleet.batch;

    if (!batch) {
        /* The model's proposal, cut to a small data set. */
        int rc =
            props_u64(&s->blueprint.settings, "batch", BATCH_DEFAULT, 1, UINT64_MAX, &batch, err);

        if (rc)
            return rc;
        batch = MIN(batch, MAX(rows, 1u));
    }
    f->job.fleet.batch = batch;
    props_setf(&s->blueprint.settings, "batch", "%" PRIu64, batch);
    return session_check(s, &f->job, err);
}
