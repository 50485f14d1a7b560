/* SPDX-License-Identifier: Apache-2.0 */
#include "client/job_file.h"

#include <assert.h>
#include <inttypes.h>

#include "base/yaml.h"

/* Of keys and values that somebody wrote, this much is repeated. */
#define QUOTED_MAX 60

#define EPOCHS_DEFAULT 10
#define BATCH_DEFAULT  10000u

/* Two settings of which at most one can be given. */
static const struct {
    const char *one, *other;
} exclusive[] = {
    { "training.batch", "training.batch_per_worker" },
};

void job_file_init(struct job_file *f, struct heap *heap)
{
    *f = (struct job_file){ .heap = heap };
    problems_init(&f->problems, heap);
    props_init(&f->settings, heap);
}

void job_file_release(struct job_file *f)
{
    for (unsigned i = 0; f->heap && i < SETTINGS_MAX; i++)
        heap_free(f->heap, (char *)f->values[i].text);
    problems_release(&f->problems);
    props_release(&f->settings);
    *f = (struct job_file){ 0 };
}

static struct setting_value *value_at(struct job_file *f, const char *path)
{
    const struct setting *s = setting_find(path);

    assert(s);
    return &f->values[setting_index(s)];
}

const struct setting_value *job_file_value(const struct job_file *f, const char *path)
{
    return value_at((struct job_file *)f, path);
}

/* ---- taking over ---- */

static void forget(struct job_file *f, struct setting_value *v)
{
    heap_free(f->heap, (char *)v->text);
    *v = (struct setting_value){ 0 };
}

static void take(struct job_file *f, const struct setting *s, const char *text, const char *source,
                 unsigned line)
{
    struct setting_value *v = &f->values[setting_index(s)];
    struct error err = { 0 };

    forget(f, v);
    v->given = true;
    v->text = heap_strdup(f->heap, text);
    v->source = source;
    v->line = line;
    v->bad = setting_value_read(s, text, v, &err) != 0;
    if (!v->bad)
        return;
    /* An option is named by its source; what stands in a file or after --set is not. */
    if (line || strcmp(source, "--set") == 0)
        problems_add(&f->problems, source, line, "%s.%s: %s", s->section, s->name, err.text);
    else
        problems_add(&f->problems, source, 0, "%s", err.text);
}

void job_file_set(struct job_file *f, const struct setting *s, const char *text, const char *source)
{
    for (size_t i = 0; i < ARRAY_SIZE(exclusive); i++) {
        struct setting_value *one = value_at(f, exclusive[i].one);
        struct setting_value *other = value_at(f, exclusive[i].other);
        struct setting_value *v = &f->values[setting_index(s)];

        if (v == one && other->line)
            forget(f, other);
        if (v == other && one->line)
            forget(f, one);
    }
    take(f, s, text, source, 0);
}

void job_file_assign(struct job_file *f, const char *assignment)
{
    const char *equals = strchr(assignment, '=');
    const struct setting *s;
    char key[QUOTED_MAX + 4], near[512];

    if (!equals || equals == assignment) {
        problems_add(&f->problems, "--set", 0, "'%.*s' is not of the form key=value", QUOTED_MAX,
                     assignment);
        return;
    }
    snprintf(key, sizeof(key), "%.*s", (int)MIN(equals - assignment, QUOTED_MAX + 1), assignment);
    s = setting_resolve(key);
    if (s) {
        job_file_set(f, s, equals + 1, "--set");
    } else {
        const char *dot = strchr(key, '.');
        const struct section *section = NULL;

        if (dot) {
            key[dot - key] = 0;
            section = section_find(key);
            key[dot - key] = '.';
        }
        setting_suggest(section ? section->name : NULL, section ? dot + 1 : key, near,
                        sizeof(near));
        problems_add(&f->problems, "--set", 0, "%s: there is no such setting%s", key, near);
    }
}

/* ---- the file ---- */

static void take_node(struct job_file *f, const struct setting *s, const struct yaml_node *node,
                      const char *source)
{
    const struct setting_value *before = &f->values[setting_index(s)];

    if (before->given)
        problems_add(&f->problems, source, node->line,
                     "%s.%s: is given again (first in line %u); keep one of them", s->section,
                     s->name, before->line);
    else if (node->kind != YAML_NODE_SCALAR)
        problems_add(&f->problems, source, node->line,
                     "%s.%s: takes one value, not a %s; write it on the same line", s->section,
                     s->name, node->kind == YAML_NODE_MAPPING ? "section" : "list");
    else
        take(f, s, yaml_is_null(node) ? "" : node->text, source, node->line);
}

