/* SPDX-License-Identifier: Apache-2.0 */
#include "client/warm_start.h"

#include <inttypes.h>

#include "client/model_file.h"
#include "client/model_match.h"
#include "data/id_map.h"
#include "worker/base.h"

/* Private rows are written in so many objects at most, so that functions read little beside their
 * own. */
#define PIECES 64u

struct warming {
    const struct blueprint *b;
    struct model_file model;
    struct gust_field fields[GUST_FIELDS_MAX];
    unsigned field_count;
    uint64_t *from[MODEL_KEYS_MAX];          /* the model's row for a row of the data set */
    struct gust_view views[GUST_GROUPS_MAX]; /* shared groups */
    struct optimiser optimiser;
    struct base_writer base;
    struct warm_start found;
};

/* ---- does it fit? ---------------------------------------------------------------------------- */

static int check(struct warming *w, struct error *err)
{
    const struct gust_data *d = &w->b->data->data, *m = &w->model.data;

    if (w->model.trainer != w->b->trainer)
        return fail(err, E_INVALID, "the model to start from is '%s', the job trains '%s'",
                    w->model.trainer->name, w->b->trainer->name);
    if (d->dense != m->dense || d->keys != m->keys || d->classes != m->classes)
        return fail(err, E_INVALID,
                    "the model to start from had %" PRIu32 " dense values, %" PRIu32
                    " key columns and %" PRIu32 " classes, the data set has %" PRIu32 ", %" PRIu32
                    " and %" PRIu32,
                    m->dense, m->keys, m->classes, d->dense, d->keys, d->classes);
    return model_match(&w->model, w->b->data, err);
}

/* ---- which row is which -----------------------------------------------------------------------
 */

static int map_keys(struct warming *w, uint32_t column, struct error *err)
{
    uint64_t rows = w->b->data->data.key_rows[column];
    struct heap *heap = w->b->heap;
    struct id_map map;
    uint32_t *ids = NULL;
    int rc = dataset_ids(w->b->data, column, &ids, err);

    id_map_init(&map, heap);
    for (uint64_t r = 0; !rc && r < w->model.data.key_rows[column]; r++) {
        uint64_t *row = id_map_at(&map, model_file_id(&w->model, column, r));

        if (row)
            *row = r;
        else
            rc = fail(err, E_MEMORY, "no memory for the ids of the model");
    }
    if (!rc) {
        w->from[column] = heap_try_alloc_raw(heap, rows, sizeof(uint64_t));
        if (!w->from[column])
            rc = fail(err, E_MEMORY, "no memory for %" PRIu64 " ids", rows);
    }
    for (uint64_t r = 0; !rc && r < rows; r++) {
        const uint64_t *row = id_map_find(&map, ids[r]);

        w->from[column][r] = row ? *row : MODEL_ROW_NEW;
        w->found.rows_known += row != NULL;
    }
    w->found.rows += rows;
    id_map_release(&map);
    heap_free(w->b->data->heap, ids);
    return rc;
}

/* Features keep their numbers, but there may be more or fewer of them now. */
static void map_features(const struct model_file *m, uint64_t *from, uint64_t rows)
{
    for (uint64_t r = 0; r < rows; r++)
        from[r] = r < m->data.dims ? r : MODEL_ROW_NEW;
}

/* ---- writing --------------------------------------------------------------------------------- */

static struct model_fill fill_of(const struct warming *w, unsigned g)
{
    const struct gust_group *group = &w->b->groups[g];

    return (struct model_fill){ .groups = w->b->groups,
                                .fields = w->fields,
                                .field_count = w->field_count,
                                .group = g,
                                .rows = model_file_is_keyed(&w->model, group)
                                            ? w->model.data.key_rows[group->column]
                                        : group->index == GUST_INDEX_LISTS ? w->model.data.dims
                                                                           : group->rows };
}

/* First values for V's rows of group G, then the model's where it has them. */
static int make_rows(struct warming *w, unsigned g, struct model_fill *fill, struct gust_view *v,
                     struct error *err)
{
    v->rows = heap_try_alloc(w->b->heap, v->count + 16, v->stride * sizeof(float));
    if (!v->rows)
        return fail(err, E_MEMORY, "no memory for %" PRIu64 " rows of '%s'", v->count,
                    w->b->groups[g].name);
    if (w->b->trainer->init)
        w->b->trainer->init(w->b->self, g, v);
    return model_file_fill(&w->model, fill, v, err);
}

static struct slice bytes_of(const struct gust_view *v)
{
    return slice(v->rows, v->count * v->stride * sizeof(float));
}

static int write_private(struct warming *w, unsigned g, struct error *err)
{
    const struct dataset *d = w->b->data;
    uint32_t pieces = MIN(d->lanes, PIECES);
    int rc = 0;

    for (uint32_t i = 0; !rc && i < pieces; i++) {
        struct gust_view v = { .stride = gust_stride(w->b->groups[g].cols) };
        struct model_fill fill = fill_of(w, g);
        uint32_t lo, hi;
        char name[64];

        lanes_of_rank(d->lanes, pieces, i, &lo, &hi);
        blueprint_keys(w->b, lo, hi, &v.first, &v.count);
        fill.from = w->from[w->b->groups[g].column] + v.first;
        rc = make_rows(w, g, &fill, &v, err);
        snprintf(name, sizeof(name), "private-%u-%" PRIu32 "-%" PRIu32, g, lo, hi);
        if (!rc)
            rc = base_add(&w->base, name, bytes_of(&v), err);
        heap_free(w->b->heap, v.rows);
    }
    return rc;
}

