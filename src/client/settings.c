/* SPDX-License-Identifier: Apache-2.0 */
#include "client/settings.h"

#include <assert.h>

#include "base/suggest.h"
#include "data/lanes.h"
#include "model/model.h"
#include "sync/shape.h"
#include "worker/control.h"

#define MB 1048576.0

static const struct section sections[] = {
    { "model", "kind", "What is trained." },
    { "data", "path", "What it is trained on." },
    { "fleet", NULL, "The functions that train it." },
    { "training", NULL, "How they go about it." },
    { "optimiser", "kind",
      "What turns a step's gradients into new parameters. Models propose what suits them." },
    { "stop", NULL,
      "When training ends: at whichever of these comes first. The model is always saved." },
    { "out", "folder", "Where everything goes." },
};

#define FACTORISATION .when = "model.kind", .is = "factorisation"

static const struct setting settings[] = {
    /* ---- model ---- */
    { .section = "model",
      .name = "kind",
      .type = SETTING_CHOICE,
      .choices = "factorisation|logistic|svm|softmax",
      .fallback = "factorisation",
      .option = "model",
      .prop = "model",
      .help = "the model: factorisation for ratings (recommendations), logistic for yes or no with "
              "probabilities (clicks), svm for yes or no, softmax for several classes" },
    { .section = "model",
      .name = "start",
      .type = SETTING_PATH,
      .otherwise = "small random numbers",
      .option = "start",
      .help =
          "model file, or folder of a job, to start from: training goes on from its parameters" },
    { .section = "model",
      .name = "rank",
      .type = SETTING_COUNT,
      .min = 1,
      .max = 1024,
      .fallback = "20",
      .prop = "rank",
      FACTORISATION,
      .help = "how many numbers describe a user or an item; more fit finer tastes and cost "
              "memory and time" },
    { .section = "model",
      .name = "loss",
      .type = SETTING_CHOICE,
      .choices = "hinge|squared-hinge",
      .fallback = "hinge",
      .prop = "loss",
      .when = "model.kind",
      .is = "svm",
      .help = "what an example on the wrong side of the margin costs" },
    { .section = "model",
      .name = "l2",
      .type = SETTING_NUMBER,
      .max = 1e6,
      .otherwise = "0.0125 for factorisation",
      .prop = "l2",
      .help = "pull of every parameter towards zero, per example: guards against learning the "
              "training data by heart" },
    { .section = "model",
      .name = "l1",
      .type = SETTING_NUMBER,
      .max = 1e6,
      .fallback = "0",
      .prop = "l1",
      .when = "model.kind",
      .is = "logistic|svm|softmax",
      .help = "pull of every parameter to exactly zero, per example: makes sparse models" },
    { .section = "model",
      .name = "l2_user",
      .type = SETTING_NUMBER,
      .max = 1e6,
      .otherwise = "twice model.l2",
      .prop = "l2-user",
      FACTORISATION,
      .help = "as model.l2, for users alone" },
    { .section = "model",
      .name = "l2_item",
      .type = SETTING_NUMBER,
      .max = 1e6,
      .otherwise = "model.l2",
      .prop = "l2-item",
      FACTORISATION,
      .help = "as model.l2, for items alone" },
    { .section = "model",
      .name = "init",
      .type = SETTING_NUMBER,
      .max = 1e6,
      .fallback = "0.0125",
      .prop = "init",
      FACTORISATION,
      .help = "size of the random numbers that training starts from" },
    { .section = "model",
      .name = "user_rate",
      .type = SETTING_NUMBER,
      .max = 1e6,
      .fallback = "0.8",
      .prop = "user-rate",
      FACTORISATION,
      .help = "step size of users, which are trained where their ratings lie" },
    { .section = "model",
      .name = "user_accumulator",
      .type = SETTING_NUMBER,
      .min = 1e-12,
      .max = 1e12,
      .fallback = "0.8",
      .prop = "user-accumulator",
      FACTORISATION,
      .help = "what the sums of squared gradients of users start from; larger makes the first "
              "steps smaller" },

    /* ---- data ---- */
    { .section = "data",
      .name = "path",
      .type = SETTING_PATH,
      .option = "data",
      .otherwise = "must be given",
      .help = "folder of a data set, made by 'gust data import' or 'gust data generate'; or a file "
              "or folder of raw examples (plain, .gz or .zst), which are imported first, once" },
    { .section = "data",
      .name = "format",
      .type = SETTING_CHOICE,
      .choices = "libsvm|movielens|criteo|csv",
      .otherwise = "found out from the first lines",
      .help = "what raw examples look like" },
    { .section = "data",
      .name = "columns",
      .type = SETTING_COLUMNS,
      .option = "columns",
      .otherwise = "found out from the names in the header",
      .help = "columns of a CSV file by role (label, weight, numeric, categorical, user, item, "
              "ignore), as in 'columns: { label: click, numeric: [age, price] }'" },
    { .section = "data",
      .name = "test",
      .type = SETTING_PATH,
      .otherwise = "a share of the examples, data.held_out",
      .help = "file or folder of raw examples to measure quality on" },
    { .section = "data",
      .name = "held_out",
      .type = SETTING_NUMBER,
      .max = 0.99,
      .fallback = "0.1",
      .help = "share of the raw examples that is kept apart to measure quality on" },
    { .section = "data",
      .name = "scale",
      .type = SETTING_CHOICE,
      .choices = "none|minmax|log",
      .otherwise = "log for criteo, minmax for csv",
      .help = "what the numbers of raw examples become" },
    { .section = "data",
      .name = "labels",
      .type = SETTING_CHOICE,
      .choices = "classes|numbers",
      .otherwise = "found out from the labels",
      .help = "what the labels of raw examples are" },
    { .section = "data",
      .name = "hash_width",
      .type = SETTING_COUNT,
      .min = 1,
      .max = 4294967296.0,
      .fallback = "100000",
      .help = "how many numbers the categories of raw examples are hashed into" },
    { .section = "data",
      .name = "hash_seed",
      .type = SETTING_COUNT,
      .fallback = "0",
      .help = "seed of that hash: another one gives other collisions" },
    { .section = "data",
      .name = "bad_rows",
      .type = SETTING_COUNT,
      .otherwise = "a thousandth of the rows, or 100 if that is more",
      .unit = "rows",
      .help = "malformed rows that may be left out before importing stops" },
    { .section = "data",
      .name = "lanes",
      .type = SETTING_COUNT,
      .min = 1,
      .max = LANES_MAX,
      .otherwise = "1024 with users, 256 without",
      .help = "slices that raw examples are cut into, a power of two; no more workers than that" },
    { .section = "data",
      .name = "cache",
      .type = SETTING_PATH,
      .fallback = ".gust/data",
      .help = "folder that keeps what was imported" },

    /* ---- fleet ---- */
    { .section = "fleet",
      .name = "workers",
      .type = SETTING_COUNT,
      .min = 1,
      .max = CONTROL_RANKS_MAX,
      .fallback = "2",
      .unit = "functions",
      .option = "workers",
      .help = "how many functions train together" },
    { .section = "fleet",
      .name = "memory",
      .type = SETTING_SIZE,
      .min = 128 * MB,
      .max = 10240 * MB,
      .fallback = "1769MB",
      .option = "memory",
      .help = "memory of each function. Its share of a processor grows with it: 1769MB is one "
              "whole vCPU" },
    { .section = "fleet",
      .name = "threads",
      .type = SETTING_COUNT,
      .min = 1,
      .max = 256,
      .otherwise = "one per whole vCPU that the memory buys",
      .unit = "threads",
      .option = "threads",
      .help = "threads in each function" },
    { .section = "fleet",
      .name = "time_limit",
      .type = SETTING_DURATION,
      .min = 1,
      .max = 86400,
      .fallback = "15m",
      .option = "time-limit",
      .help = "how long one function may live" },

    /* ---- training ---- */
    { .section = "training",
      .name = "batch",
      .type = SETTING_COUNT,
      .min = 1,
      .max = 1e12,
      .unit = "examples",
      .option = "batch",
      .prop = "batch",
      .help = "examples of one step, over all functions, so that the result does not depend on how "
              "many share them. Without it, small data sets get a batch that leaves fifty steps in "
              "an epoch. Give this or batch_per_worker" },
    { .section = "training",
      .name = "batch_per_worker",
      .type = SETTING_COUNT,
      .min = 1,
      .max = 1e9,
      .otherwise = "training.batch holds",
      .unit = "examples",
      .option = "batch-per-worker",
      .help = "examples of one step in each function: the step grows with the fleet. Give this "
              "or batch" },
    { .section = "training",
      .name = "seed",
      .type = SETTING_COUNT,
      .fallback = "1",
      .option = "seed",
      .prop = "seed",
      .help = "seed of everything random; the same seed gives the same model, bit for bit" },
    { .section = "training",
      .name = "evaluate_every",
      .type = SETTING_COUNT,
      .min = 1,
      .max = 1e15,
      .otherwise = "once an epoch",
      .unit = "steps",
      .option = "evaluate-every",
      .help = "how often quality is measured on the held-out examples" },
    { .section = "training",
      .name = "exchange",
      .type = SETTING_CHOICE,
      .choices = "scatter",
      .fallback = "scatter",
      .prop = "exchange",
      .help = "how functions add up their contributions: scatter (each adds up its share of the "
              "parameters for all)" },
    { .section = "training",
      .name = "shards",
      .type = SETTING_COUNT,
      .min = 1,
      .max = SHAPE_PIECES_MAX,
      .otherwise = "as many as workers",
      .unit = "pieces",
      .option = "shards",
      .help = "pieces that a step's result is cut into" },
    { .section = "training",
      .name = "kernels",
      .type = SETTING_CHOICE,
      .choices = "sse2|avx2|avx512|plain",
      .otherwise = "the best that the CPU has",
      .prop = "kernels",
      .help = "instructions of the CPU to use; all give the same bits, so this is for "
              "measurements" },

    /* ---- optimiser ---- */
    { .section = "optimiser",
      .name = "kind",
      .type = SETTING_CHOICE,
      .choices = "sgd|momentum|nesterov|adam|adagrad|adagrad-row",
      .prop = "optimiser",
      .help = "the rule: adagrad keeps a step size per parameter, adagrad-row per user or item" },
    { .section = "optimiser",
      .name = "rate",
      .type = SETTING_NUMBER,
      .max = 1e9,
      .prop = "rate",
      .option = "rate",
      .help = "the step size (learning rate) that the schedule starts from" },
    { .section = "optimiser",
      .name = "reduce",
      .type = SETTING_CHOICE,
      .choices = "sum|mean",
      .prop = "reduce",
      .help = "what of a batch's gradients is applied" },
    { .section = "optimiser",
      .name = "schedule",
      .type = SETTING_CHOICE,
      .choices = "constant|inverse|inverse-sqrt|exponential|step|cosine",
      .fallback = "constant",
      .prop = "schedule",
      .help = "how the step size changes, with x epochs passed: inverse is rate / (1 + decay x), "
              "inverse-sqrt rate / sqrt(1 + decay x), exponential rate exp(-decay x), step divides "
              "by 1 + decay every decay_every epochs, cosine falls to 0 over decay_every epochs" },
    { .section = "optimiser",
      .name = "decay",
      .type = SETTING_NUMBER,
      .max = 1e9,
      .fallback = "0",
      .prop = "decay",
      .when = "optimiser.schedule",
      .is = "inverse|inverse-sqrt|exponential|step",
      .help = "how fast the schedule falls" },
    { .section = "optimiser",
      .name = "decay_every",
      .type = SETTING_NUMBER,
      .min = 1e-9,
      .max = 1e9,
      .fallback = "1",
      .unit = "epochs",
      .prop = "decay-every",
      .when = "optimiser.schedule",
      .is = "step|cosine",
      .help = "length of a step, or of the whole cosine" },
    { .section = "optimiser",
      .name = "warmup",
      .type = SETTING_NUMBER,
      .max = 1e9,
      .fallback = "0",
      .unit = "epochs",
      .prop = "warmup",
      .help = "time over which the step size first rises from a hundredth" },
    { .section = "optimiser",
      .name = "momentum",
      .type = SETTING_NUMBER,
      .max = 0.99999,
      .fallback = "0.9",
      .prop = "momentum",
      .when = "optimiser.kind",
      .is = "momentum|nesterov|adam",
      .help = "share of the last step that is kept; Adam's first decay" },
    { .section = "optimiser",
      .name = "adam_decay",
      .type = SETTING_NUMBER,
      .max = 0.9999999,
      .fallback = "0.999",
      .prop = "adam-decay",
      .when = "optimiser.kind",
      .is = "adam",
      .help = "the second decay of Adam, that of squared gradients" },
    { .section = "optimiser",
      .name = "epsilon",
      .type = SETTING_NUMBER,
      .max = 1e9,
      .otherwise = "1e-8 for adam, 1e-10 for adagrad",
      .prop = "epsilon",
      .when = "optimiser.kind",
      .is = "adam|adagrad|adagrad-row",
      .help = "keeps divisions by small numbers apart from zero" },
    { .section = "optimiser",
      .name = "accumulator",
      .type = SETTING_NUMBER,
      .max = 1e12,
      .fallback = "0",
      .prop = "accumulator",
      .when = "optimiser.kind",
      .is = "adagrad|adagrad-row",
      .help = "what AdaGrad's sums of squared gradients start from; larger makes the first steps "
              "smaller" },

    /* ---- stop ---- */
    { .section = "stop",
      .name = "epochs",
      .type = SETTING_NUMBER,
      .min = 1e-6,
      .max = 1e9,
      .otherwise = "10 when neither steps nor time is given",
      .unit = "passes",
      .option = "epochs",
      .help = "stop after so many passes over the data; may be a fraction" },
    { .section = "stop",
      .name = "steps",
      .type = SETTING_COUNT,
      .min = 1,
      .max = 1e15,
      .otherwise = "no limit",
      .unit = "steps",
      .option = "steps",
      .help = "stop after so many steps" },
    { .section = "stop",
      .name = "time",
      .type = SETTING_DURATION,
      .min = 1e-3,
      .max = 1e9,
      .otherwise = "no limit",
      .option = "time",
      .help = "stop after so much training, evaluations not counted" },
    { .section = "stop",
      .name = "target",
      .type = SETTING_NUMBER,
      .otherwise = "none",
      .option = "target",
      .help =
          "stop when the model's first measure of quality on held-out examples gets there: RMSE for "
          "factorisation, log-loss for logistic and softmax, hinge loss for svm. A run that "
          "ends otherwise has exit status 3" },
    { .section = "stop",
      .name = "patience",
      .type = SETTING_COUNT,
      .min = 1,
      .max = 1e6,
      .otherwise = "no early stop; the last state is the model",
      .unit = "evaluations",
      .option = "patience",
      .help = "stop after so many evaluations in a row that were not better than the best so far, "
              "and save the model of the best one" },

    /* ---- out ---- */
    { .section = "out",
      .name = "folder",
      .type = SETTING_PATH,
      .fallback = "out",
      .option = "out",
      .help = "folder for the model and everything else that a run leaves" },
};

