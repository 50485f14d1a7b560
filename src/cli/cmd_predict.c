/* SPDX-License-Identifier: Apache-2.0 */
/* gust predict: predictions for raw rows, or recommendations for one user. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/model_command.h"
#include "client/ranking.h"

struct predict {
    const char *model, *out, *exclude, *user;
    struct arg_list data;
    uint64_t top;
    bool json, force;

    struct model_command m;
    FILE *to;
    char partial[4096]; /* what becomes `out` when it is complete */
    struct buf text;    /* a line being written */
    float predictions[FEED_ROWS];
    uint64_t rows, rows_unknown;
};

/* ---- the output file ------------------------------------------------------------------------ */

static int open_output(struct predict *p, struct error *err)
{
    p->to = stdout;
    if (!p->out)
        return 0;
    if (!p->force && access(p->out, F_OK) == 0)
        return fail(err, E_EXISTS, "%s exists; choose another --out, or --force to replace it",
                    p->out);
    if (snprintf(p->partial, sizeof(p->partial), "%s.partial", p->out) >= (int)sizeof(p->partial))
        return fail(err, E_INVALID, "the name %s is too long", p->out);
    p->to = fopen(p->partial, "we");
    if (!p->to)
        return fail(err, E_INVALID, "cannot write %s: %s", p->partial, strerror(errno));
    return 0;
}

/* Predictions appear whole or not at all. */
static int close_output(struct predict *p, int rc, struct error *err)
{
    bool written;

    if (!p->to)
        return rc;
    written = fflush(p->to) == 0 && !ferror(p->to);
    if (p->out && fclose(p->to) != 0)
        written = false;
    if (!rc && !written)
        rc = fail(err, E_IO, "cannot write %s: %s", p->out ? p->out : "the predictions",
                  strerror(errno));
    if (p->out && !rc && rename(p->partial, p->out) != 0)
        rc = fail(err, E_IO, "cannot write %s: %s", p->out, strerror(errno));
    if (p->out && rc)
        unlink(p->partial);
    return rc;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* A number as a person reads it and a program gets the same float back. */
static void name_prediction(const struct predictor *model, float value,
                            char out[TRANSFORM_NAME_MAX])
{
    if (model->model.trainer->classifies && model->transform.heap)
        transform_class_name(&model->transform, (uint32_t)value, out);
    else
        snprintf(out, TRANSFORM_NAME_MAX, "%.9g", (double)value);
}

static void write_json_line(struct predict *p, const struct feed *f, uint32_t row)
{
    static const char *const names[] = { NULL, "user", "item", "both" };
    const struct predictor *model = &p->m.predictor;
    char name[TRANSFORM_NAME_MAX];
    struct json w;

    buf_reset(&p->text);
    json_init(&w, &p->text);
    json_open(&w, NULL, '{');
    json_u64(&w, "line", f->lines[row]);
    name_prediction(model, p->predictions[row], name);
    if (model->model.trainer->classifies)
        json_str(&w, "prediction", name);
    else
        json_f64(&w, "prediction", strtod(name, NULL)); /* the float's digits, not its double's */
    if (model->data.keys && f->unknown[row])
        json_str(&w, "unknown", names[f->unknown[row]]);
    json_close(&w);
    fprintf(p->to, "%s\n", p->text.data);
}

static void write_batch(struct predict *p, const struct feed *f)
{
    char name[TRANSFORM_NAME_MAX];

    predictor_predict(&p->m.predictor, &f->batch, p->predictions);
    for (uint32_t r = 0; r < f->batch.rows; r++) {
        if (p->json) {
            write_json_line(p, f, r);
            continue;
        }
        name_prediction(&p->m.predictor, p->predictions[r], name);
        fprintf(p->to, "%s\n", name);
    }
}

static int predict_input(struct predict *p, const char *path, struct error *err)
{
    struct model_input in;
    int rc = model_input_open(&in, &p->m, path, DATASET_TEST, FEED_LABELS_OPTIONAL, err);

    while (!rc) {
        rc = feed_next(&in.feed, err);
        if (rc || !in.feed.batch.rows)
            break;
        write_batch(p, &in.feed);
        if (ferror(p->to))
            rc = fail(err, E_IO, "cannot write the predictions: %s", strerror(errno));
    }
    p->rows += in.feed.rows;
    p->rows_unknown += in.feed.rows_unknown;
    model_input_close(&in);
    return rc;
}

/* ---- recommendations ------------------------------------------------------------------------- */

/* Mark the items that USER has in the file of ratings PATH. */
static int read_excluded(struct predict *p, uint32_t user, const char *path, uint8_t *skip,
                         struct error *err)
{
    const struct predictor *model = &p->m.predictor;
    struct model_input in;
    int rc = model_input_open(&in, &p->m, path, DATASET_TRAIN, FEED_LABELS_OPTIONAL, err);

    while (!rc) {
        rc = feed_next(&in.feed, err);
        if (rc || !in.feed.batch.rows)
            break;
        for (uint32_t r = 0; r < in.feed.batch.rows; r++) {
            const uint32_t *example = in.feed.batch.words + gust_at(&in.feed.batch, r);

            if (example[1] == user && example[2] < model->data.key_rows[1])
                skip[example[2]] = 1;
        }
    }
    model_input_close(&in);
    return rc;
}

static void write_ranked(struct predict *p, const struct ranked *best, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id = model_file_id(&p->m.predictor.model, 1, best[i].item);

        fprintf(p->to, p->json ? "{\"item\":%" PRIu32 ",\"score\":%.9g}\n" : "%" PRIu32 "\t%.6g\n",
                id, (double)best[i].score);
    }
}

