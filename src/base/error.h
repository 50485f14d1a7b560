/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors: a negative code that the caller can act on and a sentence that a person can.
 * Functions that can fail return 0 or one of these codes; those that touch the outside
 * also take a struct error, which may be NULL and is written only on failure.
 */
#ifndef GUST_BASE_ERROR_H
#define GUST_BASE_ERROR_H

#include <stdbool.h>

#include "base/util.h"

/* name, value, text. The values are stable: workers send them to the client. */
#define ERROR_CODES(X)                                                                             \
    X(E_INVALID, -1, "invalid argument or setting")                                                \
    X(E_FORMAT, -2, "malformed or damaged data")                                                   \
    X(E_NOT_FOUND, -3, "not found")                                                                \
    X(E_EXISTS, -4, "already exists")                                                              \
    X(E_IO, -5, "input or output failed")                                                          \
    X(E_MEMORY, -6, "out of memory")                                                               \
    X(E_TIMEOUT, -7, "timed out")                                                                  \
    X(E_CHANGED, -8, "changed meanwhile")                                                          \
    X(E_FULL, -9, "no room left")                                                                  \
    X(E_LIMIT, -10, "over a limit")                                                                \
    X(E_UNSUPPORTED, -11, "not supported here")                                                    \
    X(E_CLOSED, -12, "the other side is gone")                                                     \
    X(E_MISMATCH, -13, "two things that must agree do not")                                        \
    X(E_INTERRUPTED, -14, "interrupted")                                                           \
    X(E_FAILED, -15, "a function failed")                                                          \
    X(E_GOAL, -16, "the goal was not met")

enum error_code {
#define X(name, value, text) name = value,
    ERROR_CODES(X)
#undef X
};

struct error {
    int code;       /* one of enum error_code; 0 while nothing failed */
    bool retriable; /* the same call may succeed later */
    char text[508]; /* a whole sentence without a full stop, for a person */
};

/*
 * Record a failure and return CODE, so that `return fail(err, E_IO, "...")` is all a
 * function needs. ERR may be NULL; its old text may be among the arguments.
 */
int fail(struct error *err, int code, const char *format, ...) PRINTF(3, 4);

/* As fail(), marking the failure as worth a retry. */
int fail_retriable(struct error *err, int code, const char *format, ...) PRINTF(3, 4);

/*
 * Put context before the text that ERR already holds ("cannot read job: <what was there>").
 * Returns the code that ERR holds, or CODE when ERR is NULL or holds none yet. ERR must have
 * been zeroed or written by fail().
 */
int fail_within(struct error *err, int code, const char *format, ...) PRINTF(3, 4);

/* "E_IO" for -5, and "E_?" for anything that is not in the list. Static storage. */
const char *error_name(int code);

/* "input or output failed" for -5. Static storage. */
const char *error_text(int code);

/*
 * The exit status for a person at a terminal: 0 done, 2 bad usage, job or data, 3 goal not
 * met, 4 platform, store or machine failed, 130 interrupted.
 */
int error_exit_status(int code);

#endif
