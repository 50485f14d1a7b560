/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every kernel at every instruction level that this CPU has, against the plain versions: bit
 * for bit where math/kernels.h fixes the order, within bounds where functions are approximated.
 */
#include "support/test.h"

#include "math/inputs.h"
#include "math/kernels.h"
#include "math/reference.h"

static const struct kernels *const ref = &kernels_reference;

static void assert_same(const float *a, const float *b, size_t count)
{
    assert_memory_equal(a, b, count * sizeof(float));
}

static void assert_near(const float *a, const float *b, size_t count, double bound)
{
    for (size_t i = 0; i < count; i++)
        assert_true(fabs((double)a[i] - (double)b[i]) <= bound);
}

static float *copy_of(struct heap *h, const float *x, size_t count)
{
    float *y = heap_alloc(h, (count + 8) * sizeof(*y));

    memcpy(y, x, count * sizeof(*y));
    return y;
}

static void vectors(struct heap *h, const struct kernels *k)
{
    static const size_t sizes[] = { 0, 1, 7, 8, 31, 32, 63, 64, 65, 200, 1000, 4099 };

    for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
        size_t n = sizes[i];
        const float *in[5];
        float *out = input_floats(h, 9, n), *want = copy_of(h, out, n), *a, *b;

        for (uint64_t s = 0; s < 5; s++)
            in[s] = input_floats(h, s, n);
        for (unsigned s = 1; s <= 5; s++) {
            k->sum_n(out, in, s, n);
            ref->sum_n(want, in, s, n);
            assert_same(out, want, n);
        }
        a = copy_of(h, in[0], n);
        b = copy_of(h, in[0], n);
        k->axpy(a, 0.3f, in[1], n);
        ref->axpy(b, 0.3f, in[1], n);
        k->scale(a, 1.7f, n);
        ref->scale(b, 1.7f, n);
        assert_same(a, b, n);
        assert_true(k->dot(in[0], in[1], n) == ref->dot(in[0], in[1], n));
        assert_true(k->hash(in[0], n) == ref->hash(in[0], n));
        assert_true(k->finite(in[0], n));
    }
}

static void sum_n_may_write_over_an_input(struct heap *h, const struct kernels *k)
{
    float *a = input_floats(h, 1, 333), *b = input_floats(h, 2, 333), *c = input_floats(h, 3, 333);
    float *want = heap_alloc(h, 333 * sizeof(float));
    const float *in[] = { a, b, c };

    ref->sum_n(want, in, 3, 333);
    k->sum_n(b, in, 3, 333);
    assert_same(b, want, 333);
}

/* Long sums are stored past the caches, wherever they begin. */
static void long_sums(struct heap *h, const struct kernels *k)
{
    size_t n = ((size_t)1 << 20) + 77;
    const float *in[] = { input_floats(h, 1, n), input_floats(h, 2, n), input_floats(h, 3, n) };
    float *out = input_floats(h, 4, n), *want = heap_alloc(h, n * sizeof(*want));

    ref->sum_n(want, in, 3, n);
    k->sum_n(out, in, 3, n);
    assert_same(out, want, n);
    memset(out, 0, n * sizeof(*out));
    k->sum_n(out + 3, in, 3, n);
    assert_same(out + 3, want, n);
}

static void masked_units(struct heap *h, const struct kernels *k)
{
    static const size_t unit_floats[] = { 16, 24, 40 };

    for (unsigned i = 0; i < ARRAY_SIZE(unit_floats); i++) {
        for (size_t units = 1; units < 300; units += 83) {
            size_t n = units * unit_floats[i];
            const float *in[4];
            const uint64_t *masks[4];
            float *out = input_floats(h, 9, n), *want = copy_of(h, out, n);
            uint64_t mask[8] = { 0 }, want_mask[8] = { 0 };

            for (uint64_t s = 0; s < 4; s++) {
                in[s] = input_floats(h, s, n);
                masks[s] = input_mask(h, s, units);
            }
            k->sum_units(out, mask, in, masks, 4, unit_floats[i], units);
            ref->sum_units(want, want_mask, in, masks, 4, unit_floats[i], units);
            assert_same(out, want, n);
            assert_memory_equal(mask, want_mask, (units + 63) / 64 * 8);
        }
    }
}

