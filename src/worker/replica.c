/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/replica.h"

#include <inttypes.h>

/* ---- making it ---------------------------------------------------------------------------- */

static int init_group(struct replica *r, unsigned g, struct error *err)
{
    const struct gust_group *group = &r->plan->groups[g];
    struct gust_view *v = &r->views[g];

    *v = (struct gust_view){ .count = group->rows, .stride = gust_stride(group->cols) };
    if (group->statistic)
        return 0;
    if (group->scope == GUST_PRIVATE)
        blueprint_keys(r->plan, r->lane_lo, r->lane_hi, &v->first, &v->count);
    /* Whole units, so that a sweep over units never runs past the end. */
    v->rows = heap_try_alloc(r->heap, v->count + 16, v->stride * sizeof(float));
    if (!v->rows)
        return fail(err, E_MEMORY, "no memory for the %" PRIu64 " rows of '%s'", v->count,
                    group->name);
    if (r->plan->trainer->init)
        r->plan->trainer->init(r->plan->self, g, v);
    return 0;
}

int replica_init(struct replica *r, const struct blueprint *plan, struct heap *heap, uint32_t lo,
                 uint32_t hi, uint64_t batch, struct error *err)
{
    const struct dataset *d = plan->data;
    int rc = 0;

    *r = (struct replica){ .plan = plan, .heap = heap, .lane_lo = lo, .lane_hi = hi };
    for (unsigned g = 0; !rc && g < plan->group_count; g++)
        rc = init_group(r, g, err);
    if (!rc && plan->trainer->kind == GUST_STATISTIC) {
        r->sums = heap_try_alloc(heap, plan->shape.floats, sizeof(float));
        if (!r->sums)
            rc = fail(err, E_MEMORY, "no memory for the sums of a step");
    }
    if (!rc && plan->trainer->kind != GUST_STATISTIC)
        rc = optimiser_open(&r->optimiser, heap, &plan->optimiser, plan->groups, r->views,
                            plan->group_count, err);
    if (!rc)
        pass_init(&r->pass, heap, d->lanes, d->lane_rows[DATASET_TRAIN], plan->seed, batch);
    return rc;
}

void replica_release(struct replica *r)
{
    if (!r->heap)
        return;
    for (unsigned g = 0; g < r->plan->group_count; g++)
        heap_free(r->heap, r->views[g].rows);
    heap_free(r->heap, r->sums);
    optimiser_close(&r->optimiser);
    if (r->pass.taken)
        pass_release(&r->pass);
    *r = (struct replica){ 0 };
}

/* ---- from a base -------------------------------------------------------------------------- */

static int load_state(struct replica *r, struct base_reader *base, unsigned g, struct error *err)
{
    size_t floats;
    float *state = optimiser_state(&r->optimiser, g, &floats);
    char name[32];

    snprintf(name, sizeof(name), "state-%u", g);
    if (floats == 0 || (base->step == 0 && !base_has(base, name, NULL)))
        return 0;
    return base_read(base, name, state, floats * sizeof(float), err);
}

static int load_group(struct replica *r, struct base_reader *base, unsigned g, struct error *err)
{
    const struct gust_group *group = &r->plan->groups[g];
    struct gust_view *v = &r->views[g];
    char name[32];
    int rc;

    if (group->statistic)
        return 0;
    if (group->scope == GUST_PRIVATE) {
        struct base_private own = { .group = g,
                                    .lo = r->lane_lo,
                                    .hi = r->lane_hi,
                                    .key_first = r->plan->data->key_first,
                                    .stride = v->stride };

        return base_read_private(base, &own, v->rows, err);
    }
    snprintf(name, sizeof(name), "shared-%u", g);
    rc = base_read(base, name, v->rows, v->count * v->stride * sizeof(float), err);
    if (!rc && r->plan->trainer->kind != GUST_STATISTIC)
        rc = load_state(r, base, g, err);
    return rc;
}

