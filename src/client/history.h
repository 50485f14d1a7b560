/* SPDX-License-Identifier: Apache-2.0 */
/* Reading events.jsonl back: what a report draws and a list of jobs shows. */
#ifndef GUST_CLIENT_HISTORY_H
#define GUST_CLIENT_HISTORY_H

#include "base/json_read.h"

/* A `steps` event. */
struct sample {
    double at; /* seconds since the run began */
    double step, epoch, seconds, loss_train, rate, workers, bill_usd;
};

/* How many functions there were from a time on. */
struct head_count {
    double at;
    unsigned workers;
};

struct history {
    struct heap *heap;
    struct sample *samples;
    unsigned sample_count, sample_room;
    struct head_count *heads;
    unsigned head_count, head_room;
    double quality; /* first metric of the last evaluation; NaN: there was none */
    double end;     /* of the last event */
};

/*
 * Read TEXT. Events and members that are not known are passed over. E_FORMAT, naming the line, for
 * what is not an event; H then holds what came before.
 */
int history_read(struct history *h, struct heap *heap, struct slice text, struct error *err);
/* Accepts a zeroed one. */
void history_release(struct history *h);

#endif