static void hashes_see_every_bit_and_the_order(struct heap *h, const struct kernels *k)
{
    float *x = input_floats(h, 1, 100), swap;
    uint64_t whole = k->hash(x, 100);

    for (size_t i = 0; i < 100; i++) {
        for (unsigned bit = 0; bit < 32; bit++) {
            uint32_t word;

            memcpy(&word, x + i, 4);
            word ^= 1u << bit;
            memcpy(x + i, &word, 4);
            assert_true(k->hash(x, 100) != whole);
            word ^= 1u << bit;
            memcpy(x + i, &word, 4);
        }
    }
    for (size_t i = 1; i < 100; i++) {
        swap = x[i], x[i] = x[i - 1], x[i - 1] = swap;
        assert_true(k->hash(x, 100) != whole);
        swap = x[i], x[i] = x[i - 1], x[i - 1] = swap;
    }
    assert_true(k->hash(x, 99) != whole);
}

static void one_bad_number_is_found_anywhere(struct heap *h, const struct kernels *k)
{
    static const float bad[] = { NAN, -NAN, INFINITY, -INFINITY };
    float *x = input_floats(h, 1, 77);

    x[5] = 3.4028235e38f;
    x[6] = 1e-45f;
    assert_true(k->finite(x, 77));
    for (size_t i = 0; i < 77; i++) {
        for (unsigned b = 0; b < ARRAY_SIZE(bad); b++) {
            float was = x[i];

            x[i] = bad[b];
            assert_false(k->finite(x, 77));
            x[i] = was;
        }
    }
}

/* The forms that examples can have. */
static const struct gust_data forms[] = {
    { .dense = 13, .ones = 26, .dims = 5000, .classes = 2 },
    { .dense = 3, .ones = GUST_VARIES, .sparse = true, .dims = 300, .classes = 2 },
    { .dense = 9, .ones = 0, .classes = 2 },
    { .dense = 0, .ones = 0, .sparse = true, .dims = 100, .classes = 2 },
};

static void linear_models(struct heap *h, const struct kernels *k)
{
    for (unsigned f = 0; f < ARRAY_SIZE(forms); f++) {
        const struct gust_data *d = &forms[f];
        struct gust_batch b = input_batch(h, d, f, 101);
        struct linear_params p = { input_floats(h, 1, d->dense), input_floats(h, 2, d->dims),
                                   0.25f };
        struct gust_out_group out = input_out(h, d->dims, 1, true);
        struct gust_out_group want = input_out(h, d->dims, 1, true);
        float *dense = input_floats(h, 3, d->dense), *want_dense = copy_of(h, dense, d->dense);
        float bias = 1, want_bias = 1, s[101], y[101], t[101], z[101];

        k->linear_forward(s, y, &b, 1, 100, &p);
        ref->linear_forward(t, z, &b, 1, 100, &p);
        assert_same(s, t, 100);
        assert_same(y, z, 100);
        s[50] = 0;
        k->linear_backward(&(struct linear_sums){ dense, &out, &bias }, s, &b, 1, 100);
        ref->linear_backward(&(struct linear_sums){ want_dense, &want, &want_bias }, s, &b, 1, 100);
        settle_out(&out, d->dims);
        settle_out(&want, d->dims);
        assert_same(out.rows, want.rows, d->dims);
        assert_same(dense, want_dense, d->dense);
        assert_true(bias == want_bias);
    }
}

