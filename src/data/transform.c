/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms as text, and the names of what is in them; data/transform_row.c applies them. */
#include "data/transform.h"

#include <float.h>
#include <inttypes.h>

#include "base/crc32c.h"
#include "base/props.h"
#include "data/format.h"

static const char *const format_names[] = { "libsvm", "movielens", "criteo", "csv" };
static const char *const role_names[] = { "ignore",      "label", "weight", "numeric",
                                          "categorical", "user",  "item" };
static const char *const scale_names[] = { "none", "minmax", "log" };
static const char *const labels_names[] = { "numbers", "values", "texts" };

_Static_assert(ARRAY_SIZE(format_names) == TRANSFORM_FORMATS, "a name per format");
_Static_assert(ARRAY_SIZE(role_names) == ROLES, "a name per role");
_Static_assert(ARRAY_SIZE(scale_names) == SCALES, "a name per scale");
_Static_assert(ARRAY_SIZE(labels_names) == LABELS_KINDS, "a name per kind of labels");

static int find_name(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return (int)i;
    return -1;
}

const char *transform_format_name(enum transform_format format)
{
    return format_names[format];
}

int transform_format_find(const char *name)
{
    return find_name(format_names, ARRAY_SIZE(format_names), name);
}

const char *transform_role_name(enum transform_role role)
{
    return role_names[role];
}

int transform_role_find(const char *name)
{
    return find_name(role_names, ARRAY_SIZE(role_names), name);
}

const char *transform_scale_name(enum transform_scale scale)
{
    return scale_names[scale];
}

int transform_scale_find(const char *name)
{
    return find_name(scale_names, ARRAY_SIZE(scale_names), name);
}

void transform_class_name(const struct transform *t, uint32_t class, char out[TRANSFORM_NAME_MAX])
{
    if (t->labels == LABELS_TEXTS)
        snprintf(out, TRANSFORM_NAME_MAX, "%s", t->classes[class].text);
    else
        snprintf(out, TRANSFORM_NAME_MAX, "%.9g",
                 t->classes ? (double)t->classes[class].value : (double)class);
}

void transform_init(struct transform *t, struct heap *heap, enum transform_format format)
{
    *t = (struct transform){ .heap = heap, .format = format };
}

void transform_release(struct transform *t)
{
    if (!t->heap)
        return;
    heap_free(t->heap, t->columns);
    heap_free(t->heap, t->classes);
    *t = (struct transform){ 0 };
}

void transform_relax(struct transform *t)
{
    if (t->format != TRANSFORM_LIBSVM)
        return;
    t->data.ones = 0;
    t->data.sparse = true;
}

/* ---- as text ---- */

static void set_indexed(struct props *p, const char *what, uint32_t i, const char *value)
{
    char key[32];

    snprintf(key, sizeof(key), "%s_%u", what, i);
    props_set(p, key, value);
}

static void write_layout(const struct gust_data *d, struct props *p)
{
    props_setf(p, "dense", "%u", d->dense);
    if (d->ones == GUST_VARIES)
        props_set(p, "ones", "varies");
    else
        props_setf(p, "ones", "%u", d->ones);
    props_set(p, "sparse", d->sparse ? "yes" : "no");
    props_setf(p, "dims", "%" PRIu64, d->dims);
    props_setf(p, "keys", "%u", d->keys);
    props_setf(p, "classes", "%u", d->classes);
}

static void write_columns(const struct transform *t, struct props *p)
{
    char text[TRANSFORM_NAME_MAX + 96];

    props_setf(p, "columns", "%u", t->column_count);
    for (uint32_t i = 0; i < t->column_count; i++) {
        const struct transform_column *c = &t->columns[i];

        snprintf(text, sizeof(text), "%s %.17g %.17g %s", role_names[c->role], c->min, c->max,
                 c->name);
        set_indexed(p, "column", i, text);
    }
}

void transform_encode(const struct transform *t, struct buf *out)
{
    size_t begin = out->size;
    char text[32];
    struct props p;

    props_init(&p, t->heap);
    props_setf(&p, "gust-transform", "%u", TRANSFORM_VERSION);
    props_set(&p, "format", format_names[t->format]);
    write_layout(&t->data, &p);
    props_setf(&p, "index_base", "%u", t->index_base);
    props_setf(&p, "hash_seed", "%" PRIu64, t->hash_seed);
    props_set(&p, "scale", scale_names[t->scale]);
    props_set(&p, "labels", labels_names[t->labels]);
    for (uint32_t i = 0; t->classes && i < t->data.classes; i++) {
        snprintf(text, sizeof(text), "%.9g", (double)t->classes[i].value);
        set_indexed(&p, "class", i, t->labels == LABELS_TEXTS ? t->classes[i].text : text);
    }
    write_columns(t, &p);
    props_write(&p, out);
    buf_printf(out, "check: %08x\n",
               out->failed ? 0 : crc32c(0, out->data + begin, out->size - begin));
    props_release(&p);
}

