/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Diagnostics for a person, on standard error. Library code reports failures through struct
 * error; this is for what happened although nothing failed. The level is one of the two
 * globals of the program (the other is the interrupt flag).
 */
#ifndef GUST_BASE_LOG_H
#define GUST_BASE_LOG_H

#include "base/util.h"

enum log_level { LOG_QUIET, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Set once at the start; LOG_WARN until then. */
void log_set_level(enum log_level level);

/* One line "gust: ..." if LEVEL is on. Any thread may call it. */
void log_line(enum log_level level, const char *format, ...) PRINTF(2, 3);

#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)

#endif
