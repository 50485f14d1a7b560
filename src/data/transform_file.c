/* SPDX-License-Identifier: Apache-2.0 */
/* How one file fits a transform: its separator, and which of its fields is which column. */
#include <inttypes.h>

#include "base/random.h"
#include "data/scan.h"
#include "data/transform_internal.h"
#include "math/functions.h"

void transform_file_init(struct transform_file *f, const struct transform *t, struct heap *heap,
                         bool labels_optional)
{
    *f = (struct transform_file){ .t = t, .heap = heap, .labels_optional = labels_optional };
}

void transform_file_release(struct transform_file *f)
{
    if (!f->heap)
        return;
    heap_free(f->heap, f->fields);
    heap_free(f->heap, f->low);
    heap_free(f->heap, f->range);
    *f = (struct transform_file){ 0 };
}

static bool has(struct slice line, const char *text)
{
    return line.size && memmem(line.data, line.size, text, strlen(text)) != NULL;
}

static void set_separator(struct transform_file *f, const char *separator)
{
    snprintf(f->separator, sizeof(f->separator), "%s", separator);
    f->separator_size = (uint8_t)strlen(separator);
}

const char *transform_separator(struct slice header)
{
    static const char *const candidates[] = { ",", "\t", ";", "|" };
    const char *best = ",";
    uint32_t most = 1;

    for (size_t i = 0; i < ARRAY_SIZE(candidates); i++) {
        uint32_t count = 0;

        if (transform_cells(header, candidates[i], NULL, 0, &count, NULL) == 0 && count > most) {
            best = candidates[i];
            most = count;
        }
    }
    return best;
}

/* Where the columns' words are: the label, dense values, then users and items or categories. */
static uint32_t place_of(const struct transform *t, uint32_t column)
{
    enum transform_role role = t->columns[column].role;
    uint32_t before = 0;

    if (role == ROLE_USER || role == ROLE_ITEM)
        return 1 + t->data.dense + (role == ROLE_ITEM);
    for (uint32_t i = 0; i < column; i++)
        before += t->columns[i].role == role;
    return role == ROLE_NUMERIC       ? 1 + before
           : role == ROLE_CATEGORICAL ? 1 + t->data.dense + t->data.keys + before
                                      : 0;
}

/* Field number FIELD of the file is COLUMN of the transform. */
static void set_field(struct transform_file *f, uint32_t field, uint32_t column)
{
    const struct transform_column *c = &f->t->columns[column];
    uint64_t name = 0;

    for (const char *p = c->name; *p; p++)
        name = random_mix(name + (uint8_t)*p + 1);
    f->fields[field] = (struct transform_field){
        .role = c->role,
        .place = place_of(f->t, column),
        .salt = random_at(f->t->hash_seed, name, 0, 0),
        .column = c,
    };
    f->has_label |= c->role == ROLE_LABEL;
}

static int alloc_fields(struct transform_file *f, uint32_t count, struct error *err)
{
    if (count > TRANSFORM_COLUMNS_MAX)
        return fail(err, E_FORMAT, "the first line has %u columns; there may be %u", count,
                    TRANSFORM_COLUMNS_MAX);
    f->fields = heap_alloc(f->heap, MAX(count, 1u) * sizeof(*f->fields));
    f->field_count = count;
    return 0;
}

static bool is_word(struct slice cell, const char *const *words)
{
    for (; *words; words++)
        if (strlen(*words) == cell.size && strncasecmp(*words, cell.data, cell.size) == 0)
            return true;
    return false;
}

const char *const transform_user_words[] = { "userId", "user_id", "user", "uid", NULL };
const char *const transform_item_words[] = { "movieId", "movie_id", "itemId", "item_id",
                                             "item",    "movie",    "iid",    NULL };
const char *const transform_rating_words[] = { "rating", "score", "stars", NULL };

bool transform_is_word(struct slice cell, const char *const *words)
{
    return is_word(cell, words);
}

static enum transform_role rating_role(struct slice cell)
{
    return is_word(cell, transform_user_words)     ? ROLE_USER
           : is_word(cell, transform_item_words)   ? ROLE_ITEM
           : is_word(cell, transform_rating_words) ? ROLE_LABEL
                                                   : ROLE_IGNORE;
}

static void set_role(struct transform_file *f, uint32_t field, enum transform_role role)
{
    for (uint32_t c = 0; c < f->t->column_count; c++)
        if (f->t->columns[c].role == role)
            set_field(f, field, c);
}

/* Ratings: any separator; columns in the order user, item, rating, or as a header says. */
static int ratings_first(struct transform_file *f, struct slice line, bool *header,
                         struct error *err)
{
    static const enum transform_role order[] = { ROLE_USER, ROLE_ITEM, ROLE_LABEL };
    struct slice cells[TRANSFORM_COLUMNS_MAX];
    uint32_t count, need = 0;
    int rc;

