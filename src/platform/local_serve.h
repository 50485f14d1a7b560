/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a local function's process: answers one invocation after the other. */
#ifndef GUST_PLATFORM_LOCAL_SERVE_H
#define GUST_PLATFORM_LOCAL_SERVE_H

#include "platform/platform.h"

/* The descriptor on which the platform hands a process its socket. */
#define LOCAL_SERVE_FD 3

/*
 * Serve invocations from SOCKET until the client closes it, calling ENTRY for each with an
 * environment and an empty heap of its own. Takes over the process: it dies with the thread that
 * started it, ignores SIGINT (Ctrl-C is the client's to decide on), and ends by SIGALRM when an
 * invocation overstays its time limit and the client did not end it. Returns an exit status:
 * 0 when the client closed the socket, 1 after a message that it does not understand.
 */
int local_serve(int socket, platform_entry_fn entry);

/* Whether SOCKET is a socket to serve, rather than that somebody started the program by hand. */
bool local_serve_has_client(int socket);

#endif