static void matrix_models(struct heap *h, const struct kernels *k)
{
    static const uint32_t classes[] = { 1, 2, 3, 4, 5, 8, 10, 24 };

    for (unsigned f = 0; f < 2 * ARRAY_SIZE(classes); f++) {
        const struct gust_data *d = &forms[f % 2];
        uint32_t cols = classes[f / 2], stride = gust_stride(cols);
        struct gust_batch b = input_batch(h, d, f, 41);
        struct matrix_params p = { input_floats(h, 1, d->dense * stride),
                                   input_floats(h, 2, d->dims * stride), input_floats(h, 3, stride),
                                   stride };
        struct gust_out_group out = input_out(h, d->dims, cols, true);
        struct gust_out_group want = input_out(h, d->dims, cols, true);
        float *dense = input_floats(h, 4, d->dense * stride), *bias = input_floats(h, 5, stride);
        float *want_dense = copy_of(h, dense, d->dense * stride);
        float *want_bias = copy_of(h, bias, stride);
        float *s = heap_alloc(h, 41 * stride * 4), *t = heap_alloc(h, 41 * stride * 4), y[41],
              z[41];

        k->matrix_forward(s, y, &b, 2, 39, &p);
        ref->matrix_forward(t, z, &b, 2, 39, &p);
        assert_same(s, t, 39 * stride);
        assert_same(y, z, 39);
        k->matrix_backward(&(struct matrix_sums){ dense, &out, bias, stride }, s, &b, 2, 39);
        ref->matrix_backward(&(struct matrix_sums){ want_dense, &want, want_bias, stride }, s, &b,
                             2, 39);
        settle_out(&out, d->dims);
        settle_out(&want, d->dims);
        assert_same(out.rows, want.rows, d->dims * stride);
        assert_same(dense, want_dense, d->dense * stride);
        assert_same(bias, want_bias, stride);
    }
}

static void losses(struct heap *h, const struct kernels *k)
{
    typedef double (*loss_fn)(float *scores, const float *labels, size_t rows);
    const loss_fn got[] = { k->logistic, k->hinge, k->squared_hinge };
    const loss_fn want[] = { ref->logistic, ref->hinge, ref->squared_hinge };

    for (size_t n = 0; n < 40; n++) {
        for (unsigned f = 0; f < 3; f++) {
            float *s = input_floats(h, n, n), *t, *y = heap_alloc(h, (n + 8) * 4);
            double a, b;

            for (size_t i = 0; i < n; i++) {
                s[i] *= 30;
                y[i] = (float)(i & 1);
            }
            t = copy_of(h, s, n);
            a = got[f](s, y, n);
            b = want[f](t, y, n);
            assert_true(fabs(a - b) <= 3e-6 * (double)(n + 1));
            assert_near(s, t, n, 4e-6);
        }
    }
}

static void softmax_losses(struct heap *h, const struct kernels *k)
{
    for (uint32_t classes = 2; classes < 30; classes++) {
        uint32_t stride = gust_stride(classes), rows = 17;
        float *s = input_floats(h, classes, rows * stride), *t, y[17];

        for (uint32_t i = 0; i < rows * stride; i++)
            s[i] *= 20;
        for (uint32_t r = 0; r < rows; r++)
            y[r] = (float)(r % classes);
        t = copy_of(h, s, rows * stride);
        assert_true(fabs(k->softmax(s, y, rows, classes, stride) -
                         ref->softmax(t, y, rows, classes, stride)) < 1e-4);
        assert_near(s, t, rows * stride, 1e-6);
        for (uint32_t r = 0; r < rows; r++)
            for (uint32_t c = classes; c < stride; c++)
                assert_true(s[r * stride + c] == 0);
    }
}

static void sigmoids(struct heap *h, const struct kernels *k)
{
    float *s = input_floats(h, 1, 103), *t = copy_of(h, s, 103);

    k->sigmoid(s, 103);
    ref->sigmoid(t, 103);
    assert_near(s, t, 103, 1e-7);
}

