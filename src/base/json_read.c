/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_read.h"

void json_read_init(struct json_reader *r, struct heap *heap, struct slice text, size_t max_string)
{
    *r = (struct json_reader){ .begin = text.data, .at = text.data };
    r->end = r->at + text.size;
    buf_init(&r->key, heap, max_string);
    buf_init(&r->text, heap, max_string);
}

void json_read_release(struct json_reader *r)
{
    buf_release(&r->key);
    buf_release(&r->text);
}

/* Always false, so that `return wrong(r, ...)` is all a function needs. */
static bool wrong(struct json_reader *r, const char *what)
{
    if (!r->failed)
        r->failed = what;
    return false;
}

static void blanks(struct json_reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
        r->at++;
}

/* Whether the next character, after blanks, is C; moves behind it. */
static bool take(struct json_reader *r, char c)
{
    if (r->failed)
        return false;
    blanks(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

void json_enter(struct json_reader *r, char kind)
{
    if (!take(r, kind)) {
        wrong(r, kind == '{' ? "an object is expected" : "an array is expected");
        return;
    }
    if (r->depth + 1 >= JSON_MAX_DEPTH) {
        wrong(r, "too many levels");
        return;
    }
    r->depth++;
    r->closing[r->depth] = kind == '{' ? '}' : ']';
    r->filled[r->depth] = false;
}

bool json_next(struct json_reader *r)
{
    if (r->failed)
        return false;
    if (take(r, r->closing[r->depth])) {
        r->depth--;
        return false;
    }
    if (r->filled[r->depth] && !take(r, ','))
        return wrong(r, "a comma or the end of the list is expected");
    r->filled[r->depth] = true;
    return true;
}

/* ---- strings ------------------------------------------------------------------------------ */

static bool hex4(struct json_reader *r, uint32_t *out)
{
    *out = 0;
    if (r->end - r->at < 4)
        return wrong(r, "a string is broken off");
    for (unsigned i = 0; i < 4; i++, r->at++) {
        char c = *r->at;

        if (c >= '0' && c <= '9')
            *out = *out << 4 | (uint32_t)(c - '0');
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            *out = *out << 4 | (uint32_t)((c | 32) - 'a' + 10);
        else
            return wrong(r, "\\u needs four hexadecimal digits");
    }
    return true;
}

static void add_utf8(struct buf *out, uint32_t c)
{
    char bytes[4];
    unsigned n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = { 0, 0, 0xC0, 0xE0, 0xF0 };

    for (unsigned i = n; i > 1; i--, c >>= 6)
        bytes[i - 1] = (char)(0x80 | (c & 0x3F));
    bytes[0] = (char)(lead[n] | c);
    buf_add(out, bytes, n);
}

/* What follows "\u". Characters past U+FFFF come as two halves. */
static bool unicode(struct json_reader *r, struct buf *out)
{
    uint32_t c, low;

    if (!hex4(r, &c))
        return false;
    if (c == 0)
        return wrong(r, "\\u0000 cannot stand in a string");
    if (c >= 0xDC00 && c < 0xE000)
        return wrong(r, "half of a surrogate pair");
    if (c >= 0xD800 && c < 0xDC00) {
        if (r->end - r->at < 2 || r->at[0] != '\\' || r->at[1] != 'u')
            return wrong(r, "half of a surrogate pair");
        r->at += 2;
        if (!hex4(r, &low))
            return false;
        if (low < 0xDC00 || low >= 0xE000)
            return wrong(r, "half of a surrogate pair");
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    }
    add_utf8(out, c);
    return true;
}

static bool escape(struct json_reader *r, struct buf *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *found;

    if (r->at == r->end)
        return wrong(r, "a string is broken off");
    if (*r->at == 'u') {
        r->at++;
        return unicode(r, out);
    }
    found = *r->at ? strchr(from, *r->at) : NULL;
    if (!found)
        return wrong(r, "an unknown escape in a string");
    r->at++;
    buf_add(out, &to[found - from], 1);
    return true;
}

static bool string(struct json_reader *r, struct buf *out)
{
    buf_reset(out);
    if (!take(r, '"'))
        return wrong(r, "a string is expected");
    for (;;) {
        const char *from = r->at;

        while (r->at < r->end && *r->at != '"' && *r->at != '\\' && (unsigned char)*r->at >= 32)
            r->at++;
        buf_add(out, from, (size_t)(r->at - from));
        if (r->at == r->end)
            return wrong(r, "a string is broken off");
        if ((unsigned char)*r->at < 32)
            return wrong(r, "a control character in a string");
        if (*r->at++ == '"')
            break;
        if (!escape(r, out))
            return false;
    }
    return out->failed ? wrong(r, "a string is too long") : true;
}

const char *json_next_key(struct json_reader *r)
{
    if (!json_next(r) || !string(r, &r->key))
        return NULL;
    if (!take(r, ':')) {
        wrong(r, "a colon is expected");
        return NULL;
    }
    return r->key.size ? r->key.data : "";
}

const char *json_read_str(struct json_reader *r)
{
    return !r->failed && string(r, &r->text) && r->text.size ? r->text.data : "";
}

/* ---- numbers and the rest ------------------------------------------------------------------- */

static bool is_digit(const struct json_reader *r)
{
    return r->at < r->end && *r->at >= '0' && *r->at <= '9';
}

uint64_t json_read_u64(struct json_reader *r)
{
    uint64_t value = 0;
    const char *from;

    if (r->failed)
        return 0;
    blanks(r);
    from = r->at;
    for (; is_digit(r); r->at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*r->at - '0'), &value))
            return wrong(r, "a number is too large");
    if (r->at == from || (*from == '0' && r->at - from > 1) ||
        (r->at < r->end && (*r->at == '.' || (*r->at | 32) == 'e')))
        return wrong(r, "a whole number is expected");
    return value;
}