static int load_pass(struct replica *r, struct base_reader *base, struct error *err)
{
    const struct dataset *d = r->plan->data;
    struct pass pass;
    size_t size = 0;
    void *text;
    int rc;

    if (!base_has(base, "pass", &size) && base->step == 0)
        return 0;
    text = heap_try_alloc_raw(r->heap, MAX(size, (size_t)1), 1);
    if (!text)
        return fail(err, E_MEMORY, "no memory for the %zu bytes of a pass", size);
    rc = base_read(base, "pass", text, size, err);
    if (!rc)
        rc = pass_decode(&pass, r->heap, d->lanes, d->lane_rows[DATASET_TRAIN], slice(text, size),
                         err);
    if (!rc) {
        pass_release(&r->pass);
        r->pass = pass;
    }
    heap_free(r->heap, text);
    return rc;
}

int replica_load(struct replica *r, struct base_reader *base, struct error *err)
{
    int rc = 0;

    for (unsigned g = 0; !rc && g < r->plan->group_count; g++)
        rc = load_group(r, base, g, err);
    if (!rc)
        rc = load_pass(r, base, err);
    if (!rc && r->plan->trainer->kind != GUST_STATISTIC)
        optimiser_restored(&r->optimiser, base->step);
    return rc;
}

/* ---- a step -------------------------------------------------------------------------------- */

/* How far the data has been gone through, in epochs: the time of schedules. */
static double epochs_of(const struct replica *r)
{
    uint64_t taken = 0;
    double before;

    for (uint32_t lane = 0; lane < r->pass.lanes; lane++)
        taken += r->pass.taken[lane];
    before = (double)taken / (double)r->plan->data->rows[DATASET_TRAIN];
    return (double)r->pass.epoch + before +
           (1 - before) * ((double)r->pass.at / (double)r->pass.steps);
}

double replica_rate(const struct replica *r)
{
    return r->plan->trainer->kind == GUST_STATISTIC ? 0
                                                    : optimiser_rate(&r->optimiser, epochs_of(r));
}

void replica_prepare(struct replica *r, const struct gust_batch *batch)
{
    if (r->plan->trainer->kind != GUST_STATISTIC)
        optimiser_prepare(&r->optimiser, batch);
}

void replica_settle(struct replica *r)
{
    if (r->plan->trainer->kind != GUST_STATISTIC)
        optimiser_finish(&r->optimiser);
}

/* One run of rows of one group, as a piece of a result holds them. */
typedef void (*span_fn)(struct replica *r, const struct shape_span *span, const uint64_t *mask,
                        const float *sums);

static void each_span(struct replica *r, const struct exchange_result *result, span_fn each)
{
    const struct shape *shape = &r->plan->shape;

    for (unsigned i = 0; i < result->count; i++) {
        const struct sum_view *p = &result->pieces[i];
        size_t first = shape_float_of(shape, p->cell_first);
        struct shape_span span;

        for (size_t at = p->cell_first; shape_span(shape, at, p->cell_first + p->cells, &span);
             at += span.cells)
            each(r, &span, p->mask + (at - p->cell_first), p->floats + (span.at - first));
    }
}

static void apply_piece(struct replica *r, const struct shape_span *span, const uint64_t *mask,
                        const float *sums)
{
    struct optimiser_piece piece = { .group = span->group->group,
                                     .first = span->row,
                                     .end = span->row + span->rows,
                                     .sums = sums,
                                     .touched = span->group->sparse ? mask : NULL };

    optimiser_apply(&r->optimiser, &piece);
}

static void apply_sums(struct replica *r, const struct exchange_result *result, double rate)
{
    optimiser_begin(&r->optimiser, rate, result->weight);
    each_span(r, result, apply_piece);
    optimiser_end(&r->optimiser);
}

/* Put a result's marked units where they belong in one array; the others are zero. */
static void gather_sums(struct replica *r, const struct shape_span *span, const uint64_t *mask,
                        const float *sums)
{
    size_t floats = span->group->unit_floats;

    for (size_t unit = 0; unit < span->units; unit++) {
        float *to = r->sums + span->at + unit * floats;

        if (mask[unit / 64] >> (unit % 64) & 1)
            memcpy(to, sums + unit * floats, floats * sizeof(float));
        else
            memset(to, 0, floats * sizeof(float));
    }
}

static void apply_statistic(struct replica *r, const struct exchange_result *result, uint64_t step)
{
    const struct shape *shape = &r->plan->shape;
    struct gust_view sums[GUST_GROUPS_MAX] = { 0 };

    each_span(r, result, gather_sums);
    for (unsigned i = 0; i < shape->count; i++) {
        const struct shape_group *g = &shape->groups[i];

        sums[g->group] = (struct gust_view){ .rows = r->sums + g->float_first,
                                             .count = g->rows,
                                             .stride = g->stride };
    }
    r->plan->trainer->apply(r->plan->self, r->views, sums, result->weight, step);
}

