/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of processes. Each is in one of three states:
 *
 *                 invoke                     killed, died, or not wanted
 *      idle  ---------------->  running  ------------------------------->  gone
 *    (id 0)  <----------------  (id > 0)                                   (reaped, then removed)
 *                 answer
 *
 * poll() is where everything is noticed: answers, deaths and deadlines. It never waits.
 */
#include "platform/local.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "platform/local_process.h"

struct local_platform {
    struct platform base;
    struct env *env;
    struct heap *heap;
    struct buf scratch;
    char worker_path[LOCAL_PATH_MAX];
    char *worker_arg;
    struct platform_limits limits;
    uint32_t idle_max;
    struct cgroups cgroups;

    struct local_process *processes; /* those there are; room for twice the concurrency */
    struct pollfd *polls;            /* as many */
    uint32_t count, room;
    uint64_t last_id, last_group;
};

static const struct platform_ops platform_local;

static struct local_platform *local(struct platform *p)
{
    assert(p->ops == &platform_local);
    return container_of(p, struct local_platform, base);
}

static bool is_idle(const struct local_process *p)
{
    return p->id == 0 && !p->gone;
}

static bool is_running(const struct local_process *p)
{
    return p->id != 0;
}

static uint32_t count_where(const struct local_platform *l,
                            bool (*test)(const struct local_process *))
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < l->count; i++)
        n += test(&l->processes[i]);
    return n;
}

/* Forget a reaped process. The last one takes its place. */
static void forget(struct local_platform *l, uint32_t index)
{
    local_process_release(&l->processes[index]);
    l->processes[index] = l->processes[--l->count];
}

/* Fill in how the invocation of P ended, except why, and count P as not running. */
static void tell(struct local_platform *l, struct local_process *p, uint64_t ended,
                 uint64_t peak_bytes, struct platform_exit *out)
{
    uint64_t now = env_now(l->env), group_peak = cgroup_peak_bytes(&p->cgroup);

    /* A process that is out of its mind cannot shift the bill. */
    if (ended < p->started || ended > now)
        ended = now;
    out->id = p->id;
    out->billed_ms = (ended - p->started + NS_PER_MS - 1) / NS_PER_MS;
    out->peak_bytes = group_peak ? group_peak : peak_bytes;
    out->cold = p->cold;
    p->id = 0;
}

static void tell_answer(struct local_platform *l, struct local_process *p,
                        const struct local_answer *a, struct platform_exit *out)
{
    *out = (struct platform_exit){ .code = a->code };
    out->reason = a->code == 0          ? PLATFORM_DONE
                  : a->code == E_MEMORY ? PLATFORM_MEMORY
                                        : PLATFORM_FAILED;
    memcpy(out->words, a->words, sizeof(out->words));
    tell(l, p, a->ended, a->peak_bytes, out);
    cgroup_reset_peak(&p->cgroup);
    /* After running out of memory a process may be about to leave, and is not worth keeping. */
    if (p->killed || out->reason == PLATFORM_MEMORY || count_where(l, is_idle) > l->idle_max)
        local_process_kill(p);
}

/* Read what P sent. True when that ended its invocation. */
static bool receive(struct local_platform *l, struct local_process *p, struct platform_exit *out)
{
    struct local_answer a;
    int fds[LOCAL_FDS_MAX];
    unsigned count;
    int rc = local_receive(p->socket, false, &l->scratch, fds, &count, NULL);

    if (rc == E_TIMEOUT)
        return false;
    if (!rc && (count || !is_running(p)))
        rc = E_FORMAT;
    while (count > 0)
        close(fds[--count]);
    if (!rc)
        rc = local_answer_decode(buf_slice(&l->scratch), &a, NULL);
    if (rc) {
        p->garbled = p->garbled || rc == E_FORMAT;
        local_process_kill(p);
        return false;
    }
    tell_answer(l, p, &a, out);
    return true;
}

/* Look after process INDEX. True when OUT was filled. May remove the process. */
static bool attend(struct local_platform *l, uint32_t index, bool readable,
                   struct platform_exit *out)
{
    struct local_process *p = &l->processes[index];
    uint64_t peak_bytes = 0;
    bool told = false;
    int status = 0;

    if (readable && !p->garbled)
        told = receive(l, p, out);
    if (!told && is_running(p) && !p->killed && env_now(l->env) >= p->deadline) {
        p->killed = true;
        p->killed_for = PLATFORM_TIME;
        local_process_kill(p);
    }
    /* An answer that was sent before the end counts; it may have come since the poll. */
    if (!p->gone || told || !local_process_reap(p, false, &status, &peak_bytes))
        return told;
    if (is_running(p)) {
        told = !p->garbled && receive(l, p, out);
        if (!told) {
            *out = (struct platform_exit){ 0 };
            local_process_explain(p, status, out);
            tell(l, p, 0, peak_bytes, out);
            told = true;
        }
    }
    forget(l, index);
    return told;
}

