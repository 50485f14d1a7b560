/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/blueprint.h"

#include <inttypes.h>

#include "base/random.h"
#include "data/format.h"
#include "model/model.h"
#include "sync/part.h"

/* Program, stacks, tables, libc. */
#define REST_BYTES  (8 * MIB)
#define BLOCK_BYTES (1 * MIB)
/* A batch that nobody chose leaves at least so many steps in an epoch. */
#define STEPS_PER_EPOCH_MIN 50

static int find_trainer(struct blueprint *b, struct error *err)
{
    const char *name = props_str(&b->settings, "model", "");
    char list[256] = "";

    b->trainer = model_find(name);
    if (b->trainer)
        return 0;
    for (unsigned i = 0; model_at(i); i++) {
        size_t used = strlen(list);

        snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", model_at(i)->name);
    }
    return fail(err, E_INVALID, "model: there is no model '%s' (there are: %s)", name, list);
}

static int find_kernels(struct blueprint *b, struct error *err)
{
    const char *name = props_find(&b->settings, "kernels");

    b->kernels = kernels_named(name);
    if (!b->kernels)
        return fail(err, E_INVALID, "kernels: this CPU has no '%s'", name);
    return 0;
}

/* Everything that a base's bytes depend on. */
static void take_fingerprint(struct blueprint *b)
{
    uint64_t h = random_at(b->seed, b->data->lanes, b->data->manifest->id, b->group_count);

    for (const char *c = b->trainer->name; *c; c++)
        h = random_mix(h ^ (unsigned char)*c);
    for (const char *c = props_str(&b->settings, "optimiser", ""); *c; c++)
        h = random_mix(h ^ (unsigned char)*c);
    for (unsigned g = 0; g < b->group_count; g++)
        h = random_at(h, b->groups[g].rows, b->groups[g].cols,
                      2 * b->groups[g].scope + b->groups[g].sparse);
    snprintf(b->fingerprint, sizeof(b->fingerprint), "%016" PRIx64, h);
}

/* A trainer's proposal is for large data; a small set should still have some steps in an epoch. */
static void fit_batch(struct blueprint *b)
{
    uint64_t most = MAX(b->data->rows[DATASET_TRAIN] / STEPS_PER_EPOCH_MIN, 1u), batch;

    if (props_u64(&b->settings, "batch", most, 1, UINT64_MAX, &batch, NULL) == 0)
        props_setf(&b->settings, "batch", "%" PRIu64, MIN(batch, most));
}

static int open_trainer(struct blueprint *b, struct error *err)
{
    int rc;

    host_init(&b->host, &b->settings, b->heap, b->seed);
    rc = host_open(&b->host, b->trainer, &b->data->data, &b->self, err);
    if (!rc)
        rc = host_groups(b->trainer, b->self, &b->data->data, b->groups, &b->group_count, err);
    if (!rc && b->trainer->kind == GUST_GRADIENT)
        rc = optimiser_config_read(&b->optimiser, &b->settings, err);
    else if (!rc)
        optimiser_config_updates(&b->optimiser, b->trainer->mean);
    if (!rc)
        rc = shape_init(&b->shape, b->trainer->kind, b->groups, b->group_count, err);
    if (rc)
        return rc;
    for (unsigned g = 0; g < b->group_count; g++)
        b->has_private |= b->groups[g].scope == GUST_PRIVATE;
    while (b->trainer->metrics[b->metric_count].name)
        b->metric_count++;
    if (b->has_private && !b->data->key_first)
        return fail(err, E_INVALID,
                    "the model '%s' keeps parameters per key, and the data set has no keys",
                    b->trainer->name);
    return 0;
}

int blueprint_open(struct blueprint *b, struct heap *heap, const struct props *settings,
                   struct dataset *data, struct error *err)
{
    int rc;

    *b = (struct blueprint){ .heap = heap, .data = data };
    props_init(&b->settings, heap);
    for (unsigned i = 0; i < settings->count; i++)
        props_set(&b->settings, settings->items[i].key, settings->items[i].value);
    rc = find_trainer(b, err);
    if (!rc)
        rc = find_kernels(b, err);
    if (!rc) {
        bool chosen = props_find(&b->settings, "batch");

        model_defaults(b->trainer, &b->settings);
        if (!chosen)
            fit_batch(b);
        rc = props_u64(&b->settings, "seed", 1, 0, UINT64_MAX, &b->seed, err);
    }
    if (!rc)
        rc = open_trainer(b, err);
    if (rc) {
        blueprint_close(b);
        return rc;
    }
    take_fingerprint(b);
    return 0;
}

