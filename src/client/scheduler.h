/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler: starts one function per rank, reads their reports, extends the plan, notices
 * failures, and ends with the last complete base. It sees the world through its environment,
 * a platform and two stores, so the twin runs it unchanged.
 *
 *   STARTING --all ready--> RUNNING --stop plan--> STOPPING --all done--> ENDED
 *       |                      |                       |
 *       +-------------- a function failed -------------+--> FAILED
 *
 * A failed function ends the job: the others are stopped and the last sealed base is what remains.
 */
#ifndef GUST_CLIENT_SCHEDULER_H
#define GUST_CLIENT_SCHEDULER_H

#include "client/meter.h"
#include "objects/objects.h"
#include "params/params.h"
#include "platform/platform.h"
#include "policy/policy.h"
#include "worker/blueprint.h"
#include "worker/control.h"
#include "worker/report.h"

/* What is to be done; everything else follows from the blueprint. */
struct job {
    struct fleet fleet;
    uint32_t threads;   /* in each function, at least 1 */
    uint32_t shards;    /* pieces of a result; 0: as many as workers */
    uint64_t steps_max; /* stop after so many; 0: no limit */
    double epochs_max;  /* or after so many passes; 0: no limit */
    double seconds_max; /* or after so much training; 0: no limit */
    bool has_target;    /* or when the first metric reaches `target` */
    double target;
    uint32_t patience;       /* or after so many evaluations in a row that were not better than the
                                best, of which the state is then what is kept; 0: never */
    uint64_t evaluate_every; /* steps; 0: only at the end */
    uint64_t base_every;     /* steps; 0: only at the end */
    uint64_t hash_every;     /* steps; 0: only at the end */
    uint64_t timeout_ms;     /* time limit of a function */
    struct slice model; /* a model file's bytes to start from; size 0: the trainer's first values */
    const char *data_url;    /* where workers find the data set */
    const char *objects_url; /* where workers find the job */
};

enum run_end { RUN_LIMIT, RUN_TARGET, RUN_PATIENCE, RUN_INTERRUPTED, RUN_FAILED };

/* "limit", "target", ... Static storage. */
const char *run_end_text(enum run_end end);

struct evaluation {
    uint64_t step;
    double epoch;
    double seconds;               /* training clock: since all were ready, evaluations excluded */
    double values[GUST_SUMS_MAX]; /* as the trainer's metrics */
    double loss_train;            /* mean over the steps since the last evaluation */
};

/* How far a run is, for whoever shows it. */
struct progress {
    uint64_t step;
    double epoch, seconds;
    double loss_train;
    uint64_t examples;
    uint32_t workers;
    double rate;         /* examples per second of training, of late; 0: not known yet */
    double share;        /* of the way to the nearest limit, 0 .. 1 */
    double seconds_left; /* until then, at this speed; INFINITY: not known */
    double bill_usd;     /* so far */
};

/* What becomes of a run while it runs, in this order of time; any may be NULL. */
struct listener {
    void *arg;
    void (*ready)(void *arg, double start_seconds);
    void (*progressed)(void *arg, const struct progress *p);
    void (*evaluated)(void *arg, const struct evaluation *e);
    /* The state before STEP is complete in the object store; writing it took SECONDS. */
    void (*based)(void *arg, uint64_t step, double seconds);
    /* No step from STEP on will be done. */
    void (*stopping)(void *arg, enum run_end why, uint64_t step);
    void (*exited)(void *arg, uint32_t rank, const struct platform_exit *e);
};

struct run {
    enum run_end end;
    uint64_t steps;
    double epochs;
    double seconds;       /* training clock */
    double start_seconds; /* from the call to all ranks ready */
    double first_seconds; /* from the call to the last function's first gradient */
    double wall_seconds;  /* from the call to its return */
    uint64_t examples;
    double loss_train;         /* of the last steps reported */
    struct report_times times; /* summed over ranks */
    double compute_rate;       /* examples per second inside the trainer, per function */
    uint64_t ready_ns_max;     /* longest way from the entry point to ready */
    uint64_t heap_bytes_max;   /* largest heap of a function */
    uint64_t peak_bytes_max;   /* most memory that the platform counted for a function: with cached
                                  pages of the data */
    bool has_base;
    uint64_t base_step; /* the last sealed base; with patience, that of the best evaluation */
    unsigned best;      /* the evaluation with the best first metric, when there is any */
    unsigned evaluation_count;
    struct evaluation *evaluations; /* on the scheduler's heap */
};

struct scheduler_options {
    struct env *env;
    struct heap *heap;
    struct platform *platform;
    struct params *params;   /* created for this job */
    struct objects *objects; /* the job's store */
    const struct blueprint *blueprint;
    const struct job *job;
    struct policy *policy;
    struct meter *meter;
    uint64_t store_bytes;            /* of the parameter store, for the bill so far */
    const struct listener *listener; /* may be NULL */
    const volatile int *interrupted; /* non-zero: stop and save; may be NULL */
};

/*
 * Run the job to its end. 0 also when interrupted; E_FAILED when a function failed, with its
 * last words. OUT is filled either way; its evaluations live on the options' heap.
 */
int scheduler_run(const struct scheduler_options *o, struct run *out, struct error *err);

/* The store's layout for a job. */
void scheduler_layout(const struct blueprint *b, const struct job *job, struct params_layout *out);

#endif
