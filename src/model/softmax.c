/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax regression: a row of weights per feature, a column per class. The loss of an example
 * is the negative logarithm of its class's probability.
 *
 * Groups: as for the linear models (math/linear.h) with data->classes columns.
 */
#include "gust.h"

#include "base/util.h"
#include "math/kernels.h"

/* Examples at a time: few enough that their scores fit in scratch memory on the stack. */
#define SCORES_MAX  4096
#define CHUNK       64
#define CLASSES_MAX 1024

struct softmax {
    const struct kernels *kernels;
    uint64_t dims;
    uint32_t dense, classes, stride;
    uint32_t chunk; /* examples whose scores fit into SCORES_MAX floats */
    unsigned weights_group, dense_group, bias_group;
};

static int softmax_open(struct gust_host *h, const struct gust_data *data, void **self)
{
    const char *level = gust_setting(h, "kernels", NULL);
    const struct kernels *kernels = kernels_named(level);
    struct softmax *m;

    if (!kernels)
        return gust_refuse(h, "kernels: '%s' is no instruction level of this CPU", level);
    if (data->classes < 2 || data->classes > CLASSES_MAX)
        return gust_refuse(h, "softmax needs labels of 2 to %u classes; the data has %u",
                           CLASSES_MAX, data->classes);
    m = gust_alloc(h, sizeof(*m));
    if (!m)
        return -1;
    m->kernels = kernels;
    m->dims = data->ones || data->sparse ? data->dims : 0;
    m->dense = data->dense;
    m->classes = data->classes;
    m->stride = gust_stride(data->classes);
    m->chunk = MIN(SCORES_MAX / m->stride, (uint32_t)CHUNK);
    m->dense_group = m->dims ? 1 : 0;
    m->bias_group = m->dense_group + (m->dense ? 1 : 0);
    *self = m;
    return 0;
}

static unsigned softmax_groups(const void *self, struct gust_group *groups)
{
    const struct softmax *m = self;

    if (m->dims)
        groups[m->weights_group] = (struct gust_group){ .name = "weights",
                                                        .rows = m->dims,
                                                        .cols = m->classes,
                                                        .index = GUST_INDEX_LISTS,
                                                        .sparse = true };
    if (m->dense)
        groups[m->dense_group] =
            (struct gust_group){ .name = "dense", .rows = m->dense, .cols = m->classes };
    groups[m->bias_group] =
        (struct gust_group){ .name = "bias", .rows = 1, .cols = m->classes, .unregularised = true };
    return m->bias_group + 1;
}

static struct matrix_params params_of(const struct softmax *m, const struct gust_view *groups)
{
    return (struct matrix_params){
        .dense = m->dense ? groups[m->dense_group].rows : NULL,
        .weights = m->dims ? groups[m->weights_group].rows : NULL,
        .bias = groups[m->bias_group].rows,
        .stride = m->stride,
    };
}

static void softmax_step(const void *self, const struct gust_step *s)
{
    const struct softmax *m = self;
    struct matrix_params params = params_of(m, s->groups);
    struct matrix_sums sums = {
        .dense = m->dense ? gust_out_dense(s->out, m->dense_group) : NULL,
        .weights = m->dims ? &s->out->groups[m->weights_group] : NULL,
        .bias = gust_out_dense(s->out, m->bias_group),
        .stride = m->stride,
    };
    float scores[SCORES_MAX], labels[CHUNK];

    for (uint32_t at = 0; at < s->batch->rows; at += m->chunk) {
        uint32_t rows = MIN(m->chunk, s->batch->rows - at);

        m->kernels->matrix_forward(scores, labels, s->batch, at, rows, &params);
        s->out->loss += m->kernels->softmax(scores, labels, rows, m->classes, m->stride);
        m->kernels->matrix_backward(&sums, scores, s->batch, at, rows);
    }
}

static uint32_t best_class(const float *scores, uint32_t classes)
{
    uint32_t best = 0;

    for (uint32_t c = 1; c < classes; c++)
        if (scores[c] > scores[best])
            best = c;
    return best;
}

static void softmax_evaluate(const void *self, const struct gust_batch *batch,
                             const struct gust_view *groups, double *sums)
{
    const struct softmax *m = self;
    struct matrix_params params = params_of(m, groups);
    float scores[SCORES_MAX], labels[CHUNK];

    for (uint32_t at = 0; at < batch->rows; at += m->chunk) {
        uint32_t rows = MIN(m->chunk, batch->rows - at);

        m->kernels->matrix_forward(scores, labels, batch, at, rows, &params);
        for (uint32_t r = 0; r < rows; r++)
            sums[1] += best_class(scores + r * m->stride, m->classes) == (uint32_t)labels[r];
        sums[0] += m->kernels->softmax(scores, labels, rows, m->classes, m->stride);
        sums[2] += rows;
    }
}

static void softmax_score(const void *self, const double *sums, double *values)
{
    (void)self;
    values[0] = sums[0] / sums[2];
    values[1] = sums[1] / sums[2];
}

/* The most probable class. */
static void softmax_predict(const void *self, const struct gust_batch *batch,
                            const struct gust_view *groups, float *out)
{
    const struct softmax *m = self;
    struct matrix_params params = params_of(m, groups);
    float scores[SCORES_MAX], labels[CHUNK];

    for (uint32_t at = 0; at < batch->rows; at += m->chunk) {
        uint32_t rows = MIN(m->chunk, batch->rows - at);

        m->kernels->matrix_forward(scores, labels, batch, at, rows, &params);
        for (uint32_t r = 0; r < rows; r++)
            out[at + r] = (float)best_class(scores + r * m->stride, m->classes);
    }
}

static const struct gust_default defaults[] = {
    { "optimiser", "adagrad" }, { "reduce", "sum" }, { "rate", "0.1" }, { "accumulator", "1" },
    { "l2", "1e-5" },           { "batch", "1024" }, { NULL, NULL },
};

static const struct gust_metric metrics[] = {
    { "log-loss", false },
    { "accuracy", true },
    { NULL, false },
};

const struct gust_trainer model_softmax = {
    .abi = GUST_ABI,
    .name = "softmax",
    .summary = "softmax regression on dense, indicator and sparse features (labels 0, 1, ...)",
    .kind = GUST_GRADIENT,
    .classifies = true,
    .defaults = defaults,
    .metrics = metrics,
    .open = softmax_open,
    .groups = softmax_groups,
    .step = softmax_step,
    .evaluate = softmax_evaluate,
    .score = softmax_score,
    .predict = softmax_predict,
};
