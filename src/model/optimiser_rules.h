/* SPDX-License-Identifier: Apache-2.0 */
/* The rules that optimisers differ in. Only optimiser.c uses this. */
#ifndef GUST_MODEL_OPTIMISER_RULES_H
#define GUST_MODEL_OPTIMISER_RULES_H

#include "math/kernels.h"

#define OPTIMISER_SLOTS_MAX 2

/* A run of rows with its state and sums. */
struct optimiser_span {
    float *w;                          /* [rows][stride] */
    float *state[OPTIMISER_SLOTS_MAX]; /* likewise, or [rows] if the rule is per_row */
    const float *sums;                 /* [rows][stride]; NULL: zeroes */
    size_t rows;
    uint32_t cols, stride;
};

struct optimiser_rule {
    const char *name;
    unsigned slots;   /* arrays of state */
    bool per_row;     /* one float of state per row instead of per parameter */
    bool rolls_on;    /* parameters move without a gradient */
    bool accumulates; /* state starts from the setting `accumulator` */
    double momentum;  /* what the setting `momentum` is when nobody says */
    double epsilon;   /* likewise */
    void (*sweep)(const struct kernels *k, const struct optimiser_span *s, const struct sweep *p);
};

/* The rule called NAME, or NULL. */
const struct optimiser_rule *optimiser_rule_find(const char *name);

/* w += scale * sums. */
extern const struct optimiser_rule optimiser_rule_update;

#endif
