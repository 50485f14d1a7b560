/* SPDX-License-Identifier: Apache-2.0 */
/* The reading half of client/model_file.h; model_save.c is the other. */
#include "client/model_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "data/format.h"
#include "data/transform.h"
#include "model/model.h"

const char *model_file_ids_name(uint32_t column)
{
    return column == 0 ? "user_ids" : "item_ids";
}

void model_file_state_name(char *out, const struct gust_group *group, unsigned slot)
{
    snprintf(out, SAFETENSORS_NAME_MAX + 1, "optimiser.%.40s.%u", group->name, slot);
}

/* ---- metadata ------------------------------------------------------------------------------ */

static int find_kind(struct model_file *m, struct error *err)
{
    const struct props *p = &m->file.metadata;
    const char *version = props_find(p, "gust_model"), *kind = props_str(p, "model", "");
    char list[256] = "";

    if (!version)
        return fail(err, E_FORMAT, "it is a safetensors file, but not of a model that Gust saved");
    if (strtoull(version, NULL, 10) != MODEL_FILE_VERSION)
        return fail(err, E_UNSUPPORTED,
                    "it is a model file of version '%.16s'; this program reads version %u", version,
                    MODEL_FILE_VERSION);
    m->trainer = model_find(kind);
    if (m->trainer)
        return 0;
    for (unsigned i = 0; model_at(i); i++) {
        size_t used = strlen(list);

        snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", model_at(i)->name);
    }
    return fail(err, E_UNSUPPORTED, "it holds a model of kind '%.32s'; this program knows %s", kind,
                list);
}

/* A fact that must be there. */
static int fact(const struct props *p, const char *name, uint64_t max, uint64_t *out,
                struct error *err)
{
    if (!props_find(p, name))
        return fail(err, E_FORMAT, "the metadata have no '%s'", name);
    return props_u64(p, name, 0, 0, max, out, err);
}

static int fact_f64(const struct props *p, const char *name, double *out, struct error *err)
{
    if (!props_find(p, name))
        return fail(err, E_FORMAT, "the metadata have no '%s'", name);
    return props_f64(p, name, 0, -1e300, 1e300, out, err);
}

static int read_counts(struct gust_data *d, const struct props *p, struct error *err)
{
    bool varies = strcmp(props_str(p, "data.ones", ""), "varies") == 0;
    uint64_t dense = 0, ones = GUST_VARIES, sparse = 0, keys = 0, classes = 0;
    int rc = fact(p, "data.rows", UINT64_MAX, &d->rows, err);

    rc = rc ? rc : fact(p, "data.dense", UINT32_MAX, &dense, err);
    rc = rc || varies ? rc : fact(p, "data.ones", UINT32_MAX - 1, &ones, err);
    rc = rc ? rc : fact(p, "data.sparse", 1, &sparse, err);
    rc = rc ? rc : fact(p, "data.dims", UINT64_MAX, &d->dims, err);
    rc = rc ? rc : fact(p, "data.keys", MODEL_KEYS_MAX, &keys, err);
    rc = rc ? rc : fact(p, "data.classes", UINT32_MAX, &classes, err);
    for (uint32_t k = 0; !rc && k < keys; k++) {
        char key[32];

        snprintf(key, sizeof(key), "data.key_rows_%" PRIu32, k);
        rc = fact(p, key, UINT32_MAX, &d->key_rows[k], err);
    }
    d->dense = (uint32_t)dense;
    d->ones = (uint32_t)ones;
    d->sparse = sparse != 0;
    d->keys = (uint32_t)keys;
    d->classes = (uint32_t)classes;
    return rc;
}

static int read_data(struct model_file *m, struct error *err)
{
    const struct props *p = &m->file.metadata;
    struct gust_data *d = &m->data;
    int rc = read_counts(d, p, err);

    rc = rc ? rc : fact_f64(p, "data.label_mean", &d->label_mean, err);
    rc = rc ? rc : fact_f64(p, "data.label_min", &d->label_min, err);
    rc = rc ? rc : fact_f64(p, "data.label_max", &d->label_max, err);
    rc = rc ? rc : format_check_schema(d, err);
    return rc ? fail(err, E_FORMAT, "its metadata make no sense: %s", err ? err->text : "") : 0;
}

