/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One function's group: its limits, and what the kernel counts in it. Finding a place for
 * groups is in cgroup_root.c.
 */
#include "platform/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/cgroup_file.h"

/* A client's folder and a group in it. */
#define GROUP_PATH_MAX (CGROUP_PATH_MAX + 32)
#define QUOTA_US_MIN   1000.0

static void group_dir(char out[GROUP_PATH_MAX], const char *dir, uint64_t number)
{
    snprintf(out, GROUP_PATH_MAX, "%s/f%llu", dir, (unsigned long long)number);
}

static int set_number(const char *dir, const char *file, uint64_t value, struct error *err)
{
    char text[32];

    snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    return cgroup_file_write(dir, file, text, err);
}

static int limit_memory(const struct cgroup *c, uint64_t bytes, struct error *err)
{
    char dir[GROUP_PATH_MAX];
    int rc;

    group_dir(dir, c->parent->memory_dir, c->number);
    /* Swap accounting may be off; then there is no file and nothing to forbid. */
    if (c->parent->memory == CGROUP_V2) {
        rc = set_number(dir, "memory.max", bytes, err);
        cgroup_file_write(dir, "memory.swap.max", "0", NULL);
    } else {
        rc = set_number(dir, "memory.limit_in_bytes", bytes, err);
        set_number(dir, "memory.memsw.limit_in_bytes", bytes, NULL);
    }
    return rc;
}

static int limit_cpu(const struct cgroup *c, double vcpus, struct error *err)
{
    char dir[GROUP_PATH_MAX], text[64];
    unsigned period_us = CGROUP_PERIOD_US, quota_us;
    int rc;

    if (vcpus >= (double)sysconf(_SC_NPROCESSORS_ONLN))
        return 0;
    group_dir(dir, c->parent->cpu_dir, c->number);
    if (vcpus * period_us < QUOTA_US_MIN)
        period_us = CGROUP_PERIOD_US_MAX;
    quota_us = (unsigned)MAX(vcpus * period_us, QUOTA_US_MIN);
    if (c->parent->cpu == CGROUP_V2) {
        snprintf(text, sizeof(text), "%u %u", quota_us, period_us);
        return cgroup_file_write(dir, "cpu.max", text, err);
    }
    rc = set_number(dir, "cpu.cfs_period_us", period_us, err);
    return rc ? rc : set_number(dir, "cpu.cfs_quota_us", quota_us, err);
}

int cgroup_limit(const struct cgroup *c, uint64_t memory_bytes, double vcpus, struct error *err)
{
    int rc = 0;

    if (c->parent->memory != CGROUP_NONE)
        rc = limit_memory(c, memory_bytes, err);
    if (!rc && c->parent->cpu != CGROUP_NONE)
        rc = limit_cpu(c, vcpus, err);
    return rc;
}

/* The distinct folders of a group: none, one (version 2) or two. */
static unsigned group_dirs(const struct cgroup *c, char dirs[2][GROUP_PATH_MAX])
{
    const struct cgroups *g = c->parent;
    unsigned count = 0;

    if (g && g->memory != CGROUP_NONE)
        group_dir(dirs[count++], g->memory_dir, c->number);
    if (g && g->cpu != CGROUP_NONE && (count == 0 || strcmp(g->memory_dir, g->cpu_dir) != 0))
        group_dir(dirs[count++], g->cpu_dir, c->number);
    return count;
}

int cgroup_new(struct cgroup *c, const struct cgroups *parent, uint64_t number, struct error *err)
{
    struct cgroup made = { .parent = parent, .number = number };
    char dirs[2][GROUP_PATH_MAX];
    unsigned n = group_dirs(&made, dirs);

    for (unsigned i = 0; i < n; i++) {
        if (mkdir(dirs[i], 0755) != 0 && errno != EEXIST) {
            int rc = fail(err, E_IO, "cannot make the control group '%.400s': %s", dirs[i],
                          strerror(errno));

            cgroup_remove(&made);
            return rc;
        }
    }
    *c = made;
    return 0;
}

int cgroup_open_members(const struct cgroup *c, int fds[2], unsigned *count, struct error *err)
{
    char dirs[2][GROUP_PATH_MAX];
    unsigned n = group_dirs(c, dirs);

    for (unsigned i = 0; i < n; i++) {
        fds[i] = cgroup_file_open(dirs[i], "cgroup.procs", O_WRONLY, err);
        if (fds[i] < 0) {
            int rc = fds[i];

            while (i > 0)
                close(fds[--i]);
            return rc;
        }
    }
    *count = n;
    return 0;
}

uint64_t cgroup_oom_kills(const struct cgroup *c)
{
    char dir[GROUP_PATH_MAX], text[1024];
    const char *at;
    bool v2;

    if (!c->parent || c->parent->memory == CGROUP_NONE)
        return 0;
    v2 = c->parent->memory == CGROUP_V2;
    group_dir(dir, c->parent->memory_dir, c->number);
    if (cgroup_file_read(dir, v2 ? "memory.events" : "memory.oom_control", text, sizeof(text),
                         NULL))
        return 0;
    /* Both files have a line "oom_kill N"; "oom_kill_disable" has no blank there. */
    at = strstr(text, "oom_kill ");
    return at ? strtoull(at + strlen("oom_kill "), NULL, 10) : 0;
}

uint64_t cgroup_peak_bytes(const struct cgroup *c)
{
    char dir[GROUP_PATH_MAX], text[64];
    bool v2;

    if (!c->parent || c->parent->memory == CGROUP_NONE)
        return 0;
    v2 = c->parent->memory == CGROUP_V2;
    group_dir(dir, c->parent->memory_dir, c->number);
    if (cgroup_file_read(dir, v2 ? "memory.peak" : "memory.max_usage_in_bytes", text, sizeof(text),
                         NULL))
        return 0;
    return strtoull(text, NULL, 10);
}

void cgroup_reset_peak(const struct cgroup *c)
{
    char dir[GROUP_PATH_MAX];

    if (!c->parent || c->parent->memory != CGROUP_V1)
        return;
    group_dir(dir, c->parent->memory_dir, c->number);
    cgroup_file_write(dir, "memory.max_usage_in_bytes", "0", NULL);
}

void cgroup_remove(struct cgroup *c)
{
    char dirs[2][GROUP_PATH_MAX];
    unsigned n = group_dirs(c, dirs);

    for (unsigned i = 0; i < n; i++)
        cgroup_dir_remove(dirs[i]);
    *c = (struct cgroup){ 0 };
}
