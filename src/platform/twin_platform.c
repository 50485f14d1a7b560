/* SPDX-License-Identifier: Apache-2.0 */
/* Invocations in the twin: how they start, what limits them, how they end and what is billed. */
#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/random.h"
#include "platform/twin_internal.h"

/* One invocation, from platform_start() until poll() has told its end. */
struct invocation {
    struct twin_task task;
    struct platform_twin *platform;
    struct invocation *next; /* ended ones, in the order in which they ended */
    struct platform_call call;
    char *payload;
    uint64_t timeout_ms;
    uint64_t started, begun; /* begun 0: not yet */
    struct error err;
    struct platform_exit exit;
};

struct platform_twin {
    struct platform base;
    struct twin *twin;
    platform_entry_fn entry;
    struct invocation **running; /* by id; NULL: ended */
    uint64_t room;               /* of running[] */
    uint64_t last_id;
    uint32_t count; /* how many run */
    struct invocation *ended, **ended_tail;
};

static const struct platform_ops platform_twin_ops;

static struct platform_twin *twin_platform(struct platform *p)
{
    assert(p->ops == &platform_twin_ops);
    return container_of(p, struct platform_twin, base);
}

static void limits(struct platform *p, struct platform_limits *out)
{
    *out = twin_platform(p)->twin->profile->limits;
}

/* ---- inside ------------------------------------------------------------------------------- */

static void invocation_main(struct twin_task *task)
{
    struct invocation *i = container_of(task, struct invocation, task);
    struct twin *t = task->twin;

    i->begun = t->now;
    i->call.deadline = t->now + i->timeout_ms * NS_PER_MS;
    platform_twin_end_at(&i->platform->base, task->id, i->call.deadline, PLATFORM_TIME);
    i->exit.code = i->platform->entry(&i->call, &i->err);
}

/* ---- the end ------------------------------------------------------------------------------ */

static uint64_t billed_ms(const struct invocation *i)
{
    const struct twin *t = i->task.twin;
    uint64_t from = t->profile->cold_start_billed ? i->started : i->begun;

    return i->begun || t->profile->cold_start_billed ? (t->now - from + NS_PER_MS - 1) / NS_PER_MS
                                                     : 0;
}

static void invocation_ended(struct twin_task *task, enum platform_reason reason)
{
    struct invocation *i = container_of(task, struct invocation, task);
    struct platform_twin *p = i->platform;
    struct twin *t = task->twin;
    const char *words = "";

    if (reason == PLATFORM_DONE && i->exit.code) {
        reason = PLATFORM_FAILED;
        words = i->err.text;
    } else if (reason == PLATFORM_CRASHED && !i->begun) {
        words = "the machine has no memory for another stack";
    } else if (reason == PLATFORM_TIME) {
        t->time_limited++;
    }
    if (reason != PLATFORM_FAILED)
        i->exit.code = reason == PLATFORM_CRASHED ? SIGKILL : 0;
    i->exit.reason = reason;
    i->exit.billed_ms = billed_ms(i);
    i->exit.peak_bytes = task->heap.peak_bytes;
    snprintf(i->exit.words, sizeof(i->exit.words), "%s", words);
    twin_note(t, task, TWIN_ENDED + reason);

    twin_task_release(task);
    if (i->call.fd >= 0)
        close(i->call.fd);
    heap_free(&t->heap, i->payload);
    p->running[task->id] = NULL;
    p->count--;
    *p->ended_tail = i;
    p->ended_tail = &i->next;
}

/* ---- operations --------------------------------------------------------------------------- */

static void remember(struct platform_twin *p, struct invocation *i)
{
    if (p->last_id >= p->room) {
        uint64_t room = MAX(2 * p->room, (uint64_t)64);
        struct invocation **running =
            heap_alloc(&p->twin->heap, room * sizeof(struct invocation *));

        if (p->room)
            memcpy(running, p->running, p->room * sizeof(struct invocation *));
        heap_free(&p->twin->heap, p->running);
        p->running = running;
        p->room = room;
    }
    p->running[p->last_id] = i;
    p->count++;
}

static size_t heap_limit(const struct twin *t, uint32_t memory_mb)
{
    size_t memory = memory_mb * MIB;

    /* 0 would mean no limit. */
    return memory > t->profile->overhead_bytes ? memory - t->profile->overhead_bytes : 1;
}

