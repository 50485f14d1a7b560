/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and lines out of text that does not end in a zero byte, fast. */
#ifndef GUST_DATA_SCAN_H
#define GUST_DATA_SCAN_H

#include "base/buf.h"

/* A position in a text, and the end of its line or of itself. */
struct scan {
    const char *at, *end;
};

/* Lines of a text: returns false at the end; LINE excludes the newline and a carriage return. */
bool scan_line(struct scan *text, struct scan *line);

static inline void scan_blanks(struct scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t'))
        s->at++;
}

/* A whole number below 2^32 - 1 at the position, which moves behind it; false: none, or larger. */
bool scan_u32(struct scan *s, uint32_t *out);

/*
 * A decimal number at the position, which moves behind it. False: none, or it is "inf", "nan" or
 * too large for a float. Short decimals are exact; all are rounded as strtod() does.
 */
bool scan_f32(struct scan *s, float *out);

/* The next word, shortened for a message: OUT has 32 bytes. */
void scan_word(const struct scan *s, char *out);

#endif