static int recommend(struct predict *p, const struct args_command *c, struct error *err)
{
    const struct predictor *model = &p->m.predictor;
    struct ranking ranking;
    struct ranked *best;
    uint8_t *skip = NULL;
    uint64_t user;
    uint32_t row, k;
    int rc;

    if (!parse_u64(p->user, &user) || user >= UINT32_MAX)
        return fail(err, E_INVALID, "--user: '%s' is no user's id, a whole number", p->user);
    rc = ranking_open(&ranking, model, err);
    if (rc)
        return rc;
    k = (uint32_t)MIN(p->top, model->data.key_rows[1]);
    row = predictor_row(model, 0, (uint32_t)user);
    best = heap_alloc(&p->m.heap, k * sizeof(*best));
    if (p->exclude) {
        skip = heap_alloc(&p->m.heap, model->data.key_rows[1]);
        rc = read_excluded(p, row, p->exclude, skip, err);
    }
    if (!rc && row == model->data.key_rows[0])
        fprintf(stderr,
                "%s: the model does not know user %" PRIu64 "; these are the items that people "
                "like best\n",
                c->name, user);
    if (!rc)
        write_ranked(p, best, ranking_top(&ranking, row, k, skip, best));
    heap_free(&p->m.heap, skip);
    heap_free(&p->m.heap, best);
    ranking_close(&ranking);
    return rc;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int check_arguments(const struct predict *p, struct error *err)
{
    if (p->user || p->top) {
        if (!p->user || !p->top)
            return fail(err, E_INVALID, "recommendations need both --top N and --user ID");
        if (p->data.count)
            return fail(err, E_INVALID, "--data and --user are two different questions");
        return 0;
    }
    if (p->exclude)
        return fail(err, E_INVALID, "--exclude belongs to recommendations: --top N --user ID");
    if (!p->data.count)
        return fail(err, E_INVALID, "say what to predict: --data FILE, or --top N --user ID");
    return 0;
}

static int predict(struct predict *p, const struct args_command *c, struct error *err)
{
    int rc = check_arguments(p, err);

    if (!rc)
        rc = model_command_open(&p->m, p->model, err);
    if (!rc)
        rc = open_output(p, err);
    if (rc)
        return rc;
    buf_init(&p->text, &p->m.heap, 64 * KIB);
    if (p->user)
        rc = recommend(p, c, err);
    for (unsigned i = 0; !rc && i < p->data.count; i++)
        rc = predict_input(p, p->data.items[i], err);
    return close_output(p, rc, err);
}

int cmd_predict(int argc, char **argv)
{
    struct predict p = { 0 };
    const struct arg table[] = {
        { "model", ARG_TEXT, &p.model, "FILE", "the model, or the folder of the job that made it",
          .required = true },
        { "data", ARG_LIST, &p.data, "FILE",
          "rows as the training data had them, with or without their labels; also .gz and .zst" },
        { "top", ARG_COUNT, &p.top, "N", "recommend so many items instead", 1, 1e9 },
        { "user", ARG_TEXT, &p.user, "ID", "to this user" },
        { "exclude", ARG_TEXT, &p.exclude, "FILE", "but none that the user has rated in FILE" },
        { "out", ARG_TEXT, &p.out, "FILE", "where the predictions go (standard output)" },
        { "force", ARG_FLAG, &p.force, NULL, "replace a file that is there" },
        { "json", ARG_FLAG, &p.json, NULL, "a JSON object per line" },
        { NULL }
    };
    const struct args_command command = {
        .name = "gust predict",
        .summary = "Say what a model makes of new rows: one prediction per line, in their order.",
        .table = table,
        .notes = "Predictions are ratings, probabilities of the second class (logistic), scores "
                 "(svm) or classes (softmax).\n"
                 "Users and items that the model has not seen get the mean and the bias of the "
                 "other; their rows are counted on standard error.",
    };
    struct error err = { 0 };
    int rc = args_parse(&command, argc, argv, NULL);

    if (rc != ARGS_GO)
        return rc;
    rc = predict(&p, &command, &err);
    model_command_note(&command, p.rows, rc ? 0 : p.rows_unknown);
    model_command_close(&p.m);
    return rc ? args_complain(&command, error_exit_status(rc), "%s", err.text) : 0;
}
