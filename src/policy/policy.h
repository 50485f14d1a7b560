/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policies: what decides the next fleet. Pure: observations in, fleet out; no I/O, no clock,
 * so that each can be tested on a table and trained in the twin.
 */
#ifndef GUST_POLICY_POLICY_H
#define GUST_POLICY_POLICY_H

#include "base/error.h"

struct fleet {
    uint32_t workers;
    uint32_t memory_mb;
    uint64_t batch;
};

/* What happened between two decisions. */
struct observation {
    uint64_t step;      /* steps done */
    double seconds;     /* training time so far */
    double loss;        /* mean loss of the steps since the last observation */
    double cost_usd;    /* so far */
    struct fleet fleet; /* in force meanwhile */
};

struct policy;

struct policy_ops {
    const char *name;

    /* Take note of what happened. */
    void (*observe)(struct policy *p, const struct observation *o);

    /* The fleet from the next plan on. */
    struct fleet (*decide)(const struct policy *p);
};

struct policy {
    const struct policy_ops *ops;
    struct fleet fleet; /* what was asked for, or decided last */
};

/* By name: "fixed". E_NOT_FOUND. FIRST is the fleet to begin with. */
int policy_init(struct policy *p, const char *name, struct fleet first, struct error *err);
void policy_observe(struct policy *p, const struct observation *o);
struct fleet policy_decide(const struct policy *p);

extern const struct policy_ops policy_fixed;

#endif
