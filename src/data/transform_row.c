/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines become examples. Imports of large files spend their time here: fields in plain form are
 * taken as they come; quotes, blanks and missing values go the slow way. The layout of a file,
 * which fields it has and what becomes of them, is found in data/transform_file.c.
 */
#include <inttypes.h>

#include "base/random.h"
#include "data/scan.h"
#include "data/transform_internal.h"
#include "math/functions.h"

/* ---- cells ---- */

/*
 * The first byte C at FROM .. END-1, or END. Fields are short: memchr() would spend its time on
 * being called.
 */
static inline const char *find_byte(const char *from, const char *end, char c)
{
    const uint64_t ones = 0x0101010101010101ull, all = ones * (uint8_t)c;

#ifdef __SSE2__
    typedef char v16 __attribute__((vector_size(16)));
    const v16 wanted = (v16){ 0 } + c;

    for (; end - from >= 16; from += 16) {
        unsigned hit;
        v16 bytes;

        memcpy(&bytes, from, sizeof(bytes));
        hit = (unsigned)__builtin_ia32_pmovmskb128((v16)(bytes == wanted));
        if (hit)
            return from + __builtin_ctz(hit);
    }
#endif
    for (; end - from >= 8; from += 8) {
        uint64_t eight, hit;

        memcpy(&eight, from, sizeof(eight));
        eight ^= all;
        hit = (eight - ones) & ~eight & (ones << 7);
        if (hit)
            return from + (__builtin_ctzll(hit) >> 3);
    }
    while (from < end && *from != c)
        from++;
    return from;
}

static inline const char *find_separator(const char *from, const char *end, const char *separator,
                                         size_t size)
{
    const char *p = find_byte(from, end, separator[0]);

    while (size == 2 && p < end && !(end - p >= 2 && p[1] == separator[1]))
        p = find_byte(p + 1, end, separator[0]);
    return p;
}

static struct slice trimmed(const char *from, const char *end)
{
    while (from < end && (*from == ' ' || *from == '\t'))
        from++;
    while (from < end && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    return slice(from, (size_t)(end - from));
}

/*
 * A cell that begins with a quote at P, which moves behind it. Doubled quotes stay doubled: such
 * texts are hashed and compared as they stand. NULL: the quote is not closed.
 */
static const char *quoted_cell(const char *p, const char *end, struct slice *cell)
{
    const char *close = p + 1;

    for (;; close += 2) {
        close = find_byte(close, end, '"');
        if (close >= end)
            return NULL;
        if (close + 1 == end || close[1] != '"')
            break;
    }
    *cell = trimmed(p + 1, close);
    return close + 1;
}

/* The cell at P with its quotes and blanks taken off; returns where it ends, NULL for a bad quote.
 */
static const char *whole_cell(const char *p, const char *end, const char *separator, size_t size,
                              struct slice *cell)
{
    const char *stop, *from = p;

    while (from < end && *from == ' ' && separator[0] != ' ')
        from++;
    if (from < end && *from == '"') {
        stop = quoted_cell(from, end, cell);
        if (!stop)
            return NULL;
        /* Blanks between the quote and the separator. */
        p = find_separator(stop, end, separator, size);
        return trimmed(stop, p).size ? NULL : p;
    }
    stop = find_separator(p, end, separator, size);
    *cell = trimmed(p, stop);
    return stop;
}

int transform_cells(struct slice line, const char *separator, struct slice *cells, uint32_t max,
                    uint32_t *count, struct error *err)
{
    const char *p = line.data, *end = p + line.size;
    size_t size = strlen(separator);

    for (*count = 0;; p += size) {
        struct slice cell;

        p = whole_cell(p, end, separator, size, &cell);
        if (!p)
            return fail(err, E_FORMAT, "a quote in column %u is not closed on its line",
                        *count + 1);
        if (*count < max)
            cells[*count] = cell;
        ++*count;
        if (p == end)
            return 0;
    }
}

static bool is_missing(struct slice cell)
{
    static const char *const words[] = { "NA",   "N/A",  "NaN",  "nan", "na", "null",
                                         "NULL", "None", "none", "?",   "-" };

    if (cell.size == 0)
        return true;
    for (size_t i = 0; cell.size <= 4 && i < ARRAY_SIZE(words); i++)
        if (slice_equal(cell, slice_str(words[i])))
            return true;
    return false;
}

static bool cell_f32(struct slice cell, float *out)
{
    struct scan s = { cell.data, (const char *)cell.data + cell.size };

    return scan_f32(&s, out) && s.at == s.end;
}

static bool cell_u32(struct slice cell, uint32_t *out)
{
    struct scan s = { cell.data, (const char *)cell.data + cell.size };

    return scan_u32(&s, out) && s.at == s.end;
}

/* CELL shortened and made printable, for a message. */
struct shown {
    char s[32];
};

static struct shown show(struct slice cell)
{
    const char *text = cell.data;
    size_t n = MIN(cell.size, 24u);
    struct shown out;

