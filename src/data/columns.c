/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns of ratings and of Criteo's clicks are fixed; those of CSV come from the header, from
 * what the user says, and from the first rows: a column whose cells are numbers is numeric.
 */
#include "data/columns.h"

#include "data/scan.h"
#include "data/transform_internal.h"

#define SAMPLE_ROWS 1000u

static const char *const label_words[] = { "label",   "target",     "y",        "class",
                                           "click",   "clicked",    "is_click", "converted",
                                           "outcome", "conversion", "response", NULL };
static const char *const weight_words[] = { "weight", "sample_weight", NULL };
/* What says when or which, not what. */
static const char *const ignore_words[] = { "id", "row_id", "timestamp", "time", "date", NULL };

static void add_column(struct transform *t, enum transform_role role, const char *format,
                       unsigned number)
{
    struct transform_column *c = &t->columns[t->column_count++];

    c->role = role;
    snprintf(c->name, sizeof(c->name), "%s", format);
    if (number)
        snprintf(c->name, sizeof(c->name), "%s%u", format, number);
}

static void ratings_columns(struct transform *t)
{
    add_column(t, ROLE_USER, "userId", 0);
    add_column(t, ROLE_ITEM, "movieId", 0);
    add_column(t, ROLE_LABEL, "rating", 0);
}

static void criteo_columns(struct transform *t)
{
    add_column(t, ROLE_LABEL, "label", 0);
    for (unsigned i = 1; i <= 13; i++)
        add_column(t, ROLE_NUMERIC, "I", i);
    for (unsigned i = 1; i <= 26; i++)
        add_column(t, ROLE_CATEGORICAL, "C", i);
}

/* ---- CSV ---- */

/* What is known of the columns of a CSV file. */
struct guess {
    struct slice cells[TRANSFORM_COLUMNS_MAX];
    uint32_t count;
    bool decided[TRANSFORM_COLUMNS_MAX];     /* by the user */
    uint32_t numbers[TRANSFORM_COLUMNS_MAX]; /* among the first rows */
    uint32_t texts[TRANSFORM_COLUMNS_MAX];
    uint32_t rows; /* that were looked at */
};

static int take_header(struct transform *t, struct guess *g, struct slice header,
                       const char *separator, struct error *err)
{
    int rc = transform_cells(header, separator, g->cells, TRANSFORM_COLUMNS_MAX, &g->count, err);

    if (rc)
        return fail_within(err, rc, "line 1");
    if (g->count < 2 || g->count > TRANSFORM_COLUMNS_MAX)
        return fail(err, E_FORMAT, "the header has %u column%s; there may be 2 to %u", g->count,
                    g->count == 1 ? "" : "s", TRANSFORM_COLUMNS_MAX);
    for (uint32_t i = 0; i < g->count; i++) {
        struct slice cell = g->cells[i];

        if (cell.size >= TRANSFORM_NAME_MAX || (cell.size && memchr(cell.data, 0, cell.size)))
            return fail(err, E_FORMAT, "the name of column %u is longer than %u bytes", i + 1,
                        TRANSFORM_NAME_MAX - 1);
        snprintf(t->columns[i].name, TRANSFORM_NAME_MAX, "%.*s", (int)cell.size,
                 (const char *)cell.data);
        for (uint32_t k = 0; k < i; k++)
            if (cell.size && slice_equal(cell, g->cells[k]))
                return fail(err, E_FORMAT, "the header names column '%s' twice",
                            t->columns[i].name);
    }
    t->column_count = g->count;
    return 0;
}

static bool is_number(struct slice cell)
{
    struct scan s = { cell.data, (const char *)cell.data + cell.size };
    float value;

    return scan_f32(&s, &value) && s.at == s.end;
}

static bool is_nothing(struct slice cell)
{
    static const char *const words[] = { "na", "n/a", "nan", "null", "none", "?", "-", NULL };

    return cell.size == 0 || transform_is_word(cell, words);
}

/* Look at the first rows. */
static void sample(struct guess *g, struct scan text, const char *separator)
{
    struct slice cells[TRANSFORM_COLUMNS_MAX];
    struct scan line;

    for (unsigned row = 0; row < SAMPLE_ROWS && scan_line(&text, &line); row++) {
        struct slice whole = slice(line.at, (size_t)(line.end - line.at));
        uint32_t count = 0;

        if (transform_cells(whole, separator, cells, ARRAY_SIZE(cells), &count, NULL) ||
            count != g->count)
            continue;
        g->rows++;
        for (uint32_t i = 0; i < count; i++) {
            g->numbers[i] += is_number(cells[i]);
            g->texts[i] += !is_number(cells[i]) && !is_nothing(cells[i]);
        }
    }
}

