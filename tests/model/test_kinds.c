/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three kinds of trainers, each learning something: gradients (the built-in models),
 * updates (local descent) and statistics (k-means).
 */
#include "model/solo.h"

#include "math/inputs.h"
#include "support/trainers.h"

#define ROWS 400

/* Four clouds around the corners of a square, labels a linear function of the place. */
static struct gust_batch clouds(struct heap *h, const struct gust_data *data)
{
    uint32_t *words = heap_alloc(h, ROWS * 3 * sizeof(*words));

    for (uint32_t r = 0; r < ROWS; r++) {
        float x[3];

        x[1] = (float)(r & 1 ? 2 : -2) + 0.3f * gust_normal(1, r, 0, 0);
        x[2] = (float)(r & 2 ? 2 : -2) + 0.3f * gust_normal(1, r, 1, 0);
        x[0] = data->classes ? (float)(r & 1) : 0.5f * x[1] - 0.25f * x[2] + 3;
        memcpy(words + 3 * r, x, sizeof(x));
    }
    return (struct gust_batch){ .data = data, .words = words, .row_words = 3, .rows = ROWS };
}

static void statistics_find_the_middles_of_the_clouds(void **state UNUSED)
{
    const struct gust_data data = { .dense = 2 };
    struct gust_batch b;
    struct solo s;
    unsigned corners = 0;

    solo_open(&s, &test_kmeans, &data, "");
    b = clouds(&s.heap, &data);
    for (int step = 0; step < 30; step++)
        solo_step(&s, &b, step);
    assert_true(solo_score(&s, &b) < 0.25);
    for (uint64_t k = 0; k < 4; k++) {
        const float *centre = gust_row(&s.views[KMEANS_CENTRES], k);

        assert_true(fabsf(fabsf(centre[0]) - 2) < 0.15f && fabsf(fabsf(centre[1]) - 2) < 0.15f);
        corners |= 1u << ((centre[0] > 0) + 2 * (centre[1] > 0));
    }
    assert_int_equal(corners, 15);
    solo_close(&s);
}

static void averaged_updates_find_the_line(void **state UNUSED)
{
    const struct gust_data data = { .dense = 2 };
    struct gust_batch b;
    struct solo s;

    solo_open(&s, &test_local_sgd, &data, "rate: 0.02");
    b = clouds(&s.heap, &data);
    for (int step = 0; step < 30; step++)
        solo_step(&s, &b, step);
    assert_true(solo_score(&s, &b) < 1e-3);
    assert_true(fabsf(s.views[0].rows[0] - 0.5f) < 1e-3f);
    assert_true(fabsf(s.views[0].rows[1] + 0.25f) < 1e-3f);
    assert_true(fabsf(s.views[0].rows[2] - 3) < 1e-3f);
    solo_close(&s);
}

static void gradients_part_the_clouds(void **state UNUSED)
{
    const struct gust_data data = { .dense = 2, .classes = 2 };
    static const char *const models[] = { "logistic", "svm", "softmax" };

    for (unsigned i = 0; i < ARRAY_SIZE(models); i++) {
        struct gust_batch b;
        struct solo s;
        float predicted[ROWS];

        solo_open(&s, model_find(models[i]), &data, "rate: 1");
        b = clouds(&s.heap, &data);
        for (int step = 0; step < 100; step++)
            solo_step(&s, &b, step);
        assert_true(solo_score(&s, &b) < 0.1);
        s.trainer->predict(s.self, &b, s.views, predicted);
        for (uint32_t r = 0; r < ROWS; r++)
            assert_true((predicted[r] > (i == 1 ? 0 : 0.5f)) == (r & 1));
        solo_close(&s);
    }
}

/* Ratings of a planted model: learning must come near its noise. */
static void factors_explain_planted_ratings(void **state UNUSED)
{
    const struct gust_data data = { .ones = 2,
                                    .keys = 2,
                                    .key_rows = { 200, 100 },
                                    .dims = 200,
                                    .label_mean = 3,
                                    .label_min = -10,
                                    .label_max = 16 };
    uint32_t rows = 12000, part = 1000;
    struct gust_batch all, b;
    uint32_t *words;
    struct solo s;
    double first, last;

    solo_open(&s, &model_factorisation, &data, "rank: 4");
    all = input_batch(&s.heap, &data, 1, rows);
    words = heap_alloc(&s.heap, rows * 3 * sizeof(*words));
    for (uint32_t r = 0; r < rows; r++) {
        const uint32_t *at = all.words + gust_at(&all, r);
        float label = 3 + 0.1f * gust_normal(9, r, 0, 0);

        for (uint64_t k = 0; k < 2; k++)
            label += gust_normal(7, at[1], k, 0) * gust_normal(8, at[2], k, 0);
        memcpy(words + 3 * r, &label, 4);
        words[3 * r + 1] = at[1];
        words[3 * r + 2] = at[2];
    }
    all = (struct gust_batch){ .data = &data, .words = words, .row_words = 3, .rows = rows };
    first = solo_score(&s, &all);
    for (uint32_t step = 0; step < 12 * 30; step++) {
        b = all;
        b.words += (size_t)(step % 12) * part * 3;
        b.rows = part;
        solo_step(&s, &b, step / 12.0);
    }
    last = solo_score(&s, &all);
    assert_true(first > 1.2);
    assert_true(last < 0.2);
    solo_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics_find_the_middles_of_the_clouds),
        cmocka_unit_test(averaged_updates_find_the_line),
        cmocka_unit_test(gradients_part_the_clouds),
        cmocka_unit_test(factors_explain_planted_ratings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
