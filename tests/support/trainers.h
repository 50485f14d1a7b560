/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two trainers that prove the kinds of gust.h that no built-in trainer uses: k-means exchanges
 * statistics, and local descent exchanges updates of its own making. For tests only; included
 * where they are needed, so that tests of lower layers do not depend on the trainer interface.
 */
#ifndef GUST_TESTS_SUPPORT_TRAINERS_H
#define GUST_TESTS_SUPPORT_TRAINERS_H

#include "base/util.h"
#include "gust.h"

/* ---- k-means on dense examples: GUST_STATISTIC ---------------------------------------------- */

enum { KMEANS_CENTRES, KMEANS_SUMS, KMEANS_GROUPS };

struct kmeans {
    uint32_t clusters, dense;
    uint64_t seed;
};

static int kmeans_open(struct gust_host *h, const struct gust_data *data, void **self)
{
    struct kmeans *m = gust_alloc(h, sizeof(*m));

    if (!m)
        return -1;
    if (data->dense == 0)
        return gust_refuse(h, "k-means needs dense values");
    m->clusters = (uint32_t)gust_setting_u64(h, "clusters", 4, 1, 1000);
    m->dense = data->dense;
    m->seed = gust_seed(h);
    *self = m;
    return 0;
}

/* A row of sums is the sum of a cluster's examples and, in the last column, their number. */
static unsigned kmeans_groups(const void *self, struct gust_group *groups)
{
    const struct kmeans *m = self;

    groups[KMEANS_CENTRES] =
        (struct gust_group){ .name = "centres", .rows = m->clusters, .cols = m->dense };
    groups[KMEANS_SUMS] = (struct gust_group){
        .name = "sums", .rows = m->clusters, .cols = m->dense + 1, .statistic = true
    };
    return KMEANS_GROUPS;
}

static void kmeans_init(const void *self, unsigned group, const struct gust_view *v)
{
    const struct kmeans *m = self;

    for (uint64_t row = v->first; group == KMEANS_CENTRES && row < v->first + v->count; row++)
        for (uint32_t c = 0; c < m->dense; c++)
            gust_row(v, row)[c] = gust_normal(m->seed, row, c, 0);
}

static uint32_t kmeans_nearest(const struct kmeans *m, const float *x,
                               const struct gust_view *centres, double *distance)
{
    uint32_t nearest = 0;

    for (uint32_t k = 0; k < m->clusters; k++) {
        double d = 0;

        for (uint32_t c = 0; c < m->dense; c++) {
            double gap = (double)x[c] - (double)gust_row(centres, k)[c];

            d += gap * gap;
        }
        if (k == 0 || d < *distance) {
            *distance = d;
            nearest = k;
        }
    }
    return nearest;
}

static size_t kmeans_scratch_bytes(const void *self, uint32_t rows)
{
    (void)rows;
    return ((const struct kmeans *)self)->dense * sizeof(float);
}

static void kmeans_step(const void *self, const struct gust_step *s)
{
    const struct kmeans *m = self;
    float *x = s->scratch;

    for (uint32_t r = 0; r < s->batch->rows; r++) {
        double distance = 0;
        float *sum;

        memcpy(x, s->batch->words + gust_at(s->batch, r) + 1, m->dense * sizeof(*x));
        sum = gust_out_row(s->out, KMEANS_SUMS,
                           kmeans_nearest(m, x, &s->groups[KMEANS_CENTRES], &distance));
        for (uint32_t c = 0; c < m->dense; c++)
            sum[c] += x[c];
        sum[m->dense] += 1;
        s->out->loss += distance;
    }
}

static void kmeans_evaluate(const void *self, const struct gust_batch *batch,
                            const struct gust_view *groups, double *sums)
{
    const struct kmeans *m = self;

    for (uint32_t r = 0; r < batch->rows; r++) {
        const uint32_t *words = batch->words + gust_at(batch, r) + 1;
        double distance = 0;
        float x[64];

        memcpy(x, words, MIN(m->dense, 64u) * sizeof(*x));
        kmeans_nearest(m, x, &groups[KMEANS_CENTRES], &distance);
        sums[0] += distance;
        sums[1] += 1;
    }
}

static void kmeans_score(const void *self, const double *sums, double *values)
{
    (void)self;
    values[0] = sums[0] / sums[1];
}

