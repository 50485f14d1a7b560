/* SPDX-License-Identifier: Apache-2.0 */
/* Clicks with a planted logistic model; data/generate.h describes the distribution. */
#include <inttypes.h>

#include "base/random.h"
#include "data/generate.h"
#include "data/sampler.h"

#define NUMERIC    13u
#define CATEGORIES 26u
#define WORDS      (1 + NUMERIC + CATEGORIES)
#define POSITIVE   0.256
/* Rows from which the scales of the numeric values and the intercept are found. */
#define SAMPLE 200000ull

enum draw { SHAPE, VALUE, MISSING, CATEGORY, WEIGHT, LABEL, HOLD_OUT };

static const uint32_t cardinality[CATEGORIES] = {
    1460, 583,   200000, 150000, 305,  24,   12517, 633,    3,  93145, 5683,   180000, 3194,
    27,   14992, 160000, 10,     5652, 2173, 4,     170000, 18, 15,    120000, 105,    100000,
};

struct clicks {
    struct heap *heap;
    uint64_t seed, rows;
    uint32_t dims;
    double held_out;
    struct sampler samplers[CATEGORIES];
    double mean[NUMERIC], deviation[NUMERIC], scale[NUMERIC];
    double weight_numeric[NUMERIC], intercept;
    float *weight;   /* by dimension */
    double loss_sum; /* of the planted model on held-out examples */
    uint64_t held;
};