static uint64_t start_delay(const struct twin *t, uint64_t id)
{
    uint64_t jitter = t->profile->cold_jitter_ns;

    return t->profile->cold_start_ns +
           (jitter ? random_below(twin_draw(t, TWIN_DRAW_COLD_START, id, 0), jitter + 1) : 0);
}

static int start(struct platform *base, const struct platform_start *s, uint64_t *id,
                 struct error *err)
{
    struct platform_twin *p = twin_platform(base);
    struct twin *t = p->twin;
    struct invocation *i;
    int fd = -1;

    if (p->count >= t->profile->limits.concurrency)
        return fail_retriable(err, E_FULL, "%u functions run already, as many as may at once",
                              p->count);
    if (s->fd >= 0) {
        fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 0);
        if (fd < 0)
            return fail(err, E_IO, "cannot hand descriptor %d to a function", s->fd);
    }
    i = heap_alloc(&t->heap, sizeof(*i));
    twin_task_init(&i->task, t, ++p->last_id, heap_limit(t, s->memory_mb));
    i->task.main = invocation_main;
    i->task.ended = invocation_ended;
    i->task.speed = MIN(1.0, s->memory_mb * t->profile->limits.vcpus_per_mb);
    i->platform = p;
    i->timeout_ms = s->timeout_ms;
    i->started = t->now;
    i->exit = (struct platform_exit){ .id = p->last_id, .cold = true };
    i->payload = heap_alloc(&t->heap, s->payload.size + 1);
    if (s->payload.size)
        memcpy(i->payload, s->payload.data, s->payload.size);
    i->call = (struct platform_call){ .env = &i->task.env,
                                      .heap = &i->task.heap,
                                      .payload = slice(i->payload, s->payload.size),
                                      .fd = fd,
                                      .memory_mb = s->memory_mb };
    remember(p, i);
    twin_note(t, &i->task, TWIN_STARTED);
    twin_queue_add(&t->queue, &i->task.wake, t->now + start_delay(t, p->last_id));
    *id = p->last_id;
    return 0;
}

static unsigned poll_ended(struct platform *base, struct platform_exit *out, unsigned max)
{
    struct platform_twin *p = twin_platform(base);
    unsigned n = 0;

    while (n < max && p->ended) {
        struct invocation *i = p->ended;

        p->ended = i->next;
        if (!p->ended)
            p->ended_tail = &p->ended;
        out[n++] = i->exit;
        heap_free(&p->twin->heap, i);
    }
    return n;
}

static struct invocation *find(struct platform_twin *p, uint64_t id)
{
    return id <= p->last_id && p->room ? p->running[id] : NULL;
}

static void stop(struct platform *base, uint64_t id)
{
    struct invocation *i = find(twin_platform(base), id);

    if (i)
        invocation_ended(&i->task, PLATFORM_STOPPED);
}

static void close_platform(struct platform *base)
{
    struct platform_twin *p = twin_platform(base);
    struct platform_exit ignored;

    for (uint64_t id = 1; id <= p->last_id; id++)
        stop(base, id);
    while (poll_ended(base, &ignored, 1))
        ;
    heap_free(&p->twin->heap, p->running);
    heap_free(&p->twin->heap, p);
}

static const struct platform_ops platform_twin_ops = {
    .name = "twin",
    .limits = limits,
    .start = start,
    .poll = poll_ended,
    .stop = stop,
    .close = close_platform,
};

struct platform *platform_twin_new(struct twin *t, platform_entry_fn entry)
{
    struct platform_twin *p = heap_alloc(&t->heap, sizeof(*p));

    p->base.ops = &platform_twin_ops;
    p->twin = t;
    p->entry = entry;
    p->ended_tail = &p->ended;
    return &p->base;
}

void platform_twin_end_at(struct platform *base, uint64_t id, uint64_t at_ns,
                          enum platform_reason reason)
{
    struct invocation *i = find(twin_platform(base), id);
    struct twin_task *task;

    if (!i)
        return;
    task = &i->task;
    if (task->death.place && task->death.time <= at_ns)
        return;
    task->death_reason = reason;
    twin_queue_add(&task->twin->queue, &task->death, MAX(at_ns, task->twin->now));
}
