/* SPDX-License-Identifier: Apache-2.0 */
#include "math/linear.h"

#include "base/util.h"

/* Examples that go forward and backward together: the second time they are still in cache. */
#define CHUNK 128

void linear_init(struct linear *m, const struct gust_data *data, const struct kernels *kernels)
{
    *m = (struct linear){
        .kernels = kernels,
        .dims = data->ones || data->sparse ? data->dims : 0,
        .dense = data->dense,
    };
    m->dense_group = m->dims ? 1 : 0;
    m->bias_group = m->dense_group + (m->dense ? 1 : 0);
}

unsigned linear_groups(const void *self, struct gust_group *groups)
{
    const struct linear *m = self;

    if (m->dims)
        groups[m->weights_group] = (struct gust_group){
            .name = "weights", .rows = m->dims, .cols = 1, .index = GUST_INDEX_LISTS, .sparse = true
        };
    if (m->dense)
        groups[m->dense_group] =
            (struct gust_group){ .name = "dense", .rows = m->dense, .cols = 1 };
    groups[m->bias_group] =
        (struct gust_group){ .name = "bias", .rows = 1, .cols = 1, .unregularised = true };
    return m->bias_group + 1;
}

static struct linear_params params_of(const struct linear *m, const struct gust_view *groups)
{
    return (struct linear_params){
        .dense = m->dense ? groups[m->dense_group].rows : NULL,
        .weights = m->dims ? groups[m->weights_group].rows : NULL,
        .bias = groups[m->bias_group].rows[0],
    };
}

void linear_step(const void *self, const struct gust_step *s)
{
    const struct linear *m = self;
    struct linear_params params = params_of(m, s->groups);
    struct linear_sums sums = {
        .dense = m->dense ? gust_out_dense(s->out, m->dense_group) : NULL,
        .weights = m->dims ? &s->out->groups[m->weights_group] : NULL,
        .bias = gust_out_dense(s->out, m->bias_group),
    };
    float scores[CHUNK], labels[CHUNK];

    for (uint32_t at = 0; at < s->batch->rows; at += CHUNK) {
        uint32_t rows = MIN((uint32_t)CHUNK, s->batch->rows - at);

        m->kernels->linear_forward(scores, labels, s->batch, at, rows, &params);
        s->out->loss += m->loss(scores, labels, rows);
        m->kernels->linear_backward(&sums, scores, s->batch, at, rows);
    }
}

void linear_evaluate(const void *self, const struct gust_batch *batch,
                     const struct gust_view *groups, double *sums)
{
    const struct linear *m = self;
    struct linear_params params = params_of(m, groups);
    float scores[CHUNK], labels[CHUNK];

    for (uint32_t at = 0; at < batch->rows; at += CHUNK) {
        uint32_t rows = MIN((uint32_t)CHUNK, batch->rows - at), right = 0;

        m->kernels->linear_forward(scores, labels, batch, at, rows, &params);
        for (uint32_t r = 0; r < rows; r++)
            right += (scores[r] > 0) == (labels[r] > 0.5f);
        sums[0] += m->loss(scores, labels, rows);
        sums[1] += right;
        sums[2] += rows;
    }
}

void linear_score(const void *self, const double *sums, double *values)
{
    (void)self;
    values[0] = sums[0] / sums[2];
    values[1] = sums[1] / sums[2];
}

void linear_predict(const void *self, const struct gust_batch *batch,
                    const struct gust_view *groups, float *out)
{
    const struct linear *m = self;
    struct linear_params params = params_of(m, groups);
    float labels[CHUNK];

    for (uint32_t at = 0; at < batch->rows; at += CHUNK)
        m->kernels->linear_forward(out + at, labels, batch, at,
                                   MIN((uint32_t)CHUNK, batch->rows - at), &params);
}
