/* SPDX-License-Identifier: Apache-2.0 */
#include "base/props.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>

void props_init(struct props *p, struct heap *heap)
{
    *p = (struct props){ .heap = heap };
}

static void drop_from(struct props *p, unsigned count)
{
    while (p->count > count) {
        struct props_item *item = &p->items[--p->count];

        heap_free(p->heap, (char *)item->key);
        heap_free(p->heap, (char *)item->value);
    }
}

void props_release(struct props *p)
{
    drop_from(p, 0);
    if (p->heap)
        heap_free(p->heap, p->items);
    *p = (struct props){ .heap = p->heap };
}

static struct props_item *find(const struct props *p, const char *key)
{
    for (unsigned i = 0; i < p->count; i++)
        if (strcmp(p->items[i].key, key) == 0)
            return &p->items[i];
    return NULL;
}

static char *copy(struct heap *heap, const char *text, size_t size)
{
    char *s = heap_alloc(heap, size + 1);

    memcpy(s, text, size);
    return s;
}

static void add(struct props *p, char *key, char *value, unsigned line)
{
    if (p->count == p->room) {
        unsigned room = MAX(2 * p->room, 16u);
        struct props_item *items = heap_alloc(p->heap, room * sizeof(*items));

        if (p->count)
            memcpy(items, p->items, p->count * sizeof(*items));
        heap_free(p->heap, p->items);
        p->items = items;
        p->room = room;
    }
    p->items[p->count++] = (struct props_item){ key, value, line };
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct slice trim(const char *from, const char *to)
{
    while (from < to && is_blank(*from))
        from++;
    while (to > from && is_blank(to[-1]))
        to--;
    return slice(from, (size_t)(to - from));
}

/* A comment begins at '#' at the start of the line or after a blank. */
static const char *comment(const char *from, const char *to)
{
    for (const char *at = from; at < to; at++)
        if (*at == '#' && (at == from || is_blank(at[-1])))
            return at;
    return to;
}

/* The value of a hexadecimal digit, or -1. */
static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Undo the escape whose letter is at *AT, which is moved behind it. 0: there is no such escape. */
static char unescape(const char **at, const char *to)
{
    const char *s = (*at)++;

    switch (s < to ? *s : 0) {
    case '"':
    case '\\':
        return *s;
    case 'n':
        return '\n';
    case 'x':
        if (to - s < 3 || hex(s[1]) < 0 || hex(s[2]) < 0)
            return 0;
        *at += 2;
        return (char)(16 * hex(s[1]) + hex(s[2]));
    default:
        return 0;
    }
}

/* The value that begins with the quote at FROM, or NULL if it is not well formed. */
static char *unquote(struct heap *heap, const char *from, const char *to)
{
    char *value = heap_alloc(heap, (size_t)(to - from)), *put = value;
    struct slice rest;

    for (from++; from < to && *from != '"'; put++) {
        if (*from != '\\') {
            *put = *from++;
            continue;
        }
        from++;
        *put = unescape(&from, to);
        if (*put == 0)
            goto malformed;
    }
    if (from >= to)
        goto malformed;
    from++;
    rest = trim(from, comment(from, to));
    if (rest.size)
        goto malformed;
    *put = 0;
    return value;
malformed:
    heap_free(heap, value);
    return NULL;
}

static int check_characters(const char *from, const char *to, unsigned line, struct error *err)
{
    for (; from < to; from++)
        if ((unsigned char)*from < 32 && *from != '\t')
            return fail(err, E_FORMAT, "line %u holds a control character (byte %u)", line,
                        (unsigned char)*from);
    return 0;
}

static int parse_line(struct props *p, const char *from, const char *to, unsigned line,
                      struct error *err)
{
    const char *stop, *colon;
    struct props_item *first;
    struct slice key, value;
    char *name, *text;

    if (to > from && to[-1] == '\r')
        to--;
    if (check_characters(from, to, line, err))
        return E_FORMAT;
    stop = comment(from, to);
    if (trim(from, stop).size == 0)
        return 0;
    colon = memchr(from, ':', (size_t)(stop - from));
    if (!colon)
        return fail(err, E_FORMAT, "line %u is not of the form 'key: value'", line);
    key = trim(from, colon);
    value = trim(colon + 1, stop);
    if (key.size == 0)
        return fail(err, E_FORMAT, "line %u has no key before the colon", line);
    if (p->count >= PROPS_MAX_ITEMS)
        return fail(err, E_FORMAT, "line %u is over the limit of %u settings", line,
                    PROPS_MAX_ITEMS);
    name = copy(p->heap, key.data, key.size);
    first = find(p, name);
    if (first) {
        fail(err, E_FORMAT, "line %u gives '%s' again (first in line %u)", line, name, first->line);
        goto refused;
    }
    if (value.size && *(const char *)value.data == '"')
        text = unquote(p->heap, value.data, to);
    else
        text = copy(p->heap, value.data, value.size);
    if (!text) {
        fail(err, E_FORMAT, "line %u: the quoted value of '%s' is not well formed", line, name);
        goto refused;
    }
    add(p, name, text, line);
    return 0;
refused:
    heap_free(p->heap, name);
    return E_FORMAT;
}

int props_parse(struct props *p, struct slice text, struct error *err)
{
    const char *at = text.data;
    unsigned before = p->count;
    size_t left = text.size;

    if (text.size > PROPS_MAX_BYTES)
        return fail(err, E_FORMAT, "%zu bytes of settings, more than the %zu allowed", text.size,
                    PROPS_MAX_BYTES);
    for (unsigned line = 1; left > 0; line++) {
        const char *stop = memchr(at, '\n', left);
        size_t size = stop ? (size_t)(stop - at) : left;

        if (parse_line(p, at, at + size, line, err)) {
            drop_from(p, before);
            return E_FORMAT;
        }
        size += stop != NULL;
        at += size;
        left -= size;
    }
    return 0;
}

/* Whether parse_line() reads TEXT back as a key (or, with VALUE, as an unquoted value). */
static bool is_plain(const char *text, bool value)
{
    const char *end = text + strlen(text);

    if (comment(text, end) != end || trim(text, end).size != (size_t)(end - text))
        return false;
    if (check_characters(text, end, 0, NULL))
        return false;
    return value ? text[0] != '"' : text[0] && !strchr(text, ':');
}

void props_set(struct props *p, const char *key, const char *value)
{
    struct props_item *item = find(p, key);
    char *text = heap_strdup(p->heap, value);

    assert(is_plain(key, false));
    if (item) {
        heap_free(p->heap, (char *)item->value);
        item->value = text;
        return;
    }
    add(p, heap_strdup(p->heap, key), text, 0);
}

void props_setf(struct props *p, const char *key, const char *format, ...)
{
    struct buf value;
    va_list args;
    int size;

    va_start(args, format);
    size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    buf_init(&value, p->heap, PROPS_MAX_BYTES);
    if (size > 0 && buf_extend(&value, (size_t)size)) {
        va_start(args, format);
        vsnprintf(value.data, (size_t)size + 1, format, args);
        va_end(args);
    }
    assert(size >= 0 && !value.failed);
    props_set(p, key, size > 0 ? value.data : "");
    buf_release(&value);
}

int props_assign(struct props *p, const char *assignment, struct error *err)
{
    const char *equals = strchr(assignment, '=');
    char key[64];

    if (!equals || equals == assignment || (size_t)(equals - assignment) >= sizeof(key) ||
        strchr(assignment, '\n'))
        return fail(err, E_INVALID, "'%s' is not of the form key=value", assignment);
    snprintf(key, sizeof(key), "%.*s", (int)(equals - assignment), assignment);
    props_set(p, key, equals + 1);
    return 0;
}

const char *props_find(const struct props *p, const char *key)
{
    struct props_item *item = find(p, key);

    return item ? item->value : NULL;
}

static void quote(struct buf *out, const char *text)
{
    buf_str(out, "\"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c == '\n')
            buf_str(out, "\\n");
        else if (c < 32)
            buf_printf(out, "\\x%02x", c);
        else
            buf_add(out, text, 1);
    }
    buf_str(out, "\"");
}

void props_write(const struct props *p, struct buf *out)
{
    for (unsigned i = 0; i < p->count; i++) {
        const struct props_item *item = &p->items[i];

        buf_printf(out, "%s: ", item->key);
        if (is_plain(item->value, true))
            buf_str(out, item->value);
        else
            quote(out, item->value);
        buf_str(out, "\n");
    }
}

bool parse_u64(const char *text, uint64_t *out)
{
    char *end;
    unsigned long long v;

    if (text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    v = strtoull(text, &end, 10);
    if (errno || *end)
        return false;
    *out = v;
    return true;
}

bool parse_f64(const char *text, double *out)
{
    char *end;
    double v;

    /* strtod() would skip white space. */
    if ((unsigned char)text[0] <= ' ')
        return false;
    v = strtod(text, &end);
    if (*end || !isfinite(v))
        return false;
    *out = v;
    return true;
}

int props_u64(const struct props *p, const char *key, uint64_t fallback, uint64_t min, uint64_t max,
              uint64_t *out, struct error *err)
{
    const char *text = props_find(p, key);
    uint64_t v = fallback;

    if (text && (!parse_u64(text, &v) || v < min || v > max))
        return fail(err, E_INVALID, "%s: '%s' is not a whole number from %" PRIu64 " to %" PRIu64,
                    key, text, min, max);
    *out = v;
    return 0;
}

int props_f64(const struct props *p, const char *key, double fallback, double min, double max,
              double *out, struct error *err)
{
    const char *text = props_find(p, key);
    double v = fallback;

    if (text && (!parse_f64(text, &v) || v < min || v > max))
        return fail(err, E_INVALID, "%s: '%s' is not a number from %g to %g", key, text, min, max);
    *out = v;
    return 0;
}

const char *props_str(const struct props *p, const char *key, const char *fallback)
{
    const char *text = props_find(p, key);

    return text ? text : fallback;
}
