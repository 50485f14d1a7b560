/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON into a buffer: summaries, events and benchmark results. Reading is elsewhere. */
#ifndef GUST_BASE_JSON_H
#define GUST_BASE_JSON_H

#include "base/buf.h"

#define JSON_MAX_DEPTH 16

/*
 * A writer puts the commas. Calls nest as the text does: json_open(w, NULL, '{') ...
 * json_close(w). KEY is NULL inside arrays and at the top.
 */
struct json {
    struct buf *out;
    unsigned depth;
    char closing[JSON_MAX_DEPTH]; /* '}' or ']' per open level */
    bool filled[JSON_MAX_DEPTH];  /* something was written at that level */
};

void json_init(struct json *w, struct buf *out);
/* KIND is '{' or '['. */
void json_open(struct json *w, const char *key, char kind);
void json_close(struct json *w);
/* Bytes that are not UTF-8 become U+FFFD. */
void json_str(struct json *w, const char *key, const char *value);
void json_u64(struct json *w, const char *key, uint64_t value);
/* Shortest text that reads back as the same double; null for NaN and infinities. */
void json_f64(struct json *w, const char *key, double value);
void json_bool(struct json *w, const char *key, bool value);

#endif
