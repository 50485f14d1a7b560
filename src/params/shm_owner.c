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
    /* The same process as ours, not only the same number: no need to ask. */
    if (pid == (uint32_t)getpid() && started == s->started)
        return true;
    return process_alive(pid, started);
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

    s->started = process_started((uint32_t)getpid());
    shm_lock(s);
    h = free_handle(s);
    if (!h) {
        shm_sweep(s);
        h = free_handle(s);
    }
    if (h) {
        s->id = ++s->file->handles_so_far << 16 | (uint64_t)(h - shm_handles(s));
        atomic_store(&h->pid, (uint32_t)getpid());
        atomic_store(&h->started, s->started);
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

/* ---- sleeping and waking ---- */

static long futex(shm_event *event, int op, uint32_t value, const struct timespec *timeout)
{
    /* Without the private flag: sleepers are in other processes. */
    return syscall(SYS_futex, (uint32_t *)event, op, value, timeout, NULL, 0);
}

/* Counts an event, and wakes up to MOST if anyone sleeps. */
static void wake(shm_event *event, uint32_t most)
{
    uint32_t old = atomic_load_explicit(event, memory_order_relaxed);

    while (!atomic_compare_exchange_weak_explicit(event, &old, (old + 2) & ~1u,
                                                  memory_order_acq_rel, memory_order_relaxed))
        ;
    if (old & 1)
        futex(event, FUTEX_WAKE, most, NULL);
}

void shm_signal(shm_event *event)
{
    wake(event, INT32_MAX);
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

/* ---- the lock ---- */

/*
 * A robust mutex, which the kernel marks when its owner dies, but only ever tried: sleepers sleep
 * on an event of ours, for O4 to hold. The C library's own way of waiting loses wakes: with many
 * waiters killed, a robust mutex was seen free, its last owner dead, and others asleep on it for
 * good, since a waiter killed between being woken and having the lock takes the wake with it.
 */
void shm_lock(struct shm_params *s)
{
    shm_event *event = &s->file->lock_event;
    int rc = pthread_mutex_trylock(&s->file->lock);

    while (rc == EBUSY) {
        /* The flag before the try: whoever gives the lock back after it sees the flag. */
        uint32_t seen = atomic_fetch_or(event, 1) | 1;

        rc = pthread_mutex_trylock(&s->file->lock);
        if (rc == EBUSY)
            shm_sleep(event, seen, SHM_RECHECK_NS);
    }
    if (rc == EOWNERDEAD) {
        /* Whoever dies in here leaves the next one the same task. */
        shm_general_rebuild(s);
        pthread_mutex_consistent(&s->file->lock);
    } else {
        assert(rc == 0);
    }
}

/* Wakes one, who sets the flag again for the others. */
void shm_unlock(struct shm_params *s)
{
    pthread_mutex_unlock(&s->file->lock);
    if (atomic_load(&s->file->lock_event) & 1)
        wake(&s->file->lock_event, 1);
}