/* Whether NAME is PATTERN, in which a final '*' stands for anything. */
static bool matches(const char *name, const char *pattern, size_t size)
{
    if (size && pattern[size - 1] == '*')
        return strncmp(name, pattern, size - 1) == 0;
    return strlen(name) == size && memcmp(name, pattern, size) == 0;
}

static int decide(struct transform *t, struct guess *g, const char *word, size_t size,
                  enum transform_role role, struct error *err)
{
    bool found = false;

    for (uint32_t i = 0; i < t->column_count; i++)
        if (matches(t->columns[i].name, word, size)) {
            t->columns[i].role = role;
            g->decided[i] = found = true;
        }
    if (!found)
        return fail(err, E_INVALID, "--columns: there is no column '%.*s' in the header", (int)size,
                    word);
    return 0;
}

/*
 * "label=click,numeric=a,b categorical=c": a word with '=' begins a role, the words after it belong
 * to the same. Which roles were named goes to *NAMED.
 */
static int decide_all(struct transform *t, struct guess *g, const char *spec, unsigned *named,
                      struct error *err)
{
    int role = -1, rc = 0;

    for (const char *p = spec; !rc && *p;) {
        size_t size = strcspn(p, ", \t");
        const char *equals = memchr(p, '=', size), *word = p;

        p += size;
        p += strspn(p, ", \t");
        if (equals) {
            char name[16];

            snprintf(name, sizeof(name), "%.*s",
                     (int)MIN((size_t)(equals - word), sizeof(name) - 1), word);
            role = transform_role_find(name);
            if (role < 0)
                return fail(err, E_INVALID,
                            "--columns: '%s' is no role; use label, weight, numeric, categorical, "
                            "user, item or ignore",
                            name);
            size -= (size_t)(equals + 1 - word);
            word = equals + 1;
            *named |= 1u << role;
        }
        if (role < 0)
            return fail(err, E_INVALID, "--columns begins with a role, as in label=click");
        if (size)
            rc = decide(t, g, word, size, (enum transform_role)role, err);
    }
    return rc;
}

static uint32_t count_role(const struct transform *t, enum transform_role role)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < t->column_count; i++)
        count += t->columns[i].role == role;
    return count;
}

/* Give ROLE to the first column with one of these names, unless the user named that role. */
static void guess_named(struct transform *t, struct guess *g, enum transform_role role,
                        const char *const *words)
{
    for (; *words && !count_role(t, role); words++)
        for (uint32_t i = 0; i < t->column_count && !count_role(t, role); i++)
            if (!g->decided[i] &&
                transform_is_word(g->cells[i], (const char *const[]){ *words, NULL })) {
                t->columns[i].role = role;
                g->decided[i] = true;
            }
}

/* Whether a column that the user did not speak of has one of these names. */
static bool has_name(const struct guess *g, const char *const *words)
{
    for (uint32_t i = 0; i < g->count; i++)
        if (!g->decided[i] && transform_is_word(g->cells[i], words))
            return true;
    return false;
}

/* What the user did not say. */
static void guess_roles(struct transform *t, struct guess *g, unsigned named)
{
    const unsigned features = 1u << ROLE_NUMERIC | 1u << ROLE_CATEGORICAL;
    const unsigned keys = 1u << ROLE_USER | 1u << ROLE_ITEM;

    if (!(named & features)) {
        /* One without the other is a feature like any. */
        if ((named & keys) ||
            (has_name(g, transform_user_words) && has_name(g, transform_item_words))) {
            guess_named(t, g, ROLE_USER, transform_user_words);
            guess_named(t, g, ROLE_ITEM, transform_item_words);
        }
        if (count_role(t, ROLE_USER))
            guess_named(t, g, ROLE_LABEL, transform_rating_words);
    }
    guess_named(t, g, ROLE_LABEL, label_words);
    guess_named(t, g, ROLE_WEIGHT, weight_words);
    /* Ratings have no further columns, and who names features names all of them. */
    if ((named & features) || count_role(t, ROLE_USER))
        return;
    for (uint32_t i = 0; i < t->column_count; i++) {
        if (g->decided[i] || transform_is_word(g->cells[i], ignore_words) || g->cells[i].size == 0)
            continue;
        if (g->texts[i])
            t->columns[i].role = ROLE_CATEGORICAL;
        else if (g->numbers[i] || g->rows == 0)
            t->columns[i].role = ROLE_NUMERIC;
    }
}

