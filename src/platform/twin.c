/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual time, and the environment that code sees in it. What an invocation is: twin_platform.c.
 */
#include "platform/twin.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>

#include "base/random.h"
#include "platform/twin_internal.h"

#define STACK_BYTES (512 * KIB)
/* The start of virtual time. */
#define ORIGIN_NS NS_PER_S

const struct twin_profile twin_profile_default = {
    .name = "default",
    .limits = { .concurrency = 1000,
                .memory_mb_min = 128,
                .memory_mb_max = 10240,
                .timeout_ms_max = 900000,
                .vcpus_per_mb = 1.0 / 1769 },
    .cold_start_ns = 200 * NS_PER_MS,
    .cold_jitter_ns = 150 * NS_PER_MS,
    .overhead_bytes = 8 * MIB,
    .charge_ns = { [ENV_CHARGE_EXAMPLES] = 250,
                   [ENV_CHARGE_EVALUATED] = 100,
                   [ENV_CHARGE_SUM_BYTES] = 0.2,
                   [ENV_CHARGE_APPLY_ROWS] = 2,
                   [ENV_CHARGE_BYTES_READ] = 0.2 },
};

/* Whose coroutine this thread is in, for the one handler of exhausted memory. */
static _Thread_local struct twin *running;
static void (*exhausted_outside)(size_t size);

/* ---- what happened ------------------------------------------------------------------------ */

static const char *word_text(unsigned word)
{
    static const char *const words[] = {
        [TWIN_STARTED] = "started", [TWIN_BEGUN] = "begun",       [TWIN_SLEEPS] = "sleeps",
        [TWIN_PARKS] = "parks",     [TWIN_UNPARKED] = "unparked", [TWIN_WAKES] = "wakes",
        [TWIN_WORKS] = "works",     [TWIN_RETURNED] = "returned",
    };

    return word < TWIN_ENDED ? words[word] : platform_reason_text(word - TWIN_ENDED);
}

void twin_note(struct twin *t, const struct twin_task *task, unsigned word)
{
    size_t before = t->trace.size;

    t->digest = random_at(t->digest, t->now, task->id, word);
    t->events++;
    if (t->trace_full)
        return;
    buf_printf(&t->trace, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", t->now, t->events, task->id,
               word_text(word));
    if (t->trace.failed) {
        t->trace.size = before;
        t->trace_full = true;
    }
}

uint64_t twin_draw(const struct twin *t, enum twin_draw what, uint64_t id, uint64_t count)
{
    return random_at(t->options.seed, what, id, count);
}

/* ---- the environment ---------------------------------------------------------------------- */

static const struct env_ops twin_env_ops;

static struct twin_task *task_of(struct env *e)
{
    assert(e->ops == &twin_env_ops);
    return container_of(e, struct twin_task, env);
}

/* Let others run until the wake event. */
static void yield(struct twin_task *task)
{
    assert(task->twin->current == task);
    coroutine_suspend(&task->coroutine);
}

/* The time after NS more, or the last there is. */
static uint64_t later(const struct twin *t, uint64_t ns)
{
    return ns > ENV_FOREVER - 1 - t->now ? ENV_FOREVER - 1 : t->now + ns;
}

static uint64_t twin_env_now(struct env *e)
{
    return task_of(e)->twin->now;
}

static void wait_ns(struct twin_task *task, uint64_t ns, enum twin_word word)
{
    struct twin *t = task->twin;

    twin_note(t, task, word);
    twin_queue_add(&t->queue, &task->wake, later(t, ns));
    yield(task);
}

static void twin_env_sleep(struct env *e, uint64_t ns)
{
    wait_ns(task_of(e), ns, TWIN_SLEEPS);
}

static bool twin_env_park(struct env *e, uint64_t until)
{
    struct twin_task *task = task_of(e);
    struct twin *t = task->twin;
    bool unparked;

    if (!task->permit && until > t->now) {
        twin_note(t, task, TWIN_PARKS);
        task->parked_since = t->now;
        if (until != ENV_FOREVER)
            twin_queue_add(&t->queue, &task->wake, until);
        yield(task);
        task->parked_since = 0;
    }
    unparked = task->permit;
    task->permit = false;
    return unparked;
}

