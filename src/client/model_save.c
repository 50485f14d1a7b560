/* SPDX-License-Identifier: Apache-2.0 */
/* From a base to a model file: the writing half of client/model_file.h. */
#include "client/model_file.h"

#include <inttypes.h>

#include "data/format.h"
#include "data/transform.h"
#include "worker/base.h"

#define TENSORS_MAX (GUST_FIELDS_MAX + MODEL_KEYS_MAX + 2 * GUST_GROUPS_MAX)

/* What is being written, and where its bytes go. */
struct saving {
    const struct blueprint *b;
    struct base_reader base;
    struct gust_field fields[GUST_FIELDS_MAX];
    unsigned field_count;
    struct safetensor tensors[TENSORS_MAX];
    unsigned count;
    char *file, *at; /* at: the next tensor's first byte */
};

static struct safetensor *add(struct saving *s, enum safetensor_type type, uint64_t rows,
                              uint32_t cols, bool vector)
{
    struct safetensor *t = &s->tensors[s->count++];

    *t = (struct safetensor){ .type = type, .dims = vector ? 1 : 2, .shape = { rows, cols } };
    return t;
}

/* ---- what there will be: the same order as in write_tensors() -------------------------------- */

static void plan_state(struct saving *s, unsigned g)
{
    const struct gust_group *group = &s->b->groups[g];
    unsigned slots;
    bool per_row;

    optimiser_state_shape(&s->b->optimiser, group, &slots, &per_row);
    for (unsigned i = 0; i < slots; i++)
        model_file_state_name(
            add(s, SAFETENSOR_F32, group->rows, group->cols, per_row || group->cols == 1)->name,
            group, i);
}

static int plan_tensors(struct saving *s, struct error *err)
{
    const struct blueprint *b = s->b;
    const struct gust_data *d = &b->data->data;
    int rc = host_fields(b->trainer, b->self, b->groups, b->group_count, s->fields, &s->field_count,
                         err);

    if (rc)
        return rc;
    /* The longest type first, so that every tensor lies on a multiple of its type's size. */
    for (uint32_t k = 0; k < MIN(d->keys, MODEL_KEYS_MAX); k++)
        snprintf(add(s, SAFETENSOR_I64, d->key_rows[k], 1, true)->name, SAFETENSORS_NAME_MAX, "%s",
                 model_file_ids_name(k));
    for (unsigned g = 0; g < b->group_count; g++) {
        for (unsigned f = 0; f < s->field_count; f++) {
            const struct gust_field *field = &s->fields[f];

            if (field->group == g)
                snprintf(
                    add(s, SAFETENSOR_F32, b->groups[g].rows, field->cols, field->vector)->name,
                    SAFETENSORS_NAME_MAX, "%s", field->name);
        }
        if (b->trainer->kind != GUST_STATISTIC)
            plan_state(s, g);
    }
    return 0;
}

/* ---- metadata ------------------------------------------------------------------------------ */

static void describe_data(const struct gust_data *d, struct props *out)
{
    props_setf(out, "data.rows", "%" PRIu64, d->rows);
    props_setf(out, "data.dense", "%" PRIu32, d->dense);
    if (d->ones == GUST_VARIES)
        props_set(out, "data.ones", "varies");
    else
        props_setf(out, "data.ones", "%" PRIu32, d->ones);
    props_set(out, "data.sparse", d->sparse ? "1" : "0");
    props_setf(out, "data.dims", "%" PRIu64, d->dims);
    props_setf(out, "data.keys", "%" PRIu32, d->keys);
    for (uint32_t k = 0; k < d->keys; k++) {
        char key[32];

        snprintf(key, sizeof(key), "data.key_rows_%" PRIu32, k);
        props_setf(out, key, "%" PRIu64, d->key_rows[k]);
    }
    props_setf(out, "data.classes", "%" PRIu32, d->classes);
    props_setf(out, "data.label_mean", "%.17g", d->label_mean);
    props_setf(out, "data.label_min", "%.17g", d->label_min);
    props_setf(out, "data.label_max", "%.17g", d->label_max);
}

/* Column names may be in any encoding, the file's header is UTF-8: other bytes become %XX. */
static void escape(struct slice text, struct buf *out)
{
    const char *bytes = text.data;

    for (size_t i = 0; i < text.size; i++)
        if ((unsigned char)bytes[i] > 126 || bytes[i] == '%')
            buf_printf(out, "%%%02X", (unsigned char)bytes[i]);
        else
            buf_add(out, &bytes[i], 1);
}

/* The data set's transform as it stands there; data that was generated has none. */
static int describe_transform(struct dataset *data, struct props *out, struct error *err)
{
    struct error absent = { 0 };
    struct buf text, escaped;
    int rc;

    buf_init(&text, out->heap, TRANSFORM_BYTES_MAX);
    buf_init(&escaped, out->heap, 3 * TRANSFORM_BYTES_MAX + 1);
    rc = dataset_transform(data, &text, &absent);
    escape(buf_slice(&text), &escaped);
    if (!rc && escaped.size)
        props_set(out, "transform", escaped.data);
    buf_release(&escaped);
    buf_release(&text);
    return rc && rc != E_NOT_FOUND ? fail(err, rc, "%s", absent.text) : 0;
}

static int describe(const struct saving *s, uint64_t step, struct props *out, struct error *err)
{
    const struct blueprint *b = s->b;

    props_setf(out, "gust_model", "%u", MODEL_FILE_VERSION);
    props_set(out, "model", b->trainer->name);
    props_setf(out, "step", "%" PRIu64, step);
    props_set(out, "data_kind", b->data->manifest->kind);
    props_setf(out, "data_id", "%016" PRIx64, b->data->manifest->id);
    describe_data(&b->data->data, out);
    for (unsigned i = 0; i < b->settings.count; i++) {
        char key[128];

        snprintf(key, sizeof(key), "setting.%s", b->settings.items[i].key);
        props_set(out, key, b->settings.items[i].value);
    }
    return describe_transform(b->data, out, err);
}

