/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>

static _Atomic int current = LOG_WARN;

void log_set_level(enum log_level level)
{
    atomic_store_explicit(&current, level, memory_order_relaxed);
}

void log_line(enum log_level level, const char *format, ...)
{
    char line[1024];
    va_list args;

    if ((int)level > atomic_load_explicit(&current, memory_order_relaxed))
        return;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    /* One call, so that lines of several threads do not mix. */
    fprintf(stderr, "gust: %s\n", line);
}
