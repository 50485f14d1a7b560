/* SPDX-License-Identifier: Apache-2.0 */
/* Scanning numbers. The common short decimals take a few nanoseconds; the others go to strtod(). */
#include "data/scan.h"

#define NUMBER_MAX 64

bool scan_line(struct scan *text, struct scan *line)
{
    const char *stop;

    if (text->at >= text->end)
        return false;
    stop = memchr(text->at, '\n', (size_t)(text->end - text->at));
    line->at = text->at;
    line->end = stop ? stop : text->end;
    text->at = stop ? stop + 1 : text->end;
    if (line->end > line->at && line->end[-1] == '\r')
        line->end--;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool scan_u32(struct scan *s, uint32_t *out)
{
    const char *p = s->at;
    uint64_t v = 0;

    while (p < s->end && is_digit(*p) && v < UINT32_MAX)
        v = 10 * v + (uint64_t)(*p++ - '0');
    if (p == s->at || v >= UINT32_MAX || (p < s->end && is_digit(*p)))
        return false;
    *out = (uint32_t)v;
    s->at = p;
    return true;
}

/* Everything that strtod() may have to see. */
static const char *number_end(const struct scan *s)
{
    const char *p = s->at;

    while (p < s->end &&
           (is_digit(*p) || *p == '.' || *p == '-' || *p == '+' || *p == 'e' || *p == 'E'))
        p++;
    return p;
}

static bool scan_slowly(struct scan *s, float *out)
{
    const char *stop = number_end(s);
    size_t size = (size_t)(stop - s->at);
    char copy[NUMBER_MAX], *end;
    float v;

    if (size == 0 || size >= sizeof(copy))
        return false;
    memcpy(copy, s->at, size);
    copy[size] = 0;
    v = (float)strtod(copy, &end);
    if (end == copy || *end || !isfinite(v))
        return false;
    s->at = stop;
    *out = v;
    return true;
}

bool scan_f32(struct scan *s, float *out)
{
    static const double power[] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9 };
    const char *p = s->at;
    bool minus = p < s->end && *p == '-';
    unsigned digits = 0, places = 0;
    uint64_t v = 0;

    if (p < s->end && (*p == '-' || *p == '+'))
        p++;
    for (; p < s->end && is_digit(*p); p++, digits++)
        v = 10 * v + (uint64_t)(*p - '0');
    if (p < s->end && *p == '.')
        for (p++; p < s->end && is_digit(*p); p++, digits++, places++)
            v = 10 * v + (uint64_t)(*p - '0');
    /* Both numbers are exact doubles, so that their quotient is rounded once, as by strtod(). */
    if (digits == 0 || digits > 15 || places >= ARRAY_SIZE(power) ||
        (p < s->end && (*p == 'e' || *p == 'E')))
        return scan_slowly(s, out);
    s->at = p;
    *out = (float)((minus ? -1.0 : 1.0) * (places ? (double)v / power[places] : (double)v));
    return true;
}

void scan_word(const struct scan *s, char *out)
{
    size_t n = 0;

    while (s->at + n < s->end && n < 24 && s->at[n] != ' ' && s->at[n] != '\t')
        n++;
    for (size_t i = 0; i < n; i++)
        out[i] = s->at[i] >= 32 && s->at[i] < 127 ? s->at[i] : '?';
    out[n] = 0;
    if (n == 24)
        snprintf(out + n, 4, "...");
}
