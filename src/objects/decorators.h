/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Object stores around another store: one tells of every call, one makes calls take time, one
 * makes them fail. Each owns the store it is given and closes it, uses its environment and heap,
 * and behaves as the contract in objects.h says, so that they can be stacked and run through the
 * contract suite.
 */
#ifndef GUST_OBJECTS_DECORATORS_H
#define GUST_OBJECTS_DECORATORS_H

#include "objects/objects.h"

/* LINE says one call and how it ended, as in "put data/lanes 8220 bytes: ok". */
typedef void (*objects_trace_fn)(void *arg, const char *line);

/* Write a line for every call, after it returned. */
struct objects *objects_traced_new(struct objects *inner, objects_trace_fn write, void *arg);

struct objects_delays {
    uint64_t latency_ns; /* every call, before it takes effect */
    double bytes_per_s;  /* of values put, read and mapped; 0: no limit */
};

/* Sleep in the environment, which INNER must have, as a store over a link would make one wait. */
struct objects *objects_delayed_new(struct objects *inner, const struct objects_delays *delays);

/* Probabilities from 0 to 1. A fault is E_IO, marked as worth a retry. */
struct objects_faults {
    uint64_t seed;     /* equal seeds and equal calls give equal faults */
    double fails;      /* any call but unmap and close: nothing happened */
    double lost_reply; /* put, create, delete: it happened, and says that it failed */
};

/* Has no map of its own: objects are mapped by reading, so that faults strike there too. */
struct objects *objects_faulty_new(struct objects *inner, const struct objects_faults *faults);

extern const struct objects_ops objects_traced;
extern const struct objects_ops objects_delayed;
extern const struct objects_ops objects_faulty;

#endif
