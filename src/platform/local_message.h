/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the local platform and its function processes say to one another, each message one
 * packet of a SOCK_SEQPACKET pair, little-endian, with a checksum at the end:
 *
 *   entry        client to process, once and first: go into these control groups, whose
 *                membership files come as descriptors
 *   invocation   client to process, with the function's own descriptor if it has one
 *   answer       process to client, when the entry point returned
 *
 * Both sides treat the other's bytes as untrusted: lengths are bounded and checked.
 */
#ifndef GUST_PLATFORM_LOCAL_MESSAGE_H
#define GUST_PLATFORM_LOCAL_MESSAGE_H

#include "platform/platform.h"

/* Most descriptors beside one message: two hierarchies of control groups. */
#define LOCAL_FDS_MAX 2
/* Longer packets are refused unread. */
#define LOCAL_MESSAGE_MAX (PLATFORM_PAYLOAD_MAX + 256)

struct local_invocation {
    uint32_t memory_mb;
    bool has_fd;          /* a descriptor comes with it */
    bool limit_data;      /* no control group: bound the process's own memory instead */
    uint64_t deadline;    /* CLOCK_MONOTONIC, in nanoseconds */
    struct slice payload; /* borrowed from the message when decoded */
};

struct local_answer {
    int code;            /* what the entry point returned: 0 or an error code */
    uint64_t ended;      /* CLOCK_MONOTONIC, in nanoseconds */
    uint64_t peak_bytes; /* the process's highest resident memory */
    char words[PLATFORM_WORDS_MAX];
};

/* Append to OUT. */
void local_entry_encode(struct buf *out);
void local_invocation_encode(const struct local_invocation *i, struct buf *out);
void local_answer_encode(const struct local_answer *a, struct buf *out);

/* Whether MESSAGE is a well-formed entry. */
bool local_is_entry(struct slice message);

/* E_FORMAT unless MESSAGE is exactly one well-formed message of that kind. */
int local_invocation_decode(struct slice message, struct local_invocation *out, struct error *err);
int local_answer_decode(struct slice message, struct local_answer *out, struct error *err);

/*
 * Send MESSAGE with COUNT descriptors without waiting. E_CLOSED when the other side is gone,
 * E_IO otherwise. Raises no SIGPIPE.
 */
int local_send(int socket, struct slice message, const int *fds, unsigned count, struct error *err);

/*
 * Receive one message into OUT (reset first) and its descriptors into FDS, with
 * close-on-exec; the caller closes the *COUNT of them. 0; E_TIMEOUT when WAIT is false and
 * nothing is there; E_CLOSED at the end; E_FORMAT for a packet that is too long or has too
 * many descriptors.
 */
int local_receive(int socket, bool wait, struct buf *out, int fds[LOCAL_FDS_MAX], unsigned *count,
                  struct error *err);

#endif
