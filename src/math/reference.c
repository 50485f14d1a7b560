/* SPDX-License-Identifier: Apache-2.0 */
#include "math/reference.h"

#include "base/random.h"
#include "math/example.h"

/* The order in which eight lanes are added. */
static float sum_lanes(const float *x)
{
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

static float sum_chains(const float *c)
{
    return (c[0] + c[1]) + (c[2] + c[3]);
}

static void sum_n(float *out, const float *const *in, unsigned n, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float sum = in[0][i];

        for (unsigned s = 1; s < n; s++)
            sum += in[s][i];
        out[i] = sum;
    }
}

static bool marked(const uint64_t *mask, size_t unit)
{
    return mask[unit / 64] >> (unit % 64) & 1;
}

static void sum_units(float *restrict out, uint64_t *restrict out_mask, const float *const *in,
                      const uint64_t *const *masks, unsigned n, size_t unit_floats, size_t units)
{
    memset(out_mask, 0, (units + 63) / 64 * sizeof(*out_mask));
    for (unsigned s = 0; s < n; s++) {
        for (size_t u = 0; u < units; u++) {
            if (!marked(masks[s], u))
                continue;
            for (size_t i = u * unit_floats; i < (u + 1) * unit_floats; i++)
                out[i] = (marked(out_mask, u) ? out[i] : 0.0f) + in[s][i];
            out_mask[u / 64] |= (uint64_t)1 << (u % 64);
        }
    }
}

static float dot(const float *a, const float *b, size_t count)
{
    float lanes[32] = { 0 }, sums[8], rest = 0;
    size_t whole = count / 32 * 32;

    for (size_t i = 0; i < whole; i++)
        lanes[i % 32] += a[i] * b[i];
    for (size_t i = whole; i < count; i++)
        rest += a[i] * b[i];
    for (int k = 0; k < 8; k++)
        sums[k] = (lanes[k] + lanes[8 + k]) + (lanes[16 + k] + lanes[24 + k]);
    return sum_lanes(sums) + rest;
}

static void axpy(float *restrict y, float a, const float *restrict x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        y[i] += a * x[i];
}

static void scale(float *x, float a, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] *= a;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static uint64_t hash(const float *x, size_t count)
{
    uint64_t lanes[8], h = random_mix(count);
    size_t whole = count / 16 * 16;

    for (uint64_t k = 0; k < 8; k++)
        lanes[k] = random_mix(k + 1);
    for (size_t i = 0; i < whole; i += 2) {
        uint64_t *lane = &lanes[i / 2 % 8];

        *lane ^= bits_of(x[i]) | (uint64_t)bits_of(x[i + 1]) << 32;
        *lane *= 0x9E3779B97F4A7C15ull;
        *lane ^= *lane >> 29;
    }
    for (size_t i = whole; i < count; i++)
        h = random_mix(h ^ bits_of(x[i])) + 0xD1B54A32D192ED03ull;
    for (int k = 0; k < 8; k++)
        h = random_mix(h ^ lanes[k]) + 0x8CB92BA72F3D8DD7ull;
    return h;
}

