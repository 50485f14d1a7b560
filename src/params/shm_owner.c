/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who uses a shared-memory store: the table of handles and who of them is alive, the lock that a
 * death does not wedge, and sleeping and waking across processes.
 *
 * Invariants:
 *   O1  A handle's number is never given twice. So a claim that names it can be left behind: it
 *       is recognised as abandoned however late.
 *   O2  An entry's number is its last field to be written and the first to be cleared, so an
 *       entry that names a handle is complete.
 *   O3  A waiter that goes to sleep has read the event before it looked at what it waits for,
 *       and a publisher changes the event after what it published. So either the waiter sees the
 *       value, or the event it sleeps on is not the one it read, and the kernel does not let it
 *       sleep.
 *   O4  Nobody sleeps longer than SHM_RECHECK_NS without looking again: a publisher may be
 *       killed between publishing and waking.
 */
#include "params/shm_internal.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- processes ---- */

/*
 * When a process started, in the kernel's ticks since boot, which tells it from a later one with
 * the same number. 0: it is gone, or a zombie. UINT64_MAX: /proc does not say.
 */
static uint64_t process_started(uint32_t pid)
{
    char path[32], text[512], *after;
    uint64_t started;
    size_t n;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);
    f = fopen(path, "re");
    if (!f)
        return errno == ENOENT && access("/proc/self/stat", R_OK) == 0 ? 0 : UINT64_MAX;
    n = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[n] = 0;
    /* The second field is the program's name, which may hold anything, in parentheses. */
    after = strrchr(text, ')');
    if (!after)
        return n ? UINT64_MAX : 0;
    if (after[1] && (after[2] == 'Z' || after[2] == 'X'))
        return 0;
    if (sscanf(after + 1,
               " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
               "%" SCNu64,
               &started) != 1)
        return UINT64_MAX;
    return started;
}

static bool process_alive(uint32_t pid, uint64_t started)
{
    uint64_t now;

    if (kill((pid_t)pid, 0) < 0 && errno == ESRCH)
        return false;
    now = process_started(pid);
    return now == UINT64_MAX || started == UINT64_MAX ? now != 0 : now == started;
}

/* ---- handles ---- */

bool shm_alive(struct shm_params *s, uint64_t id)
{
    struct shm_handle *h = &shm_handles(s)[id & 0xffff];
    uint64_t started;
    uint32_t pid;

    if (id == 0 || (id & 0xffff) >= s->plan->handle_count)
        return false;
    if (atomic_load_explicit(&h->id, memory_order_acquire) != id)
        return false;
    pid = atomic_load_explicit(&h->pid, memory_order_acquire);
    started = atomic_load_explicit(&h->started, memory_order_acquire);
    if (atomic_load_explicit(&h->id, memory_order_relaxed) != id)
        return false;
    return pid == (uint32_t)getpid() || process_alive(pid, started);
}

static struct shm_handle *free_handle(struct shm_params *s)
{
    for (uint32_t i = 0; i < s->plan->handle_count; i++)
        if (atomic_load(&shm_handles(s)[i].id) == 0)
            return &shm_handles(s)[i];
    return NULL;
}

int shm_handle_take(struct shm_params *s, struct error *err)
{
    struct shm_handle *h;
    uint64_t started = process_started((uint32_t)getpid());

    shm_lock(s);
    h = free_handle(s);
    if (!h) {
        shm_sweep(s);
        h = free_handle(s);
    }
    if (h) {
        s->id = ++s->file->handles_so_far << 16 | (uint64_t)(h - shm_handles(s));
        atomic_store(&h->pid, (uint32_t)getpid());
        atomic_store(&h->started, started);
        atomic_store_explicit(&h->id, s->id, memory_order_release);
    }
    shm_unlock(s);
    return h ? 0
             : fail(err, E_FULL, "the store is open %" PRIu32 " times, more than it was made for",
                    s->plan->handle_count);
}

void shm_handle_give(struct shm_params *s)
{
    atomic_store_explicit(&shm_handles(s)[s->id & 0xffff].id, 0, memory_order_release);
}

void shm_sweep(struct shm_params *s)
{
    for (uint32_t i = 0; i < s->plan->handle_count; i++) {
        struct shm_handle *h = &shm_handles(s)[i];
        uint64_t id = atomic_load(&h->id);

        if (id && !shm_alive(s, id))
            atomic_store_explicit(&h->id, 0, memory_order_release);
    }
    shm_general_sweep(s);
}

/* ---- the lock ---- */

/*
 * O4 holds for the lock as well. A waiter that was woken and is killed before it has the lock takes
 * the wake with it; the kernel passes it on if the lock is free, but not if somebody got it
 * meanwhile without seeing that others sleep.
 */
static int lock_or_give_up(pthread_mutex_t *lock)
{
    struct timespec until;

    if (clock_gettime(CLOCK_REALTIME, &until) < 0)
        return pthread_mutex_lock(lock);
    until.tv_nsec += SHM_RECHECK_NS;
    until.tv_sec += until.tv_nsec / (long)NS_PER_S;
    until.tv_nsec %= (long)NS_PER_S;
    return pthread_mutex_timedlock(lock, &until);
}

void shm_lock(struct shm_params *s)
{
    int rc = pthread_mutex_trylock(&s->file->lock);

    while (rc == EBUSY || rc == ETIMEDOUT)
        rc = lock_or_give_up(&s->file->lock);
    if (rc == EOWNERDEAD) {
        /* Whoever dies in here leaves the next one the same task. */
        shm_general_rebuild(s);
        pthread_mutex_consistent(&s->file->lock);
    } else {
        assert(rc == 0);
    }
}

void shm_unlock(struct shm_params *s)
{
    pthread_mutex_unlock(&s->file->lock);
}

/* ---- sleeping and waking ---- */

static long futex(shm_event *event, int op, uint32_t value, const struct timespec *timeout)
{
    /* Without the private flag: sleepers are in other processes. */
    return syscall(SYS_futex, (uint32_t *)event, op, value, timeout, NULL, 0);
}

void shm_signal(shm_event *event)
{
    uint32_t old = atomic_load_explicit(event, memory_order_relaxed);

    while (!atomic_compare_exchange_weak_explicit(event, &old, (old + 2) & ~1u,
                                                  memory_order_acq_rel, memory_order_relaxed))
        ;
    if (old & 1)
        futex(event, FUTEX_WAKE, INT32_MAX, NULL);
}

bool shm_sleep(shm_event *event, uint32_t seen, uint64_t ns)
{
    struct timespec timeout = { .tv_sec = (time_t)(ns / NS_PER_S),
                                .tv_nsec = (long)(ns % NS_PER_S) };

    if (!(seen & 1) && !atomic_compare_exchange_strong_explicit(
                           event, &seen, seen | 1, memory_order_acq_rel, memory_order_relaxed)) {
        /* Somebody else announced a sleeper, or something happened. */
        return false;
    }
    return futex(event, FUTEX_WAIT, seen | 1, &timeout) < 0 && errno == ETIMEDOUT;
}

void shm_signal_all(struct shm_params *s)
{
    for (uint32_t i = 0; i < s->base.layout.ranks; i++)
        shm_signal(&shm_ranks(s)[i].event);
    for (uint32_t i = 0; i < s->base.layout.shards; i++)
        shm_signal(&shm_shards(s)[i].event);
    shm_signal(&s->file->general_event);
}