/* The last line holds the CRC of everything before it. */
static int check_text(struct slice text, struct error *err)
{
    static const char label[] = "check: ";
    const size_t tail = sizeof(label) - 1 + 8 + 1;
    const char *line = text.size < tail ? NULL : (const char *)text.data + text.size - tail;
    char expected[9];

    if (!line || text.size > TRANSFORM_BYTES_MAX || memcmp(line, label, sizeof(label) - 1) != 0)
        return fail(err, E_FORMAT, "the transform is cut short or something else");
    snprintf(expected, sizeof(expected), "%08x", crc32c(0, text.data, text.size - tail));
    if (memcmp(line + sizeof(label) - 1, expected, 8) != 0)
        return fail(err, E_FORMAT, "the transform is damaged: its check sum does not fit");
    return 0;
}

/* A whole number that must be there. */
static int need(const struct props *p, const char *key, uint64_t max, uint64_t *out,
                struct error *err)
{
    struct error inner = { 0 };

    if (!props_find(p, key))
        return fail(err, E_FORMAT, "the transform does not say '%s'", key);
    if (props_u64(p, key, 0, 0, max, out, &inner))
        return fail(err, E_FORMAT, "the transform's %s", inner.text);
    return 0;
}

static int need_u32(const struct props *p, const char *key, uint32_t max, uint32_t *out,
                    struct error *err)
{
    uint64_t v = 0;
    int rc = need(p, key, max, &v, err);

    *out = (uint32_t)v;
    return rc;
}

/* One of NAMES. */
static int need_name(const struct props *p, const char *key, const char *const *names, size_t count,
                     int *out, struct error *err)
{
    const char *value = props_str(p, key, "");

    *out = find_name(names, count, value);
    return *out >= 0 ? 0 : fail(err, E_FORMAT, "the transform's %s is '%.32s'", key, value);
}

static int read_layout(const struct props *p, struct gust_data *d, struct error *err)
{
    const char *sparse = props_str(p, "sparse", "");
    int rc = need_u32(p, "dense", TRANSFORM_COLUMNS_MAX, &d->dense, err);

    d->sparse = strcmp(sparse, "yes") == 0;
    if (!rc && !d->sparse && strcmp(sparse, "no") != 0)
        rc = fail(err, E_FORMAT, "the transform's sparse is neither yes nor no");
    if (strcmp(props_str(p, "ones", ""), "varies") == 0)
        d->ones = GUST_VARIES;
    else
        rc = rc ? rc : need_u32(p, "ones", FORMAT_ROW_WORDS_MAX / 2 - 1, &d->ones, err);
    rc = rc ? rc : need(p, "dims", (uint64_t)1 << 32, &d->dims, err);
    rc = rc ? rc : need_u32(p, "keys", 2, &d->keys, err);
    return rc ? rc : need_u32(p, "classes", TRANSFORM_CLASSES_MAX, &d->classes, err);
}

static int read_classes(const struct props *p, struct transform *t, struct error *err)
{
    if ((t->labels == LABELS_NUMBERS) != (t->data.classes == 0) || t->data.classes == 1)
        return fail(err, E_FORMAT, "the transform's labels do not fit %u classes", t->data.classes);
    if (t->data.classes == 0)
        return 0;
    t->classes = heap_alloc(t->heap, t->data.classes * sizeof(*t->classes));
    for (uint32_t i = 0; i < t->data.classes; i++) {
        struct transform_class *c = &t->classes[i];
        char key[32];
        const char *value;
        double number = 0;

        snprintf(key, sizeof(key), "class_%u", i);
        value = props_find(p, key);
        if (!value || strlen(value) >= sizeof(c->text) ||
            (t->labels == LABELS_VALUES && (!parse_f64(value, &number) || fabs(number) > FLT_MAX)))
            return fail(err, E_FORMAT, "the transform's %s is missing or wrong", key);
        c->value = (float)number;
        if (t->labels == LABELS_TEXTS)
            snprintf(c->text, sizeof(c->text), "%s", value);
        if (i && t->labels == LABELS_TEXTS && strcmp(c->text, c[-1].text) <= 0)
            return fail(err, E_FORMAT, "the transform's classes are not in order");
        if (i && t->labels == LABELS_VALUES && c->value <= c[-1].value)
            return fail(err, E_FORMAT, "the transform's classes are not in order");
    }
    return 0;
}