static unsigned local_poll(struct platform *base, struct platform_exit *out, unsigned max)
{
    struct local_platform *l = local(base);
    unsigned told = 0;

    for (uint32_t i = 0; i < l->count; i++)
        l->polls[i] = (struct pollfd){ .fd = l->processes[i].socket, .events = POLLIN };
    if (l->count && poll(l->polls, l->count, 0) < 0)
        return 0;
    /* Backwards, because a process that is forgotten is replaced by a later one. */
    for (uint32_t i = l->count; i-- > 0 && told < max;)
        told += attend(l, i, l->polls[i].revents != 0, &out[told]);
    return told;
}

static int invoke(struct local_platform *l, struct local_process *p,
                  const struct platform_start *start, bool cold, uint64_t started,
                  struct error *err)
{
    double vcpus = start->memory_mb * l->limits.vcpus_per_mb;
    int rc;

    p->started = started;
    p->timeout_ms = start->timeout_ms;
    p->deadline = started + start->timeout_ms * NS_PER_MS;
    p->cold = cold;
    rc = local_process_invoke(p, start, vcpus, &l->scratch, err);
    if (rc)
        local_process_kill(p);
    else
        p->id = ++l->last_id;
    return rc;
}

/* Hand the invocation to an idle process of MEMORY_MB; those found dead are dropped. */
static bool start_warm(struct local_platform *l, const struct platform_start *start,
                       uint32_t memory_mb, uint64_t started, uint64_t *id)
{
    for (uint32_t i = l->count; i-- > 0;) {
        struct local_process *p = &l->processes[i];

        if (is_idle(p) && p->memory_mb == memory_mb &&
            invoke(l, p, start, false, started, NULL) == 0) {
            *id = p->id;
            return true;
        }
    }
    return false;
}

/*
 * Make room for one more: await a process that is gone, or else give up the oldest idle one.
 * There is one, since fewer than half of the room may run.
 */
static void make_room(struct local_platform *l)
{
    for (int pass = 0; pass < 2 && l->count == l->room; pass++) {
        for (uint32_t i = 0; i < l->count; i++) {
            struct local_process *p = &l->processes[i];
            uint64_t peak_bytes;
            int status;

            if (is_running(p) || (pass == 0 && !p->gone))
                continue;
            local_process_kill(p);
            local_process_reap(p, true, &status, &peak_bytes);
            forget(l, i);
            return;
        }
    }
}

/* One more process, idle; it becomes the last of the table. */
static int add_process(struct local_platform *l, struct error *err)
{
    struct local_spawn s = { .path = l->worker_path,
                             .arg = l->worker_arg,
                             .cgroups = &l->cgroups,
                             .number = ++l->last_group };
    int rc;

    make_room(l);
    rc = local_process_spawn(&l->processes[l->count], &s, &l->scratch, err);
    l->count += rc == 0;
    return rc;
}

static int start_cold(struct local_platform *l, const struct platform_start *start,
                      uint64_t started, uint64_t *id, struct error *err)
{
    struct local_process *p;
    int rc = add_process(l, err);

    if (rc)
        return rc;
    p = &l->processes[l->count - 1];
    rc = invoke(l, p, start, true, started, err);
    if (!rc)
        *id = p->id;
    return rc;
}

static int local_start(struct platform *base, const struct platform_start *start, uint64_t *id,
                       struct error *err)
{
    struct local_platform *l = local(base);
    uint64_t started = env_now(l->env);

    if (count_where(l, is_running) >= l->limits.concurrency)
        return fail_retriable(err, E_FULL, "%u functions are running, which is the limit",
                              l->limits.concurrency);
    /* First one of that size, then one that was prepared for any. */
    if (start_warm(l, start, start->memory_mb, started, id) || start_warm(l, start, 0, started, id))
        return 0;
    return start_cold(l, start, started, id, err);
}

static void local_stop(struct platform *base, uint64_t id)
{
    struct local_platform *l = local(base);

    for (uint32_t i = 0; i < l->count; i++) {
        struct local_process *p = &l->processes[i];

        if (id == 0 || p->id != id || p->killed)
            continue;
        p->killed = true;
        p->killed_for = PLATFORM_STOPPED;
        local_process_kill(p);
    }
}

static void local_limits(struct platform *base, struct platform_limits *out)
{
    *out = local(base)->limits;
}