/* Centres without examples stay where they are. */
static void kmeans_apply(const void *self, const struct gust_view *groups,
                         const struct gust_view *sums, double weight, uint64_t step)
{
    const struct kmeans *m = self;

    (void)weight;
    (void)step;
    for (uint32_t k = 0; k < m->clusters; k++) {
        const float *sum = gust_row(&sums[KMEANS_SUMS], k);

        for (uint32_t c = 0; sum[m->dense] > 0 && c < m->dense; c++)
            gust_row(&groups[KMEANS_CENTRES], k)[c] = sum[c] / sum[m->dense];
    }
}

static const struct gust_metric kmeans_metrics[] = { { "distance", false }, { NULL, false } };

UNUSED static const struct gust_trainer test_kmeans = {
    .abi = GUST_ABI,
    .name = "test-kmeans",
    .summary = "k-means, for tests",
    .kind = GUST_STATISTIC,
    .metrics = kmeans_metrics,
    .open = kmeans_open,
    .groups = kmeans_groups,
    .scratch_bytes = kmeans_scratch_bytes,
    .init = kmeans_init,
    .step = kmeans_step,
    .evaluate = kmeans_evaluate,
    .score = kmeans_score,
    .apply = kmeans_apply,
};

/* ---- linear regression by local descent and averaging: GUST_UPDATE --------------------------- */

struct local_sgd {
    uint32_t dense;
};

static int local_sgd_open(struct gust_host *h, const struct gust_data *data, void **self)
{
    struct local_sgd *m = gust_alloc(h, sizeof(*m));

    if (!m)
        return -1;
    m->dense = data->dense;
    *self = m;
    return 0;
}

/* The last row is the bias. */
static unsigned local_sgd_groups(const void *self, struct gust_group *groups)
{
    groups[0] = (struct gust_group){ .name = "weights",
                                     .rows = ((const struct local_sgd *)self)->dense + 1,
                                     .cols = 1 };
    return 1;
}

static size_t local_sgd_scratch_bytes(const void *self, uint32_t rows)
{
    (void)rows;
    return (((const struct local_sgd *)self)->dense + 1) * sizeof(float);
}

static float local_sgd_error(const struct local_sgd *m, const uint32_t *words, const float *w)
{
    float e = w[m->dense] - gust_f32(words);

    for (uint32_t c = 0; c < m->dense; c++)
        e += w[c] * gust_f32(words + 1 + c);
    return e;
}

/* One pass of plain descent on a copy; what is exchanged is how far the copy went. */
static void local_sgd_step(const void *self, const struct gust_step *s)
{
    const struct local_sgd *m = self;
    const float *start = s->groups[0].rows;
    float *w = s->scratch, *out = gust_out_dense(s->out, 0), rate = (float)s->rate;

    memcpy(w, start, (m->dense + 1) * sizeof(*w));
    for (uint32_t r = 0; r < s->batch->rows; r++) {
        const uint32_t *words = s->batch->words + gust_at(s->batch, r);
        float e = local_sgd_error(m, words, w);

        s->out->loss += (double)e * (double)e / 2;
        for (uint32_t c = 0; c < m->dense; c++)
            w[c] -= rate * e * gust_f32(words + 1 + c);
        w[m->dense] -= rate * e;
    }
    for (uint32_t c = 0; c <= m->dense; c++)
        out[c] += w[c] - start[c];
}

static void local_sgd_evaluate(const void *self, const struct gust_batch *batch,
                               const struct gust_view *groups, double *sums)
{
    for (uint32_t r = 0; r < batch->rows; r++) {
        double e = (double)local_sgd_error(self, batch->words + gust_at(batch, r), groups[0].rows);

        sums[0] += e * e;
        sums[1] += 1;
    }
}

static void local_sgd_score(const void *self, const double *sums, double *values)
{
    (void)self;
    values[0] = __builtin_sqrt(sums[0] / sums[1]);
}

static const struct gust_metric local_sgd_metrics[] = { { "rmse", false }, { NULL, false } };

UNUSED static const struct gust_trainer test_local_sgd = {
    .abi = GUST_ABI,
    .name = "test-local-sgd",
    .summary = "linear regression by local descent and model averaging, for tests",
    .kind = GUST_UPDATE,
    .mean = true,
    .metrics = local_sgd_metrics,
    .open = local_sgd_open,
    .groups = local_sgd_groups,
    .scratch_bytes = local_sgd_scratch_bytes,
    .step = local_sgd_step,
    .evaluate = local_sgd_evaluate,
    .score = local_sgd_score,
};

#endif
