/* SPDX-License-Identifier: Apache-2.0 */
#include "client/summary.h"

#include "base/json.h"
#include "base/quantity.h"

/* "fleet.workers" */
struct path {
    char s[80];
};

static struct path path_of(const struct setting *s)
{
    struct path p;

    snprintf(p.s, sizeof(p.s), "%s.%s", s->section, s->name);
    return p;
}

/* What holds for S in this job, or NULL where it means nothing or nothing was chosen. */
static const char *setting_text(const struct job_file *f, const struct setting *s,
                                char batch[QUANTITY_TEXT_MAX])
{
    const struct setting *ruler = s->when ? setting_find(s->when) : NULL;
    const char *chosen = ruler ? job_file_effective(f, ruler) : NULL;
    bool is_batch = s == setting_find("training.batch");

    if (ruler && (!chosen || !setting_listed(s->is, chosen)))
        return NULL;
    /* How to import means nothing for a data set: there it was not given, either. */
    if (strcmp(s->section, "data") == 0 && !job_file_value(f, path_of(s).s)->given)
        return NULL;
    if (!is_batch)
        return job_file_effective(f, s);
    /* The batch that was used: the model's proposal is fitted to the data. */
    if (job_file_value(f, "training.batch_per_worker")->given)
        return NULL;
    snprintf(batch, QUANTITY_TEXT_MAX, "%llu", (unsigned long long)f->job.fleet.batch);
    return batch;
}

static void json_settings(const struct job_file *f, struct json *w)
{
    char batch[QUANTITY_TEXT_MAX];

    json_open(w, "settings", '{');
    for (unsigned i = 0; setting_at(i); i++) {
        const struct setting *s = setting_at(i);
        const char *text = setting_text(f, s, batch);

        if (text)
            json_str(w, path_of(s).s, text);
    }
    json_close(w);
}

static void json_job(const struct summary_source *s, struct json *w)
{
    const struct job *job = &s->file->job;
    const struct need *need = &s->session->need;

    json_u64(w, "workers", job->fleet.workers);
    json_u64(w, "memory_mb", job->fleet.memory_mb);
    json_u64(w, "threads", job->threads);
    json_u64(w, "batch", job->fleet.batch);
    json_u64(w, "rows_train", s->session->data.rows[DATASET_TRAIN]);
    json_u64(w, "rows_test", s->session->data.rows[DATASET_TEST]);
    json_u64(w, "need_bytes", need->total);
    json_open(w, "need", '{');
    json_u64(w, "parameters", need->shared);
    json_u64(w, "optimiser", need->state);
    json_u64(w, "private rows", need->private_rows);
    json_u64(w, "contributions", need->parts);
    json_u64(w, "minibatches", need->minibatches);
    json_u64(w, "data blocks", need->blocks);
    json_u64(w, "exchange", need->window);
    json_u64(w, "program", need->rest);
    json_close(w);
}

/* Where the functions' time went: sums over all of them. */
static void json_times(const struct report_times *t, struct json *w)
{
    json_open(w, "function_seconds", '{');
    json_f64(w, "gather examples", (double)t->batch_ns / NS_PER_S);
    json_f64(w, "trainer", (double)t->compute_ns / NS_PER_S);
    json_f64(w, "hand in parts (UL-Shard)", (double)t->exchange.ul_shard_ns / NS_PER_S);
    json_f64(w, "wait for others", (double)t->exchange.dl_wait_ns / NS_PER_S);
    json_f64(w, "add up (DL-Shard)", (double)t->exchange.dl_shard_ns / NS_PER_S);
    json_f64(w, "hand in sums (UL-aggr)", (double)t->exchange.ul_aggr_ns / NS_PER_S);
    json_f64(w, "wait for sums (DL-grad)", (double)t->exchange.dl_grad_ns / NS_PER_S);
    json_f64(w, "optimiser", (double)t->apply_ns / NS_PER_S);
    json_f64(w, "write bases", (double)t->base_ns / NS_PER_S);
    json_f64(w, "wait for the plan", (double)t->idle_ns / NS_PER_S);
    json_close(w);
    json_u64(w, "bytes_up", t->exchange.bytes_up);
    json_u64(w, "bytes_down", t->exchange.bytes_down);
}