_Static_assert(ARRAY_SIZE(settings) <= SETTINGS_MAX, "raise SETTINGS_MAX");

const struct section *section_at(unsigned i)
{
    return i < ARRAY_SIZE(sections) ? &sections[i] : NULL;
}

const struct setting *setting_at(unsigned i)
{
    return i < ARRAY_SIZE(settings) ? &settings[i] : NULL;
}

unsigned setting_index(const struct setting *s)
{
    assert(s >= settings && s < settings + ARRAY_SIZE(settings));
    return (unsigned)(s - settings);
}

/* Whether the SIZE letters at TEXT are NAME, '-' and '_' being the same. */
static bool is_name(const char *name, const char *text, size_t size)
{
    if (strlen(name) != size)
        return false;
    for (size_t i = 0; i < size; i++)
        if (name[i] != text[i] && !(name[i] == '_' && text[i] == '-'))
            return false;
    return true;
}

const struct section *section_find(const char *name)
{
    for (unsigned i = 0; section_at(i); i++)
        if (is_name(sections[i].name, name, strlen(name)))
            return &sections[i];
    return NULL;
}

static const struct setting *find(const char *section, size_t section_size, const char *name)
{
    for (unsigned i = 0; setting_at(i); i++)
        if (is_name(settings[i].section, section, section_size) &&
            is_name(settings[i].name, name, strlen(name)))
            return &settings[i];
    return NULL;
}

