/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same bits everywhere: the results of every kernel on fixed inputs are folded into one
 * number per family, which is written here. It must come out at every instruction level, with
 * every compiler, on every machine. A change of these numbers changes every model that was ever
 * trained from a seed: it has to be meant.
 */
#include "support/test.h"

#include "math/functions.h"
#include "math/inputs.h"
#include "math/kernels.h"
#include "math/normal.h"
#include "math/reference.h"

/* Folds results in order. The reference's hash is one of the kernels under test elsewhere. */
struct fold {
    uint64_t bits;
};

static void fold_floats(struct fold *f, const float *x, size_t count)
{
    f->bits = random_mix(f->bits ^ kernels_reference.hash(x, count));
}

static void fold_f64(struct fold *f, double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof(bits));
    f->bits = random_mix(f->bits ^ bits);
}

static void vectors(struct fold *f, struct heap *h, const struct kernels *k)
{
    float *out = input_floats(h, 0, 1003);
    const float *in[] = { input_floats(h, 1, 1003), input_floats(h, 2, 1003),
                          input_floats(h, 3, 1003) };
    const uint64_t *masks[] = { input_mask(h, 1, 62), input_mask(h, 2, 62), input_mask(h, 3, 62) };
    uint64_t mask[1];

    k->sum_n(out, in, 3, 1003);
    fold_floats(f, out, 1003);
    k->sum_units(out, mask, in, masks, 3, 16, 62);
    fold_floats(f, out, 1003);
    f->bits ^= mask[0];
    k->axpy(out, 0.37f, in[0], 1003);
    k->scale(out, 1.13f, 1003);
    fold_floats(f, out, 1003);
    fold_f64(f, (double)k->dot(in[0], in[1], 1003));
    f->bits ^= k->hash(in[2], 1003);
}

static void functions(struct fold *f, struct heap *h, const struct kernels *k)
{
    enum { N = 20000 };
    float *x = heap_alloc(h, N * sizeof(*x)), *y = heap_alloc(h, N * sizeof(*y));
    float *labels = heap_alloc(h, N * sizeof(*labels));

    for (uint32_t i = 0; i < N; i++) {
        x[i] = 180 * random_unit(random_at(5, i, 0, 0)) - 90;
        x[i] = i & 1 ? x[i] / 32 : x[i];
        labels[i] = (float)(i % 3 == 0);
    }
    memcpy(y, x, N * sizeof(*y));
    k->sigmoid(y, N);
    fold_floats(f, y, N);
    memcpy(y, x, N * sizeof(*y));
    fold_f64(f, k->logistic(y, labels, N - 3));
    fold_floats(f, y, N);
    memcpy(y, x, N * sizeof(*y));
    fold_f64(f, k->hinge(y, labels, N - 5));
    fold_f64(f, k->squared_hinge(y, labels, N - 1));
    fold_floats(f, y, N);
    memcpy(y, x, N * sizeof(*y));
    fold_f64(f, k->softmax(y, labels, N / 16, 11, 16));
    fold_floats(f, y, N);
    for (uint32_t i = 0; i < N; i++)
        y[i] = tanh_f32(x[i]) + log_f32(fabsf(x[i])) + normal_deviate(random_at(6, i, 0, 0));
    fold_floats(f, y, N);
}

static void models(struct fold *f, struct heap *h, const struct kernels *k)
{
    const struct gust_data d = {
        .dense = 5, .ones = GUST_VARIES, .sparse = true, .dims = 700, .classes = 2
    };
    struct gust_batch b = input_batch(h, &d, 4, 300);
    struct gust_out_group out = input_out(h, 700, 1, true), rows = input_out(h, 700, 11, true);
    float s[300 * 16], y[300], *dense = input_floats(h, 3, 5 * 16), *bias = input_floats(h, 4, 16);

    k->linear_forward(s, y, &b, 0, 300,
                      &(struct linear_params){ dense, input_floats(h, 2, 700), 0.5f });
    fold_floats(f, s, 300);
    k->linear_backward(&(struct linear_sums){ dense, &out, bias }, s, &b, 0, 300);
    settle_out(&out, 700);
    fold_floats(f, out.rows, 700);
    k->matrix_forward(s, y, &b, 0, 300,
                      &(struct matrix_params){ dense, input_floats(h, 5, 700 * 16), bias, 16 });
    fold_floats(f, s, 300 * 16);
    k->matrix_backward(&(struct matrix_sums){ dense, &rows, bias, 16 }, s, &b, 0, 300);
    settle_out(&rows, 700);
    fold_floats(f, rows.rows, 700 * 16);
    fold_floats(f, dense, 5 * 16);
    fold_floats(f, bias, 16);
}