static int read_transform(struct model_file *m, struct error *err)
{
    static const char digits[] = "0123456789ABCDEF";
    const char *text = props_str(&m->file.metadata, "transform", "");

    for (; *text; text++) {
        const char *high = *text == '%' && text[1] ? strchr(digits, text[1]) : NULL;
        const char *low = high && text[2] ? strchr(digits, text[2]) : NULL;
        char byte = low ? (char)((high - digits) << 4 | (low - digits)) : *text;

        if (*text == '%' && !low)
            return fail(err, E_FORMAT, "its transform holds a '%%' without two digits");
        buf_add(&m->transform, &byte, 1);
        text += low ? 2 : 0;
    }
    return m->transform.failed ? fail(err, E_LIMIT, "its transform is too long") : 0;
}

static int read_settings(struct model_file *m, struct error *err)
{
    const struct props *p = &m->file.metadata;
    static const char prefix[] = "setting.";

    for (unsigned i = 0; i < p->count; i++) {
        const char *key = p->items[i].key;

        if (strncmp(key, prefix, sizeof(prefix) - 1) == 0 && key[sizeof(prefix) - 1] &&
            strcmp(key, "setting.kernels") != 0)
            props_set(&m->settings, key + sizeof(prefix) - 1, p->items[i].value);
    }
    return props_u64(&m->settings, "seed", 1, 0, UINT64_MAX, &m->seed, err);
}

/* ---- tensors ------------------------------------------------------------------------------- */

static const struct safetensor *find_tensor(const struct model_file *m, const char *name,
                                            enum safetensor_type type, struct error *err)
{
    const struct safetensor *t = safetensors_find(&m->file, name);

    if (!t)
        fail(err, E_FORMAT, "the model lacks the tensor '%s'", name);
    else if (t->type != type)
        fail(err, E_FORMAT, "the tensor '%s' holds %s, it should hold %s", name,
             safetensor_type_name(t->type), safetensor_type_name(type));
    else
        return t;
    return NULL;
}

static int check_ids(struct model_file *m, uint32_t column, struct error *err)
{
    const char *name = model_file_ids_name(column);
    const struct safetensor *t = find_tensor(m, name, SAFETENSOR_I64, err);

    if (!t)
        return E_FORMAT;
    if (t->dims != 1 || t->shape[0] != m->data.key_rows[column])
        return fail(err, E_FORMAT, "the tensor '%s' should hold %" PRIu64 " ids", name,
                    m->data.key_rows[column]);
    m->ids[column] = t->bytes.data;
    for (uint64_t r = 0; r < t->shape[0]; r++) {
        int64_t id;

        memcpy(&id, (const char *)t->bytes.data + r * sizeof(id), sizeof(id));
        if (id < 0 || id >= UINT32_MAX)
            return fail(err, E_FORMAT, "'%s' holds %" PRId64 ", which cannot be an id", name, id);
    }
    return 0;
}

/* A model that has diverged is of no use to anybody, so it is said here and not after the fact. */
static int check_finite(const struct safetensor *t, struct error *err)
{
    uint64_t cols = t->dims == 2 ? MAX(t->shape[1], 1u) : 1;
    const char *at = t->bytes.data;

    for (uint64_t i = 0; i < t->bytes.size / sizeof(float); i++, at += sizeof(float)) {
        float value;

        memcpy(&value, at, sizeof(value));
        if (!isfinite(value))
            return fail(err, E_FORMAT,
                        "row %" PRIu64 " of '%s' holds a value that is not a finite number: its "
                        "training has diverged, or the file is garbled",
                        i / cols, t->name);
    }
    return 0;
}

static int check_tensors(struct model_file *m, struct error *err)
{
    int rc = 0;

    for (uint32_t k = 0; !rc && k < m->data.keys; k++)
        rc = check_ids(m, k, err);
    for (unsigned i = 0; !rc && i < m->file.count; i++)
        if (m->file.tensors[i].type == SAFETENSOR_F32)
            rc = check_finite(&m->file.tensors[i], err);
    return rc;
}

