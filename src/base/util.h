/* SPDX-License-Identifier: Apache-2.0 */
/* Small macros that every layer uses; nothing here has state. */
#ifndef GUST_BASE_UTIL_H
#define GUST_BASE_UTIL_H

#include <stddef.h>
#include <stdint.h>

#include "base/banned.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

#define CACHE_LINE 64
#define KIB        ((size_t)1024)
#define MIB        (1024 * KIB)

#define NS_PER_US 1000ull
#define NS_PER_MS 1000000ull
#define NS_PER_S  1000000000ull

#define UNUSED       __attribute__((unused))
#define PRINTF(f, a) __attribute__((format(printf, f, a)))

/* N rounded up to a multiple of UNIT, a power of two. */
static inline size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) & ~(unit - 1);
}

#endif