static float *factor_rows(struct heap *h, uint64_t seed, size_t rows, uint32_t rank, bool users)
{
    uint32_t stride = gust_stride(MAX(rank + 3, 5u));
    float *x = input_floats(h, seed, rows * stride);

    for (size_t r = 0; r < rows; r++) {
        for (uint32_t c = rank; c < stride; c++)
            x[r * stride + c] = 0;
        x[r * stride + rank + (users ? 0 : 1)] = 1;
        x[r * stride + rank + (users ? 1 : 0)] = 0.125f;
        if (users)
            x[r * stride + rank + 2] = 0.5f;
    }
    return x;
}

static void factorisations(struct heap *h, const struct kernels *k)
{
    static const uint32_t ranks[] = { 1, 4, 5, 6, 12, 13, 14, 20, 21, 22, 29, 40, 61, 62, 100 };
    const struct gust_data d = { .ones = 2, .keys = 2, .key_rows = { 40, 30 }, .dims = 40 };
    struct gust_batch b = input_batch(h, &d, 1, 500);

    for (unsigned i = 0; i < ARRAY_SIZE(ranks); i++) {
        uint32_t rank = ranks[i], cols = MAX(rank + 3, 5u), stride = gust_stride(cols);
        struct gust_out_group out = input_out(h, 30, cols, true);
        struct gust_out_group want = input_out(h, 30, cols, true);
        struct factor_run run = { .batch = &b,
                                  .user_word = 1,
                                  .item_word = 2,
                                  .rank = rank,
                                  .stride = stride,
                                  .mean = 3,
                                  .rate_user = 0.05f,
                                  .l2_user = 0.02f,
                                  .l2_item = 0.01f };
        struct factor_run same;
        float s[500], t[500], y[500];
        double loss, want_loss;

        run.items = factor_rows(h, 2, 30, rank, false);
        same = run;
        run.users = factor_rows(h, 1, 40, rank, true);
        same.users = factor_rows(h, 1, 40, rank, true);
        run.out = &out;
        same.out = &want;
        loss = k->factor_step(&run);
        want_loss = ref->factor_step(&same);
        assert_true(loss == want_loss);
        settle_out(&out, 30);
        settle_out(&want, 30);
        assert_same(run.users, same.users, 40 * stride);
        assert_same(out.rows, want.rows, 30 * stride);
        k->factor_predict(s, y, &run, 0, 500);
        ref->factor_predict(t, y, &same, 0, 500);
        assert_same(s, t, 500);
    }
}

static void optimisers(struct heap *h, const struct kernels *k)
{
    const struct sweep sweeps[] = {
        { .scale = 1,
          .rate = 0.1f,
          .momentum = 0.9f,
          .decay = 0.99f,
          .epsilon = 1e-8f,
          .correct1 = 3,
          .correct2 = 7 },
        { .scale = 0.25f,
          .rate = 0.3f,
          .l1 = 0.05f,
          .l2 = 0.01f,
          .momentum = 0.5f,
          .decay = 0.9f,
          .epsilon = 1e-3f,
          .correct1 = 1.5f,
          .correct2 = 1.25f },
    };

    for (unsigned i = 0; i < 2 * 13; i++) {
        const struct sweep *s = &sweeps[i % 2];
        size_t n = i / 2 * 9;
        const float *g = i % 5 == 4 ? NULL : input_floats(h, 1, n);
        float *w = input_floats(h, 2, n), *m = input_floats(h, 3, n), *v = input_floats(h, 4, n);
        float *w2, *m2, *v2;

        for (size_t j = 0; j < n; j++)
            v[j] = fabsf(v[j]) + 0.01f;
        w2 = copy_of(h, w, n);
        m2 = copy_of(h, m, n);
        v2 = copy_of(h, v, n);
        for (unsigned round = 0; round < 3; round++) {
            k->sgd(w, g, n, s);
            ref->sgd(w2, g, n, s);
            k->momentum(w, m, g, n, s);
            ref->momentum(w2, m2, g, n, s);
            k->nesterov(w, m, g, n, s);
            ref->nesterov(w2, m2, g, n, s);
            k->adam(w, m, v, g, n, s);
            ref->adam(w2, m2, v2, g, n, s);
            k->adagrad(w, v, g, n, s);
            ref->adagrad(w2, v2, g, n, s);
        }
        assert_same(w, w2, n);
        assert_same(m, m2, n);
        assert_same(v, v2, n);
    }
}

