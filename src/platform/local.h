/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The local platform: every invocation is a process of gust-worker on this machine, inside a
 * memory limit and a share of the CPU that goes with its memory, as on a function platform.
 *
 *   start    takes an idle process of the same memory size, or spawns one (never by fork: the
 *            client may be fat)
 *   limits   by control groups where this user may make them (cgroup.h), otherwise memory by
 *            RLIMIT_DATA and no CPU share; `gust doctor` says which
 *   end      the process answers and stays for reuse, or dies and the platform says why
 *
 * Functions die with their client: the kernel kills them when the thread that started them ends
 * (PR_SET_PDEATHSIG is tied to the thread, so start from one that lives as long as the
 * platform), and an idle one ends when its socket closes. Control groups of a client that was
 * killed are removed by the next client.
 *
 * A cold start is about a millisecond of spawning and, with control groups, the wait of a
 * process to enter one: 5-25 ms, which processes that start together share. A warm start is a
 * message, and so is the start of a process that was prepared in time.
 */
#ifndef GUST_PLATFORM_LOCAL_H
#define GUST_PLATFORM_LOCAL_H

#include "platform/cgroup.h"
#include "platform/platform.h"

/* Lambda gives one vCPU per 1769 MB. */
#define LOCAL_MB_PER_VCPU   1769
#define LOCAL_MEMORY_MB_MIN 128
#define LOCAL_CONCURRENCY   64
#define LOCAL_TIMEOUT_MS    86400000ull
#define LOCAL_PATH_MAX      512
/* For idle_max: keep no process for reuse. */
#define LOCAL_IDLE_NONE UINT32_MAX

struct platform_local_options {
    const char *worker_path; /* NULL: gust-worker in the folder of the running program */
    const char *worker_arg;  /* one argument for it; NULL: none */
    uint32_t concurrency;    /* most invocations at once; 0: LOCAL_CONCURRENCY */
    uint32_t idle_max;       /* most processes kept for reuse; 0: as many as may run */
    bool no_cgroups;         /* use resource limits even where control groups are possible */
};

/*
 * Make the platform. ENV is a local_env (its clock is the processes' clock); ENV and HEAP
 * outlive the platform, which one thread at a time may use. E_NOT_FOUND, saying where it
 * looked, without a worker program.
 */
int platform_local_new(const struct platform_local_options *o, struct env *env, struct heap *heap,
                       struct platform **out, struct error *err);

/*
 * Have COUNT processes ready that have run nothing yet, for functions of any size: call it as
 * soon as the fleet is known, and go on with what else there is to do. Returns at once; whoever
 * starts before they are ready waits the rest. Invocations that find one are not cold. P must
 * be a local platform.
 */
int platform_local_prepare(struct platform *p, uint32_t count, struct error *err);

/* How limits are enforced; valid until close. P must be a local platform. */
const struct cgroups *platform_local_cgroups(struct platform *p);

/* The gust-worker beside the running program, into PATH. E_NOT_FOUND if it is not there. */
int platform_local_find_worker(char path[LOCAL_PATH_MAX], struct error *err);

#endif
