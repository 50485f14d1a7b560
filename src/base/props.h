/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flat settings as text, one `key: value` per line. A '#' at the start of a line or after a
 * blank begins a comment. A value that begins with a double quote ends with one, and \", \\,
 * \n and \xNN in it stand for a quote, a backslash, a newline and a byte.
 *
 * What job descriptions, invocation payloads, data manifests and price lists are written in
 * once they are inside Gust. Keys are unique; their order is kept.
 */
#ifndef GUST_BASE_PROPS_H
#define GUST_BASE_PROPS_H

#include "base/buf.h"

#define PROPS_MAX_BYTES ((size_t)1 << 20)
/* Most settings that are read; look-ups are linear. */
#define PROPS_MAX_ITEMS 16384u

struct props_item {
    const char *key;
    const char *value; /* without surrounding blanks */
    unsigned line;     /* 1 for the first line; 0 when set by the program */
};

struct props {
    struct heap *heap;
    struct props_item *items;
    unsigned count, room;
};

void props_init(struct props *p, struct heap *heap);
void props_release(struct props *p);

/*
 * Add every line of TEXT. E_FORMAT, naming the line and adding nothing, for a line without a
 * colon, an empty or repeated key, a malformed quoted value, a byte below 32 other than tab
 * (and the line's end: newline, or carriage return and newline), or too many bytes or settings.
 */
int props_parse(struct props *p, struct slice text, struct error *err);

/*
 * Set or replace. KEY and VALUE are copied. VALUE may be any text; KEY, which the program
 * chooses, is one that can stand before a colon.
 */
void props_set(struct props *p, const char *key, const char *value);
void props_setf(struct props *p, const char *key, const char *format, ...) PRINTF(3, 4);

/* Set from "key=value", as people write it on a command line. E_INVALID. */
int props_assign(struct props *p, const char *assignment, struct error *err);

/* NULL when absent. Borrowed until the next change. */
const char *props_find(const struct props *p, const char *key);

/* The whole list as text that props_parse() reads back. */
void props_write(const struct props *p, struct buf *out);

/*
 * Typed look-ups. When KEY is absent they store FALLBACK and return 0; a value that does not
 * parse or is outside MIN..MAX is E_INVALID with a sentence that names key, value and range.
 */
int props_u64(const struct props *p, const char *key, uint64_t fallback, uint64_t min, uint64_t max,
              uint64_t *out, struct error *err);
int props_f64(const struct props *p, const char *key, double fallback, double min, double max,
              double *out, struct error *err);
/* The value or FALLBACK. */
const char *props_str(const struct props *p, const char *key, const char *fallback);

/* Whole-string conversions; false when TEXT is anything but one number. */
bool parse_u64(const char *text, uint64_t *out);
bool parse_f64(const char *text, double *out);

#endif
