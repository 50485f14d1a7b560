/* SPDX-License-Identifier: Apache-2.0 */
/* What a file looks like from its first lines. */
#include "data/import.h"
#include "data/scan.h"
#include "data/transform_internal.h"

#define LOOK_BYTES     (64 * KIB)
#define LINES          5u
#define CRITEO_COLUMNS 40u
#define STRAY_BYTES    8u

/* Files that people have and that are not text. */
static const char *find_magic(struct slice text)
{
    static const struct {
        const char *magic;
        size_t size;
        const char *what;
    } known[] = {
        { "PAR1", 4, "a Parquet file" },         { "\x89HDF", 4, "an HDF5 file" },
        { "\x93NUMPY", 6, "a NumPy array" },     { "ARROW1", 6, "an Arrow file" },
        { "SQLite format 3", 15, "a database" }, { "%PDF", 4, "a PDF document" },
        { "\x89PNG", 4, "a picture" },           { "\x7f\x45LF", 4, "a program" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (text.size >= known[i].size && memcmp(text.data, known[i].magic, known[i].size) == 0)
            return known[i].what;
    return NULL;
}

static bool is_binary(struct slice text)
{
    const unsigned char *p = text.data;
    size_t odd = 0;

    for (size_t i = 0; i < text.size; i++) {
        if (p[i] == 0)
            return true;
        odd += p[i] < 32 && p[i] != '\t' && p[i] != '\n' && p[i] != '\r';
    }
    /* A stray byte makes a bad row, not a binary file. */
    return odd > MAX(text.size / 20, (size_t)STRAY_BYTES);
}

static bool is_number(struct slice cell)
{
    struct scan s = { cell.data, (const char *)cell.data + cell.size };
    float value;

    return scan_f32(&s, &value) && s.at == s.end;
}

static struct slice line_slice(struct scan line)
{
    return slice(line.at, (size_t)(line.end - line.at));
}

/* A number, then (if anything) index:value. */
static bool is_libsvm(struct scan line)
{
    uint32_t index;
    float value;

    if (!scan_f32(&line, &value) || (line.at < line.end && *line.at != ' ' && *line.at != '\t'))
        return false;
    scan_blanks(&line);
    if (line.at == line.end || *line.at == '#')
        return true;
    return scan_u32(&line, &index) && line.at + 1 < line.end && *line.at == ':' &&
           line.at[1] != ':';
}

static bool is_criteo(struct scan line)
{
    struct slice cells[CRITEO_COLUMNS];
    uint32_t count = 0;

    if (transform_cells(line_slice(line), "\t", cells, CRITEO_COLUMNS, &count, NULL) ||
        count != CRITEO_COLUMNS || !is_number(cells[0]))
        return false;
    for (uint32_t i = 1; i <= 13; i++)
        if (cells[i].size && !is_number(cells[i]))
            return false;
    return true;
}

static bool has_word(const struct slice *cells, uint32_t count, const char *const *words)
{
    for (uint32_t i = 0; i < count; i++)
        if (transform_is_word(cells[i], words))
            return true;
    return false;
}

/* Three numbers or four, or a header of ratings that says so. */
static bool is_ratings(struct scan line)
{
    static const char *const separators[] = { "::", "\t", ",", ";", " " };

    for (size_t s = 0; s < ARRAY_SIZE(separators); s++) {
        struct slice cells[8];
        uint32_t count = 0, numbers = 0;

        if (transform_cells(line_slice(line), separators[s], cells, ARRAY_SIZE(cells), &count,
                            NULL) ||
            count < 3 || count > 4)
            continue;
        for (uint32_t i = 0; i < count; i++)
            numbers += is_number(cells[i]);
        if (numbers >= 3 || (has_word(cells, count, transform_user_words) &&
                             has_word(cells, count, transform_item_words) &&
                             has_word(cells, count, transform_rating_words)))
            return true;
    }
    return false;
}

/* At least two cells, none of them a number or empty. */
static bool is_header(struct scan line)
{
    struct slice cells[TRANSFORM_COLUMNS_MAX];
    const char *separator = transform_separator(line_slice(line));
    uint32_t count = 0;

    if (transform_cells(line_slice(line), separator, cells, ARRAY_SIZE(cells), &count, NULL) ||
        count < 2 || count > ARRAY_SIZE(cells))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (is_number(cells[i]) || (cells[i].size == 0 && i > 0))
            return false;
    return true;
}

/* What every one of the first lines is. */
static int detect_lines(struct scan text, const char **what)
{
    unsigned lines = 0, libsvm = 0, criteo = 0, ratings = 0;
    struct scan line, first = { 0 };

    while (lines < LINES && scan_line(&text, &line)) {
        if (line.at == line.end || *line.at == '#')
            continue;
        if (lines++ == 0)
            first = line;
        libsvm += is_libsvm(line);
        criteo += is_criteo(line);
        ratings += is_ratings(line);
    }
    *what = "an empty file";
    if (lines == 0)
        return IMPORT_EMPTY;
    *what = "Criteo's clicks (40 columns with tabs between)";
    if (criteo == lines)
        return TRANSFORM_CRITEO;
    *what = "ratings (user, item, rating)";
    if (ratings == lines)
        return TRANSFORM_MOVIELENS;
    *what = "libsvm lines (label index:value ...)";
    if (libsvm == lines)
        return TRANSFORM_LIBSVM;
    *what = "JSON";
    if (*first.at == '{' || *first.at == '[')
        return IMPORT_UNKNOWN;
    *what = "a web page";
    if (*first.at == '<')
        return IMPORT_UNKNOWN;
    *what = "CSV with a header";
    if (is_header(first))
        return TRANSFORM_CSV;
    *what = "text that is no table with a header";
    return IMPORT_UNKNOWN;
}

int import_detect(struct slice text, const char **what)
{
    struct scan s = { text.data, (const char *)text.data + MIN(text.size, LOOK_BYTES) };

    text.size = MIN(text.size, LOOK_BYTES);
    *what = find_magic(text);
    if (*what)
        return IMPORT_NOT_TEXT;
    *what = "binary data";
    if (is_binary(text))
        return IMPORT_NOT_TEXT;
    *what = "text whose lines end with a carriage return alone";
    if (text.size && !memchr(text.data, '\n', text.size) && memchr(text.data, '\r', text.size - 1))
        return IMPORT_NOT_TEXT;
    return detect_lines(s, what);
}