const struct setting *setting_find(const char *path)
{
    const char *dot = strchr(path, '.');

    return dot ? find(path, (size_t)(dot - path), dot + 1) : NULL;
}

const struct setting *setting_in(const char *section, const char *name)
{
    return find(section, strlen(section), name);
}

/* The only setting of that name; NULL when there are several or none. */
static const struct setting *only(const char *name)
{
    const struct setting *found = NULL;

    for (unsigned i = 0; setting_at(i); i++) {
        if (!is_name(settings[i].name, name, strlen(name)))
            continue;
        if (found)
            return NULL;
        found = &settings[i];
    }
    return found;
}

const struct setting *setting_resolve(const char *name)
{
    const struct section *section = section_find(name);

    if (strchr(name, '.'))
        return setting_find(name);
    if (section && section->main)
        return setting_in(section->name, section->main);
    return only(name);
}

/* The names of a section's settings, or of all sections. */
static void list_names(const char *section, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "; there are%s", section ? "" : " the sections");
    const char *comma = "";

    for (unsigned i = 0; section ? i < ARRAY_SIZE(settings) : i < ARRAY_SIZE(sections); i++) {
        const char *name = section ? settings[i].name : sections[i].name;

        if ((section && strcmp(settings[i].section, section) != 0) || used >= size)
            continue;
        used += (size_t)snprintf(out + used, size - used, "%s %s", comma, name);
        comma = ",";
    }
}