static int no_label(const struct transform *t, struct error *err)
{
    char names[200];
    size_t used = 0;

    for (uint32_t i = 0; i < t->column_count && used < sizeof(names) - 1; i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
                                 t->columns[i].name);
    return fail(
        err, E_INVALID,
        "no column looks like the label; say which is, as in --columns label=NAME, of: %s%s", names,
        used >= sizeof(names) ? " ..." : "");
}

static int check_roles(const struct transform *t, struct error *err)
{
    uint32_t users = count_role(t, ROLE_USER), items = count_role(t, ROLE_ITEM);
    uint32_t features = count_role(t, ROLE_NUMERIC) + count_role(t, ROLE_CATEGORICAL);

    if (count_role(t, ROLE_LABEL) == 0)
        return no_label(t, err);
    if (count_role(t, ROLE_LABEL) > 1 || count_role(t, ROLE_WEIGHT) > 1 || users > 1 || items > 1)
        return fail(err, E_INVALID, "--columns: there is one label, weight, user and item at most");
    if (users != items)
        return fail(err, E_INVALID, "--columns: a user needs an item, and an item a user");
    if (users && features)
        return fail(err, E_UNSUPPORTED,
                    "--columns: users and items beside numeric or categorical columns are not "
                    "supported; leave one or the other out");
    if (!users && !features)
        return fail(err, E_INVALID, "there is no column to learn from beside the label");
    return 0;
}

static int csv_columns(struct transform *t, struct guess *g, struct slice head, const char *spec,
                       struct error *err)
{
    struct scan text = { head.data, (const char *)head.data + head.size }, line = { 0 };
    struct slice header;
    const char *separator;
    unsigned named = 0;
    int rc;

    if (!scan_line(&text, &line))
        line = text;
    header = slice(line.at, (size_t)(line.end - line.at));
    separator = transform_separator(header);
    rc = take_header(t, g, header, separator, err);
    if (rc)
        return rc;
    sample(g, text, separator);
    rc = spec ? decide_all(t, g, spec, &named, err) : 0;
    if (rc)
        return rc;
    guess_roles(t, g, named);
    for (uint32_t i = 0; i < t->column_count; i++)
        if (t->columns[i].role == ROLE_LABEL && g->texts[i] > g->numbers[i] / 100)
            t->labels = LABELS_TEXTS;
    return check_roles(t, err);
}

static void set_layout(struct transform *t, const struct columns_options *o)
{
    uint32_t categories = count_role(t, ROLE_CATEGORICAL);

    t->data.dense = count_role(t, ROLE_NUMERIC);
    t->data.keys = count_role(t, ROLE_USER) + count_role(t, ROLE_ITEM);
    t->data.ones = t->data.keys + categories;
    t->data.dims = categories ? o->hash_width : 0;
    t->hash_seed = o->hash_seed;
    t->scale = o->scale;
}

int columns_find(struct transform *t, struct slice head, const struct columns_options *o,
                 struct error *err)
{
    struct guess *g;
    int rc = 0;

    if (o->columns && t->format != TRANSFORM_CSV)
        return fail(err, E_INVALID, "--columns is for CSV files with a header, and this is %s",
                    transform_format_name(t->format));
    if (t->format == TRANSFORM_LIBSVM) {
        /* What the first pass needs; the statistics say more. */
        t->data = (struct gust_data){ .sparse = true, .dims = (uint64_t)1 << 32 };
        return 0;
    }
    t->columns = heap_alloc(t->heap, TRANSFORM_COLUMNS_MAX * sizeof(*t->columns));
    if (t->format == TRANSFORM_MOVIELENS) {
        ratings_columns(t);
    } else if (t->format == TRANSFORM_CRITEO) {
        criteo_columns(t);
    } else {
        g = heap_alloc(t->heap, sizeof(*g));
        rc = csv_columns(t, g, head, o->columns, err);
        heap_free(t->heap, g);
    }
    if (!rc)
        set_layout(t, o);
    return rc;
}