static int write_shared(struct warming *w, unsigned g, struct error *err)
{
    const struct gust_group *group = &w->b->groups[g];
    struct gust_view *v = &w->views[g];
    struct model_fill fill = fill_of(w, g);
    uint64_t *features = NULL;
    char name[32];
    int rc = 0;

    *v = (struct gust_view){ .count = group->rows, .stride = gust_stride(group->cols) };
    if (model_file_is_keyed(&w->model, group)) {
        fill.from = w->from[group->column];
    } else if (group->index == GUST_INDEX_LISTS) {
        features = heap_try_alloc_raw(w->b->heap, group->rows, sizeof(*features));
        if (!features)
            return fail(err, E_MEMORY, "no memory for %" PRIu64 " rows", group->rows);
        map_features(&w->model, features, group->rows);
        fill.from = features;
    }
    rc = make_rows(w, g, &fill, v, err);
    snprintf(name, sizeof(name), "shared-%u", g);
    if (!rc)
        rc = base_add(&w->base, name, bytes_of(v), err);
    heap_free(w->b->heap, features);
    return rc;
}

/* State of rows that the model does not have begins as the optimiser makes it. */
static int write_state(struct warming *w, unsigned g, struct error *err)
{
    const struct gust_group *group = &w->b->groups[g];
    struct model_fill fill = fill_of(w, g);
    unsigned slots;
    size_t floats;
    float *state = optimiser_state(&w->optimiser, g, &floats);
    bool per_row, whole = true;
    char name[32];

    optimiser_state_shape(&w->b->optimiser, group, &slots, &per_row);
    if (!floats)
        return 0;
    if (model_file_is_keyed(&w->model, group))
        fill.from = w->from[group->column];
    else if (fill.rows != group->rows)
        return 0;
    for (unsigned i = 0; i < slots; i++) {
        struct gust_view v = { .rows = state + i * (floats / slots),
                               .count = group->rows,
                               .stride = per_row ? 1 : gust_stride(group->cols) };

        whole &= model_file_state(&w->model, &fill, i, per_row, &v) == 0;
    }
    if (!whole)
        return 0;
    w->found.state = true;
    snprintf(name, sizeof(name), "state-%u", g);
    return base_add(&w->base, name, slice(state, floats * sizeof(float)), err);
}

static int write_states(struct warming *w, struct error *err)
{
    const struct blueprint *b = w->b;
    int rc;

    /* Another optimiser keeps other sums: its state would mean nothing to this one. */
    if (b->trainer->kind == GUST_STATISTIC || strcmp(props_str(&w->model.settings, "optimiser", ""),
                                                     props_str(&b->settings, "optimiser", "")) != 0)
        return 0;
    rc = optimiser_open(&w->optimiser, b->heap, &b->optimiser, b->groups, w->views, b->group_count,
                        err);
    for (unsigned g = 0; !rc && g < b->group_count; g++)
        if (b->groups[g].scope == GUST_SHARED && !b->groups[g].statistic)
            rc = write_state(w, g, err);
    return rc;
}

static int write_base(struct warming *w, struct error *err)
{
    const struct blueprint *b = w->b;
    int rc = host_fields(b->trainer, b->self, b->groups, b->group_count, w->fields, &w->field_count,
                         err);

    for (uint32_t k = 0; !rc && k < w->model.data.keys; k++)
        rc = map_keys(w, k, err);
    for (unsigned g = 0; !rc && g < b->group_count; g++) {
        if (b->groups[g].statistic)
            continue;
        rc =
            b->groups[g].scope == GUST_PRIVATE ? write_private(w, g, err) : write_shared(w, g, err);
    }
    return rc ? rc : write_states(w, err);
}

static void release(struct warming *w)
{
    struct heap *heap = w->b->heap;

    optimiser_close(&w->optimiser);
    for (unsigned g = 0; g < w->b->group_count; g++)
        heap_free(heap, w->views[g].rows);
    for (uint32_t k = 0; k < MODEL_KEYS_MAX; k++)
        heap_free(heap, w->from[k]);
    model_file_close(&w->model);
    heap_free(heap, w);
}

int warm_start_write(const struct blueprint *b, struct slice model, struct objects *objects,
                     struct warm_start *out, struct error *err)
{
    struct warming *w = heap_alloc(b->heap, sizeof(*w));
    int rc;

    w->b = b;
    rc = model_file_open(&w->model, b->heap, model, err);
    if (!rc)
        rc = check(w, err);
    if (!rc) {
        base_begin(&w->base, objects, b->heap, 0, 0);
        rc = write_base(w, err);
        if (!rc)
            rc = base_end(&w->base, err);
        else
            props_release(&w->base.index);
    }
    if (!rc)
        rc = base_seal(objects, b->heap, 0, 1, b->fingerprint, err);
    if (!rc && out)
        *out = w->found;
    release(w);
    return rc;
}
