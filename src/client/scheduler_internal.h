/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the scheduler share: scheduler.c starts and ends functions, scheduler_plan.c
 * says how far they may go, scheduler_reports.c takes in what they say, scheduler_bases.c keeps
 * complete states.
 */
#ifndef GUST_CLIENT_SCHEDULER_INTERNAL_H
#define GUST_CLIENT_SCHEDULER_INTERNAL_H

#include "client/scheduler.h"
#include "client/tally.h"

/* Sealed bases at once: the best, the newest, and any that wait for their evaluation. */
#define KEPT_MAX 64

/* As drawn in scheduler.h. */
enum state { STARTING, RUNNING, STOPPING, ENDED, FAILED };

struct member {
    uint64_t id;     /* of its invocation */
    uint64_t cursor; /* in its log */
    uint64_t steps;  /* done, as reported */
    bool ready, done, exited;
};

struct scheduler {
    const struct scheduler_options *o;
    const struct job *job;
    struct run *run;
    enum state state;
    uint64_t began, ready_at; /* env times */

    uint32_t workers;
    struct member *members;
    uint32_t ready_count, done_count, exit_count;

    struct control *control;
    uint64_t control_version;
    struct buf control_text;
    uint64_t steps_per_epoch; /* T of the first epoch */
    uint64_t steps_limit;     /* the horizon never passes this */

    struct tally evals, bases, hashes;
    struct buf log;
    struct report *report; /* the one being read */
    unsigned evaluation_room;

    /* With patience, the base of the best evaluation is kept beside the newest. */
    uint64_t kept[KEPT_MAX]; /* sealed bases, in order of their steps */
    unsigned kept_count;

    double loss_sum, weight_sum; /* since the last evaluation */
    uint64_t evaluated_step;     /* of the last complete evaluation */
    uint64_t clock_ns;           /* highest training clock reported by rank 0 */

    /* Speed of late: from a mark that moves on when it is old. */
    uint64_t mark_step, mark_ns;
    double steps_per_second;
};

static inline uint32_t scheduler_shards(const struct scheduler *s)
{
    return s->job->shards ? s->job->shards : s->workers;
}

/* How many passes over the data STEP steps are. */
static inline double scheduler_epoch(const struct scheduler *s, uint64_t step)
{
    return (double)step / (double)s->steps_per_epoch;
}

static inline bool scheduler_interrupted(const struct scheduler *s)
{
    return s->o->interrupted && *s->o->interrupted;
}

/* Publish the control record as it is now. */
int scheduler_publish(struct scheduler *s, struct error *err);
/* Everyone is ready: publish the first plan. */
int scheduler_begin(struct scheduler *s, struct error *err);
/* Publish a plan that ends the run at the horizon. */
int scheduler_stop(struct scheduler *s, enum run_end why, struct error *err);
/*
 * The same for what the evaluation before STEP decided: at the next evaluation's step, whenever
 * its reports came, so that the same seed gives the same run.
 */
int scheduler_stop_after(struct scheduler *s, uint64_t step, enum run_end why, struct error *err);
/* While steps run: let them go on, or stop them. */
int scheduler_decide(struct scheduler *s, struct error *err);

/* Take in all reports that there are. */
int scheduler_read_logs(struct scheduler *s, struct error *err);

/* Base STEP is sealed. */
int scheduler_keep_base(struct scheduler *s, uint64_t step, struct error *err);
/* Delete bases that nobody will want any more. */
int scheduler_drop_bases(struct scheduler *s, struct error *err);
/* A rank has written its part of a base. */
int scheduler_on_base(struct scheduler *s, struct error *err);

#endif
