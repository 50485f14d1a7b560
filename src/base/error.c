/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <stdarg.h>

static void record(struct error *err, int code, bool retriable, const char *format, va_list args)
{
    char text[sizeof(err->text)];

    if (!err)
        return;
    /* By way of a second buffer: the arguments may include the text that was there. */
    vsnprintf(text, sizeof(text), format, args);
    err->code = code;
    err->retriable = retriable;
    memcpy(err->text, text, strlen(text) + 1);
}

int fail(struct error *err, int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    record(err, code, false, format, args);
    va_end(args);
    return code;
}

int fail_retriable(struct error *err, int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    record(err, code, true, format, args);
    va_end(args);
    return code;
}

int fail_within(struct error *err, int code, const char *format, ...)
{
    char text[sizeof(err->text)];
    va_list args;
    size_t used, room;

    if (!err)
        return code;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    used = strlen(text);
    room = sizeof(text) - used;
    if (err->code == 0)
        err->code = code;
    else
        snprintf(text + used, room, ": %.*s", (int)room, err->text);
    memcpy(err->text, text, strlen(text) + 1);
    return err->code;
}

const char *error_name(int code)
{
    switch (code) {
#define X(name, value, text)                                                                       \
    case value:                                                                                    \
        return #name;
        ERROR_CODES(X)
#undef X
    }
    return "E_?";
}

const char *error_text(int code)
{
    switch (code) {
#define X(name, value, text)                                                                       \
    case value:                                                                                    \
        return text;
        ERROR_CODES(X)
#undef X
    }
    return "unknown error";
}

int error_exit_status(int code)
{
    switch (code) {
    case 0:
        return 0;
    case E_INVALID:
    case E_FORMAT:
    case E_NOT_FOUND:
    case E_EXISTS:
    case E_LIMIT:
    case E_UNSUPPORTED:
        return 2;
    case E_GOAL:
        return 3;
    case E_INTERRUPTED:
        return 130;
    default:
        return 4;
    }
}