/* The example without its label; returns the planted model's value without intercept. */
static double draw_example(const struct clicks *g, uint64_t row, uint32_t *example)
{
    double z = 0;

    for (uint32_t j = 0; j < NUMERIC; j++) {
        double x = 0;
        float value;

        if (random_unit(random_at(g->seed, MISSING, row, j)) >= 0.2f)
            x = log1p(exp(g->mean[j] + g->deviation[j] * sampler_normal(g->seed, VALUE, row, j)));
        value = (float)fmin(x * g->scale[j], 1);
        memcpy(&example[1 + j], &value, sizeof(value));
        z += value * g->weight_numeric[j];
    }
    for (uint32_t c = 0; c < CATEGORIES; c++) {
        uint64_t bits = random_at(g->seed, CATEGORY, row, c);
        uint64_t h = sampler_draw(&g->samplers[c], bits) * 0x9E3779B97F4A7C15ull +
                     (c + 1) * 0xC2B2AE3D27D4EB4Full;

        h ^= h >> 29;
        h *= 0xBF58476D1CE4E5B9ull;
        h ^= h >> 32;
        example[1 + NUMERIC + c] = (uint32_t)(h % g->dims);
        z += g->weight[example[1 + NUMERIC + c]];
    }
    return z;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* The intercept with which a POSITIVE share of the sample is expected to click. */
static double find_intercept(const double *z, uint64_t count)
{
    double lo = -50, hi = 50;

    for (int i = 0; i < 60; i++) {
        double middle = (lo + hi) / 2, sum = 0;

        for (uint64_t r = 0; r < count; r++)
            sum += sigmoid(z[r] + middle);
        if (sum < POSITIVE * (double)count)
            lo = middle;
        else
            hi = middle;
    }
    return (lo + hi) / 2;
}

/* First with unit scales to find the largest values, then again for the intercept. */
static int calibrate(struct clicks *g, struct error *err)
{
    uint64_t count = MIN(g->rows, SAMPLE);
    double *z = heap_try_alloc_raw(g->heap, count, sizeof(*z));
    uint32_t example[WORDS];

    if (!z)
        return fail(err, E_MEMORY, "no memory for a sample of %" PRIu64 " examples", count);
    for (uint32_t j = 0; j < NUMERIC; j++) {
        double most = 0;

        for (uint64_t r = 0; r < count; r++)
            most = fmax(most, sampler_normal(g->seed, VALUE, r, j));
        g->scale[j] = 1 / log1p(exp(g->mean[j] + g->deviation[j] * most));
    }
    for (uint64_t r = 0; r < count; r++)
        z[r] = draw_example(g, r, example);
    g->intercept = find_intercept(z, MIN(count, SAMPLE / 4));
    heap_free(g->heap, z);
    return 0;
}

static int prepare(struct clicks *g, struct error *err)
{
    g->weight = heap_try_alloc_raw(g->heap, g->dims, sizeof(*g->weight));
    if (!g->weight)
        return fail(err, E_MEMORY, "no memory for %u dimensions", g->dims);
    for (uint32_t i = 0; i < g->dims; i++)
        g->weight[i] = (float)(0.30 * sampler_normal(g->seed, WEIGHT, 1, i));
    for (uint32_t j = 0; j < NUMERIC; j++) {
        g->mean[j] = 1 + sampler_normal(g->seed, SHAPE, 0, j);
        g->deviation[j] = 0.6 + 0.8 * random_unit64(random_at(g->seed, SHAPE, 1, j));
        g->weight_numeric[j] = sampler_normal(g->seed, WEIGHT, 0, j);
    }
    for (uint32_t c = 0; c < CATEGORIES; c++)
        if (!sampler_init(&g->samplers[c], g->heap, cardinality[c], 3, 1.15, false, 0))
            return fail(err, E_MEMORY, "no memory for a category of %u values", cardinality[c]);
    return calibrate(g, err);
}

static void release(struct clicks *g)
{
    for (uint32_t c = 0; c < CATEGORIES; c++)
        sampler_release(&g->samplers[c]);
    heap_free(g->heap, g->weight);
}

static int add_click(struct clicks *g, struct builder *b, uint64_t row, struct error *err)
{
    uint32_t example[WORDS];
    double p = sigmoid(draw_example(g, row, example) + g->intercept);
    bool clicked = random_unit64(random_at(g->seed, LABEL, row, 0)) < p;
    enum dataset_split split = DATASET_TRAIN;
    float label = clicked;

    memcpy(example, &label, sizeof(label));
    if (random_unit64(random_at(g->seed, HOLD_OUT, row, 0)) < g->held_out) {
        split = DATASET_TEST;
        g->loss_sum -= clicked ? log(p) : log1p(-p);
        g->held++;
    }
    return builder_add(b, split, example, WORDS, err);
}

static int fill_in(struct clicks *g, const struct generate_options *o, struct heap *heap,
                   struct error *err)
{
    uint64_t dims = o->dims ? o->dims : 100000;

    *g = (struct clicks){ .heap = heap, .seed = o->seed, .held_out = o->held_out };
    g->rows = o->rows ? o->rows : 1000000;
    if (dims > UINT32_MAX)
        return fail(err, E_INVALID, "%" PRIu64 " dimensions are too many", dims);
    if (!(o->held_out >= 0 && o->held_out < 1))
        return fail(err, E_INVALID, "a held-out share of %g: it must be 0 or more, below 1",
                    o->held_out);
    g->dims = (uint32_t)dims;
    return 0;
}

int generate_criteo(const struct builder_options *to, const struct generate_options *options,
                    struct error *err)
{
    struct builder_options bo = *to;
    struct builder *builder = NULL;
    struct clicks g;
    int rc = fill_in(&g, options, to->heap, err);

    if (rc)
        return rc;
    bo.kind = "criteo";
    bo.schema =
        (struct gust_data){ .dense = NUMERIC, .ones = CATEGORIES, .dims = g.dims, .classes = 2 };
    rc = builder_open(&builder, &bo, err);
    rc = rc ? rc : prepare(&g, err);
    for (uint64_t row = 0; !rc && row < g.rows; row++)
        rc = add_click(&g, builder, row, err);
    if (!rc && g.held)
        builder_set_oracle(builder, "log-loss", g.loss_sum / (double)g.held);
    release(&g);
    rc = rc ? rc : builder_finish(builder, err);
    builder_close(builder);
    return rc;
}
