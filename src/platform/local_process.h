/* SPDX-License-Identifier: Apache-2.0 */
/* One function process of the local platform, seen from the client; used by local.c only. */
#ifndef GUST_PLATFORM_LOCAL_PROCESS_H
#define GUST_PLATFORM_LOCAL_PROCESS_H

#include <sys/types.h>

#include "platform/cgroup.h"
#include "platform/local_message.h"

struct local_process {
    pid_t pid; /* unreaped until local_process_reap() says so, hence never another's */
    int socket;
    uint32_t memory_mb; /* 0 until its first invocation: any size will do */
    struct cgroup cgroup;
    bool gone; /* not to be used again: its end is awaited */

    uint64_t id; /* the invocation it runs; 0: none */
    uint64_t started, deadline, timeout_ms;
    bool cold;
    bool garbled; /* it sent what is no answer */
    bool killed;  /* by us, for `killed_for` */
    enum platform_reason killed_for;
};

struct local_spawn {
    const char *path, *arg; /* ARG may be NULL */
    const struct cgroups *cgroups;
    uint64_t number; /* of its control group */
};

/*
 * Start a process in a control group of its own, without limits yet; fills P. It waits for an
 * invocation. SCRATCH is overwritten.
 */
int local_process_spawn(struct local_process *p, const struct local_spawn *s, struct buf *scratch,
                        struct error *err);

/* Set the limits if this is its first invocation, and send it. SCRATCH is overwritten. */
int local_process_invoke(struct local_process *p, const struct platform_start *start, double vcpus,
                         struct buf *scratch, struct error *err);

/* End it now, whatever it does, unless that was done before; its end is then awaited. */
void local_process_kill(struct local_process *p);

/*
 * Whether the process has ended; WAIT for it if so asked. Stores its status (-1: lost) and highest
 * resident memory.
 */
bool local_process_reap(struct local_process *p, bool wait, int *status, uint64_t *peak_bytes);

/* How the invocation of a process that ended without an answer ended: reason, code, words. */
void local_process_explain(const struct local_process *p, int status, struct platform_exit *out);

/* Close the socket and remove the control group of a reaped process. */
void local_process_release(struct local_process *p);

#endif
