/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Golden traces: whole trainings, model and optimiser together, against an independent
 * computation in double precision that knows nothing of rows, strides, masks or laziness. The
 * losses must agree at every step and the parameters at the end.
 */
#include "model/solo.h"

#include "math/inputs.h"

#define STEPS   250
#define BATCHES 10

/* ---- linear models -------------------------------------------------------------------------- */

enum loss { LOGISTIC, HINGE, SQUARED_HINGE, SOFTMAX };
enum rule { SGD, MOMENTUM, NESTEROV, ADAM, ADAGRAD };

struct plan {
    const char *model, *settings;
    enum loss loss;
    enum rule rule;
    uint32_t columns; /* 1, or the classes of softmax */
    double rate, decay, l1, l2, accumulator;
    bool sum; /* reduce: sum */
};

/* Features are numbered: indices first, then dense values, then the constant 1. */
#define DIMS     80
#define DENSE    3
#define FEATURES (DIMS + DENSE + 1)
#define COLUMNS  4

struct parameter {
    double w, m, v;
};

static struct parameter table[FEATURES][COLUMNS];
static double gradients[FEATURES][COLUMNS];

/* An example as a dense vector. */
static void unfold(const struct gust_batch *b, uint32_t r, double *x)
{
    const uint32_t *at = b->words + gust_at(b, r) + 1;
    uint32_t count;

    memset(x, 0, FEATURES * sizeof(*x));
    x[FEATURES - 1] = 1;
    for (uint32_t j = 0; j < DENSE; j++)
        x[DIMS + j] = (double)gust_f32(at++);
    for (count = *at++; count; count--)
        x[*at++] += 1;
    for (count = *at++; count; count--, at += 2)
        x[at[0]] += (double)gust_f32(at + 1);
}

/* Derivatives by the scores z; returns the loss. */
static double derivatives(const struct plan *p, const double *z, double label, double *d)
{
    double y = 2 * label - 1, slack = fmax(0, 1 - y * z[0]), sum = 0;

    switch (p->loss) {
    case LOGISTIC:
        d[0] = 1 / (1 + exp(-z[0])) - label;
        return log1p(exp(z[0])) - label * z[0];
    case HINGE:
        d[0] = slack > 0 ? -y : 0;
        return slack;
    case SQUARED_HINGE:
        d[0] = -2 * y * slack;
        return slack * slack;
    case SOFTMAX:
        break;
    }
    for (uint32_t c = 0; c < p->columns; c++)
        sum += exp(z[c]);
    for (uint32_t c = 0; c < p->columns; c++)
        d[c] = exp(z[c]) / sum - (c == (uint32_t)label);
    return log(sum) - z[(uint32_t)label];
}

static double expect_gradients(const struct plan *p, const struct gust_batch *b)
{
    double loss = 0, x[FEATURES];

    memset(gradients, 0, sizeof(gradients));
    for (uint32_t r = 0; r < b->rows; r++) {
        double z[COLUMNS] = { 0 }, d[COLUMNS];

        unfold(b, r, x);
        for (uint32_t f = 0; f < FEATURES; f++)
            for (uint32_t c = 0; c < p->columns; c++)
                z[c] += x[f] * table[f][c].w;
        loss += derivatives(p, z, (double)gust_f32(b->words + gust_at(b, r)), d);
        for (uint32_t f = 0; f < FEATURES; f++)
            for (uint32_t c = 0; c < p->columns; c++)
                gradients[f][c] += x[f] * d[c];
    }
    return loss;
}

static void expect_update(const struct plan *p, struct parameter *a, double g, double rate,
                          double l1, uint64_t step)
{
    double t = (double)step + 1, by = rate * l1;

    switch (p->rule) {
    case SGD:
        a->w -= rate * g;
        break;
    case MOMENTUM:
        a->m = 0.9 * a->m + g;
        a->w -= rate * a->m;
        break;
    case NESTEROV:
        a->m = 0.9 * a->m + g;
        a->w -= rate * (g + 0.9 * a->m);
        break;
    case ADAM:
        a->m = 0.9 * a->m + 0.1 * g;
        a->v = 0.999 * a->v + 0.001 * g * g;
        a->w -= rate * a->m / (1 - pow(0.9, t)) / (sqrt(a->v / (1 - pow(0.999, t))) + 1e-8);
        break;
    case ADAGRAD:
        a->v += g * g;
        a->w -= rate / sqrt(a->v) * g;
        by = rate / sqrt(a->v) * l1;
        break;
    }
    a->w = a->w > by ? a->w - by : a->w < -by ? a->w + by : 0;
}