    for (size_t i = 0; i < n; i++)
        out.s[i] = text[i] >= 32 && text[i] < 127 ? text[i] : '?';
    snprintf(out.s + n, sizeof(out.s) - n, "%s", n < cell.size ? "..." : "");
    return out;
}

/* ---- categories ---- */

uint32_t transform_hash(uint64_t salt, struct slice text, uint64_t dims)
{
    const char *p = text.data;
    size_t left = text.size;
    uint64_t h = salt ^ left * 0x9E3779B97F4A7C15ull, word;

    for (; left >= 8; left -= 8, p += 8) {
        memcpy(&word, p, sizeof(word));
        h = (h ^ word) * 0xD1342543DE82EF95ull;
        h ^= h >> 32;
    }
    word = 0;
    for (size_t i = 0; i < left; i++)
        word |= (uint64_t)(uint8_t)p[i] << 8 * i;
    return (uint32_t)random_below(random_mix(h ^ word), dims);
}

/* ---- numbers ---- */

/* Scale the dense values at X in place; NaN stands for a missing one. */
static void scale_dense(const struct transform_file *f, float *x)
{
    bool is_log = f->t->scale == SCALE_LOG, is_none = f->t->scale == SCALE_NONE;
    uint32_t count = f->t->data.dense;

    for (uint32_t i = 0; i < count; i += 8) {
        size_t part = MIN(count - i, 8u);
        v8 raw = v8_load_part(x + i, part), y = raw;

        if (!is_none) {
            y = raw - v8_load(f->low + i);
            if (is_log)
                y = log_v8(v8_max(y, v8_all(0)) + 1.0f);
            y = y / v8_load(f->range + i);
            y = v8_min(v8_max(y, v8_all(0)), v8_all(1));
        }
        y = v8_select(raw == raw, y, v8_all(0));
        v8_store_part(x + i, y, part);
    }
}

static int find_text(const struct transform *t, struct slice cell)
{
    uint32_t lo = 0, hi = t->data.classes;

    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        size_t n = strlen(t->classes[mid].text);
        int order = memcmp(t->classes[mid].text, cell.data, MIN(n, cell.size));

        if (order == 0)
            order = n < cell.size ? -1 : n > cell.size;
        if (order == 0)
            return (int)mid;
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return -1;
}

static int find_value(const struct transform *t, float value)
{
    uint32_t lo = 0, hi = t->data.classes;

    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;

        if (t->classes[mid].value < value)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < t->data.classes && t->classes[lo].value == value ? (int)lo : -1;
}

static void put_f32(struct transform_example *e, uint32_t place, float value)
{
    memcpy(&e->words[place], &value, sizeof(value));
}

/* A label that is a number. */
static int take_label(const struct transform_file *f, struct transform_example *e, float value,
                      struct error *err)
{
    int class;

    if (f->t->labels == LABELS_VALUES && !f->looking) {
        class = find_value(f->t, value);
        if (class < 0)
            return fail(err, E_FORMAT, "the label %.9g is none of the %u classes", (double)value,
                        f->t->data.classes);
        value = (float)class;
    }
    put_f32(e, 0, value);
    e->has_label = true;
    return 0;
}

static int take_label_cell(const struct transform_file *f, struct transform_example *e,
                           struct slice cell, struct error *err)
{
    float value;
    int class;

    if (f->labels_optional && is_missing(cell))
        return 0;
    if (f->t->labels != LABELS_TEXTS) {
        if (cell_f32(cell, &value))
            return take_label(f, e, value, err);
        return fail(err, E_FORMAT, "expected a finite %s, found '%s'",
                    f->t->format == TRANSFORM_MOVIELENS ? "rating" : "label", show(cell).s);
    }
    if (cell.size == 0 || cell.size >= TRANSFORM_NAME_MAX || memchr(cell.data, 0, cell.size))
        return fail(err, E_FORMAT, "expected a label of 1 to %u bytes, found '%s'",
                    TRANSFORM_NAME_MAX - 1, show(cell).s);
    e->label_text = cell;
    e->has_label = true;
    if (f->looking)
        return 0;
    class = find_text(f->t, cell);
    if (class < 0)
        return fail(err, E_FORMAT, "the label '%s' is none of the %u classes", show(cell).s,
                    f->t->data.classes);
    put_f32(e, 0, (float)class);
    return 0;
}

/* ---- lines of columns ---- */

/* What becomes of a cell in any form. */
static int take_cell(const struct transform_file *f, const struct transform_field *d,
                     struct slice cell, struct transform_example *e, struct error *err)
{
    float value = NAN;