static void refuse_key(struct job_file *f, const char *section, const struct yaml_node *node,
                       const char *source)
{
    char near[512];

    setting_suggest(section, node->key, near, sizeof(near));
    problems_add(&f->problems, source, node->line, "%s%s%.*s: there is no such setting%s",
                 section ? section : "", section ? "." : "", QUOTED_MAX, node->key, near);
}

static void take_section(struct job_file *f, const struct section *section,
                         const struct yaml_node *node, const char *source)
{
    /* A section whose settings are all commented out. */
    if (yaml_is_null(node))
        return;
    if (node->kind == YAML_NODE_SCALAR && section->main) {
        take_node(f, setting_in(section->name, section->main), node, source);
        return;
    }
    if (node->kind != YAML_NODE_MAPPING) {
        problems_add(&f->problems, source, node->line,
                     "%s: %s; write its settings below it, indented, as 'name: value'",
                     section->name,
                     section->main ? "takes one value, or is a section" : "is a section");
        return;
    }
    for (const struct yaml_node *n = node->first; n; n = n->next) {
        const struct setting *s = setting_in(section->name, n->key);

        if (s)
            take_node(f, s, n, source);
        else
            refuse_key(f, section->name, n, source);
    }
}

static void take_root(struct job_file *f, const struct yaml_node *root, const char *source)
{
    if (!root || yaml_is_null(root)) {
        if (f->problems.count == 0)
            problems_add(&f->problems, source, 0,
                         "there is nothing in it; 'gust help job' says what a job file holds");
        return;
    }
    if (root->kind != YAML_NODE_MAPPING) {
        problems_add(&f->problems, source, root->line,
                     "this is not a job file: it must hold lines such as 'model: factorisation'; "
                     "'gust help job' says more");
        return;
    }
    for (const struct yaml_node *n = root->first; n; n = n->next) {
        const struct section *section = section_find(n->key);
        const struct setting *s = setting_find(n->key);

        if (section)
            take_section(f, section, n, source);
        else if (s)
            take_node(f, s, n, source);
        else
            refuse_key(f, NULL, n, source);
    }
}

void job_file_read(struct job_file *f, struct slice text, const char *source)
{
    struct yaml y;

    f->source = source;
    yaml_read(&y, text, source, &f->problems);
    f->partial = !y.whole || !y.root || y.root->kind != YAML_NODE_MAPPING;
    take_root(f, y.root, source);
    yaml_release(&y);
}

/* ---- checking ---- */

const char *job_file_effective(const struct job_file *f, const struct setting *s)
{
    const struct setting_value *v = &f->values[setting_index(s)];
    const struct setting_value *model = job_file_value(f, "model.kind");
    const struct setting *kind = setting_find("model.kind");

    if (v->given)
        return v->bad ? NULL : v->text;
    if (model->bad)
        return NULL;
    return setting_default(s, model->given ? model->text : kind->fallback);
}

/* How a problem names the place of another value: "line 7" or "--batch". */
static void write_place(const struct setting_value *v, char *out, size_t size)
{
    if (v->line)
        snprintf(out, size, "line %u", v->line);
    else
        snprintf(out, size, "%s", v->source ? v->source : "the default");
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
        char place[64];

        if (!s->when || !v->given)
            continue;
        ruler = job_file_value(f, s->when);
        chosen = job_file_effective(f, setting_find(s->when));
        if (!chosen || setting_listed(s->is, chosen))
            continue;
        /* The command line chose another: what the file says about the first one is moot. */
        if (v->line && ruler->given && !ruler->line) {
            forget(f, v);
            continue;
        }
        write_place(ruler, place, sizeof(place));
        problems_add(&f->problems, v->source, v->line,
                     "%s.%s: has no meaning for '%s' (%s, %s), only for: %s; leave it out",
                     s->section, s->name, chosen, s->when, place, s->is);
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
    fill_job(f);
    fill_settings(f);
    return 0;
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