static bool digits(struct json_reader *r)
{
    if (!is_digit(r))
        return wrong(r, "a digit is expected");
    while (is_digit(r))
        r->at++;
    return true;
}

static void skip_number(struct json_reader *r)
{
    if (*r->at == '-')
        r->at++;
    if (r->at < r->end && *r->at == '0')
        r->at++;
    else if (!digits(r))
        return;
    if (r->at < r->end && *r->at == '.') {
        r->at++;
        if (!digits(r))
            return;
    }
    if (r->at < r->end && (*r->at | 32) == 'e') {
        r->at++;
        if (r->at < r->end && (*r->at == '+' || *r->at == '-'))
            r->at++;
        digits(r);
    }
}

/* A value that holds no others. */
static void skip_plain(struct json_reader *r)
{
    static const char *const words[] = { "true", "false", "null" };

    if (r->at < r->end && *r->at == '"') {
        string(r, &r->text);
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        size_t size = strlen(words[i]);

        if ((size_t)(r->end - r->at) >= size && memcmp(r->at, words[i], size) == 0) {
            r->at += size;
            return;
        }
    }
    if (r->at < r->end && (*r->at == '-' || is_digit(r)))
        skip_number(r);
    else
        wrong(r, "a value is expected");
}

/* Goes down and up by the reader's own levels, so that nothing recurses. */
void json_skip(struct json_reader *r)
{
    unsigned depth = r->depth;

    while (!r->failed) {
        blanks(r);
        if (r->at < r->end && (*r->at == '{' || *r->at == '['))
            json_enter(r, *r->at);
        else
            skip_plain(r);
        /* Climb out of what has ended, to the next element of what has not. */
        while (!r->failed && r->depth > depth) {
            bool more = r->closing[r->depth] == '}' ? json_next_key(r) != NULL : json_next(r);

            if (more)
                break;
        }
        if (r->depth == depth)
            return;
    }
}

double json_read_f64(struct json_reader *r)
{
    const char *from;
    char text[64];

    if (r->failed)
        return 0;
    blanks(r);
    from = r->at;
    if (from < r->end && *from != '-' && *from != 'n' && !is_digit(r)) {
        wrong(r, "a number is expected");
        return 0;
    }
    skip_plain(r);
    if (r->failed)
        return 0;
    if (*from == 'n')
        return NAN;
    if ((size_t)(r->at - from) >= sizeof(text)) {
        wrong(r, "a number is too long");
        return 0;
    }
    snprintf(text, sizeof(text), "%.*s", (int)(r->at - from), from);
    return strtod(text, NULL);
}

bool json_read_bool(struct json_reader *r)
{
    const char *from;

    if (r->failed)
        return false;
    blanks(r);
    from = r->at;
    if (from == r->end || (*from != 't' && *from != 'f'))
        return wrong(r, "true or false is expected");
    skip_plain(r);
    return !r->failed && *from == 't';
}

bool json_done(struct json_reader *r)
{
    if (r->failed)
        return false;
    blanks(r);
    if (r->depth != 0 || r->at != r->end)
        return wrong(r, "there is more text than there should be");
    return true;
}

size_t json_read_place(const struct json_reader *r)
{
    return (size_t)(r->at - r->begin);
}