/* The bias, the last feature, is not regularised. */
static void expect_step(const struct plan *p, uint64_t step, double rate, double rows)
{
    double scale = p->sum ? 1 : 1 / rows;

    for (uint32_t f = 0; f < FEATURES; f++) {
        double strength = f + 1 == FEATURES ? 0 : rows * scale;

        for (uint32_t c = 0; c < p->columns; c++) {
            struct parameter *a = &table[f][c];

            expect_update(p, a, scale * gradients[f][c] + strength * p->l2 * a->w, rate,
                          strength * p->l1, step);
        }
    }
}

static float trained(const struct solo *s, uint32_t f, uint32_t c)
{
    unsigned group = f < DIMS ? 0 : f < DIMS + DENSE ? 1 : 2;
    uint64_t row = f < DIMS ? f : f < DIMS + DENSE ? f - DIMS : 0;

    return gust_row(&s->views[group], row)[c];
}

static void follow(const struct plan *p)
{
    const struct gust_data data = { .dense = DENSE,
                                    .ones = GUST_VARIES,
                                    .sparse = true,
                                    .dims = DIMS,
                                    .classes = MAX(p->columns, 2u) };
    struct gust_batch batches[BATCHES];
    struct solo s;

    solo_open(&s, model_find(p->model), &data, p->settings);
    for (uint64_t i = 0; i < BATCHES; i++)
        batches[i] = input_batch(&s.heap, &data, i, (uint32_t)(8 + i));
    memset(table, 0, sizeof(table));
    for (uint32_t i = 0; i < FEATURES * COLUMNS; i++)
        table[i / COLUMNS][i % COLUMNS].v = p->accumulator;
    for (uint64_t step = 0; step < STEPS; step++) {
        const struct gust_batch *b = &batches[step % BATCHES];
        double epochs = (double)step / BATCHES, rate = p->rate / (1 + p->decay * epochs);
        double got = solo_step(&s, b, epochs) * b->rows, want = expect_gradients(p, b);

        assert_true(fabs(got - want) < 1e-4 * want + 1e-4);
        expect_step(p, step, rate, b->rows);
    }
    optimiser_finish(&s.optimiser);
    for (uint32_t f = 0; f < FEATURES; f++)
        for (uint32_t c = 0; c < p->columns; c++)
            assert_true(fabs((double)trained(&s, f, c) - table[f][c].w) < 2e-4);
    solo_close(&s);
}

static void logistic_with_adagrad_and_l2(void **state UNUSED)
{
    follow(&(struct plan){ .model = "logistic",
                           .settings = "rate: 0.1\nl2: 0.001\naccumulator: 1\nreduce: sum",
                           .loss = LOGISTIC,
                           .rule = ADAGRAD,
                           .columns = 1,
                           .rate = 0.1,
                           .l2 = 0.001,
                           .accumulator = 1,
                           .sum = true });
}

static void logistic_with_sgd_l1_and_a_schedule(void **state UNUSED)
{
    follow(&(struct plan){ .model = "logistic",
                           .settings = "optimiser: sgd\nreduce: mean\nrate: 0.5\nl1: 0.002\nl2: 0\n"
                                       "schedule: inverse\ndecay: 0.2",
                           .loss = LOGISTIC,
                           .rule = SGD,
                           .columns = 1,
                           .rate = 0.5,
                           .decay = 0.2,
                           .l1 = 0.002 });
}

static void svm_with_momentum(void **state UNUSED)
{
    follow(&(struct plan){ .model = "svm",
                           .settings = "optimiser: momentum\nloss: squared-hinge\nreduce: mean\n"
                                       "rate: 0.02\nl2: 0.01",
                           .loss = SQUARED_HINGE,
                           .rule = MOMENTUM,
                           .columns = 1,
                           .rate = 0.02,
                           .l2 = 0.01 });
}

static void svm_with_hinge_and_nesterov(void **state UNUSED)
{
    follow(&(struct plan){ .model = "svm",
                           .settings = "optimiser: nesterov\nreduce: mean\nrate: 0.0078125\nl2: 0",
                           .loss = HINGE,
                           .rule = NESTEROV,
                           .columns = 1,
                           .rate = 0.0078125 });
}

static void softmax_with_adam(void **state UNUSED)
{
    follow(&(struct plan){ .model = "softmax",
                           .settings = "optimiser: adam\nreduce: mean\nrate: 0.01\nl2: 0.0001",
                           .loss = SOFTMAX,
                           .rule = ADAM,
                           .columns = 4,
                           .rate = 0.01,
                           .l2 = 0.0001 });
}

