/* SPDX-License-Identifier: Apache-2.0 */
/* Reading summary.json: for reports, and for lists of jobs. */
#include "base/json_read.h"
#include "client/summary.h"

#define STRING_MAX 65536

/* Members that are one number or one text. */
struct member {
    const char *name;
    double *number;
    uint64_t *count;
    const char **text;
    bool *yes;
};

/* Read the value of KEY if it is one of MEMBERS, which end with a NULL name. */
static bool read_member(struct summary *s, struct json_reader *r, const char *key,
                        const struct member *members)
{
    const struct member *m = members;

    while (m->name && strcmp(m->name, key) != 0)
        m++;
    if (m->text)
        *m->text = heap_strdup(&s->heap, json_read_str(r));
    else if (m->number)
        *m->number = json_read_f64(r);
    else if (m->count)
        *m->count = json_read_u64(r);
    else if (m->yes)
        *m->yes = json_read_bool(r);
    return m->name != NULL;
}

static void read_metrics(struct summary *s, struct json_reader *r)
{
    json_enter(r, '[');
    while (json_next(r)) {
        struct gust_metric m = { .name = "" };
        const struct member members[] = { { "name", .text = &m.name },
                                          { "higher_is_better", .yes = &m.higher_is_better },
                                          { NULL } };
        const char *key;

        json_enter(r, '{');
        while ((key = json_next_key(r)))
            if (!read_member(s, r, key, members))
                json_skip(r);
        if (s->metric_count < GUST_SUMS_MAX)
            s->metrics[s->metric_count++] = m;
    }
}

static void read_evaluation(struct summary *s, struct json_reader *r, struct evaluation *e)
{
    const struct member members[] = { { "step", .count = &e->step },
                                      { "epoch", .number = &e->epoch },
                                      { "seconds", .number = &e->seconds },
                                      { "loss_train", .number = &e->loss_train },
                                      { NULL } };
    const char *key;

    json_enter(r, '{');
    while ((key = json_next_key(r))) {
        unsigned i = 0;

        if (read_member(s, r, key, members))
            continue;
        while (i < s->metric_count && strcmp(s->metrics[i].name, key) != 0)
            i++;
        if (i < s->metric_count)
            e->values[i] = json_read_f64(r);
        else
            json_skip(r);
    }
}

static bool better(const struct summary *s, double a, double b)
{
    if (isnan(a) || isnan(b))
        return !isnan(a);
    return s->metrics[0].higher_is_better ? a > b : a < b;
}

static void read_evaluations(struct summary *s, struct json_reader *r)
{
    json_enter(r, '[');
    while (json_next(r)) {
        struct evaluation e = { 0 };

        read_evaluation(s, r, &e);
        if (s->evaluation_count == s->evaluation_room) {
            struct evaluation *more;

            s->evaluation_room = MAX(2 * s->evaluation_room, 64u);
            more = heap_alloc(&s->heap, s->evaluation_room * sizeof(*more));
            if (s->evaluation_count)
                memcpy(more, s->evaluations, s->evaluation_count * sizeof(*more));
            s->evaluations = more;
        }
        s->evaluations[s->evaluation_count++] = e;
        if (better(s, e.values[0], s->evaluations[s->best].values[0]))
            s->best = s->evaluation_count - 1;
    }
}

static void read_pairs(struct summary *s, struct json_reader *r, struct summary_pairs *pairs,
                       bool texts)
{
    const char *key;

    json_enter(r, '{');
    while ((key = json_next_key(r))) {
        struct summary_pair p = { .name = heap_strdup(&s->heap, key), .text = "" };

        if (texts)
            p.text = heap_strdup(&s->heap, json_read_str(r));
        else
            p.value = json_read_f64(r);
        if (pairs->count < SUMMARY_PAIRS_MAX)
            pairs->at[pairs->count++] = p;
    }
}

static void read_items(struct summary *s, struct json_reader *r)
{
    json_enter(r, '[');
    while (json_next(r)) {
        struct summary_item item = { .name = "", .unit = "", .per = "", .note = "" };
        const struct member members[] = { { "name", .text = &item.name },
                                          { "unit", .text = &item.unit },
                                          { "per", .text = &item.per },
                                          { "note", .text = &item.note },
                                          { "quantity", .number = &item.quantity },
                                          { "price_usd", .number = &item.price_usd },
                                          { "amount_usd", .number = &item.amount_usd },
                                          { NULL } };
        const char *key;

        json_enter(r, '{');
        while ((key = json_next_key(r)))
            if (!read_member(s, r, key, members))
                json_skip(r);
        if (s->item_count < SUMMARY_ITEMS_MAX)
            s->items[s->item_count++] = item;
    }
}