static void json_evaluation(const struct gust_metric *metrics, const struct evaluation *e,
                            const char *key, struct json *w)
{
    json_open(w, key, '{');
    json_u64(w, "step", e->step);
    json_f64(w, "epoch", e->epoch);
    json_f64(w, "seconds", e->seconds);
    json_f64(w, "loss_train", e->loss_train);
    for (unsigned i = 0; metrics[i].name; i++)
        json_f64(w, metrics[i].name, e->values[i]);
    json_close(w);
}

static void json_quality(const struct gust_metric *metrics, const struct run *run, struct json *w)
{
    json_open(w, "metrics", '[');
    for (unsigned i = 0; metrics[i].name; i++) {
        json_open(w, NULL, '{');
        json_str(w, "name", metrics[i].name);
        json_bool(w, "higher_is_better", metrics[i].higher_is_better);
        json_close(w);
    }
    json_close(w);
    if (run->evaluation_count)
        json_evaluation(metrics, &run->evaluations[run->best], "best", w);
    json_open(w, "evaluations", '[');
    for (unsigned i = 0; i < run->evaluation_count; i++)
        json_evaluation(metrics, &run->evaluations[i], NULL, w);
    json_close(w);
}

static void json_run(const struct run *run, struct json *w)
{
    json_str(w, "end", run_end_text(run->end));
    json_u64(w, "steps", run->steps);
    json_f64(w, "epochs", run->epochs);
    json_f64(w, "seconds_training", run->seconds);
    json_f64(w, "seconds_start", run->start_seconds);
    json_f64(w, "seconds_first", run->first_seconds);
    json_f64(w, "seconds_wall", run->wall_seconds);
    json_u64(w, "examples", run->examples);
    json_f64(w, "examples_per_second", run->seconds > 0 ? (double)run->examples / run->seconds : 0);
    json_f64(w, "examples_per_second_in_trainer", run->compute_rate);
    json_u64(w, "peak_bytes", run->peak_bytes_max);
    json_u64(w, "heap_bytes", run->heap_bytes_max);
    json_times(&run->times, w);
}

void summary_write(const struct summary_source *s, struct buf *out)
{
    const struct gust_metric *metrics = s->session->blueprint.trainer->metrics;
    struct json w;

    json_init(&w, out);
    json_open(&w, NULL, '{');
    json_u64(&w, "gust_summary", SUMMARY_VERSION);
    json_str(&w, "status", s->status);
    if (s->error)
        json_str(&w, "error", s->error);
    json_str(&w, "model", s->file->model);
    json_str(&w, "data", s->file->data);
    json_str(&w, "began", s->time);
    json_u64(&w, "pid", s->pid);
    json_u64(&w, "pid_started", s->pid_started);
    json_job(s, &w);
    if (strcmp(s->status, "running") != 0)
        json_run(s->run, &w);
    json_bool(&w, "saved", s->saved);
    if (s->saved)
        json_u64(&w, "model_step", s->run->base_step);
    json_quality(metrics, s->run, &w);
    if (s->bill) {
        json_f64(&w, "bill_usd", s->bill->total_usd);
        bill_json(s->bill, s->local, "bill", &w);
    }
    json_settings(s->file, &w);
    json_close(&w);
    buf_str(out, "\n");
}

/* TEXT as YAML reads it back: in quotes, escaped as in JSON, where it could be misread. */
static void yaml_text(const struct setting *s, const char *text, struct buf *out)
{
    bool plain = s->type != SETTING_TEXT && s->type != SETTING_PATH && s->type != SETTING_COLUMNS;
    struct json w;

    if (plain) {
        buf_str(out, text);
        return;
    }
    json_init(&w, out);
    json_str(&w, NULL, text);
}

void summary_write_job(const struct job_file *f, struct buf *out)
{
    char batch[QUANTITY_TEXT_MAX];

    buf_str(out, "# What this job ran with; 'gust train' with this file does the same again.\n");
    for (unsigned i = 0; section_at(i); i++) {
        const struct section *section = section_at(i);
        bool opened = false;

        for (unsigned k = 0; setting_at(k); k++) {
            const struct setting *s = setting_at(k);
            const char *text =
                strcmp(s->section, section->name) == 0 ? setting_text(f, s, batch) : NULL;

            if (!text)
                continue;
            if (!opened)
                buf_printf(out, "%s:\n", section->name);
            opened = true;
            buf_printf(out, "  %s: ", s->name);
            yaml_text(s, text, out);
            buf_str(out, "\n");
        }
    }
}