    switch (d->role) {
    case ROLE_LABEL:
        return take_label_cell(f, e, cell, err);
    case ROLE_NUMERIC:
        if (!is_missing(cell) && !cell_f32(cell, &value))
            return fail(err, E_FORMAT, "column '%s': expected a number, found '%s'",
                        d->column->name, show(cell).s);
        put_f32(e, d->place, value);
        return 0;
    case ROLE_CATEGORICAL:
        e->words[d->place] = f->looking ? 0 : transform_hash(d->salt, cell, f->t->data.dims);
        return 0;
    case ROLE_WEIGHT:
        if (!cell_f32(cell, &value) || value < 0 || value > TRANSFORM_WEIGHT_MAX)
            return fail(err, E_FORMAT, "column '%s': expected a weight of 0 to %g, found '%s'",
                        d->column->name, TRANSFORM_WEIGHT_MAX, show(cell).s);
        e->weight = value;
        return 0;
    case ROLE_USER:
    case ROLE_ITEM:
        if (!cell_u32(cell, &e->words[d->place]))
            return fail(err, E_FORMAT, "expected %s id below 2^32 - 1, found '%s'",
                        d->role == ROLE_USER ? "a user's" : "an item's", show(cell).s);
        return 0;
    default:
        return 0;
    }
}

/* A cell in plain form: false when it is not, and nothing is done. Moves *P to the cell's end. */
static inline __attribute__((always_inline)) bool take_plain(const struct transform_file *f,
                                                             const struct transform_field *d,
                                                             const char **p, const char *end,
                                                             char separator,
                                                             struct transform_example *e)
{
    struct scan s = { *p, end };
    float value;
    uint32_t id;

    if (d->role == ROLE_NUMERIC) {
        if (s.at == end || *s.at == separator)
            value = NAN;
        else if (!scan_f32(&s, &value) || (s.at < end && *s.at != separator))
            return false;
        put_f32(e, d->place, value);
    } else if (d->role == ROLE_CATEGORICAL) {
        s.at = find_byte(s.at, end, separator);
        if (s.at > *p && (**p == '"' || **p == ' ' || s.at[-1] == ' '))
            return false;
        e->words[d->place] =
            f->looking ? 0
                       : transform_hash(d->salt, slice(*p, (size_t)(s.at - *p)), f->t->data.dims);
    } else if (d->role == ROLE_USER || d->role == ROLE_ITEM) {
        if (!scan_u32(&s, &id) || (s.at < end && *s.at != separator))
            return false;
        e->words[d->place] = id;
    } else if (d->role == ROLE_LABEL && f->t->labels != LABELS_TEXTS) {
        if (!scan_f32(&s, &value) || (s.at < end && *s.at != separator) ||
            take_label(f, e, value, NULL))
            return false;
    } else {
        return false;
    }
    *p = s.at;
    return true;
}

static int wrong_columns(const struct transform_file *f, struct slice line, struct error *err)
{
    uint32_t count = 0;
    int rc = transform_cells(line, f->separator, NULL, 0, &count, err);

    if (rc)
        return rc;
    return fail(err, E_FORMAT, "the line has %u column%s, expected %u", count,
                count == 1 ? "" : "s", f->field_count);
}

static inline __attribute__((always_inline)) int walk_columns(const struct transform_file *f,
                                                              struct slice line,
                                                              struct transform_example *e,
                                                              size_t separator_size,
                                                              struct error *err)
{
    const char *p = line.data, *end = p + line.size;

    for (uint32_t i = 0;; i++, p += separator_size) {
        const struct transform_field *d = &f->fields[i];

        if (separator_size != 1 || !take_plain(f, d, &p, end, f->separator[0], e)) {
            struct slice cell = { 0 };
            int rc;

            p = whole_cell(p, end, f->separator, separator_size, &cell);
            if (!p)
                return fail(err, E_FORMAT, "a quote in column %u is not closed on its line", i + 1);
            rc = take_cell(f, d, cell, e, err);
            if (rc)
                return rc;
        }
        if (i + 1 == f->field_count)
            break;
        if (p == end)
            return wrong_columns(f, line, err);
    }
    return p < end && f->exact ? wrong_columns(f, line, err) : 0;
}

static int columns_row(const struct transform_file *f, struct slice line,
                       struct transform_example *e, struct error *err)
{
    uint32_t words = 1 + f->t->data.dense + f->t->data.ones;
    int rc;

