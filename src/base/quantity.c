/* SPDX-License-Identifier: Apache-2.0 */
#include "base/quantity.h"

#include "base/props.h"

/* Past this, not every whole number is a double. */
#define WHOLE_MAX 9007199254740992.0

struct unit {
    const char *name;
    double worth;
};

static const struct unit count_units[] = { { "k", 1e3 }, { "M", 1e6 }, { "G", 1e9 } };

static const struct unit duration_units[] = {
    { "ms", 1e-3 }, { "min", 60 }, { "s", 1 }, { "m", 60 }, { "h", 3600 }, { "d", 86400 },
};

static const struct unit size_units[] = {
    { "kB", 1024.0 },   { "KB", 1024.0 },     { "KiB", 1024.0 },     { "MB", 1048576.0 },
    { "MiB", 1048576 }, { "GB", 1073741824 }, { "GiB", 1073741824 }, { "B", 1 },
};

/*
 * A number in plain decimal digits at *AT, which is moved behind it. strtod() alone would also
 * take signs, hexadecimal digits and words such as "inf".
 */
static bool take_number(const char **at, double *out)
{
    size_t digits = strspn(*at, "0123456789"), size = digits;
    char text[32];

    if ((*at)[size] == '.') {
        size_t more = strspn(*at + size + 1, "0123456789");

        size += 1 + more;
        digits += more;
    }
    if (digits == 0 || size >= sizeof(text))
        return false;
    snprintf(text, sizeof(text), "%.*s", (int)size, *at);
    *out = strtod(text, NULL);
    *at += size;
    return true;
}

/* The unit that *AT begins with, which is moved behind it; NULL: none of them. */
static const struct unit *take_unit(const char **at, const struct unit *units, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(units[i].name);

        if (strncmp(*at, units[i].name, size) == 0) {
            *at += size;
            return &units[i];
        }
    }
    return NULL;
}

bool quantity_count(const char *text, uint64_t *out)
{
    const struct unit *unit = NULL;
    const char *at = text;
    double v;

    if (parse_u64(text, out))
        return true;
    if (take_number(&at, &v)) {
        unit = take_unit(&at, count_units, ARRAY_SIZE(count_units));
        v *= unit ? unit->worth : 1;
    }
    /* Not of that form: perhaps as 1e6. */
    if (!unit && (!parse_f64(text, &v) || strpbrk(text, "xX")))
        return false;
    if (unit && *at)
        return false;
    if (!(v >= 0 && v <= WHOLE_MAX) || v != floor(v))
        return false;
    *out = (uint64_t)v;
    return true;
}

bool quantity_duration(const char *text, double *out_s)
{
    double sum = 0, last = INFINITY, v;
    const char *at = text;

    do {
        const struct unit *unit;

        if (!take_number(&at, &v))
            return false;
        if (*at == ' ')
            at++;
        unit = take_unit(&at, duration_units, ARRAY_SIZE(duration_units));
        if (!unit && (*at || sum > 0 || last < INFINITY))
            return false;
        /* Units fall from left to right: "30m2h" is a slip of the pen. */
        if (unit && unit->worth >= last)
            return false;
        last = unit ? unit->worth : 0;
        sum += v * (unit ? unit->worth : 1);
    } while (*at);
    *out_s = sum;
    return true;
}

bool quantity_size(const char *text, double unit_bytes, double *out_bytes)
{
    const struct unit *unit = NULL;
    const char *at = text;
    double v;

    if (!take_number(&at, &v))
        return false;
    if (*at == ' ')
        at++;
    if (*at) {
        unit = take_unit(&at, size_units, ARRAY_SIZE(size_units));
        if (!unit || *at)
            return false;
    }
    *out_bytes = v * (unit ? unit->worth : unit_bytes);
    return true;
}

bool quantity_money(const char *text, double *out_usd)
{
    const char *at = text + (text[0] == '$');
    double v;

    if (!take_number(&at, &v))
        return false;
    if (*at && (text[0] == '$' || (strcmp(at, " USD") != 0 && strcmp(at, "USD") != 0)))
        return false;
    *out_usd = v;
    return true;
}

void quantity_write_duration(double seconds, char out[QUANTITY_TEXT_MAX])
{
    static const struct unit whole[] = { { "h", 3600 }, { "m", 60 } };
    size_t used = 0;
    double left = seconds;

    if (seconds < 1 && seconds > 0) {
        snprintf(out, QUANTITY_TEXT_MAX, "%.6gms", seconds * 1e3);
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(whole); i++) {
        double n = floor(left / whole[i].worth);

        if (n > 0)
            used +=
                (size_t)snprintf(out + used, QUANTITY_TEXT_MAX - used, "%.0f%s", n, whole[i].name);
        left -= n * whole[i].worth;
    }
    if (left > 0 || used == 0)
        snprintf(out + used, QUANTITY_TEXT_MAX - used, "%.6gs", left);
}

void quantity_write_size(double bytes, char out[QUANTITY_TEXT_MAX])
{
    if (bytes >= 1048576)
        snprintf(out, QUANTITY_TEXT_MAX, "%.10gMB", bytes / 1048576);
    else if (bytes >= 1024)
        snprintf(out, QUANTITY_TEXT_MAX, "%.10gkB", bytes / 1024);
    else
        snprintf(out, QUANTITY_TEXT_MAX, "%.0fB", bytes);
}

void quantity_write_money(double usd, char out[QUANTITY_TEXT_MAX])
{
    if (usd * 100 == floor(usd * 100))
        snprintf(out, QUANTITY_TEXT_MAX, "$%.2f", usd);
    else
        snprintf(out, QUANTITY_TEXT_MAX, "$%.6g", usd);
}
