/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/local_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/local_serve.h"

extern char **environ;

/*
 * The process gets nothing but its socket and standard error: no terminal to read from, no
 * standard output to mix with the client's, no other descriptor of the client.
 */
static int describe_files(posix_spawn_file_actions_t *files, int socket)
{
    int rc = posix_spawn_file_actions_adddup2(files, socket, LOCAL_SERVE_FD);

    if (!rc)
        rc = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!rc && fcntl(STDERR_FILENO, F_GETFD) < 0)
        rc = posix_spawn_file_actions_addopen(files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (!rc)
        rc = posix_spawn_file_actions_adddup2(files, STDERR_FILENO, STDOUT_FILENO);
    if (!rc)
        rc = posix_spawn_file_actions_addclosefrom_np(files, LOCAL_SERVE_FD + 1);
    return rc;
}

/* Default signals, none blocked, and a process group of its own so that Ctrl-C is the client's. */
static int describe_attributes(posix_spawnattr_t *attr)
{
    sigset_t all, none;
    int rc;

    sigfillset(&all);
    sigemptyset(&none);
    rc = posix_spawnattr_setsigdefault(attr, &all);
    if (!rc)
        rc = posix_spawnattr_setsigmask(attr, &none);
    if (!rc)
        rc = posix_spawnattr_setpgroup(attr, 0);
    if (!rc)
        rc = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                                POSIX_SPAWN_SETPGROUP);
    return rc;
}

/* posix_spawn lends the child its memory until exec: the client's size does not matter. */
static int spawn(const struct local_spawn *s, int socket, pid_t *pid, struct error *err)
{
    char *argv[] = { (char *)(uintptr_t)s->path, (char *)(uintptr_t)s->arg, NULL };
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    int rc;

    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    rc = describe_files(&files, socket);
    if (!rc)
        rc = describe_attributes(&attr);
    if (!rc)
        rc = posix_spawn(pid, s->path, &files, &attr, argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    if (rc == EAGAIN || rc == ENOMEM)
        return fail_retriable(err, E_FULL, "cannot start a process of '%s': %s", s->path,
                              strerror(rc));
    return rc ? fail(err, E_IO, "cannot start '%s': %s", s->path, strerror(rc)) : 0;
}

/*
 * The process enters its group by itself: the kernel makes the first move wait many milliseconds,
 * which processes starting together spend at the same time.
 */
static int send_entry(const struct local_process *p, struct buf *scratch, struct error *err)
{
    int fds[LOCAL_FDS_MAX];
    unsigned count = 0;
    int rc = cgroup_open_members(&p->cgroup, fds, &count, err);

    if (!rc && count) {
        buf_reset(scratch);
        local_entry_encode(scratch);
        rc = local_send(p->socket, buf_slice(scratch), fds, count, err);
    }
    while (count > 0)
        close(fds[--count]);
    return rc;
}

int local_process_spawn(struct local_process *p, const struct local_spawn *s, struct buf *scratch,
                        struct error *err)
{
    struct local_process made = { 0 };
    int pair[2];
    int rc;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return fail(err, E_IO, "cannot make a socket pair for a function: %s", strerror(errno));
    made.socket = pair[0];
    rc = cgroup_new(&made.cgroup, s->cgroups, s->number, err);
    /* The socket keeps the message until the process is there to read it. */
    if (!rc)
        rc = send_entry(&made, scratch, err);
    if (!rc)
        rc = spawn(s, pair[1], &made.pid, err);
    close(pair[1]);
    if (rc)
        local_process_release(&made);
    else
        *p = made;
    return rc;
}

int local_process_invoke(struct local_process *p, const struct platform_start *start, double vcpus,
                         struct buf *scratch, struct error *err)
{
    struct local_invocation i = { .memory_mb = start->memory_mb,
                                  .has_fd = start->fd >= 0,
                                  .limit_data = p->cgroup.parent->memory == CGROUP_NONE,
                                  .deadline = p->deadline,
                                  .payload = start->payload };
    int rc;

    if (p->memory_mb == 0) {
        rc = cgroup_limit(&p->cgroup, start->memory_mb * MIB, vcpus, err);
        if (rc)
            return rc;
        p->memory_mb = start->memory_mb;
    }
    buf_reset(scratch);
    local_invocation_encode(&i, scratch);
    if (scratch->failed)
        return fail(err, E_MEMORY, "no memory for an invocation");
    return local_send(p->socket, buf_slice(scratch), &start->fd, i.has_fd, err);
}

void local_process_kill(struct local_process *p)
{
    if (!p->gone)
        kill(p->pid, SIGKILL);
    p->gone = true;
}

bool local_process_reap(struct local_process *p, bool wait, int *status, uint64_t *peak_bytes)
{
    struct rusage usage = { 0 };
    pid_t rc;

    do
        rc = wait4(p->pid, status, wait ? 0 : WNOHANG, &usage);
    while (rc < 0 && errno == EINTR);
    if (rc == 0)
        return false;
    /* Somebody else in this program collected it, or asked for none to be kept. */
    if (rc < 0)
        *status = -1;
    *peak_bytes = (uint64_t)usage.ru_maxrss * KIB;
    return true;
}

static void explain_status(const struct local_process *p, int status, struct platform_exit *out)
{
    char *words = out->words;
    size_t size = sizeof(out->words);

    out->reason = PLATFORM_CRASHED;
    if (p->garbled)
        snprintf(words, size, "it sent a message that is no answer");
    else if (status == -1)
        snprintf(words, size, "it ended, and its exit status was lost");
    else if (WIFEXITED(status))
        snprintf(words, size, "it left with exit status %d without an answer", WEXITSTATUS(status));
    else if (WTERMSIG(status) == SIGALRM)
        out->reason = PLATFORM_TIME;
    else {
        out->code = WTERMSIG(status);
        snprintf(words, size, "killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    }
}

void local_process_explain(const struct local_process *p, int status, struct platform_exit *out)
{
    if (cgroup_oom_kills(&p->cgroup) > 0)
        out->reason = PLATFORM_MEMORY;
    else if (p->killed)
        out->reason = p->killed_for;
    else
        explain_status(p, status, out);
    if (out->reason == PLATFORM_MEMORY)
        snprintf(out->words, sizeof(out->words), "it needed more than its %u MB of memory",
                 p->memory_mb);
    else if (out->reason == PLATFORM_TIME)
        snprintf(out->words, sizeof(out->words), "it ran into its time limit of %llu ms",
                 (unsigned long long)p->timeout_ms);
    else if (out->reason == PLATFORM_STOPPED)
        snprintf(out->words, sizeof(out->words), "it was stopped");
}

void local_process_release(struct local_process *p)
{
    close(p->socket);
    cgroup_remove(&p->cgroup);
}
