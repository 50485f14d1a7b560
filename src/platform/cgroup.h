/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits by control groups, version 1 or 2, whichever this process may use: memory, and a
 * share of the CPU. A client has one folder, named gust-<pid>-<start time>-<salt>, in
 * each hierarchy; every function process has a group inside it. The kernel removes nothing by
 * itself, so a client also removes the folders that dead clients left.
 */
#ifndef GUST_PLATFORM_CGROUP_H
#define GUST_PLATFORM_CGROUP_H

#include "base/error.h"

#define CGROUP_PATH_MAX 512
/* How often the kernel refills a group's CPU quota: often, so that stalls are short. */
#define CGROUP_PERIOD_US 10000u
/* For shares so small that a period's quota would be under the kernel's least, 1 ms. */
#define CGROUP_PERIOD_US_MAX 20000u

enum cgroup_version { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };

/* One client's folders. */
struct cgroups {
    enum cgroup_version memory, cpu; /* how each is limited; NONE: it is not */
    char memory_dir[CGROUP_PATH_MAX], cpu_dir[CGROUP_PATH_MAX]; /* equal under version 2 */
    int memory_lock, cpu_lock; /* held by flock while the client lives; -1: none */
    char why[256];             /* what stands in the way where something is NONE, for a person */
};

/* One function process's group. */
struct cgroup {
    const struct cgroups *parent; /* NULL: no group */
    uint64_t number;
};

/*
 * Make the client's folders wherever that is possible and clear away those of dead clients.
 * Cannot fail: what cannot be limited is NONE. SALT keeps two folders of one process apart.
 */
void cgroups_open(struct cgroups *g, uint64_t salt);

/* Remove the folders. Accepts one that is closed. */
void cgroups_close(struct cgroups *g);

/* Make group NUMBER, without limits yet. */
int cgroup_new(struct cgroup *c, const struct cgroups *parent, uint64_t number, struct error *err);

/*
 * Give the group MEMORY_BYTES of memory and no swap, and VCPUS of CPU time (no limit when that
 * is as many as there are cores or more).
 */
int cgroup_limit(const struct cgroup *c, uint64_t memory_bytes, double vcpus, struct error *err);

/*
 * Open the group's membership files: who writes "0" to each is in. Stores 0 to 2 descriptors, which
 * the caller closes.
 */
int cgroup_open_members(const struct cgroup *c, int fds[2], unsigned *count, struct error *err);

/* How often the kernel killed a process of this group for want of memory. */
uint64_t cgroup_oom_kills(const struct cgroup *c);

/* The most memory the group has used since the last reset; 0 if unknown. Version 2 has no reset. */
uint64_t cgroup_peak_bytes(const struct cgroup *c);
void cgroup_reset_peak(const struct cgroup *c);

/* Kill whoever is left inside and remove the group. Accepts a zeroed one. */
void cgroup_remove(struct cgroup *c);

#endif
