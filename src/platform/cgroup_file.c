/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/cgroup_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define REMOVE_TRIES 100

int cgroup_file_open(const char *dir, const char *file, int flags, struct error *err)
{
    char path[1024];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", dir, file);
    fd = open(path, flags | O_CLOEXEC);
    return fd >= 0 ? fd : fail(err, E_IO, "cannot open '%s': %s", path, strerror(errno));
}

int cgroup_file_write(const char *dir, const char *file, const char *text, struct error *err)
{
    size_t size = strlen(text);
    int fd = cgroup_file_open(dir, file, O_WRONLY, err);
    int rc = 0;

    if (fd < 0)
        return fd;
    if (write(fd, text, size) != (ssize_t)size)
        rc = fail(err, E_IO, "cannot write '%s' to '%s/%s': %s", text, dir, file, strerror(errno));
    close(fd);
    return rc;
}

int cgroup_file_read(const char *dir, const char *file, char *out, size_t size, struct error *err)
{
    int fd = cgroup_file_open(dir, file, O_RDONLY, err);
    ssize_t got;

    if (fd < 0)
        return fd;
    got = read(fd, out, size - 1);
    close(fd);
    if (got < 0)
        return fail(err, E_IO, "cannot read '%s/%s': %s", dir, file, strerror(errno));
    out[got] = 0;
    return 0;
}

/* A group with members cannot be removed. Those of other PID namespaces read as 0. */
static void kill_members(const char *dir)
{
    char text[4096], *at = text;

    if (cgroup_file_read(dir, "cgroup.procs", text, sizeof(text), NULL))
        return;
    while (*at) {
        char *end;
        long pid = strtol(at, &end, 10);

        if (end == at)
            return;
        if (pid > 1)
            kill((pid_t)pid, SIGKILL);
        at = end + strspn(end, "\n");
    }
}

void cgroup_dir_remove(const char *dir)
{
    struct timespec pause = { .tv_nsec = (long)NS_PER_MS };

    for (int i = 0; i < REMOVE_TRIES; i++) {
        if (rmdir(dir) == 0 || errno != EBUSY)
            return;
        kill_members(dir);
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    }
}
