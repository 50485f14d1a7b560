/* SPDX-License-Identifier: Apache-2.0 */
/* gust evaluate: how good a model is on raw rows with labels, or on a data set. */
#include <inttypes.h>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/model_command.h"
#include "cli/text.h"
#include "client/quality.h"

struct evaluate {
    const char *model, *split;
    struct arg_list data;
    uint64_t top;
    double relevant;
    bool json;

    struct model_command m;
    struct quality quality;
    uint64_t rows_unknown;
};

static int find_split(const struct evaluate *e, enum dataset_split *out, struct error *err)
{
    if (strcmp(e->split, "test") == 0)
        *out = DATASET_TEST;
    else if (strcmp(e->split, "train") == 0)
        *out = DATASET_TRAIN;
    else
        return fail(err, E_INVALID, "--split: '%s' is neither test nor train", e->split);
    return 0;
}

static int evaluate_input(struct evaluate *e, const char *path, enum dataset_split split,
                          struct error *err)
{
    struct model_input in;
    int rc = model_input_open(&in, &e->m, path, split, FEED_LABELS_NEEDED, err);

    while (!rc) {
        rc = feed_next(&in.feed, err);
        if (rc || !in.feed.batch.rows)
            break;
        rc = quality_add(&e->quality, &in.feed.batch, err);
    }
    if (!rc && in.feed.rows == 0)
        rc = fail(err, E_INVALID, "%s holds no %sexamples", path,
                  !in.folder.objects      ? ""
                  : split == DATASET_TEST ? "held-out "
                                          : "training ");
    e->rows_unknown += in.feed.rows_unknown;
    model_input_close(&in);
    return rc;
}

static void print_table(const struct evaluate *e, const struct quality_figure *figures, unsigned n)
{
    printf("%-12s %s\n", "model", e->m.predictor.model.trainer->name);
    printf("%-12s %s\n", "examples", text_count(e->quality.rows).s);
    if (e->m.predictor.data.keys)
        printf("%-12s %s\n", "unknown", text_count(e->rows_unknown).s);
    for (unsigned i = 0; i < n; i++) {
        printf("%-12s %.6f", figures[i].name, figures[i].value);
        if (figures[i].error_max > 5e-7)
            printf("  (to %.6f)", figures[i].error_max);
        printf("\n");
    }
}

static void print_json(struct evaluate *e, const struct quality_figure *figures, unsigned n)
{
    struct json w;
    struct buf text;

    buf_init(&text, &e->m.heap, 64 * KIB);
    json_init(&w, &text);
    json_open(&w, NULL, '{');
    json_str(&w, "model", e->m.predictor.model.trainer->name);
    json_u64(&w, "examples", e->quality.rows);
    if (e->m.predictor.data.keys)
        json_u64(&w, "unknown", e->rows_unknown);
    for (unsigned i = 0; i < n; i++) {
        char key[64];

        json_f64(&w, figures[i].name, figures[i].value);
        if (figures[i].error_max > 0) {
            snprintf(key, sizeof(key), "%.31s_error_max", figures[i].name);
            json_f64(&w, key, figures[i].error_max);
        }
    }
    if (e->top)
        json_u64(&w, "relevant", e->quality.relevant);
    json_close(&w);
    printf("%s\n", text.data);
    buf_release(&text);
}

static int evaluate(struct evaluate *e, struct error *err)
{
    struct quality_options options = { .top = (uint32_t)e->top, .relevant = (float)e->relevant };
    struct quality_figure figures[QUALITY_FIGURES_MAX];
    enum dataset_split split = DATASET_TEST;
    unsigned n;
    int rc = find_split(e, &split, err);

    if (!rc && !e->data.count)
        rc = fail(err, E_INVALID, "say what to evaluate on: --data FILE, or a data set's folder");
    if (!rc)
        rc = model_command_open(&e->m, e->model, err);
    if (!rc)
        rc = quality_open(&e->quality, &e->m.heap, &e->m.predictor, &options, err);
    for (unsigned i = 0; !rc && i < e->data.count; i++)
        rc = evaluate_input(e, e->data.items[i], split, err);
    if (rc)
        return rc;
    n = quality_figures(&e->quality, figures);
    if (e->json)
        print_json(e, figures, n);
    else
        print_table(e, figures, n);
    return 0;
}

int cmd_evaluate(int argc, char **argv)
{
    struct evaluate e = { .split = "test", .relevant = 4 };
    const struct arg table[] = {
        { "model", ARG_TEXT, &e.model, "FILE", "the model, or the folder of the job that made it",
          .required = true },
        { "data", ARG_LIST, &e.data, "FILE",
          "rows with labels, as the training data had them (also .gz, .zst), or a data set's folder" },
        { "split", ARG_TEXT, &e.split, "NAME", "which rows of a data set: test or train (test)" },
        { "top", ARG_COUNT, &e.top, "K", "also the hit rate of the K best items", 1, 1e6 },
        { "relevant", ARG_NUMBER, &e.relevant, "X", "a hit is an item rated X or more (4)", -1e30,
          1e30 },
        { "json", ARG_FLAG, &e.json, NULL, "for programs" },
        { NULL }
    };
    const struct args_command command = {
        .name = "gust evaluate",
        .summary =
            "Measure a model: rmse and mae of ratings; log-loss, accuracy and auc of classes.",
        .table = table,
        .notes = "The hit rate is the share of ratings of at least --relevant whose item is among "
                 "the K that the model ranks highest for the user, out of all items of the model.\n"
                 "The area under the curve is taken from scores in bins; where that may change the "
                 "sixth digit, the largest possible error stands beside it.",
    };
    struct error err = { 0 };
    int rc = args_parse(&command, argc, argv, NULL);

    if (rc != ARGS_GO)
        return rc;
    rc = evaluate(&e, &err);
    quality_close(&e.quality);
    model_command_close(&e.m);
    return rc ? args_complain(&command, error_exit_status(rc), "%s", err.text) : 0;
}