static void twin_env_unpark(struct env *e)
{
    struct twin_task *task = task_of(e);
    struct twin *t = task->twin;

    if (!task->permit && task->parked_since) {
        twin_note(t, task, TWIN_UNPARKED);
        twin_queue_add(&t->queue, &task->wake, t->now);
    }
    task->permit = true;
}

static uint64_t twin_env_random(struct env *e)
{
    struct twin_task *task = task_of(e);

    return twin_draw(task->twin, TWIN_DRAW_ENV, task->id, task->draws++);
}

static void twin_env_charge(struct env *e, enum env_charge kind, uint64_t amount)
{
    struct twin_task *task = task_of(e);
    double whole;

    assert(kind < ENV_CHARGE_KINDS);
    task->owed_ns += (double)amount * task->twin->profile->charge_ns[kind] / task->speed;
    whole = floor(task->owed_ns);
    if (whole < 1)
        return;
    task->owed_ns -= whole;
    wait_ns(task, whole < 0x1p63 ? (uint64_t)whole : ENV_FOREVER, TWIN_WORKS);
}

static void twin_env_parallel(struct env *e UNUSED, unsigned n, env_task_fn task, void *arg)
{
    for (unsigned i = 0; i < n; i++)
        task(arg, i);
}

static const struct env_ops twin_env_ops = {
    .now = twin_env_now,
    .sleep = twin_env_sleep,
    .park = twin_env_park,
    .unpark = twin_env_unpark,
    .random = twin_env_random,
    .charge = twin_env_charge,
    .parallel = twin_env_parallel,
};

/* ---- tasks -------------------------------------------------------------------------------- */

void twin_task_init(struct twin_task *task, struct twin *t, uint64_t id, size_t heap_limit_bytes)
{
    *task = (struct twin_task){ .env = { &twin_env_ops },
                                .twin = t,
                                .id = id,
                                .wake = { .kind = TWIN_EVENT_WAKE },
                                .death = { .kind = TWIN_EVENT_DEATH },
                                .speed = 1 };
    heap_init(&task->heap, heap_limit_bytes);
    task->next = &t->tasks;
    task->prev = t->tasks.prev;
    task->prev->next = task;
    t->tasks.prev = task;
}

void twin_task_release(struct twin_task *task)
{
    struct twin *t = task->twin;

    assert(t->current != task);
    twin_queue_remove(&t->queue, &task->wake);
    twin_queue_remove(&t->queue, &task->death);
    if (task->begun && t->options.forget)
        t->options.forget(t->options.forget_arg, &task->env);
    coroutine_release(&task->coroutine);
    heap_release(&task->heap);
    task->prev->next = task->next;
    task->next->prev = task->prev;
}

static void task_main(void *arg)
{
    struct twin_task *task = arg;

    task->main(task);
}

/* Its first wake. False: the machine has no memory for its stack. */
static bool begin(struct twin_task *task)
{
    struct twin *t = task->twin;

    if (coroutine_init(&task->coroutine, t->options.stack_bytes, task_main, task))
        return false;
    task->begun = true;
    twin_note(t, task, TWIN_BEGUN);
    return true;
}

static void go_on(struct twin_task *task)
{
    struct twin *t = task->twin, *outer = running;

    if (task->begun)
        twin_note(t, task, TWIN_WAKES);
    else if (!begin(task)) {
        task->ended(task, PLATFORM_CRASHED);
        return;
    }
    t->current = task;
    running = t;
    coroutine_resume(&task->coroutine);
    running = outer;
    t->current = NULL;
    if (task->coroutine.ended)
        task->ended(task, PLATFORM_DONE);
    else if (task->exhausted)
        task->ended(task, PLATFORM_MEMORY);
}

/*
 * Memory is exhausted. In a function that is its own affair: it stops here for good, and
 * go_on() drops it. The client's memory, and everybody else's, is the program's.
 */
static void exhausted(size_t size)
{
    struct twin_task *task = running ? running->current : NULL;

    if (!task || task->id == 0) {
        exhausted_outside(size);
        return;
    }
    task->exhausted = true;
    coroutine_suspend(&task->coroutine);
    abort();
}

/* ---- running ------------------------------------------------------------------------------ */

static void install_handler(void)
{
    exhausted_outside = heap_exhausted;
    heap_exhausted = exhausted;
}