    if (e->room < words)
        return fail(err, E_LIMIT, "an example needs room for %u words", words);
    e->words[0] = 0;
    rc = f->separator_size == 1 ? walk_columns(f, line, e, 1, err)
                                : walk_columns(f, line, e, 2, err);
    if (rc)
        return rc;
    if (f->t->data.dense && !f->looking)
        scale_dense(f, (float *)(void *)(e->words + 1));
    e->count = words;
    return 0;
}

/* ---- libsvm ---- */

static int bad_entry(struct scan s, const char *what, struct error *err)
{
    char word[32];

    scan_word(&s, word);
    if (!word[0])
        return fail(err, E_FORMAT, "%s, found the end of the line", what);
    return fail(err, E_FORMAT, "%s, found '%s'", what, word);
}

static inline bool at_blank(const struct scan *s)
{
    return s->at == s->end || *s->at == ' ' || *s->at == '\t';
}

static inline bool at_end(const struct scan *s)
{
    return s->at == s->end || *s->at == '#';
}

/* The entries behind the label, from word AT on. */
static int libsvm_entries(const struct transform_file *f, struct scan line,
                          struct transform_example *e, uint32_t at, struct error *err)
{
    const struct gust_data *d = &f->t->data;
    uint32_t index, last = 0, base = f->t->index_base;
    float value;

    for (bool first = true; !at_end(&line); scan_blanks(&line), first = false, last = index) {
        struct scan before = line;

        if (!scan_u32(&line, &index) || line.at == line.end || *line.at != ':')
            return bad_entry(before, "expected index:value with a whole index", err);
        if (!first && index <= last)
            return bad_entry(before, "indices must rise within a line", err);
        if (index < base)
            return bad_entry(before, "indices count from 1 here", err);
        line.at++;
        if (!scan_f32(&line, &value) || !at_blank(&line))
            return bad_entry(before, "expected a finite value after the colon", err);
        if (!d->sparse && value != 1)
            return bad_entry(before, "expected values of 1, as in training", err);
        /* Training knew no such index: there is nothing to say about it. */
        if (index - base >= d->dims)
            continue;
        if (at + 2 > e->room)
            return fail(err, E_LIMIT, "the line has too many values");
        e->words[at++] = index - base;
        if (d->sparse)
            put_f32(e, at++, value);
    }
    e->count = at;
    return 0;
}

static int libsvm_row(const struct transform_file *f, struct slice text,
                      struct transform_example *e, struct error *err)
{
    struct scan line = { text.data, (const char *)text.data + text.size }, before;
    const struct gust_data *d = &f->t->data;
    bool counted = d->sparse || d->ones == GUST_VARIES;
    uint32_t first = counted ? 2 : 1, entries;
    float label;
    int rc;

    scan_blanks(&line);
    if (at_end(&line))
        return 0;
    if (e->room < 2)
        return fail(err, E_LIMIT, "an example needs room for more words");
    e->words[0] = 0;
    before = line;
    if (!scan_f32(&line, &label) || !at_blank(&line))
        return bad_entry(before, "expected a finite label", err);
    rc = take_label(f, e, label, err);
    scan_blanks(&line);
    rc = rc ? rc : libsvm_entries(f, line, e, first, err);
    if (rc)
        return rc;
    entries = (e->count - first) / (d->sparse ? 2 : 1);
    if (counted)
        e->words[1] = entries;
    else if (entries != d->ones) {
        e->count = 0;
        return fail(err, E_FORMAT, "the line has %u values, expected %u", entries, d->ones);
    }
    return 0;
}

int transform_row(const struct transform_file *f, struct slice line, struct transform_example *e,
                  struct error *err)
{
    e->count = 0;
    e->has_label = false;
    e->weight = 1;
    if (line.size == 0)
        return 0;
    return f->t->format == TRANSFORM_LIBSVM ? libsvm_row(f, line, e, err)
                                            : columns_row(f, line, e, err);
}

uint32_t transform_room(const struct transform *t, size_t line_bytes)
{
    /* An entry has at least three characters, and a blank between two. */
    if (t->format == TRANSFORM_LIBSVM)
        return (uint32_t)MIN(2 + 2 * (line_bytes / 4 + 2), (size_t)UINT32_MAX);
    return 1 + t->data.dense + t->data.ones;
}