int model_file_open(struct model_file *m, struct heap *heap, struct slice file, struct error *err)
{
    struct error own = { 0 };
    int rc;

    *m = (struct model_file){ .heap = heap };
    if (!err)
        err = &own;
    props_init(&m->settings, heap);
    buf_init(&m->transform, heap, TRANSFORM_BYTES_MAX);
    rc = safetensors_open(&m->file, heap, file, err);
    rc = rc ? rc : find_kind(m, err);
    rc = rc ? rc : read_data(m, err);
    rc = rc ? rc : read_settings(m, err);
    rc = rc ? rc : read_transform(m, err);
    rc = rc ? rc : check_tensors(m, err);
    if (rc)
        model_file_close(m);
    return rc;
}

void model_file_close(struct model_file *m)
{
    if (!m->heap)
        return;
    props_release(&m->settings);
    buf_release(&m->transform);
    safetensors_close(&m->file);
    *m = (struct model_file){ 0 };
}

uint32_t model_file_id(const struct model_file *m, uint32_t column, uint64_t row)
{
    int64_t id;

    memcpy(&id, m->ids[column] + row * sizeof(id), sizeof(id));
    return (uint32_t)id;
}

bool model_file_is_keyed(const struct model_file *m, const struct gust_group *group)
{
    return group->index == GUST_INDEX_COLUMN && group->column < m->data.keys;
}

/* ---- rows ---------------------------------------------------------------------------------- */

/* COLS columns from column FIRST on of the rows of V, out of a tensor. */
static void copy_columns(const struct safetensor *t, uint32_t first, uint32_t cols,
                         const uint64_t *from, const struct gust_view *v)
{
    size_t size = cols * sizeof(float);

    for (uint64_t i = 0; i < v->count; i++) {
        uint64_t row = from ? from[i] : v->first + i;

        if (row != MODEL_ROW_NEW)
            memcpy(v->rows + i * v->stride + first, (const char *)t->bytes.data + row * size, size);
    }
}

static int check_shape(const struct safetensor *t, uint64_t rows, uint32_t cols, bool vector,
                       struct error *err)
{
    if (t->dims == (vector ? 1u : 2u) && t->shape[0] == rows && (vector || t->shape[1] == cols))
        return 0;
    return fail(err, E_FORMAT,
                "the tensor '%s' has the shape [%" PRIu64 ", %" PRIu64 "], expected is [%" PRIu64
                ", %" PRIu32 "]",
                t->name, t->dims > 0 ? t->shape[0] : 1, t->dims > 1 ? t->shape[1] : 1, rows, cols);
}

int model_file_fill(const struct model_file *m, const struct model_fill *f,
                    const struct gust_view *v, struct error *err)
{
    for (unsigned i = 0; i < f->field_count; i++) {
        const struct gust_field *field = &f->fields[i];
        const struct safetensor *t;
        int rc;

        if (field->group != f->group)
            continue;
        t = find_tensor(m, field->name, SAFETENSOR_F32, err);
        rc = t ? check_shape(t, f->rows, field->cols, field->vector, err) : E_FORMAT;
        if (rc)
            return rc;
        copy_columns(t, field->first, field->cols, f->from, v);
    }
    return 0;
}

int model_file_state(const struct model_file *m, const struct model_fill *f, unsigned slot,
                     bool per_row, const struct gust_view *v)
{
    const struct gust_group *group = &f->groups[f->group];
    uint32_t cols = per_row ? 1 : group->cols;
    char name[SAFETENSORS_NAME_MAX + 1];
    const struct safetensor *t;

    model_file_state_name(name, group, slot);
    t = safetensors_find(&m->file, name);
    if (!t || t->type != SAFETENSOR_F32 || check_shape(t, f->rows, cols, cols == 1, NULL))
        return E_NOT_FOUND;
    copy_columns(t, 0, cols, f->from, v);
    return 0;
}