    set_separator(f, has(line, "::")   ? "::"
                     : has(line, "\t") ? "\t"
                     : has(line, ";")  ? ";"
                     : has(line, ",")  ? ","
                                       : " ");
    rc = transform_cells(line, f->separator, cells, ARRAY_SIZE(cells), &count, err);
    rc = rc ? rc : alloc_fields(f, count, err);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < count; i++)
        *header |= rating_role(cells[i]) != ROLE_IGNORE;
    for (uint32_t i = 0; i < count && (*header || i < ARRAY_SIZE(order)); i++) {
        enum transform_role role = *header ? rating_role(cells[i]) : order[i];

        if (role == ROLE_IGNORE)
            continue;
        set_role(f, i, role);
        need |= 1u << role;
        f->field_count = i + 1;
    }
    if (*header && (~need & (1u << ROLE_USER | 1u << ROLE_ITEM)))
        return fail(err, E_FORMAT, "the header must name userId, movieId and rating");
    if (!f->has_label && !f->labels_optional) {
        if (*header)
            return fail(err, E_FORMAT, "the header must name userId, movieId and rating");
        return fail(err, E_FORMAT, "the line has %u column%s, expected 3", count,
                    count == 1 ? "" : "s");
    }
    if (count < 2)
        return fail(err, E_FORMAT, "the line has 1 column, expected a user and an item");
    return 0;
}

/* Criteo: all columns, or all but the label. */
static int criteo_first(struct transform_file *f, struct slice line, struct error *err)
{
    uint32_t count = 0, skip;
    int rc;

    set_separator(f, "\t");
    f->exact = true;
    rc = transform_cells(line, f->separator, NULL, 0, &count, err);
    if (rc)
        return rc;
    skip = f->labels_optional && count + 1 == f->t->column_count;
    if (count + skip != f->t->column_count)
        return fail(err, E_FORMAT, "the line has %u column%s, expected %u with tabs between", count,
                    count == 1 ? "" : "s", f->t->column_count);
    rc = alloc_fields(f, count, err);
    for (uint32_t i = 0; !rc && i < count; i++)
        set_field(f, i, i + skip);
    return rc;
}

/* The cell named as column C, or COUNT. */
static uint32_t find_cell(const struct slice *cells, uint32_t count, const char *name)
{
    uint32_t i = 0;

    while (i < count && !slice_equal(cells[i], slice_str(name)))
        i++;
    return i;
}

static int csv_first(struct transform_file *f, struct slice line, struct error *err)
{
    struct slice cells[TRANSFORM_COLUMNS_MAX];
    uint32_t count;
    int rc;

    set_separator(f, transform_separator(line));
    f->exact = true;
    rc = transform_cells(line, f->separator, cells, ARRAY_SIZE(cells), &count, err);
    rc = rc ? rc : alloc_fields(f, count, err);
    for (uint32_t c = 0; !rc && c < f->t->column_count; c++) {
        const struct transform_column *column = &f->t->columns[c];
        uint32_t at = find_cell(cells, count, column->name);
        bool optional = column->role == ROLE_IGNORE || column->role == ROLE_WEIGHT ||
                        column->role == ROLE_LABEL;

        if (at < count && f->fields[at].column)
            rc = fail(err, E_FORMAT, "the transform names column '%s' twice", column->name);
        else if (at < count)
            set_field(f, at, c);
        else if (column->role != ROLE_IGNORE && !(optional && f->labels_optional))
            rc = fail(err, E_FORMAT, "the header does not name the %s column '%s'",
                      transform_role_name(column->role), column->name);
    }
    return rc;
}

/* What scale_dense() subtracts and divides by. */
static void prepare_scale(struct transform_file *f)
{
    const struct transform *t = f->t;
    uint32_t room = (uint32_t)round_up(t->data.dense, 8), at = 0;

    if (!room)
        return;
    f->low = heap_alloc(f->heap, room * sizeof(*f->low));
    f->range = heap_alloc(f->heap, room * sizeof(*f->range));
    for (uint32_t i = 0; i < t->column_count; i++) {
        const struct transform_column *c = &t->columns[i];
        float range = (float)c->max - (float)c->min;

        if (c->role != ROLE_NUMERIC || at == t->data.dense)
            continue;
        f->low[at] = (float)c->min;
        if (t->scale == SCALE_LOG)
            range = log_f32(range + 1.0f);
        /* What never varied says nothing: whatever comes later becomes 0. */
        f->range[at++] = range > 0 ? range : INFINITY;
    }
}

int transform_first_line(struct transform_file *f, struct slice line, bool *header,
                         struct error *err)
{
    int rc = 0;

    *header = false;
    heap_free(f->heap, f->fields);
    heap_free(f->heap, f->low);
    heap_free(f->heap, f->range);
    f->fields = NULL;
    f->low = f->range = NULL;
    f->has_label = false;
    switch (f->t->format) {
    case TRANSFORM_MOVIELENS:
        rc = ratings_first(f, line, header, err);
        break;
    case TRANSFORM_CRITEO:
        rc = criteo_first(f, line, err);
        break;
    case TRANSFORM_CSV:
        *header = true;
        rc = csv_first(f, line, err);
        break;
    default:
        f->has_label = true;
        break;
    }
    prepare_scale(f);
    return rc;
}
