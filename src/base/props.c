/* SPDX-License-Identifier: Apache-2.0 */
#include "base/props.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>

void props_init(struct props *p, struct heap *heap)
{
    *p = (struct props){ .heap = heap };
}

void props_release(struct props *p)
{
    for (unsigned i = 0; i < p->count; i++) {
        heap_free(p->heap, (char *)p->items[i].key);
        heap_free(p->heap, (char *)p->items[i].value);
    }
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

static int parse_line(struct props *p, const char *from, const char *to, unsigned line,
                      struct error *err)
{
    struct slice all = trim(from, comment(from, to)), key, value;
    const char *colon;
    char *name;

    if (all.size == 0)
        return 0;
    for (size_t i = 0; i < all.size; i++) {
        unsigned char c = ((const unsigned char *)all.data)[i];

        if (c < 32 && c != '\t')
            return fail(err, E_FORMAT, "line %u holds a control character (byte %u)", line, c);
    }
    from = all.data;
    to = from + all.size;
    colon = memchr(from, ':', all.size);
    if (!colon)
        return fail(err, E_FORMAT, "line %u is not of the form 'key: value'", line);
    key = trim(from, colon);
    value = trim(colon + 1, to);
    if (key.size == 0)
        return fail(err, E_FORMAT, "line %u has no key before the colon", line);
    name = copy(p->heap, key.data, key.size);
    if (find(p, name)) {
        fail(err, E_FORMAT, "line %u gives '%s' again (first in line %u)", line, name,
             find(p, name)->line);
        heap_free(p->heap, name);
        return E_FORMAT;
    }
    add(p, name, copy(p->heap, value.data, value.size), line);
    return 0;
}

int props_parse(struct props *p, struct slice text, struct error *err)
{
    const char *at = text.data, *end = at + text.size;

    if (text.size > PROPS_MAX_BYTES)
        return fail(err, E_FORMAT, "%zu bytes of settings, more than the %zu allowed", text.size,
                    PROPS_MAX_BYTES);
    for (unsigned line = 1; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        int rc;

        if (!stop)
            stop = end;
        rc = parse_line(p, at, stop, line, err);
        if (rc)
            return rc;
        at = stop + 1;
    }
    return 0;
}

void props_set(struct props *p, const char *key, const char *value)
{
    struct props_item *item = find(p, key);

    if (item) {
        heap_free(p->heap, (char *)item->value);
        item->value = heap_strdup(p->heap, value);
        return;
    }
    add(p, heap_strdup(p->heap, key), heap_strdup(p->heap, value), 0);
}

void props_setf(struct props *p, const char *key, const char *format, ...)
{
    char value[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(value, sizeof(value), format, args);
    va_end(args);
    props_set(p, key, value);
}

const char *props_find(const struct props *p, const char *key)
{
    struct props_item *item = find(p, key);

    return item ? item->value : NULL;
}

void props_write(const struct props *p, struct buf *out)
{
    for (unsigned i = 0; i < p->count; i++)
        buf_printf(out, "%s: %s\n", p->items[i].key, p->items[i].value);
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

    if (!text[0] || is_blank(text[0]))
        return false;
    errno = 0;
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
        return fail(err, E_INVALID,
                    "%s: '%s' is not a whole number from %" PRIu64 " to %" PRIu64, key, text, min,
                    max);
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
