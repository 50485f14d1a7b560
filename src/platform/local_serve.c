/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/local_serve.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/log.h"
#include "platform/local_env.h"
#include "platform/local_message.h"

/* The client ends overstayers; this long after the limit the process does it by itself. */
#define GRACE_NS (250 * NS_PER_MS)

struct server {
    int socket;
    platform_entry_fn entry;
    struct heap heap;    /* what lives as long as the process */
    size_t mapped_bytes; /* what the program itself maps: little, unless a sanitizer is in it */
    struct env *env;
    struct buf in, out;
    int outside; /* not 0: it could not enter its control groups, for this reason */
    struct error why_outside;
};

/*
 * The socket to answer on when an allocation that cannot fail fails: heap_exhausted takes no
 * argument, and the process answers one invocation at a time.
 */
static int exhausted_socket = -1;

static uint64_t peak_resident(void)
{
    struct rusage usage;

    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * KIB : 0;
}

/* Private memory that is mapped, which is what RLIMIT_DATA counts. */
static size_t mapped_data(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");

    if (f && fscanf(f, "%*u %*u %*u %*u %*u %lu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void answer_exhausted(size_t size)
{
    static char room[2 * KIB]; /* there is no memory left to build the answer in */
    struct local_answer a = { .code = E_MEMORY, .peak_bytes = peak_resident() };
    struct heap none = { 0 };
    struct buf out = {
        .heap = &none, .data = room, .room = sizeof(room), .max_bytes = sizeof(room)
    };

    snprintf(a.words, sizeof(a.words), "out of memory for a block of %zu bytes", size);
    local_answer_encode(&a, &out);
    local_send(exhausted_socket, buf_slice(&out), NULL, 0, NULL);
    _exit(1);
}

static void take_over_process(int socket)
{
    struct rlimit no_core = { 0 };

    exhausted_socket = socket;
    heap_exhausted = answer_exhausted;
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_DFL);
    signal(SIGALRM, SIG_DFL);
    setrlimit(RLIMIT_CORE, &no_core);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* The client may have died before PR_SET_PDEATHSIG; then nothing will ever stop the function. */
static bool client_is_gone(int socket)
{
    struct pollfd p = { .fd = socket };

    return poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLERR));
}

static void arm_timer(uint64_t ns)
{
    struct itimerval t = { .it_value = { .tv_sec = (time_t)(ns / NS_PER_S),
                                         .tv_usec = (suseconds_t)(ns % NS_PER_S / NS_PER_US) } };

    setitimer(ITIMER_REAL, &t, NULL);
}

/* Go into the control groups whose membership files FDS are; failure is for the next answer. */
static void enter_groups(struct server *s, const int *fds, unsigned count)
{
    for (unsigned i = 0; i < count && !s->outside; i++)
        if (write(fds[i], "0", 1) != 1)
            s->outside = fail(&s->why_outside, E_IO,
                              "cannot enter the function's control group: %s", strerror(errno));
}

/*
 * RLIMIT_DATA and not RLIMIT_AS: the store's shared memory is mapped whole into every function
 * and is the client's, as it is with control groups.
 */
static int limit_data(const struct server *s, uint32_t memory_mb, struct error *err)
{
    struct rlimit data = { .rlim_cur = s->mapped_bytes + memory_mb * MIB,
                           .rlim_max = RLIM_INFINITY };

    if (setrlimit(RLIMIT_DATA, &data) == 0)
        return 0;
    return fail(err, E_IO, "cannot limit the function to %u MB: %s", memory_mb, strerror(errno));
}

static int call_entry(struct server *s, const struct local_invocation *i, int fd, struct error *err)
{
    struct heap heap;
    struct platform_call call = { .env = s->env,
                                  .heap = &heap,
                                  .payload = i->payload,
                                  .fd = fd,
                                  .memory_mb = i->memory_mb,
                                  .deadline = i->deadline };
    uint64_t now = env_now(s->env);
    int rc;

    heap_init(&heap, i->memory_mb * MIB);
    arm_timer((i->deadline > now ? i->deadline - now : 0) + GRACE_NS);
    rc = s->entry(&call, err);
    arm_timer(0);
    heap_release(&heap);
    /* A token that nobody took must not wake the next invocation. */
    env_park(s->env, 0);
    return rc;
}

static int answer(struct server *s, int code, const struct error *why)
{
    struct local_answer a = { .code = code,
                              .ended = env_now(s->env),
                              .peak_bytes = peak_resident() };

    if (code)
        snprintf(a.words, sizeof(a.words), "%s", why->text[0] ? why->text : error_text(code));
    buf_reset(&s->out);
    local_answer_encode(&a, &s->out);
    return local_send(s->socket, buf_slice(&s->out), NULL, 0, NULL);
}

/* Everything from an invocation to its answer. */
static int serve_invocation(struct server *s, const struct local_invocation *i, int fd)
{
    struct error err = s->why_outside;
    int rc = s->outside;

    if (!rc && i->limit_data)
        rc = limit_data(s, i->memory_mb, &err);
    if (!rc)
        rc = call_entry(s, i, fd, &err);
    rc = answer(s, MIN(rc, 0), &err);
    /* Idle processes give back what they can. */
    malloc_trim(0);
    return rc;
}

/* One message. 0, or why the process should end. */
static int serve_one(struct server *s, struct error *err)
{
    struct local_invocation i;
    int fds[LOCAL_FDS_MAX];
    unsigned count = 0;
    int rc = local_receive(s->socket, true, &s->in, fds, &count, err);

    if (rc)
        goto out;
    if (local_is_entry(buf_slice(&s->in))) {
        enter_groups(s, fds, count);
        goto out;
    }
    rc = local_invocation_decode(buf_slice(&s->in), &i, err);
    if (!rc && count != i.has_fd)
        rc = fail(err, E_FORMAT, "an invocation came with %u descriptors instead of %u", count,
                  i.has_fd);
    if (!rc)
        rc = serve_invocation(s, &i, i.has_fd ? fds[0] : -1);
out:
    while (count > 0)
        close(fds[--count]);
    return rc;
}

int local_serve(int socket, platform_entry_fn entry)
{
    struct server s = { .socket = socket, .entry = entry, .mapped_bytes = mapped_data() };
    struct error err = { 0 };
    int rc;

    take_over_process(socket);
    if (client_is_gone(socket))
        return 0;
    heap_init(&s.heap, 0);
    s.env = local_env_new(&s.heap);
    buf_init(&s.in, &s.heap, LOCAL_MESSAGE_MAX + 1);
    buf_init(&s.out, &s.heap, LOCAL_MESSAGE_MAX);
    do
        rc = serve_one(&s, &err);
    while (!rc);
    if (rc != E_CLOSED)
        log_warn("a function's process ends: %s", err.text);
    local_env_free(s.env);
    heap_release(&s.heap);
    return rc == E_CLOSED ? 0 : 1;
}

bool local_serve_has_client(int socket)
{
    int type = 0;
    socklen_t size = sizeof(type);

    return getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}
