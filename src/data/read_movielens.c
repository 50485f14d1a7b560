/* SPDX-License-Identifier: Apache-2.0 */
/* Reading files of ratings: user, item, rating and maybe a time, which is not used. */
#include <inttypes.h>

#include "base/random.h"
#include "data/read.h"
#include "data/scan.h"

#define COLUMNS_MAX 16u

/* How one file separates its columns, and which is which. */
struct ratings_form {
    const char *separator;
    size_t separator_size;
    unsigned user, item, rating; /* column numbers */
    unsigned last;               /* the highest of them */
    bool header;                 /* the first line names the columns */
};

struct ratings_reader {
    const struct read_options *options;
    struct builder *builder;
    uint64_t row;
};

static bool has(const struct scan *line, const char *text)
{
    return memmem(line->at, (size_t)(line->end - line->at), text, strlen(text)) != NULL;
}

static bool is_word(const struct scan *field, const char *a, const char *b)
{
    size_t n = (size_t)(field->end - field->at);

    return (n == strlen(a) && memcmp(field->at, a, n) == 0) ||
           (n == strlen(b) && memcmp(field->at, b, n) == 0);
}

/* The next field of LINE, which moves behind its separator. */
static struct scan next_field(struct scan *line, const struct ratings_form *f)
{
    size_t left = (size_t)(line->end - line->at);
    const char *stop = memmem(line->at, left, f->separator, f->separator_size);
    struct scan field = { line->at, stop ? stop : line->end };

    line->at = stop ? stop + f->separator_size : line->end;
    return field;
}

static int find_columns(struct ratings_form *f, struct scan line, const char *name,
                        struct error *err)
{
    f->user = f->item = f->rating = COLUMNS_MAX;
    for (unsigned c = 0; c < COLUMNS_MAX && line.at < line.end; c++) {
        struct scan field = next_field(&line, f);

        if (is_word(&field, "userId", "user"))
            f->user = c;
        else if (is_word(&field, "movieId", "item"))
            f->item = c;
        else if (is_word(&field, "rating", "rating"))
            f->rating = c;
    }
    if (MAX(MAX(f->user, f->item), f->rating) == COLUMNS_MAX)
        return fail(err, E_FORMAT, "%s:1: the header must name userId, movieId and rating", name);
    return 0;
}

static int find_form(struct ratings_form *f, const struct read_file *file, struct error *err)
{
    struct scan text = { file->text.data, (const char *)file->text.data + file->text.size }, line;
    int rc = 0;

    *f = (struct ratings_form){ .separator = ",", .user = 0, .item = 1, .rating = 2 };
    if (!scan_line(&text, &line))
        return fail(err, E_FORMAT, "%s holds no ratings", file->name);
    if (has(&line, "::"))
        f->separator = "::";
    else if (has(&line, "\t"))
        f->separator = "\t";
    else if (!has(&line, ","))
        f->separator = " ";
    f->separator_size = strlen(f->separator);
    f->header = has(&line, "rating");
    if (f->header)
        rc = find_columns(f, line, file->name, err);
    f->last = MAX(MAX(f->user, f->item), f->rating);
    return rc;
}

static bool at_separator(const struct scan *line, const struct ratings_form *f)
{
    return (size_t)(line->end - line->at) >= f->separator_size &&
           memcmp(line->at, f->separator, f->separator_size) == 0;
}

static bool field_ends(const struct scan *line, const struct ratings_form *f)
{
    return line->at == line->end || at_separator(line, f);
}

/* Move behind the next separator; false: there is none. */
static bool next_column(struct scan *line, const struct ratings_form *f)
{
    if (!at_separator(line, f))
        line->at =
            memmem(line->at, (size_t)(line->end - line->at), f->separator, f->separator_size);
    if (!line->at)
        return false;
    line->at += f->separator_size;
    return true;
}

static int bad(const char *file, uint64_t number, const struct scan *s, const char *what,
               struct error *err)
{
    char word[32];

    scan_word(s, word);
    return fail(err, E_FORMAT, "%s:%" PRIu64 ": expected %s, found '%s'", file, number, what, word);
}

/* EXAMPLE becomes rating, user, item. */
static int parse_line(const struct ratings_form *f, struct scan line, uint32_t example[3],
                      const char *file, uint64_t number, struct error *err)
{
    float rating;

    for (unsigned c = 0; c <= f->last; c++) {
        struct scan before;

        if (c > 0 && !next_column(&line, f))
            return fail(err, E_FORMAT, "%s:%" PRIu64 ": the line has %u columns, expected %u", file,
                        number, c, f->last + 1);
        before = line;
        if (c == f->user && (!scan_u32(&line, &example[1]) || !field_ends(&line, f)))
            return bad(file, number, &before, "a user's id below 2^32 - 1", err);
        if (c == f->item && (!scan_u32(&line, &example[2]) || !field_ends(&line, f)))
            return bad(file, number, &before, "an item's id below 2^32 - 1", err);
        if (c == f->rating && (!scan_f32(&line, &rating) || !field_ends(&line, f)))
            return bad(file, number, &before, "a finite rating", err);
    }
    memcpy(example, &rating, sizeof(rating));
    return 0;
}

static int read_file(struct ratings_reader *r, const struct read_file *file, bool test,
                     struct error *err)
{
    struct scan text = { file->text.data, (const char *)file->text.data + file->text.size }, line;
    struct ratings_form f;
    int rc = find_form(&f, file, err);

    for (uint64_t number = 1; !rc && scan_line(&text, &line); number++) {
        enum dataset_split split = test ? DATASET_TEST : DATASET_TRAIN;
        uint32_t example[3] = { 0 };

        if (line.at == line.end || (number == 1 && f.header))
            continue;
        rc = parse_line(&f, line, example, file->name, number, err);
        if (rc)
            break;
        if (!r->options->test.text.data &&
            random_unit64(random_at(0x686f6c64, r->row, 0, 0)) < r->options->held_out)
            split = DATASET_TEST;
        r->row++;
        rc = builder_add(r->builder, split, example, 3, err);
    }
    return rc;
}

int read_movielens(const struct builder_options *to, const struct read_options *options,
                   struct error *err)
{
    struct ratings_reader r = { .options = options };
    struct builder_options bo = *to;
    int rc;

    bo.kind = "movielens";
    bo.schema = (struct gust_data){ .ones = 2, .keys = 2 };
    rc = builder_open(&r.builder, &bo, err);
    if (rc)
        return rc;
    rc = read_file(&r, &options->train, false, err);
    if (!rc && r.row == 0)
        rc = fail(err, E_FORMAT, "%s holds no ratings", options->train.name);
    if (!rc && options->test.text.data)
        rc = read_file(&r, &options->test, true, err);
    rc = rc ? rc : builder_finish(r.builder, err);
    builder_close(r.builder);
    return rc;
}