/* ---- factorisation -------------------------------------------------------------------------- */

#define RANK  5
#define USERS 30
#define ITEMS 20

/* Factors, then the bias. */
struct side {
    double x[RANK + 1], squares;
};

static struct side users[USERS], items[ITEMS];

static double expect_rating(struct side *u, const struct side *i, double label, double *g,
                            double rate)
{
    double e = label - 3 - u->x[RANK] - i->x[RANK], step = rate / sqrt(u->squares), length = 1;

    for (int k = 0; k < RANK; k++) {
        e -= u->x[k] * i->x[k];
        length += i->x[k] * i->x[k];
    }
    for (int k = 0; k <= RANK; k++) {
        double other = k < RANK ? i->x[k] : 1, own = k < RANK ? u->x[k] : 1;

        g[k] += 0.02 * i->x[k] - e * own;
        u->x[k] += step * (e * other - 0.04 * u->x[k]);
    }
    u->squares += e * e * length / RANK;
    return e * e;
}

/* AdaGrad by rows counts the columns of the group, which are three more than the rank. */
static double expect_ratings(const struct gust_batch *b, double rate)
{
    double g[ITEMS][RANK + 1] = { 0 }, loss = 0;

    for (uint32_t r = 0; r < b->rows; r++) {
        const uint32_t *words = b->words + gust_at(b, r);

        loss += expect_rating(&users[words[1]], &items[words[2]], (double)gust_f32(words),
                              g[words[2]], 0.7 * rate);
    }
    for (int i = 0; i < ITEMS; i++) {
        for (int k = 0; k <= RANK; k++)
            items[i].squares += g[i][k] * g[i][k] / (RANK + 3);
        for (int k = 0; k <= RANK; k++)
            items[i].x[k] -= rate / sqrt(items[i].squares + 1e-10) * g[i][k];
    }
    return loss;
}

static void read_sides(const struct solo *s, struct side *side, unsigned group, unsigned count)
{
    for (unsigned r = 0; r < count; r++) {
        const float *x = gust_row(&s->views[group], r);

        for (int k = 0; k < RANK; k++)
            side[r].x[k] = (double)x[k];
        side[r].x[RANK] = (double)x[RANK + (group == 0 ? 1 : 0)];
        side[r].squares = group == 0 ? (double)x[RANK + 2] : 0.25;
    }
}

static void assert_sides(const struct solo *s, const struct side *want, unsigned group,
                         unsigned count)
{
    struct side got[USERS];

    read_sides(s, got, group, count);
    for (unsigned r = 0; r < count; r++)
        for (int k = 0; k <= RANK; k++)
            assert_true(fabs(got[r].x[k] - want[r].x[k]) < 1e-3);
}

static void factorisation_with_adagrad_by_rows(void **state UNUSED)
{
    const struct gust_data data = {
        .ones = 2, .keys = 2, .key_rows = { USERS, ITEMS }, .dims = USERS, .label_mean = 3
    };
    struct gust_batch batches[BATCHES];
    struct solo s;

    solo_open(&s, &model_factorisation, &data,
              "rank: 5\nl2-user: 0.04\nl2-item: 0.02\nuser-rate: 0.7\ninit: 0.3\n"
              "rate: 0.1\nschedule: inverse\ndecay: 0.5\naccumulator: 0.25");
    for (uint64_t i = 0; i < BATCHES; i++)
        batches[i] = input_batch(&s.heap, &data, i, 40);
    read_sides(&s, users, 0, USERS);
    read_sides(&s, items, 1, ITEMS);
    for (uint64_t step = 0; step < STEPS; step++) {
        double epochs = (double)step / BATCHES, rate = 0.1 / (1 + 0.5 * epochs);
        const struct gust_batch *b = &batches[step % BATCHES];
        double got = solo_step(&s, b, epochs) * b->rows, want = expect_ratings(b, rate);

        assert_true(fabs(got - want) < 1e-3 * want + 1e-4);
    }
    assert_sides(&s, users, 0, USERS);
    assert_sides(&s, items, 1, ITEMS);
    solo_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logistic_with_adagrad_and_l2),
        cmocka_unit_test(logistic_with_sgd_l1_and_a_schedule),
        cmocka_unit_test(svm_with_momentum),
        cmocka_unit_test(svm_with_hinge_and_nesterov),
        cmocka_unit_test(softmax_with_adam),
        cmocka_unit_test(factorisation_with_adagrad_by_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