static bool all_finite(const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

static void linear_forward(float *restrict scores, float *restrict labels,
                           const struct gust_batch *batch, uint32_t first, uint32_t rows,
                           const struct linear_params *p)
{
    for (uint32_t r = 0; r < rows; r++) {
        struct example e = example_at(batch, first + r);
        float dense[4] = { 0 }, ones[4] = { 0 }, pairs[4] = { 0 };

        for (uint32_t j = 0; j < batch->data->dense; j++)
            dense[j % 4] += gust_f32(e.dense + j) * p->dense[j];
        for (uint32_t j = 0; j < e.ones_count; j++)
            ones[j % 4] += p->weights[e.ones[j]];
        for (uint32_t j = 0; j < e.pair_count; j++)
            pairs[j % 4] += p->weights[e.pairs[2 * j]] * gust_f32(e.pairs + 2 * j + 1);
        scores[r] =
            ((sum_chains(dense) + sum_chains(ones)) + (e.pairs ? sum_chains(pairs) : 0)) + p->bias;
        labels[r] = e.label;
    }
}

static void linear_backward(const struct linear_sums *sums, const float *coef,
                            const struct gust_batch *batch, uint32_t first, uint32_t rows)
{
    struct gust_out out = { 0 };

    if (sums->weights)
        out.groups[0] = *sums->weights;
    for (uint32_t r = 0; r < rows; r++) {
        struct example e = example_at(batch, first + r);

        if (coef[r] == 0)
            continue;
        for (uint32_t j = 0; j < batch->data->dense; j++)
            sums->dense[j] += coef[r] * gust_f32(e.dense + j);
        for (uint32_t j = 0; j < e.ones_count; j++)
            *gust_out_row(&out, 0, e.ones[j]) += coef[r];
        for (uint32_t j = 0; j < e.pair_count; j++)
            *gust_out_row(&out, 0, e.pairs[2 * j]) += coef[r] * gust_f32(e.pairs + 2 * j + 1);
        *sums->bias += coef[r];
    }
}

static void matrix_forward(float *restrict scores, float *restrict labels,
                           const struct gust_batch *batch, uint32_t first, uint32_t rows,
                           const struct matrix_params *p)
{
    for (uint32_t r = 0; r < rows; r++) {
        struct example e = example_at(batch, first + r);

        for (uint32_t c = 0; c < p->stride; c++) {
            float s = p->bias[c];

            for (uint32_t j = 0; j < batch->data->dense; j++)
                s += gust_f32(e.dense + j) * p->dense[j * p->stride + c];
            for (uint32_t j = 0; j < e.ones_count; j++)
                s += p->weights[(size_t)e.ones[j] * p->stride + c];
            for (uint32_t j = 0; j < e.pair_count; j++)
                s += gust_f32(e.pairs + 2 * j + 1) *
                     p->weights[(size_t)e.pairs[2 * j] * p->stride + c];
            scores[r * p->stride + c] = s;
        }
        labels[r] = e.label;
    }
}

static void matrix_backward(const struct matrix_sums *sums, const float *coef,
                            const struct gust_batch *batch, uint32_t first, uint32_t rows)
{
    struct gust_out out = { 0 };
    uint32_t stride = sums->stride;

    if (sums->weights)
        out.groups[0] = *sums->weights;
    for (uint32_t r = 0; r < rows; r++) {
        struct example e = example_at(batch, first + r);
        const float *c = coef + r * stride;

        axpy(sums->bias, 1, c, stride);
        for (uint32_t j = 0; j < batch->data->dense; j++)
            axpy(sums->dense + j * stride, gust_f32(e.dense + j), c, stride);
        for (uint32_t j = 0; j < e.ones_count; j++)
            axpy(gust_out_row(&out, 0, e.ones[j]), 1, c, stride);
        for (uint32_t j = 0; j < e.pair_count; j++)
            axpy(gust_out_row(&out, 0, e.pairs[2 * j]), gust_f32(e.pairs + 2 * j + 1), c, stride);
    }
}

static double logistic(float *scores, const float *labels, size_t rows)
{
    double loss = 0;

    for (size_t i = 0; i < rows; i++) {
        double z = scores[i], y = labels[i];

        loss += fmax(z, 0) + log1p(exp(-fabs(z))) - y * z;
        scores[i] = (float)(1 / (1 + exp(-z)) - y);
    }
    return loss;
}

static double hinge(float *scores, const float *labels, size_t rows)
{
    double loss = 0;

    for (size_t i = 0; i < rows; i++) {
        double y = 2 * (double)labels[i] - 1, slack = 1 - y * (double)scores[i];

        loss += fmax(slack, 0);
        scores[i] = slack > 0 ? (float)-y : 0;
    }
    return loss;
}

static double squared_hinge(float *scores, const float *labels, size_t rows)
{
    double loss = 0;

    for (size_t i = 0; i < rows; i++) {
        double y = 2 * (double)labels[i] - 1, slack = fmax(1 - y * (double)scores[i], 0);

        loss += slack * slack;
        scores[i] = (float)(-2 * y * slack);
    }
    return loss;
}

static double softmax(float *scores, const float *labels, size_t rows, uint32_t classes,
                      uint32_t stride)
{
    double loss = 0;

    for (size_t r = 0; r < rows; r++) {
        float *s = scores + r * stride;
        double highest = s[0], own = s[(uint32_t)labels[r]], sum = 0;

        for (uint32_t c = 0; c < classes; c++)
            highest = fmax(highest, s[c]);
        for (uint32_t c = 0; c < classes; c++)
            sum += exp((double)s[c] - highest);
        for (uint32_t c = 0; c < stride; c++)
            s[c] = c < classes ? (float)(exp((double)s[c] - highest) / sum) : 0;
        s[(uint32_t)labels[r]] -= 1;
        loss += log(sum) + highest - own;
    }
    return loss;
}

static void sigmoid(float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = (float)(1 / (1 + exp(-(double)x[i])));
}

static float row_product(const float *user, const float *item, uint32_t stride)
{
    float lanes[8];

    for (uint32_t c = 0; c < stride; c++)
        lanes[c % 8] = c < 8 ? user[c] * item[c] : lanes[c % 8] + user[c] * item[c];
    return sum_lanes(lanes);
}

/* Whether column C of a user's row moves: factors and the user's bias. */
static bool user_moves(uint32_t c, uint32_t rank)
{
    return c < rank || c == rank + 1;
}

static double factor_rating(const struct factor_run *run, float *user, const float *item,
                            float *out, float label)
{
    uint32_t rank = run->rank;
    float e = (label - run->mean) - row_product(user, item, run->stride);
    float step = run->rate_user / sqrtf(user[rank + 2]), lanes[8] = { 0 };
    float step_e = step * e, step_l2 = step * run->l2_user;

    for (uint32_t c = 0; c < run->stride; c++)
        if (user_moves(c, rank))
            lanes[c % 8] += item[c] * item[c];
    for (uint32_t c = 0; c < run->stride; c++) {
        float before = user[c];

        if (user_moves(c, rank))
            user[c] += step_e * item[c] - step_l2 * before;
        if (c <= rank)
            out[c] += run->l2_item * item[c] - e * before;
    }
    user[rank + 2] += (e * e) * (sum_lanes(lanes) * (1.0f / (float)rank));
    return (double)e * (double)e;
}

static double factor_step(const struct factor_run *run)
{
    const struct gust_batch *b = run->batch;
    struct gust_out out = { .groups = { *run->out } };
    double loss = 0;

    for (uint32_t r = 0; r < b->rows; r++) {
        const uint32_t *words = b->words + gust_at(b, r);
        uint64_t user = words[run->user_word], item = words[run->item_word];

        loss += factor_rating(run, run->users + (user - run->users_first) * run->stride,
                              run->items + (item - run->items_first) * run->stride,
                              gust_out_row(&out, 0, item), gust_f32(words));
    }
    return loss;
}

static void factor_predict(float *restrict out, float *restrict labels,
                           const struct factor_run *run, uint32_t first, uint32_t rows)
{
    for (uint32_t r = 0; r < rows; r++) {
        const uint32_t *words = run->batch->words + gust_at(run->batch, first + r);
        uint64_t user = words[run->user_word], item = words[run->item_word];

        out[r] = run->mean + row_product(run->users + (user - run->users_first) * run->stride,
                                         run->items + (item - run->items_first) * run->stride,
                                         run->stride);
        labels[r] = gust_f32(words);
    }
}

static float gradient(float w, const float *sums, size_t i, const struct sweep *s)
{
    return s->scale * (sums ? sums[i] : 0) + s->l2 * w;
}

static float shrunk(float w, float t)
{
    return copysignf(fabsf(w) > t ? fabsf(w) - t : 0, w);
}

static void move(float *w, float change, float rate, const struct sweep *s)
{
    *w -= change;
    if (s->l1 > 0)
        *w = shrunk(*w, rate * s->l1);
}

static void sgd(float *w, const float *sums, size_t count, const struct sweep *s)
{
    for (size_t i = 0; i < count; i++)
        move(&w[i], s->rate * gradient(w[i], sums, i, s), s->rate, s);
}

static void momentum(float *w, float *m, const float *sums, size_t count, const struct sweep *s)
{
    for (size_t i = 0; i < count; i++) {
        m[i] = s->momentum * m[i] + gradient(w[i], sums, i, s);
        move(&w[i], s->rate * m[i], s->rate, s);
    }
}

static void nesterov(float *w, float *m, const float *sums, size_t count, const struct sweep *s)
{
    for (size_t i = 0; i < count; i++) {
        float g = gradient(w[i], sums, i, s);

        m[i] = s->momentum * m[i] + g;
        move(&w[i], s->rate * (g + s->momentum * m[i]), s->rate, s);
    }
}

static void adam(float *w, float *m, float *v, const float *sums, size_t count,
                 const struct sweep *s)
{
    for (size_t i = 0; i < count; i++) {
        float g = gradient(w[i], sums, i, s);

        m[i] = s->momentum * m[i] + (1 - s->momentum) * g;
        v[i] = s->decay * v[i] + (1 - s->decay) * (g * g);
        move(&w[i], s->rate * (m[i] * s->correct1) / (sqrtf(v[i] * s->correct2) + s->epsilon),
             s->rate, s);
    }
}

static void adagrad(float *w, float *a, const float *sums, size_t count, const struct sweep *s)
{
    for (size_t i = 0; i < count; i++) {
        float g = gradient(w[i], sums, i, s), step;

        a[i] += g * g;
        step = s->rate / sqrtf(a[i] + s->epsilon);
        move(&w[i], step * g, step, s);
    }
}

static void adagrad_row(float *w, float *a, const float *sums, size_t rows, uint32_t cols,
                        uint32_t stride, const struct sweep *s)
{
    for (size_t r = 0; r < rows; r++) {
        float lanes[8] = { 0 }, step;

        for (size_t c = 0; c < stride; c++) {
            float g = gradient(w[r * stride + c], sums, r * stride + c, s);

            lanes[c % 8] += g * g;
        }
        a[r] += sum_lanes(lanes) * (1.0f / (float)cols);
        step = s->rate / sqrtf(a[r] + s->epsilon);
        for (size_t i = r * stride; i < (r + 1) * stride; i++)
            move(&w[i], step * gradient(w[i], sums, i, s), step, s);
    }
}

const struct kernels kernels_reference = {
    .name = "reference",
    .sum_n = sum_n,
    .sum_units = sum_units,
    .dot = dot,
    .axpy = axpy,
    .scale = scale,
    .hash = hash,
    .finite = all_finite,
    .linear_forward = linear_forward,
    .linear_backward = linear_backward,
    .matrix_forward = matrix_forward,
    .matrix_backward = matrix_backward,
    .logistic = logistic,
    .hinge = hinge,
    .squared_hinge = squared_hinge,
    .softmax = softmax,
    .sigmoid = sigmoid,
    .factor_step = factor_step,
    .factor_predict = factor_predict,
    .sgd = sgd,
    .momentum = momentum,
    .nesterov = nesterov,
    .adam = adam,
    .adagrad = adagrad,
    .adagrad_row = adagrad_row,
};
