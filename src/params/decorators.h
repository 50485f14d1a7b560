/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameter stores around another store: one tells of every call, one makes calls take time, one
 * makes them fail. Each owns the store it is given and closes it, and behaves as the contract in
 * params.h says, so that they can be stacked and run through the contract suite.
 */
#ifndef GUST_PARAMS_DECORATORS_H
#define GUST_PARAMS_DECORATORS_H

#include "params/params.h"

/* LINE says one call and how it ended, as in "publish part era 0 step 7 rank 1 shard 0 +3: ok". */
typedef void (*params_trace_fn)(void *arg, const char *line);

/* Write a line for every call, after it returned. HEAP outlives the store. */
struct params *params_traced_new(struct params *inner, struct heap *heap, params_trace_fn write,
                                 void *arg);

struct params_delays {
    uint64_t latency_ns; /* every call, before it takes effect */
    double bytes_per_s;  /* of values published, viewed, set and read; 0: no limit */
};

/* Sleep in the environment as a store over a link would make one wait. */
struct params *params_delayed_new(struct params *inner, const struct params_open *open,
                                  const struct params_delays *delays);

/* Probabilities from 0 to 1. A fault is E_IO, marked as worth a retry, unless it says otherwise. */
struct params_faults {
    uint64_t seed;      /* equal seeds and equal calls give equal faults */
    double fails;       /* any call but release() and close(): nothing happened */
    double lost_reply;  /* publish, cas, drop: it happened, and says that it failed */
    double lost_append; /* append: likewise, so that a retry makes a second entry */
    double timeout;     /* wait: E_TIMEOUT although there was time left */
};

struct params *params_faulty_new(struct params *inner, struct heap *heap,
                                 const struct params_faults *faults);

extern const struct params_ops params_traced;
extern const struct params_ops params_delayed;
extern const struct params_ops params_faulty;

#endif
