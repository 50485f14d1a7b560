/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/text.h"

#include <inttypes.h>

struct text text_count(uint64_t n)
{
    char digits[24];
    struct text t;
    size_t at = 0;
    int count = snprintf(digits, sizeof(digits), "%" PRIu64, n);

    for (int i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0)
            t.s[at++] = ',';
        t.s[at++] = digits[i];
    }
    t.s[at] = 0;
    return t;
}

/* Three digits of N in the largest of UNITS (each 1000 of the one before) that it reaches. */
static struct text scaled(double n, const char *const *units, unsigned count)
{
    unsigned unit = 0;
    struct text t;

    while (unit + 1 < count && n >= 999.5) {
        n /= 1000;
        unit++;
    }
    snprintf(t.s, sizeof(t.s), "%.*f%s%s", n >= 99.95 || (unit == 0 && n == floor(n)) ? 0 : 1, n,
             units[unit][0] ? " " : "", units[unit]);
    return t;
}

struct text text_short(double n)
{
    static const char *const units[] = { "", "k", "M", "G" };

    return scaled(n, units, ARRAY_SIZE(units));
}

struct text text_bytes(double bytes)
{
    static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };

    return scaled(bytes, units, ARRAY_SIZE(units));
}

struct text text_seconds(double seconds)
{
    struct text t;

    if (seconds < 1e-3)
        snprintf(t.s, sizeof(t.s), "%.0f us", seconds * 1e6);
    else if (seconds < 0.1)
        snprintf(t.s, sizeof(t.s), "%.1f ms", seconds * 1e3);
    else if (seconds < 1)
        snprintf(t.s, sizeof(t.s), "%.0f ms", seconds * 1e3);
    else
        snprintf(t.s, sizeof(t.s), "%.2f s", seconds);
    return t;
}

struct text text_usd(double usd)
{
    struct text t;

    snprintf(t.s, sizeof(t.s), usd < 0.01 ? "$%.6f" : "$%.4f", usd);
    return t;
}
