/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/twin_queue.h"

void twin_queue_init(struct twin_queue *q, struct heap *heap)
{
    *q = (struct twin_queue){ .heap = heap };
}

void twin_queue_release(struct twin_queue *q)
{
    if (q->heap)
        heap_free(q->heap, q->events);
    *q = (struct twin_queue){ 0 };
}

static bool before(const struct twin_event *a, const struct twin_event *b)
{
    return a->time != b->time ? a->time < b->time : a->sequence < b->sequence;
}

static void put(struct twin_queue *q, size_t at, struct twin_event *e)
{
    q->events[at] = e;
    e->place = at + 1;
}

/* E belongs at AT or above. */
static void rise(struct twin_queue *q, size_t at, struct twin_event *e)
{
    while (at > 0 && before(e, q->events[(at - 1) / 2])) {
        put(q, at, q->events[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    put(q, at, e);
}

/* E belongs at AT or below. */
static void sink(struct twin_queue *q, size_t at, struct twin_event *e)
{
    for (;;) {
        size_t child = 2 * at + 1;

        if (child + 1 < q->count && before(q->events[child + 1], q->events[child]))
            child++;
        if (child >= q->count || before(e, q->events[child]))
            break;
        put(q, at, q->events[child]);
        at = child;
    }
    put(q, at, e);
}

void twin_queue_add(struct twin_queue *q, struct twin_event *e, uint64_t time)
{
    twin_queue_remove(q, e);
    if (q->count == q->room) {
        size_t room = MAX(2 * q->room, (size_t)64);
        struct twin_event **events = heap_alloc(q->heap, room * sizeof(struct twin_event *));

        if (q->count)
            memcpy(events, q->events, q->count * sizeof(struct twin_event *));
        heap_free(q->heap, q->events);
        q->events = events;
        q->room = room;
    }
    e->time = time;
    e->sequence = q->sequence++;
    rise(q, q->count++, e);
}

void twin_queue_remove(struct twin_queue *q, struct twin_event *e)
{
    size_t at = e->place;
    struct twin_event *last;

    if (at-- == 0)
        return;
    e->place = 0;
    last = q->events[--q->count];
    if (last == e)
        return;
    /* The hole may be on another branch than the last event came from. */
    if (at > 0 && before(last, q->events[(at - 1) / 2]))
        rise(q, at, last);
    else
        sink(q, at, last);
}

struct twin_event *twin_queue_first(const struct twin_queue *q)
{
    return q->count ? q->events[0] : NULL;
}
