/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <stdarg.h>

static void record(struct error *err, int code, bool retriable, const char *format, va_list args)
{
    if (!err)
        return;
    err->code = code;
    err->retriable = retriable;
    vsnprintf(err->text, sizeof(err->text), format, args);
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
    char inner[sizeof(err->text)];
    va_list args;
    size_t used;

    if (!err)
        return code;
    memcpy(inner, err->text, sizeof(inner));
    va_start(args, format);
    vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    used = strlen(err->text);
    snprintf(err->text + used, sizeof(err->text) - used, ": %s", inner);
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
