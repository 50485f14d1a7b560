/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a client may make groups. Version 1: inside the group it is in itself, one hierarchy
 * per controller. Version 2: inside its own group or the nearest one above that passes
 * controllers on, since a group with processes in it cannot (the kernel's "no internal
 * processes" rule).
 */
#include "platform/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/cgroup_file.h"

#define PREFIX "gust-"

/* Whether the LIST of words separated by SEPARATORS has WORD. */
static bool has_word(const char *list, const char *separators, const char *word)
{
    size_t size = strlen(word);

    while (*list) {
        size_t n = strcspn(list, separators);

        if (n == size && memcmp(list, word, n) == 0)
            return true;
        list += n;
        list += strspn(list, separators);
    }
    return false;
}

/* The start time of a process in clock ticks since boot; 0 when there is no such process. */
static unsigned long long start_time(long pid)
{
    char dir[64], text[1024];
    const char *at;

    snprintf(dir, sizeof(dir), "/proc/%ld", pid);
    if (cgroup_file_read(dir, "stat", text, sizeof(text), NULL))
        return 0;
    /* Field 22; the second, the name, may hold blanks and ends with the last parenthesis. */
    at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

/*
 * Find the mount of version 1's CONTROLLER, or of version 2 when that is NULL: where it is
 * and which group its top is.
 */
static bool find_mount(const char *controller, char point[CGROUP_PATH_MAX],
                       char top[CGROUP_PATH_MAX])
{
    FILE *f = fopen("/proc/self/mountinfo", "re");
    char line[4096];
    bool found = false;

    while (f && !found && fgets(line, sizeof(line), f)) {
        char type[32], options[512];
        const char *tail = strstr(line, " - ");

        if (sscanf(line, "%*s %*s %*s %511s %511s", top, point) != 2 || !tail ||
            sscanf(tail, " - %31s %*s %511s", type, options) != 2)
            continue;
        found = controller ? strcmp(type, "cgroup") == 0 && has_word(options, ",\n", controller)
                           : strcmp(type, "cgroup2") == 0;
    }
    if (f)
        fclose(f);
    return found;
}

/* This process's group in that hierarchy, as /proc says it. */
static bool find_own(const char *controller, char own[CGROUP_PATH_MAX])
{
    FILE *f = fopen("/proc/self/cgroup", "re");
    char line[1024];
    bool found = false;

    while (f && !found && fgets(line, sizeof(line), f)) {
        char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;

        if (!path)
            continue;
        *path++ = 0;
        path[strcspn(path, "\n")] = 0;
        found = controller ? has_word(names + 1, ",", controller) : names[1] == 0;
        if (found)
            snprintf(own, CGROUP_PATH_MAX, "%s", path);
    }
    if (f)
        fclose(f);
    return found;
}

/* The folder of this process's own group, and in POINT the top that may be reached from it. */
static bool find_own_dir(const char *controller, char dir[CGROUP_PATH_MAX],
                         char point[CGROUP_PATH_MAX])
{
    char top[CGROUP_PATH_MAX], own[CGROUP_PATH_MAX];
    const char *rest = own;
    size_t n;

    if (!find_mount(controller, point, top) || !find_own(controller, own))
        return false;
    /* In a container the mount may show only a part of the hierarchy. */
    n = strlen(top);
    if (n > 1 && strncmp(own, top, n) == 0)
        rest = own + n;
    n = (size_t)snprintf(dir, CGROUP_PATH_MAX, "%s%s", point, strcmp(rest, "/") ? rest : "");
    return n < CGROUP_PATH_MAX - 128;
}

static bool is_alive(long pid, unsigned long long started)
{
    return started != 0 && start_time(pid) == started;
}

static void remove_client_dir(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *entry;

    while (d && (entry = readdir(d))) {
        char path[CGROUP_PATH_MAX + 512];

        if (entry->d_type != DT_DIR || entry->d_name[0] != 'f')
            continue;
        snprintf(path, sizeof(path), "%.760s/%s", dir, entry->d_name);
        cgroup_dir_remove(path);
    }
    if (d)
        closedir(d);
    cgroup_dir_remove(dir);
}

/*
 * Remove what dead clients left in PARENT. A folder is stale when its process is not there and
 * nobody holds its lock: the process may live in another PID namespace.
 */
static void remove_stale(const char *parent)
{
    DIR *d = opendir(parent);
    struct dirent *entry;

    while (d && (entry = readdir(d))) {
        char path[CGROUP_PATH_MAX + 512];
        unsigned long long started;
        long pid;
        int fd;

        if (sscanf(entry->d_name, PREFIX "%ld-%llu-", &pid, &started) != 2 ||
            is_alive(pid, started))
            continue;
        snprintf(path, sizeof(path), "%s/%s", parent, entry->d_name);
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
            continue;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            remove_client_dir(path);
        close(fd);
    }
    if (d)
        closedir(d);
}

/* Make the client's folder in PARENT and lock it. The descriptor, or -1. */
static int make_client_dir(const char *parent, uint64_t salt, char dir[CGROUP_PATH_MAX])
{
    long pid = (long)getpid();
    int fd;

    remove_stale(parent);
    snprintf(dir, CGROUP_PATH_MAX, "%.400s/" PREFIX "%ld-%llu-%08x", parent, pid, start_time(pid),
             (unsigned)salt);
    /* It exists when memory and cpu share one hierarchy; then both limits are in one group. */
    if (mkdir(dir, 0755) != 0 && errno != EEXIST)
        return -1;
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        flock(fd, LOCK_EX | LOCK_NB);
    else
        rmdir(dir);
    return fd;
}

static bool has_controller(const char *dir, const char *name)
{
    char text[512];

    return cgroup_file_read(dir, "cgroup.controllers", text, sizeof(text), NULL) == 0 &&
           has_word(text, " \n", name);
}

/* Have DIR pass a controller on to the groups inside it. */
static bool pass_on(const char *dir, const char *name)
{
    char text[32];

    snprintf(text, sizeof(text), "+%s", name);
    return has_controller(dir, name) &&
           cgroup_file_write(dir, "cgroup.subtree_control", text, NULL) == 0;
}

/* Try version 2 in PARENT. True when at least memory or CPU can be limited there. */
static bool try_v2(struct cgroups *g, const char *parent, uint64_t salt)
{
    char members[CGROUP_PATH_MAX + 32];
    int fd;

    /* Moving a process needs the right to write the membership file of the common parent. */
    snprintf(members, sizeof(members), "%s/cgroup.procs", parent);
    if (access(members, W_OK) != 0)
        return false;
    fd = make_client_dir(parent, salt, g->memory_dir);
    if (fd < 0)
        return false;
    if (!has_controller(g->memory_dir, "memory"))
        pass_on(parent, "memory");
    if (!has_controller(g->memory_dir, "cpu"))
        pass_on(parent, "cpu");
    if (g->memory == CGROUP_NONE && pass_on(g->memory_dir, "memory"))
        g->memory = CGROUP_V2;
    if (g->cpu == CGROUP_NONE && pass_on(g->memory_dir, "cpu"))
        g->cpu = CGROUP_V2;
    if (g->memory == CGROUP_V2 || g->cpu == CGROUP_V2) {
        snprintf(g->cpu_dir, sizeof(g->cpu_dir), "%s", g->memory_dir);
        g->memory_lock = fd;
        return true;
    }
    close(fd);
    rmdir(g->memory_dir);
    return false;
}

static void open_v2(struct cgroups *g, uint64_t salt)
{
    char dir[CGROUP_PATH_MAX], point[CGROUP_PATH_MAX];

    if (!find_own_dir(NULL, dir, point))
        return;
    while (!try_v2(g, dir, salt)) {
        char *slash = strrchr(dir, '/');

        if (strlen(dir) <= strlen(point) || !slash)
            return;
        *slash = 0;
    }
}

static bool open_v1(const char *controller, uint64_t salt, char out[CGROUP_PATH_MAX], int *lock)
{
    char dir[CGROUP_PATH_MAX], point[CGROUP_PATH_MAX];

    if (!find_own_dir(controller, dir, point))
        return false;
    *lock = make_client_dir(dir, salt, out);
    return *lock >= 0;
}

static void explain(struct cgroups *g)
{
    char dir[CGROUP_PATH_MAX], point[CGROUP_PATH_MAX];

    if (g->memory != CGROUP_NONE && g->cpu != CGROUP_NONE)
        return;
    if (find_own_dir("memory", dir, point) || find_own_dir("cpu", dir, point))
        snprintf(g->why, sizeof(g->why), "no right to make groups in '%.180s'", dir);
    else if (find_own_dir(NULL, dir, point))
        snprintf(g->why, sizeof(g->why),
                 "no group at or above '%.120s' is writable and passes memory and cpu on", dir);
    else
        snprintf(g->why, sizeof(g->why), "no control groups are mounted");
}

void cgroups_open(struct cgroups *g, uint64_t salt)
{
    *g = (struct cgroups){ .memory_lock = -1, .cpu_lock = -1 };
    if (open_v1("memory", salt, g->memory_dir, &g->memory_lock))
        g->memory = CGROUP_V1;
    if (open_v1("cpu", salt, g->cpu_dir, &g->cpu_lock))
        g->cpu = CGROUP_V1;
    /* A controller is in one version at a time; a machine with half of each is not worth it. */
    if (g->memory == CGROUP_NONE && g->cpu == CGROUP_NONE)
        open_v2(g, salt);
    explain(g);
}

void cgroups_close(struct cgroups *g)
{
    if (g->memory != CGROUP_NONE)
        remove_client_dir(g->memory_dir);
    if (g->cpu != CGROUP_NONE)
        remove_client_dir(g->cpu_dir);
    if (g->memory_lock >= 0)
        close(g->memory_lock);
    if (g->cpu_lock >= 0)
        close(g->cpu_lock);
    *g = (struct cgroups){ .memory_lock = -1, .cpu_lock = -1 };
}