struct twin *twin_new(const struct twin_options *options)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct heap own;
    struct twin *t;

    pthread_once(&once, install_handler);
    heap_init(&own, 0);
    t = heap_alloc(&own, sizeof(*t));
    t->heap = own;
    t->options = *options;
    if (!t->options.stack_bytes)
        t->options.stack_bytes = STACK_BYTES;
    t->profile = options->profile ? options->profile : &twin_profile_default;
    twin_queue_init(&t->queue, &t->heap);
    t->tasks.next = t->tasks.prev = &t->tasks;
    t->now = ORIGIN_NS;
    buf_init(&t->trace, &t->heap, options->trace_bytes);
    t->trace_full = options->trace_bytes == 0;
    return t;
}

void twin_free(struct twin *t)
{
    struct heap own;

    if (!t)
        return;
    assert(!t->current);
    while (t->tasks.next != &t->tasks)
        t->tasks.next->ended(t->tasks.next, PLATFORM_STOPPED);
    /* The twin lies in its own heap. */
    own = t->heap;
    heap_release(&own);
}

struct client {
    struct twin_task task;
    twin_client_fn fn;
    void *arg;
    struct error *err;
    int rc;
    bool ended;
};

static void client_main(struct twin_task *task)
{
    struct client *c = container_of(task, struct client, task);

    c->rc = c->fn(&task->env, &task->heap, c->arg, c->err);
}

static void client_ended(struct twin_task *task, enum platform_reason reason)
{
    struct client *c = container_of(task, struct client, task);

    if (reason == PLATFORM_CRASHED)
        c->rc = fail(c->err, E_MEMORY, "there is no memory for the client's stack");
    twin_note(task->twin, task, TWIN_RETURNED);
    twin_task_release(task);
    c->ended = true;
}

static int deadlock(struct twin *t, struct error *err)
{
    unsigned waiting = 0;
    struct buf names;

    buf_init(&names, &t->heap, 4096);
    for (struct twin_task *task = t->tasks.next; task != &t->tasks; task = task->next) {
        if (!task->parked_since || waiting++ >= 8)
            continue;
        if (task->id)
            buf_printf(&names, " function %" PRIu64, task->id);
        else
            buf_str(&names, " the client");
        buf_printf(&names, " (since %.6f s)", (double)task->parked_since / (double)NS_PER_S);
    }
    fail(err, E_FAILED,
         "deadlock at %.6f s, after %u functions ran into their time limit; %u wait:%s%s",
         (double)t->now / (double)NS_PER_S, t->time_limited, waiting, names.data,
         waiting > 8 ? " ..." : "");
    buf_release(&names);
    return E_FAILED;
}

/* Let the next event happen. */
static int step(struct twin *t, struct error *err)
{
    struct twin_event *e = twin_queue_first(&t->queue);
    struct twin_task *task;

    if (!e)
        return deadlock(t, err);
    if (t->options.limit_ns && e->time - ORIGIN_NS > t->options.limit_ns)
        return fail(err, E_TIMEOUT, "the client did not return within %.3f s of virtual time",
                    (double)t->options.limit_ns / (double)NS_PER_S);
    twin_queue_remove(&t->queue, e);
    t->now = e->time;
    if (e->kind == TWIN_EVENT_WAKE) {
        go_on(container_of(e, struct twin_task, wake));
    } else {
        task = container_of(e, struct twin_task, death);
        task->ended(task, task->death_reason);
    }
    return 0;
}

int twin_run(struct twin *t, twin_client_fn client, void *arg, struct error *err)
{
    struct client c = { .fn = client, .arg = arg, .err = err };
    int rc = 0;

    assert(!t->current);
    twin_task_init(&c.task, t, 0, 0);
    c.task.main = client_main;
    c.task.ended = client_ended;
    twin_queue_add(&t->queue, &c.task.wake, t->now);
    while (!c.ended && rc == 0)
        rc = step(t, err);
    if (!c.ended)
        twin_task_release(&c.task);
    return rc ? rc : c.rc;
}

struct twin *twin_of(struct env *env)
{
    return task_of(env)->twin;
}

uint64_t twin_now(const struct twin *t)
{
    return t->now;
}

struct slice twin_trace(const struct twin *t)
{
    return buf_slice(&t->trace);
}

uint64_t twin_digest(const struct twin *t)
{
    return t->digest;
}

uint64_t twin_events(const struct twin *t)
{
    return t->events;
}
