/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Step sizes over time. Time is measured in epochs, so that a schedule means the same for
 * every batch size and fleet. Everything is a pure function; no libm, whose last bits differ
 * between processors.
 *
 * Settings, with x the epochs passed so far (a fraction inside an epoch):
 *
 *   rate       the step size that the others start from
 *   schedule   constant      rate
 *              inverse       rate / (1 + decay x)
 *              inverse-sqrt  rate / sqrt(1 + decay x)
 *              exponential   rate exp(-decay x)
 *              step          rate / (1 + decay) after every `decay-every` epochs, again and again
 *              cosine        from rate to 0 along half a cosine over `decay-every` epochs, then 0
 *   warmup     epochs over which the step size first rises linearly from a hundredth
 */
#ifndef GUST_MODEL_SCHEDULE_H
#define GUST_MODEL_SCHEDULE_H

#include "base/props.h"

enum schedule_kind {
    SCHEDULE_CONSTANT,
    SCHEDULE_INVERSE,
    SCHEDULE_INVERSE_SQRT,
    SCHEDULE_EXPONENTIAL,
    SCHEDULE_STEP,
    SCHEDULE_COSINE,
};

struct schedule {
    enum schedule_kind kind;
    double rate, decay, every, warmup;
};

/* E_INVALID with a sentence for an unknown schedule or a number out of range. */
int schedule_read(struct schedule *s, const struct props *settings, struct error *err);

/* The step size after EPOCHS (>= 0) epochs. */
double schedule_rate(const struct schedule *s, double epochs);

#endif
