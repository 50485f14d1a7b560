/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary.json: what a job is, what became of it and what it cost, as one JSON object. It is there
 * from the start of a run (status "running") and complete at its end; the same object is what
 * `gust train --json` prints. docs/EVENTS.md lists its members.
 */
#ifndef GUST_CLIENT_SUMMARY_H
#define GUST_CLIENT_SUMMARY_H

#include "client/job_file.h"

#define SUMMARY_NAME    "summary.json"
#define SUMMARY_VERSION 1u
#define REPORT_NAME     "report.html"
#define JOB_COPY_NAME   "job.yaml"
#define MODEL_NAME      "model.safetensors"

/* ---- writing ---- */

/* What a summary is made from. All borrowed. */
struct summary_source {
    const char *status;        /* "running", "done", "interrupted", "failed" */
    const char *error;         /* the sentence of a failure; NULL: none */
    const char *time;          /* when it began: "2026-11-15T10:58:13Z" */
    uint64_t pid, pid_started; /* the client's process, and its start by the kernel's count */
    bool saved;                /* there is a model of base run->base_step */
    const struct job_file *file;
    const struct session *session;
    const struct run *run; /* zeroed while running */
    const struct bill *bill;
    bool local; /* nothing was paid: the bill is "as if" */
};

void summary_write(const struct summary_source *s, struct buf *out);

/* The settings that held, as a job file that would do the same again. */
void summary_write_job(const struct job_file *f, struct buf *out);

/* ---- reading ---- */

struct summary_item {
    const char *name, *unit, *per, *note;
    double quantity, price_usd, amount_usd;
};

struct summary_pair {
    const char *name;
    const char *text; /* of settings */
    double value;     /* of memory and times */
};

#define SUMMARY_PAIRS_MAX 128
#define SUMMARY_ITEMS_MAX 16

struct summary_pairs {
    struct summary_pair at[SUMMARY_PAIRS_MAX];
    unsigned count;
};

/* A summary that was read: texts are "" and numbers 0 where nothing was said. */
struct summary {
    struct heap heap; /* of all texts */
    const char *status, *end, *error, *model, *data, *began;
    uint64_t pid, pid_started;
    uint64_t workers, memory_mb, threads, batch, rows_train, rows_test;
    double steps, epochs, seconds_training, seconds_start, seconds_first, seconds_wall, examples;
    double need_bytes, peak_bytes, heap_bytes, model_step;
    bool saved;
    unsigned metric_count;
    struct gust_metric metrics[GUST_SUMS_MAX];
    unsigned best; /* evaluation with the best first metric */
    unsigned evaluation_count, evaluation_room;
    struct evaluation *evaluations;
    struct summary_pairs need, times, settings;
    const char *bill_name, *bill_date;
    bool bill_as_if;
    double bill_usd;
    struct summary_item items[SUMMARY_ITEMS_MAX];
    unsigned item_count;
    const char *machine; /* "": no comparison */
    double machine_count, machine_seconds, machine_usd, machine_saving_usd;
};

/* E_FORMAT when TEXT is no summary. Release S in any case. */
int summary_read(struct summary *s, struct slice text, struct error *err);

/* The evaluation of the model that was saved; where none was, the best; NULL: there is none. */
const struct evaluation *summary_evaluation(const struct summary *s);

void summary_release(struct summary *s);

#endif