static void row_optimisers(struct heap *h, const struct kernels *k)
{
    const struct sweep s = {
        .scale = 0.5f, .rate = 0.1f, .l1 = 0.01f, .l2 = 0.1f, .epsilon = 1e-6f
    };

    for (uint32_t cols = 1; cols < 34; cols++) {
        uint32_t stride = gust_stride(cols);
        float *w = input_floats(h, 1, 50 * stride), *a = input_floats(h, 2, 50);
        float *g = input_floats(h, 3, 50 * stride), *w2, *a2;

        for (size_t i = 0; i < 50; i++)
            a[i] = fabsf(a[i]);
        w2 = copy_of(h, w, 50 * stride);
        a2 = copy_of(h, a, 50);
        k->adagrad_row(w, a, g, 50, cols, stride, &s);
        k->adagrad_row(w, a, NULL, 50, cols, stride, &s);
        ref->adagrad_row(w2, a2, g, 50, cols, stride, &s);
        ref->adagrad_row(w2, a2, NULL, 50, cols, stride, &s);
        assert_same(w, w2, 50 * stride);
        assert_same(a, a2, 50);
    }
}

/* One test per kernel family, each over all levels. */
#define AT_EVERY_LEVEL(check)                                                                      \
    static void check##_at_every_level(void **state UNUSED)                                        \
    {                                                                                              \
        for (unsigned i = 0; kernels_at(i); i++) {                                                 \
            struct heap heap;                                                                      \
                                                                                                   \
            heap_init(&heap, 0);                                                                   \
            check(&heap, kernels_at(i));                                                           \
            heap_release(&heap);                                                                   \
        }                                                                                          \
    }
AT_EVERY_LEVEL(vectors)
AT_EVERY_LEVEL(sum_n_may_write_over_an_input)
AT_EVERY_LEVEL(long_sums)
AT_EVERY_LEVEL(masked_units)
AT_EVERY_LEVEL(hashes_see_every_bit_and_the_order)
AT_EVERY_LEVEL(one_bad_number_is_found_anywhere)
AT_EVERY_LEVEL(linear_models)
AT_EVERY_LEVEL(matrix_models)
AT_EVERY_LEVEL(losses)
AT_EVERY_LEVEL(softmax_losses)
AT_EVERY_LEVEL(sigmoids)
AT_EVERY_LEVEL(factorisations)
AT_EVERY_LEVEL(optimisers)
AT_EVERY_LEVEL(row_optimisers)

static void levels_are_found_by_name_and_the_best_is_the_last(void **state UNUSED)
{
    unsigned count = 0;

    while (kernels_at(count)) {
        assert_ptr_equal(kernels_find(kernels_at(count)->name), kernels_at(count));
        count++;
    }
    assert_true(count >= 1);
    assert_ptr_equal(kernels_best(), kernels_at(count - 1));
    assert_null(kernels_find("abacus"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_at_every_level),
        cmocka_unit_test(sum_n_may_write_over_an_input_at_every_level),
        cmocka_unit_test(long_sums_at_every_level),
        cmocka_unit_test(masked_units_at_every_level),
        cmocka_unit_test(hashes_see_every_bit_and_the_order_at_every_level),
        cmocka_unit_test(one_bad_number_is_found_anywhere_at_every_level),
        cmocka_unit_test(linear_models_at_every_level),
        cmocka_unit_test(matrix_models_at_every_level),
        cmocka_unit_test(losses_at_every_level),
        cmocka_unit_test(softmax_losses_at_every_level),
        cmocka_unit_test(sigmoids_at_every_level),
        cmocka_unit_test(factorisations_at_every_level),
        cmocka_unit_test(optimisers_at_every_level),
        cmocka_unit_test(row_optimisers_at_every_level),
        cmocka_unit_test(levels_are_found_by_name_and_the_best_is_the_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
