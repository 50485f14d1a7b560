/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened in a run and when: object events.jsonl of the job, one JSON object per line
 * (docs/EVENTS.md). It is put whole, now and then while the job runs and at its end, so that a
 * reader never sees half a line. A failure to put it does not end a run: it is told at the end.
 */
#ifndef GUST_CLIENT_EVENTS_H
#define GUST_CLIENT_EVENTS_H

#include "client/scheduler.h"

#define EVENTS_NAME    "events.jsonl"
#define EVENTS_VERSION 1u

struct events {
    struct env *env;
    struct objects *objects;
    const struct gust_metric *metrics; /* of evaluations; the trainer's, borrowed */
    struct buf text;
    uint64_t began;       /* env time that `at` counts from */
    uint64_t sample_next; /* env times: of the next `steps` event, of the next put */
    uint64_t put_next;
    struct error failed; /* of the last put */
};

/* What the first event says about the job. All borrowed for the call. */
struct events_start {
    const char *time; /* "2026-11-15T10:58:13Z" */
    const char *model, *data;
    uint32_t workers, memory_mb;
    uint64_t batch, examples;
};

/* All borrowed; METRICS as of struct gust_trainer. */
void events_open(struct events *e, struct env *env, struct heap *heap, struct objects *objects,
                 const struct gust_metric *metrics);
/* Accepts a zeroed one. Puts nothing. */
void events_close(struct events *e);

/*
 * One event each; for `steps`, one now and then: rarer the longer a run takes, so that one of any
 * length leaves a few thousand.
 */
void events_started(struct events *e, const struct events_start *s);
void events_ready(struct events *e, double seconds);
void events_steps(struct events *e, const struct progress *p);
void events_evaluation(struct events *e, const struct evaluation *v);
void events_base(struct events *e, uint64_t step, double seconds);
void events_stop(struct events *e, enum run_end why, uint64_t step);
void events_exit(struct events *e, uint32_t rank, const struct platform_exit *x);
void events_saved(struct events *e, uint64_t step, const char *name);

/* Put everything. */
int events_flush(struct events *e, struct error *err);

#endif