static void factorisation(struct fold *f, struct heap *h, const struct kernels *k)
{
    const struct gust_data d = { .ones = 2, .keys = 2, .key_rows = { 90, 50 }, .dims = 90 };
    struct gust_batch b = input_batch(h, &d, 1, 3000);
    struct gust_out_group out = input_out(h, 50, 23, true);
    float *users = input_floats(h, 1, 90 * 24), *items = input_floats(h, 2, 50 * 24), s[300],
          y[300];
    struct factor_run run = { .batch = &b,
                              .user_word = 1,
                              .item_word = 2,
                              .users = users,
                              .items = items,
                              .out = &out,
                              .rank = 20,
                              .stride = 24,
                              .mean = 3,
                              .rate_user = 0.05f,
                              .l2_user = 0.02f,
                              .l2_item = 0.01f };

    for (int u = 0; u < 90; u++)
        memcpy(users + 24 * u + 20, (float[]){ 1, 0, 0.5f, 0 }, 16);
    for (int i = 0; i < 50; i++)
        memcpy(items + 24 * i + 20, (float[]){ 0, 1, 0, 0 }, 16);
    fold_f64(f, k->factor_step(&run));
    settle_out(&out, 50);
    fold_floats(f, users, 90 * 24);
    fold_floats(f, out.rows, 50 * 24);
    k->factor_predict(s, y, &run, 100, 300);
    fold_floats(f, s, 300);
}

static void optimisers(struct fold *f, struct heap *h, const struct kernels *k)
{
    enum { N = 1000 };
    const struct sweep s = { .scale = 0.7f,
                             .rate = 0.03f,
                             .l1 = 0.001f,
                             .l2 = 0.01f,
                             .momentum = 0.9f,
                             .decay = 0.99f,
                             .epsilon = 1e-6f,
                             .correct1 = 2,
                             .correct2 = 5 };
    const float *g = input_floats(h, 1, N);
    float *w = input_floats(h, 2, N), *m = input_floats(h, 3, N), *v = heap_alloc(h, N * 4);

    for (int round = 0; round < 20; round++) {
        k->sgd(w, g, N, &s);
        k->momentum(w, m, g, N, &s);
        k->nesterov(w, m, g, N, &s);
        k->adam(w, m, v, g, N, &s);
        k->adagrad(w, v, g, N, &s);
        k->adagrad_row(w, v, g, N / 8, 5, 8, &s);
    }
    fold_floats(f, w, N);
    fold_floats(f, m, N);
    fold_floats(f, v, N);
}

static const struct family {
    const char *name;
    void (*run)(struct fold *f, struct heap *h, const struct kernels *k);
    uint64_t golden;
} families[] = {
    { "vectors", vectors, 0xEAAA749883606CFCull },
    { "functions", functions, 0xECD32D892A47CC52ull },
    { "models", models, 0xF8DB6E40549BD50Eull },
    { "factorisation", factorisation, 0x619BE156681F1353ull },
    { "optimisers", optimisers, 0xCC12212D4C566166ull },
};

static void every_level_and_compiler_gives_the_bits_written_here(void **state UNUSED)
{
    unsigned wrong = 0;

    for (unsigned i = 0; kernels_at(i); i++) {
        for (unsigned n = 0; n < ARRAY_SIZE(families); n++) {
            struct fold f = { 0 };
            struct heap heap;

            heap_init(&heap, 0);
            families[n].run(&f, &heap, kernels_at(i));
            heap_release(&heap);
            if (f.bits != families[n].golden) {
                print_error("%s at level %s: 0x%016llX\n", families[n].name, kernels_at(i)->name,
                            (unsigned long long)f.bits);
                wrong++;
            }
        }
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_level_and_compiler_gives_the_bits_written_here),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
