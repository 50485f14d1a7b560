/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is going to happen in the twin, ordered by (time, sequence): of events at the same
 * time, the one that was added first comes first. Addresses never decide.
 */
#ifndef GUST_PLATFORM_TWIN_QUEUE_H
#define GUST_PLATFORM_TWIN_QUEUE_H

#include <stdbool.h>

#include "base/heap.h"

/* Lies inside whatever it happens to; zeroed, but for its kind, before first use. */
struct twin_event {
    unsigned kind;     /* the owner's: says where inside of what it lies */
    uint64_t time;     /* virtual nanoseconds */
    uint64_t sequence; /* given when it is added */
    size_t place;      /* 1 + where in the queue; 0: not queued */
};

struct twin_queue {
    struct heap *heap;
    struct twin_event **events; /* binary heap: the parent of i is (i - 1) / 2 */
    size_t count, room;
    uint64_t sequence;
};

void twin_queue_init(struct twin_queue *q, struct heap *heap);
/* The events that are left are forgotten. Accepts a zeroed queue. */
void twin_queue_release(struct twin_queue *q);

/* Let E happen at TIME. If it was queued, it is moved: it then comes last among its equals. */
void twin_queue_add(struct twin_queue *q, struct twin_event *e, uint64_t time);

/* E is not going to happen; no harm if it was not queued. */
void twin_queue_remove(struct twin_queue *q, struct twin_event *e);

/* The next event, which stays where it is. NULL: there is none. */
struct twin_event *twin_queue_first(const struct twin_queue *q);

#endif