static void read_machines(struct summary *s, struct json_reader *r)
{
    const struct member members[] = { { "machine", .text = &s->machine },
                                      { "count", .number = &s->machine_count },
                                      { "seconds", .number = &s->machine_seconds },
                                      { "amount_usd", .number = &s->machine_usd },
                                      { "saving_usd", .number = &s->machine_saving_usd },
                                      { NULL } };
    const char *key;

    json_enter(r, '{');
    while ((key = json_next_key(r)))
        if (!read_member(s, r, key, members))
            json_skip(r);
}

static void read_bill(struct summary *s, struct json_reader *r)
{
    const struct member members[] = { { "name", .text = &s->bill_name },
                                      { "date", .text = &s->bill_date },
                                      { "as_if", .yes = &s->bill_as_if },
                                      { "total_usd", .number = &s->bill_usd },
                                      { NULL } };
    const char *key;

    json_enter(r, '{');
    while ((key = json_next_key(r))) {
        if (strcmp(key, "items") == 0)
            read_items(s, r);
        else if (strcmp(key, "machines") == 0)
            read_machines(s, r);
        else if (!read_member(s, r, key, members))
            json_skip(r);
    }
}

/* A member that is a list or an object. */
static bool read_part(struct summary *s, struct json_reader *r, const char *key)
{
    if (strcmp(key, "metrics") == 0)
        read_metrics(s, r);
    else if (strcmp(key, "evaluations") == 0)
        read_evaluations(s, r);
    else if (strcmp(key, "need") == 0)
        read_pairs(s, r, &s->need, false);
    else if (strcmp(key, "function_seconds") == 0)
        read_pairs(s, r, &s->times, false);
    else if (strcmp(key, "settings") == 0)
        read_pairs(s, r, &s->settings, true);
    else if (strcmp(key, "bill") == 0)
        read_bill(s, r);
    else
        return false;
    return true;
}

static void read_root(struct summary *s, struct json_reader *r, uint64_t *version)
{
    const struct member members[] = { { "gust_summary", .count = version },
                                      { "status", .text = &s->status },
                                      { "end", .text = &s->end },
                                      { "error", .text = &s->error },
                                      { "model", .text = &s->model },
                                      { "data", .text = &s->data },
                                      { "began", .text = &s->began },
                                      { "pid", .count = &s->pid },
                                      { "pid_started", .count = &s->pid_started },
                                      { "workers", .count = &s->workers },
                                      { "memory_mb", .count = &s->memory_mb },
                                      { "threads", .count = &s->threads },
                                      { "batch", .count = &s->batch },
                                      { "rows_train", .count = &s->rows_train },
                                      { "rows_test", .count = &s->rows_test },
                                      { "steps", .number = &s->steps },
                                      { "epochs", .number = &s->epochs },
                                      { "seconds_training", .number = &s->seconds_training },
                                      { "seconds_start", .number = &s->seconds_start },
                                      { "seconds_first", .number = &s->seconds_first },
                                      { "seconds_wall", .number = &s->seconds_wall },
                                      { "examples", .number = &s->examples },
                                      { "need_bytes", .number = &s->need_bytes },
                                      { "peak_bytes", .number = &s->peak_bytes },
                                      { "heap_bytes", .number = &s->heap_bytes },
                                      { "model_step", .number = &s->model_step },
                                      { "saved", .yes = &s->saved },
                                      { NULL } };
    const char *key;

    json_enter(r, '{');
    while ((key = json_next_key(r)))
        if (!read_member(s, r, key, members) && !read_part(s, r, key))
            json_skip(r);
}

int summary_read(struct summary *s, struct slice text, struct error *err)
{
    struct json_reader r;
    uint64_t version = 0;
    int rc = 0;

    *s = (struct summary){ .status = "",
                           .end = "",
                           .error = "",
                           .model = "",
                           .data = "",
                           .began = "",
                           .bill_name = "",
                           .bill_date = "",
                           .machine = "" };
    heap_init(&s->heap, 0);
    json_read_init(&r, &s->heap, text, STRING_MAX);
    read_root(s, &r, &version);
    if (!json_done(&r))
        rc = fail(err, E_FORMAT, "it is not JSON as Gust writes it (at byte %zu: %s)",
                  json_read_place(&r), r.failed);
    else if (version == 0)
        rc = fail(err, E_FORMAT, "it is not the summary of a job");
    else if (version != SUMMARY_VERSION)
        rc = fail(err, E_UNSUPPORTED, "it has version %llu, this program reads version %u",
                  (unsigned long long)version, SUMMARY_VERSION);
    json_read_release(&r);
    return rc;
}

const struct evaluation *summary_evaluation(const struct summary *s)
{
    for (unsigned i = 0; s->saved && i < s->evaluation_count; i++)
        if ((double)s->evaluations[i].step == s->model_step)
            return &s->evaluations[i];
    return s->evaluation_count ? &s->evaluations[s->best] : NULL;
}

void summary_release(struct summary *s)
{
    heap_release(&s->heap);
    *s = (struct summary){ 0 };
}