/* "role min max name" */
static int read_column(const char *text, struct transform_column *c)
{
    char role[16], min[40], max[40];
    int at = 0, found;

    if (sscanf(text, "%15s %39s %39s %n", role, min, max, &at) != 3 || at == 0)
        return -1;
    found = transform_role_find(role);
    if (found < 0 || !parse_f64(min, &c->min) || !parse_f64(max, &c->max) || c->min > c->max ||
        fmax(fabs(c->min), fabs(c->max)) > FLT_MAX || strlen(text + at) >= sizeof(c->name))
        return -1;
    c->role = (enum transform_role)found;
    snprintf(c->name, sizeof(c->name), "%s", text + at);
    return 0;
}

static int read_columns(const struct props *p, struct transform *t, struct error *err)
{
    int rc = need_u32(p, "columns", TRANSFORM_COLUMNS_MAX, &t->column_count, err);

    if (rc || t->column_count == 0)
        return rc;
    t->columns = heap_alloc(t->heap, t->column_count * sizeof(*t->columns));
    for (uint32_t i = 0; i < t->column_count; i++) {
        char key[32];
        const char *value;

        snprintf(key, sizeof(key), "column_%u", i);
        value = props_find(p, key);
        if (!value || read_column(value, &t->columns[i]))
            return fail(err, E_FORMAT, "the transform's %s is missing or wrong", key);
    }
    return 0;
}

/* Whether columns and layout say the same. */
static int check_layout(const struct transform *t, struct error *err)
{
    const struct gust_data *d = &t->data;
    uint32_t count[ROLES] = { 0 };

    if (t->format == TRANSFORM_LIBSVM) {
        if (t->column_count || d->dense || d->keys || (d->ones && d->sparse) || t->index_base > 1 ||
            (!d->ones && !d->sparse) || d->dims == 0)
            return fail(err, E_FORMAT, "the transform is not one of libsvm lines");
        return 0;
    }
    for (uint32_t i = 0; i < t->column_count; i++)
        count[t->columns[i].role]++;
    if (t->format == TRANSFORM_MOVIELENS && (d->dense || d->keys != 2 || d->ones != 2))
        return fail(err, E_FORMAT, "the transform is not one of ratings");
    if (d->sparse || d->dense != count[ROLE_NUMERIC] || count[ROLE_LABEL] > 1 ||
        count[ROLE_WEIGHT] > 1 || d->keys != count[ROLE_USER] + count[ROLE_ITEM] ||
        count[ROLE_USER] > 1 || count[ROLE_ITEM] > 1 ||
        d->ones != d->keys + count[ROLE_CATEGORICAL] || (count[ROLE_CATEGORICAL] && d->dims == 0))
        return fail(err, E_FORMAT, "the transform's columns do not fit its examples");
    return 0;
}

int transform_decode(struct transform *t, struct heap *heap, struct slice text, struct error *err)
{
    struct transform got = { .heap = heap };
    int rc = check_text(text, err), format = 0, scale = 0, labels = 0;
    uint32_t version = 0;
    struct props p;

    if (rc)
        return rc;
    props_init(&p, heap);
    rc = props_parse(&p, text, err);
    rc = rc ? rc : need_u32(&p, "gust-transform", UINT32_MAX, &version, err);
    if (!rc && version != TRANSFORM_VERSION)
        rc = fail(err, E_FORMAT, "the transform has version %u; this program reads version %u",
                  version, TRANSFORM_VERSION);
    rc = rc ? rc : need_name(&p, "format", format_names, TRANSFORM_FORMATS, &format, err);
    rc = rc ? rc : need_name(&p, "scale", scale_names, SCALES, &scale, err);
    rc = rc ? rc : need_name(&p, "labels", labels_names, LABELS_KINDS, &labels, err);
    got.format = (enum transform_format)format;
    got.scale = (enum transform_scale)scale;
    got.labels = (enum transform_labels)labels;
    rc = rc ? rc : need_u32(&p, "index_base", 1, &got.index_base, err);
    rc = rc ? rc : need(&p, "hash_seed", UINT64_MAX, &got.hash_seed, err);
    rc = rc ? rc : read_layout(&p, &got.data, err);
    rc = rc ? rc : read_classes(&p, &got, err);
    rc = rc ? rc : read_columns(&p, &got, err);
    rc = rc ? rc : check_layout(&got, err);
    props_release(&p);
    if (rc)
        transform_release(&got);
    else
        *t = got;
    return rc;
}