void blueprint_close(struct blueprint *b)
{
    if (b->trainer)
        host_close(b->trainer, b->self);
    if (b->heap)
        props_release(&b->settings);
    *b = (struct blueprint){ 0 };
}

void blueprint_keys(const struct blueprint *b, uint32_t lo, uint32_t hi, uint64_t *first,
                    uint64_t *count)
{
    *first = b->data->key_first[lo];
    *count = b->data->key_first[hi] - *first;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t group_bytes(const struct gust_group *g, uint64_t rows)
{
    return rows * gust_stride(g->cols) * sizeof(float);
}

/* Keys and examples of the rank that has most. */
static void most_of_rank(const struct blueprint *b, uint32_t n, uint64_t batch, uint64_t *keys,
                         uint64_t *rows)
{
    struct heap heap;
    struct pass pass;

    *keys = *rows = 0;
    heap_init(&heap, 0);
    pass_init(&pass, &heap, b->data->lanes, b->data->lane_rows[DATASET_TRAIN], b->seed, batch);
    for (uint32_t r = 0; r < n; r++) {
        uint64_t first = 0, count = 0;
        uint32_t lo, hi;

        lanes_of_rank(b->data->lanes, n, r, &lo, &hi);
        if (b->data->key_first)
            blueprint_keys(b, lo, hi, &first, &count);
        *keys = MAX(*keys, count);
        *rows = MAX(*rows, pass_most(&pass, lo, hi));
    }
    heap_release(&heap);
}

/* Held-out examples of the longest run that is evaluated at once. */
static uint64_t most_evaluated(const struct blueprint *b)
{
    uint32_t most = 0;

    for (uint32_t lane = 0; lane < b->data->lanes; lane++)
        most = MAX(most, b->data->lane_rows[DATASET_TEST][lane]);
    return MIN(most, BLUEPRINT_EVALUATE_ROWS);
}

struct need blueprint_need(const struct blueprint *b, uint32_t n, uint64_t batch, uint32_t threads)
{
    struct need need = { .blocks = 2 * BLOCK_BYTES, .rest = REST_BYTES };
    uint64_t keys, rows;

    most_of_rank(b, n, batch, &keys, &rows);
    for (unsigned g = 0; g < b->group_count; g++) {
        const struct gust_group *group = &b->groups[g];

        if (group->statistic)
            continue;
        if (group->scope == GUST_PRIVATE) {
            need.private_rows += group_bytes(group, keys);
            continue;
        }
        need.shared += group_bytes(group, group->rows);
        if (b->trainer->kind != GUST_STATISTIC)
            need.state += optimiser_state_bytes(&b->optimiser, group);
    }
    need.parts = 2 * part_bytes(&b->shape);
    need.minibatches = dataset_minibatch_bytes(b->data, rows) +
                       dataset_minibatch_bytes(b->data, MAX(rows, most_evaluated(b)));
    need.window = (threads - 1) * part_bytes(&b->shape) + 2 * part_bytes(&b->shape);
    if (b->trainer->kind == GUST_STATISTIC)
        need.window += b->shape.floats * sizeof(float);
    if (b->trainer->scratch_bytes)
        need.window += threads * b->trainer->scratch_bytes(b->self, (uint32_t)rows);
    need.total = need.shared + need.state + need.private_rows + need.parts + need.minibatches +
                 need.blocks + need.window + need.rest;
    return need;
}

int need_check(const struct need *need, uint32_t memory_mb, struct error *err)
{
    if (need->total <= memory_mb * MIB)
        return 0;
    return fail(err, E_LIMIT,
                "a function needs %zu MB and is given %" PRIu32
                " MB: parameters %zu, optimiser %zu, private rows %zu, contributions %zu, "
                "minibatches %zu, data blocks %zu, exchange %zu, program %zu; give it at least %zu "
                "MB, or use more workers or a smaller batch",
                (need->total + MIB - 1) / MIB, memory_mb, need->shared / MIB, need->state / MIB,
                need->private_rows / MIB, need->parts / MIB, need->minibatches / MIB,
                need->blocks / MIB, need->window / MIB, need->rest / MIB,
                (need->total + MIB - 1) / MIB);
}