void setting_suggest(const char *section, const char *name, char *out, size_t size)
{
    struct suggest here = { .word = name }, anywhere = { .word = name };
    const struct setting *meant = NULL;

    for (unsigned i = 0; setting_at(i); i++) {
        const struct setting *s = &settings[i];
        const char *before = anywhere.best;

        if (section && strcmp(s->section, section) == 0)
            suggest_offer(&here, s->name);
        suggest_offer(&anywhere, s->name);
        if (anywhere.best != before)
            meant = s;
    }
    for (unsigned i = 0; !section && section_at(i); i++)
        suggest_offer(&here, sections[i].name);
    if (here.best && (!meant || here.distance <= anywhere.distance))
        snprintf(out, size, "; did you mean '%s'?", here.best);
    else if (meant)
        snprintf(out, size, "; did you mean '%s.%s'?", meant->section, meant->name);
    else
        list_names(section, out, size);
}

bool setting_listed(const char *list, const char *word)
{
    size_t size = strlen(word);

    for (const char *at = list; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (size && strncmp(at, word, size) == 0 && (at[size] == '|' || at[size] == 0))
            return true;
    return false;
}

const char *setting_default(const struct setting *s, const char *model)
{
    const struct gust_trainer *t = model ? model_find(model) : NULL;

    for (const struct gust_default *d = t ? t->defaults : NULL; d && d->name; d++)
        if (s->prop && strcmp(d->name, s->prop) == 0)
            return d->value;
    return s->fallback;
}
