/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <assert.h>
#include <inttypes.h>

void json_init(struct json *w, struct buf *out)
{
    *w = (struct json){ .out = out };
}

/*
 * Bytes of the UTF-8 character at S, or 0 if there is none: broken off, overlong, half of a
 * surrogate pair or past U+10FFFF. File names and error texts may hold anything.
 */
static size_t utf8_length(const unsigned char *s)
{
    size_t size = s[0] < 0x80 ? 1 : s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;

    if (s[0] > 0xF4)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F) ||
        (s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F))
        return 0;
    return size;
}

static void quoted(struct buf *out, const char *text)
{
    buf_str(out, "\"");
    while (*text) {
        unsigned char c = (unsigned char)*text;
        size_t size = utf8_length((const unsigned char *)text);

        if (size == 0)
            buf_str(out, "\\ufffd");
        else if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c < 32)
            buf_printf(out, "\\u%04x", c);
        else
            buf_add(out, text, size);
        text += MAX(size, (size_t)1);
    }
    buf_str(out, "\"");
}

static void lead(struct json *w, const char *key)
{
    if (w->filled[w->depth])
        buf_str(w->out, ",");
    w->filled[w->depth] = true;
    if (key) {
        quoted(w->out, key);
        buf_str(w->out, ":");
    }
}

void json_open(struct json *w, const char *key, char kind)
{
    assert(w->depth + 1 < JSON_MAX_DEPTH);
    lead(w, key);
    buf_add(w->out, &kind, 1);
    w->depth++;
    w->closing[w->depth] = kind == '{' ? '}' : ']';
    w->filled[w->depth] = false;
}

void json_close(struct json *w)
{
    assert(w->depth > 0);
    buf_add(w->out, &w->closing[w->depth], 1);
    w->depth--;
}

void json_str(struct json *w, const char *key, const char *value)
{
    lead(w, key);
    quoted(w->out, value);
}

void json_u64(struct json *w, const char *key, uint64_t value)
{
    lead(w, key);
    buf_printf(w->out, "%" PRIu64, value);
}

void json_f64(struct json *w, const char *key, double value)
{
    char text[40];

    lead(w, key);
    if (!isfinite(value)) {
        buf_str(w->out, "null");
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    buf_str(w->out, text);
}

void json_bool(struct json *w, const char *key, bool value)
{
    lead(w, key);
    buf_str(w->out, value ? "true" : "false");
}
