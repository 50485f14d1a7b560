/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading JSON from memory, without a tree: the caller walks through the text in the order that
 * it expects. Strict as RFC 8259, but for bytes above 127, which pass as they are, and \u0000,
 * which no string here can hold.
 *
 *   json_enter(r, '{');
 *   while ((key = json_next_key(r)))
 *       if (strcmp(key, "rows") == 0)
 *           rows = json_read_u64(r);
 *       else
 *           json_skip(r);
 *   if (json_done(r)) ...
 *
 * The first thing that is wrong sets `failed`, and from then on every call returns nothing, so
 * that loops end and the caller checks once.
 */
#ifndef GUST_BASE_JSON_READ_H
#define GUST_BASE_JSON_READ_H

#include "base/buf.h"
#include "base/json.h"

struct json_reader {
    const char *begin, *at, *end;
    struct buf key, text;         /* the last key and the last string, decoded */
    unsigned depth;               /* open objects and arrays */
    char closing[JSON_MAX_DEPTH]; /* '}' or ']' per open level */
    bool filled[JSON_MAX_DEPTH];  /* an element of that level was read */
    const char *failed;           /* what is wrong at `at`; NULL while nothing is */
};

/* TEXT outlives the reader; strings of more than MAX_STRING bytes are refused. */
void json_read_init(struct json_reader *r, struct heap *heap, struct slice text, size_t max_string);
void json_read_release(struct json_reader *r);

/* Step into an object ('{') or array ('['). */
void json_enter(struct json_reader *r, char kind);

/* In an object: the next key, borrowed until the next call of this; NULL when the object has ended.
 */
const char *json_next_key(struct json_reader *r);

/* In an array: whether another element follows; steps out after the last. */
bool json_next(struct json_reader *r);

/* A string, borrowed until the next one is read; "" on failure. */
const char *json_read_str(struct json_reader *r);
/* A whole number below 2^64; 0 on failure. */
uint64_t json_read_u64(struct json_reader *r);
/* Any number; null, which stands for what is not finite, is NaN. 0 on failure. */
double json_read_f64(struct json_reader *r);
bool json_read_bool(struct json_reader *r);
/* Any value. */
void json_skip(struct json_reader *r);

/* Nothing failed, everything that was entered was left, and only blanks remain. */
bool json_done(struct json_reader *r);

/* Byte of the text at which the reader stands, for messages. */
size_t json_read_place(const struct json_reader *r);

#endif
