/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/local_message.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/wire.h"

#define ENTRY_MAGIC      0x31455347u /* "GSE1" */
#define INVOCATION_MAGIC 0x31495347u /* "GSI1" */
#define ANSWER_MAGIC     0x31415347u /* "GSA1" */

enum { FLAG_HAS_FD = 1, FLAG_LIMIT_DATA = 2, FLAGS_ALL = 3 };

/* The checksum covers everything from byte START of OUT. */
static void seal(struct buf *out, size_t start)
{
    if (!out->failed)
        wire_put_u32(out, crc32c(0, out->data + start, out->size - start));
}

/* Check kind and sum, and start reading after them. */
static bool unseal(struct slice message, uint32_t magic, struct wire_reader *r)
{
    const unsigned char *bytes = message.data;
    struct wire_reader tail;

    if (message.size < 8)
        return false;
    wire_read(&tail, slice(bytes + message.size - 4, 4));
    if (wire_u32(&tail) != crc32c(0, bytes, message.size - 4))
        return false;
    wire_read(r, slice(bytes, message.size - 4));
    return wire_u32(r) == magic;
}

void local_entry_encode(struct buf *out)
{
    size_t start = out->size;

    wire_put_u32(out, ENTRY_MAGIC);
    seal(out, start);
}

bool local_is_entry(struct slice message)
{
    struct wire_reader r;

    return unseal(message, ENTRY_MAGIC, &r) && wire_done(&r);
}

void local_invocation_encode(const struct local_invocation *i, struct buf *out)
{
    size_t start = out->size;

    wire_put_u32(out, INVOCATION_MAGIC);
    wire_put_u32(out, i->memory_mb);
    wire_put_u32(out, (i->has_fd ? FLAG_HAS_FD : 0u) | (i->limit_data ? FLAG_LIMIT_DATA : 0u));
    wire_put_u64(out, i->deadline);
    wire_put_bytes(out, i->payload);
    seal(out, start);
}

int local_invocation_decode(struct slice message, struct local_invocation *out, struct error *err)
{
    struct local_invocation i = { 0 };
    struct wire_reader r;
    uint32_t flags;

    if (!unseal(message, INVOCATION_MAGIC, &r))
        return fail(err, E_FORMAT, "a message of %zu bytes is not an invocation", message.size);
    i.memory_mb = wire_u32(&r);
    flags = wire_u32(&r);
    i.has_fd = flags & FLAG_HAS_FD;
    i.limit_data = flags & FLAG_LIMIT_DATA;
    i.deadline = wire_u64(&r);
    i.payload = wire_bytes(&r, PLATFORM_PAYLOAD_MAX);
    if (!wire_done(&r) || i.memory_mb == 0 || (flags & ~(uint32_t)FLAGS_ALL))
        return fail(err, E_FORMAT, "an invocation of %zu bytes is malformed", message.size);
    *out = i;
    return 0;
}

void local_answer_encode(const struct local_answer *a, struct buf *out)
{
    size_t start = out->size;

    wire_put_u32(out, ANSWER_MAGIC);
    wire_put_u32(out, (uint32_t)a->code);
    wire_put_u64(out, a->ended);
    wire_put_u64(out, a->peak_bytes);
    wire_put_bytes(out, slice(a->words, strnlen(a->words, sizeof(a->words) - 1)));
    seal(out, start);
}

int local_answer_decode(struct slice message, struct local_answer *out, struct error *err)
{
    struct wire_reader r;
    struct slice words;

    if (!unseal(message, ANSWER_MAGIC, &r))
        return fail(err, E_FORMAT, "a message of %zu bytes is not an answer", message.size);
    *out = (struct local_answer){ .code = (int)wire_u32(&r) };
    out->ended = wire_u64(&r);
    out->peak_bytes = wire_u64(&r);
    words = wire_bytes(&r, sizeof(out->words) - 1);
    if (!wire_done(&r) || out->code > 0)
        return fail(err, E_FORMAT, "an answer of %zu bytes is malformed", message.size);
    if (words.size)
        memcpy(out->words, words.data, words.size);
    return 0;
}

int local_send(int socket, struct slice message, const int *fds, unsigned count, struct error *err)
{
    struct iovec iov = { .iov_base = (void *)(uintptr_t)message.data, .iov_len = message.size };
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * LOCAL_FDS_MAX)] = { 0 };
    struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
    ssize_t sent;

    if (count) {
        struct cmsghdr *c = (struct cmsghdr *)(void *)control;

        m.msg_control = control;
        m.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(c), fds, sizeof(int) * count);
    }
    do
        sent = sendmsg(socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    if (sent == (ssize_t)message.size)
        return 0;
    if (sent < 0 && (errno == EPIPE || errno == ECONNRESET))
        return fail(err, E_CLOSED, "the other side of a function's socket is gone");
    return fail(err, E_IO, "cannot send %zu bytes to a function: %s", message.size,
                strerror(errno));
}

/* Keep the descriptors that came with M; close those beyond what fits. */
static unsigned take_fds(struct msghdr *m, int fds[LOCAL_FDS_MAX])
{
    unsigned count = 0;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < n; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
            if (count < LOCAL_FDS_MAX)
                fds[count++] = fd;
            else
                close(fd);
        }
    }
    return count;
}

int local_receive(int socket, bool wait, struct buf *out, int fds[LOCAL_FDS_MAX], unsigned *count,
                  struct error *err)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * LOCAL_FDS_MAX)];
    struct msghdr m = { .msg_iovlen = 1, .msg_control = control };
    struct iovec iov = { .iov_len = LOCAL_MESSAGE_MAX };
    ssize_t got;

    *count = 0;
    buf_reset(out);
    iov.iov_base = buf_extend(out, LOCAL_MESSAGE_MAX);
    if (!iov.iov_base)
        return fail(err, E_MEMORY, "no memory to receive a message of a function");
    m.msg_iov = &iov;
    m.msg_controllen = sizeof(control);
    do
        got = recvmsg(socket, &m, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
    while (got < 0 && errno == EINTR);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return fail_retriable(err, E_TIMEOUT, "nothing to receive from a function yet");
    if (got == 0 || (got < 0 && errno == ECONNRESET))
        return fail(err, E_CLOSED, "the other side of a function's socket is gone");
    if (got < 0)
        return fail(err, E_IO, "cannot receive from a function: %s", strerror(errno));
    *count = take_fds(&m, fds);
    out->size = (size_t)got;
    if (m.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
        return fail(err, E_FORMAT, "a message of a function is longer than %d bytes",
                    LOCAL_MESSAGE_MAX);
    return 0;
}