static void local_close(struct platform *base)
{
    struct local_platform *l = local(base);

    for (uint32_t i = 0; i < l->count; i++)
        local_process_kill(&l->processes[i]);
    while (l->count > 0) {
        uint64_t peak_bytes;
        int status;

        local_process_reap(&l->processes[l->count - 1], true, &status, &peak_bytes);
        forget(l, l->count - 1);
    }
    cgroups_close(&l->cgroups);
    buf_release(&l->scratch);
    heap_free(l->heap, l->processes);
    heap_free(l->heap, l->polls);
    heap_free(l->heap, l->worker_arg);
    heap_free(l->heap, l);
}

static const struct platform_ops platform_local = {
    .name = "local",
    .limits = local_limits,
    .start = local_start,
    .poll = local_poll,
    .stop = local_stop,
    .close = local_close,
};

static int check_worker(const char *path, struct error *err)
{
    if (access(path, X_OK) == 0)
        return 0;
    return fail(err, E_NOT_FOUND,
                "cannot run functions with '%s': %s; gust-worker must lie beside gust", path,
                strerror(errno));
}

int platform_local_find_worker(char path[LOCAL_PATH_MAX], struct error *err)
{
    char own[LOCAL_PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", own, sizeof(own) - 1);
    char *slash;

    if (size < 0)
        return fail(err, E_NOT_FOUND, "cannot tell where this program is: %s", strerror(errno));
    own[size] = 0;
    slash = strrchr(own, '/');
    if (slash)
        *slash = 0;
    if (snprintf(path, LOCAL_PATH_MAX, "%s/gust-worker", own) >= LOCAL_PATH_MAX)
        return fail(err, E_NOT_FOUND, "the path of this program is too long: '%.100s...'", own);
    return check_worker(path, err);
}

static int find_worker(const struct platform_local_options *o, char path[LOCAL_PATH_MAX],
                       struct error *err)
{
    if (!o->worker_path)
        return platform_local_find_worker(path, err);
    if (snprintf(path, LOCAL_PATH_MAX, "%s", o->worker_path) >= LOCAL_PATH_MAX)
        return fail(err, E_INVALID, "the worker's path is too long: '%.100s...'", o->worker_path);
    return check_worker(path, err);
}

int platform_local_new(const struct platform_local_options *o, struct env *env, struct heap *heap,
                       struct platform **out, struct error *err)
{
    char path[LOCAL_PATH_MAX];
    struct local_platform *l;
    uint64_t memory_mb;
    int rc = find_worker(o, path, err);

    if (rc)
        return rc;
    l = heap_alloc(heap, sizeof(*l));
    l->base.ops = &platform_local;
    l->env = env;
    l->heap = heap;
    memcpy(l->worker_path, path, sizeof(path));
    l->worker_arg = o->worker_arg ? heap_strdup(heap, o->worker_arg) : NULL;
    buf_init(&l->scratch, heap, LOCAL_MESSAGE_MAX + 1);
    memory_mb = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / MIB;
    l->limits = (struct platform_limits){
        .concurrency = o->concurrency ? o->concurrency : LOCAL_CONCURRENCY,
        .memory_mb_min = LOCAL_MEMORY_MB_MIN,
        .memory_mb_max = (uint32_t)MIN(memory_mb, UINT32_MAX),
        .timeout_ms_max = LOCAL_TIMEOUT_MS,
        .vcpus_per_mb = 1.0 / LOCAL_MB_PER_VCPU,
    };
    l->idle_max = o->idle_max == LOCAL_IDLE_NONE ? 0
                  : o->idle_max                  ? o->idle_max
                                                 : l->limits.concurrency;
    /* Running ones, idle ones, and as many again whose end has not been noticed yet. */
    l->room = 2 * l->limits.concurrency;
    l->processes = heap_alloc(heap, l->room * sizeof(*l->processes));
    l->polls = heap_alloc(heap, l->room * sizeof(*l->polls));
    if (o->no_cgroups)
        l->cgroups = (struct cgroups){ .memory_lock = -1, .cpu_lock = -1, .why = "not wanted" };
    else
        cgroups_open(&l->cgroups, env_random(env));
    *out = &l->base;
    return 0;
}

int platform_local_prepare(struct platform *p, uint32_t count, struct error *err)
{
    struct local_platform *l = local(p);
    int rc = 0;

    for (uint32_t i = 0; i < l->count; i++)
        count -= count > 0 && is_idle(&l->processes[i]) && l->processes[i].memory_mb == 0;
    while (!rc && count-- > 0 && l->count < l->room)
        rc = add_process(l, err);
    return rc;
}

const struct cgroups *platform_local_cgroups(struct platform *p)
{
    return &local(p)->cgroups;
}