/* ---- bytes --------------------------------------------------------------------------------- */

static int write_ids(struct saving *s, uint32_t column, struct error *err)
{
    uint64_t rows = s->b->data->data.key_rows[column];
    uint32_t *ids;
    int rc = dataset_ids(s->b->data, column, &ids, err);

    if (rc)
        return rc;
    for (uint64_t r = 0; r < rows; r++, s->at += sizeof(int64_t)) {
        int64_t id = ids[r];

        memcpy(s->at, &id, sizeof(id));
    }
    heap_free(s->b->data->heap, ids);
    return 0;
}

/* COLS columns from column FIRST of rows that lie STRIDE floats apart. */
static void write_columns(struct saving *s, const float *rows, uint64_t count, uint32_t stride,
                          uint32_t first, uint32_t cols)
{
    for (uint64_t r = 0; r < count; r++, s->at += cols * sizeof(float))
        memcpy(s->at, rows + r * stride + first, cols * sizeof(float));
}

static int read_group(struct saving *s, unsigned g, float *rows, struct error *err)
{
    const struct gust_group *group = &s->b->groups[g];
    uint32_t stride = gust_stride(group->cols);
    char name[32];

    if (group->scope == GUST_PRIVATE) {
        struct base_private all = { .group = g,
                                    .hi = s->b->data->lanes,
                                    .key_first = s->b->data->key_first,
                                    .stride = stride };

        return base_read_private(&s->base, &all, rows, err);
    }
    snprintf(name, sizeof(name), "shared-%u", g);
    return base_read(&s->base, name, rows, group->rows * stride * sizeof(float), err);
}

static int write_state(struct saving *s, unsigned g, float *scratch, struct error *err)
{
    const struct gust_group *group = &s->b->groups[g];
    uint32_t stride = gust_stride(group->cols);
    unsigned slots;
    bool per_row;
    char name[32];
    int rc = 0;

    optimiser_state_shape(&s->b->optimiser, group, &slots, &per_row);
    if (per_row)
        stride = 1;
    if (slots) {
        snprintf(name, sizeof(name), "state-%u", g);
        rc = base_read(&s->base, name, scratch, slots * group->rows * stride * sizeof(float), err);
    }
    for (unsigned i = 0; !rc && i < slots; i++)
        write_columns(s, scratch + i * group->rows * stride, group->rows, stride, 0,
                      per_row ? 1 : group->cols);
    return rc;
}

static int write_group(struct saving *s, unsigned g, struct error *err)
{
    const struct gust_group *group = &s->b->groups[g];
    uint32_t stride = gust_stride(group->cols);
    /* State has up to two slots of the group's size. */
    float *rows = heap_try_alloc_raw(s->b->heap, group->rows, 2 * stride * sizeof(float));
    int rc;

    if (!rows)
        return fail(err, E_MEMORY, "no memory for the %" PRIu64 " rows of '%s'", group->rows,
                    group->name);
    rc = read_group(s, g, rows, err);
    for (unsigned f = 0; !rc && f < s->field_count; f++)
        if (s->fields[f].group == g)
            write_columns(s, rows, group->rows, stride, s->fields[f].first, s->fields[f].cols);
    if (!rc && s->b->trainer->kind != GUST_STATISTIC)
        rc = write_state(s, g, rows, err);
    heap_free(s->b->heap, rows);
    return rc;
}

static int write_tensors(struct saving *s, struct error *err)
{
    int rc = 0;

    for (uint32_t k = 0; !rc && k < MIN(s->b->data->data.keys, MODEL_KEYS_MAX); k++)
        rc = write_ids(s, k, err);
    for (unsigned g = 0; !rc && g < s->b->group_count; g++)
        if (!s->b->groups[g].statistic)
            rc = write_group(s, g, err);
    return rc;
}

static int write_file(struct saving *s, uint64_t step, struct objects *objects, const char *name,
                      struct error *err)
{
    struct props metadata;
    struct buf header;
    uint64_t size;
    int rc;

    props_init(&metadata, s->b->heap);
    buf_init(&header, s->b->heap, SAFETENSORS_HEADER_MAX + 8);
    rc = describe(s, step, &metadata, err);
    if (!rc)
        rc = safetensors_header(s->tensors, s->count, &metadata, &header, err);
    size = header.size;
    for (unsigned i = 0; i < s->count; i++)
        size += safetensor_size(&s->tensors[i]);
    if (!rc) {
        s->file = heap_try_alloc_raw(s->b->heap, 1, size);
        if (!s->file)
            rc = fail(err, E_MEMORY, "no memory for the %" PRIu64 " bytes of the model", size);
    }
    if (!rc) {
        memcpy(s->file, header.data, header.size);
        s->at = s->file + header.size;
        rc = write_tensors(s, err);
    }
    if (!rc)
        rc = objects_put(objects, name, slice(s->file, size), err);
    heap_free(s->b->heap, s->file);
    buf_release(&header);
    props_release(&metadata);
    return rc;
}

int model_file_save(const struct blueprint *b, struct objects *objects, uint64_t step,
                    const char *name, struct error *err)
{
    struct saving *s = heap_alloc(b->heap, sizeof(*s));
    int rc;

    s->b = b;
    rc = base_open(&s->base, objects, b->heap, step, b->fingerprint, err);
    if (!rc) {
        rc = plan_tensors(s, err);
        if (!rc)
            rc = write_file(s, step, objects, name, err);
        base_close(&s->base);
    }
    heap_free(b->heap, s);
    return rc;
}
