/* SPDX-License-Identifier: Apache-2.0 */
#include "client/predictor.h"

#include <inttypes.h>

/* ---- from lines to examples ------------------------------------------------------------------ */

/* Generated ratings were never lines; new ones come in the usual form. */
static void plain_ratings(struct transform *t, struct heap *heap)
{
    static const struct transform_column columns[] = {
        { .name = "userId", .role = ROLE_USER },
        { .name = "movieId", .role = ROLE_ITEM },
        { .name = "rating", .role = ROLE_LABEL },
    };

    transform_init(t, heap, TRANSFORM_MOVIELENS);
    t->data = (struct gust_data){ .ones = 2, .keys = 2 };
    t->columns = heap_alloc(heap, sizeof(columns));
    memcpy(t->columns, columns, sizeof(columns));
    t->column_count = ARRAY_SIZE(columns);
}

static int open_transform(struct predictor *p, struct error *err)
{
    const struct gust_data *d = &p->model.data, *t = &p->transform.data;
    int rc = 0;

    p->data = *d;
    if (p->model.transform.size)
        rc = transform_decode(&p->transform, p->heap, buf_slice(&p->model.transform), err);
    else if (d->keys == 2 && d->ones == 2 && d->dense == 0 && !d->sparse)
        plain_ratings(&p->transform, p->heap);
    if (rc || !p->transform.heap)
        return rc;
    transform_relax(&p->transform);
    if (t->dense != d->dense || t->keys != d->keys || t->classes != d->classes ||
        (d->keys == 0 && t->dims != d->dims))
        return fail(err, E_FORMAT, "its transform does not fit its other metadata");
    p->data.ones = t->ones;
    p->data.sparse = t->sparse;
    return 0;
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* The row behind the last: what is known about those that are not known. */
static void clear_last_row(const struct predictor *p, unsigned group, const struct gust_view *v)
{
    for (unsigned i = 0; i < p->field_count; i++)
        if (p->fields[i].group == group)
            memset(v->rows + (v->count - 1) * v->stride + p->fields[i].first, 0,
                   p->fields[i].cols * sizeof(float));
}

static int load_group(struct predictor *p, unsigned g, struct error *err)
{
    struct model_fill fill = { .groups = p->groups,
                               .fields = p->fields,
                               .field_count = p->field_count,
                               .group = g,
                               .rows = p->groups[g].rows };
    const struct gust_group *group = &p->groups[g];
    bool keyed = model_file_is_keyed(&p->model, group);
    struct gust_view *v = &p->views[g], own = { .stride = gust_stride(group->cols) };
    int rc;

    if (group->statistic)
        return 0;
    /* First an empty view: the file's shapes are checked before memory is taken on their word. */
    rc = model_file_fill(&p->model, &fill, &own, err);
    if (rc)
        return rc;
    *v = own;
    v->rows = heap_try_alloc(p->heap, group->rows + keyed, v->stride * sizeof(float));
    if (!v->rows)
        return fail(err, E_MEMORY, "no memory for the %" PRIu64 " rows of '%s'", group->rows,
                    group->name);
    v->count = group->rows + keyed;
    if (p->model.trainer->init)
        p->model.trainer->init(p->self, g, v);
    own = *v;
    own.count = group->rows;
    rc = model_file_fill(&p->model, &fill, &own, err);
    if (!rc && keyed)
        clear_last_row(p, g, v);
    return rc;
}

static int open_trainer(struct predictor *p, struct error *err)
{
    const struct gust_trainer *trainer = p->model.trainer;
    int rc;

    if (!trainer->predict)
        return fail(err, E_UNSUPPORTED, "the model '%s' makes no predictions", trainer->name);
    host_init(&p->host, &p->model.settings, p->heap, p->model.seed);
    rc = host_open(&p->host, trainer, &p->data, &p->self, err);
    if (!rc)
        rc = host_groups(trainer, p->self, &p->data, p->groups, &p->group_count, err);
    if (!rc)
        rc = host_fields(trainer, p->self, p->groups, p->group_count, p->fields, &p->field_count,
                         err);
    for (unsigned g = 0; !rc && g < p->group_count; g++)
        rc = load_group(p, g, err);
    return rc;
}

static int open_ids(struct predictor *p, uint32_t column, struct error *err)
{
    id_map_init(&p->rows[column], p->heap);
    for (uint64_t r = 0; r < p->model.data.key_rows[column]; r++) {
        uint32_t id = model_file_id(&p->model, column, r);
        uint64_t *row = id_map_at(&p->rows[column], id);

        if (!row)
            return fail(err, E_MEMORY, "no memory for the ids of the model");
        if (*row)
            return fail(err, E_FORMAT, "'%s' holds %" PRIu32 " twice", model_file_ids_name(column),
                        id);
        *row = r + 1;
    }
    return 0;
}

int predictor_open(struct predictor *p, struct heap *heap, struct slice file, struct error *err)
{
    int rc;

    *p = (struct predictor){ .heap = heap };
    rc = model_file_open(&p->model, heap, file, err);
    rc = rc ? rc : open_transform(p, err);
    rc = rc ? rc : open_trainer(p, err);
    for (uint32_t k = 0; !rc && k < p->data.keys; k++)
        rc = open_ids(p, k, err);
    if (rc)
        predictor_close(p);
    return rc;
}

void predictor_close(struct predictor *p)
{
    if (!p->heap)
        return;
    for (uint32_t k = 0; k < MODEL_KEYS_MAX; k++)
        id_map_release(&p->rows[k]);
    for (unsigned g = 0; g < p->group_count; g++)
        heap_free(p->heap, p->views[g].rows);
    if (p->model.trainer)
        host_close(p->model.trainer, p->self);
    transform_release(&p->transform);
    model_file_close(&p->model);
    *p = (struct predictor){ 0 };
}

uint32_t predictor_row(const struct predictor *p, uint32_t column, uint32_t id)
{
    const uint64_t *row = id_map_find(&p->rows[column], id);

    return (uint32_t)(row ? *row - 1 : p->data.key_rows[column]);
}

void predictor_predict(const struct predictor *p, const struct gust_batch *batch, float *out)
{
    p->model.trainer->predict(p->self, batch, p->views, out);
}