void replica_apply(struct replica *r, const struct exchange_result *result, uint64_t step,
                   double rate)
{
    if (r->plan->trainer->kind == GUST_STATISTIC)
        apply_statistic(r, result, step);
    else
        apply_sums(r, result, rate);
}

/* ---- looking at it ----------------------------------------------------------------------------
 */

static bool is_shared(const struct gust_group *g)
{
    return g->scope == GUST_SHARED && !g->statistic;
}

uint64_t replica_hash(const struct replica *r)
{
    uint64_t h = 0;

    for (unsigned g = 0; g < r->plan->group_count; g++)
        if (is_shared(&r->plan->groups[g]))
            h = h * 0x9E3779B97F4A7C15ull +
                r->plan->kernels->hash(r->views[g].rows, r->views[g].count * r->views[g].stride);
    return h;
}

static int evaluate_lane(struct replica *r, struct env *env, struct minibatch *scratch,
                         uint32_t lane, double *sums, struct error *err)
{
    const struct blueprint *b = r->plan;
    uint32_t rows = b->data->lane_rows[DATASET_TEST][lane];
    int rc = 0;

    for (uint32_t from = 0; !rc && from < rows; from += BLUEPRINT_EVALUATE_ROWS) {
        uint32_t to = MIN(rows, from + BLUEPRINT_EVALUATE_ROWS);

        rc = dataset_rows(b->data, DATASET_TEST, lane, from, to, scratch, err);
        if (!rc)
            b->trainer->evaluate(b->self, &scratch->batch, r->views, sums);
        env_charge(env, ENV_CHARGE_EVALUATED, to - from);
    }
    return rc;
}

int replica_evaluate(struct replica *r, struct env *env, struct minibatch *scratch, double *sums,
                     struct error *err)
{
    int rc = 0;

    for (uint32_t lane = r->lane_lo; !rc && lane < r->lane_hi; lane++)
        rc = evaluate_lane(r, env, scratch, lane, sums, err);
    return rc;
}

/* ---- saving it ------------------------------------------------------------------------------ */

static struct slice rows_of(const struct gust_view *v)
{
    return slice(v->rows, v->count * v->stride * sizeof(float));
}

static int save_group(struct replica *r, struct base_writer *w, unsigned g, struct error *err)
{
    const struct gust_group *group = &r->plan->groups[g];
    char name[64];
    int rc;

    if (group->statistic)
        return 0;
    if (group->scope == GUST_PRIVATE) {
        snprintf(name, sizeof(name), "private-%u-%" PRIu32 "-%" PRIu32, g, r->lane_lo, r->lane_hi);
        return base_add(w, name, rows_of(&r->views[g]), err);
    }
    if (w->rank != 0)
        return 0;
    snprintf(name, sizeof(name), "shared-%u", g);
    rc = base_add(w, name, rows_of(&r->views[g]), err);
    if (!rc && r->plan->trainer->kind != GUST_STATISTIC) {
        size_t floats;
        float *state = optimiser_state(&r->optimiser, g, &floats);

        snprintf(name, sizeof(name), "state-%u", g);
        if (floats)
            rc = base_add(w, name, slice(state, floats * sizeof(float)), err);
    }
    return rc;
}

static int save_pass(struct replica *r, struct base_writer *w, struct error *err)
{
    struct buf text;
    int rc;

    buf_init(&text, r->heap, MIB);
    pass_encode(&r->pass, &text);
    rc = base_add(w, "pass", buf_slice(&text), err);
    buf_release(&text);
    return rc;
}

int replica_save(struct replica *r, struct objects *objects, uint64_t step, uint32_t rank,
                 struct error *err)
{
    struct base_writer w;
    int rc = 0;

    base_begin(&w, objects, r->heap, step, rank);
    for (unsigned g = 0; !rc && g < r->plan->group_count; g++)
        rc = save_group(r, &w, g, err);
    if (!rc && rank == 0)
        rc = save_pass(r, &w, err);
    if (!rc)
        return base_end(&w, err);
    props_release(&w.index);
    return rc;
}
