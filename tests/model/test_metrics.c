/* SPDX-License-Identifier: Apache-2.0 */
/* What trainers call quality, against figures worked out by hand on a handful of examples. */
#include "model/solo.h"

/* Every metric on BATCH, by its name in the trainer's list. */
static double metric(struct solo *s, const struct gust_batch *batch, const char *name)
{
    double sums[GUST_SUMS_MAX] = { 0 }, values[GUST_SUMS_MAX];
    unsigned i = 0;

    s->trainer->evaluate(s->self, batch, s->views, sums);
    s->trainer->score(s->self, sums, values);
    while (s->trainer->metrics[i].name && strcmp(s->trainer->metrics[i].name, name) != 0)
        i++;
    if (!s->trainer->metrics[i].name)
        fail_msg("%s has no metric '%s'", s->trainer->name, name);
    return values[i];
}

#define NEAR(got, want) assert_true(fabs((got) - (want)) < 1e-6)

/* Without factors a rating is predicted as the mean, 3, whoever gave it: errors 0.25, -1, 2, 0. */
static void ratings_by_hand(void **state UNUSED)
{
    static const struct gust_data data = { .ones = 2,
                                           .keys = 2,
                                           .key_rows = { 2, 2 },
                                           .dims = 2,
                                           .label_mean = 3,
                                           .label_min = 1,
                                           .label_max = 5 };
    static const float labels[] = { 3.25f, 2, 5, 3 };
    uint32_t words[4][3] = { { 0, 0, 0 }, { 0, 0, 1 }, { 0, 1, 0 }, { 0, 1, 1 } };
    struct gust_batch batch = { .data = &data, .words = words[0], .row_words = 3, .rows = 4 };
    struct solo s;

    for (int r = 0; r < 4; r++)
        memcpy(&words[r][0], &labels[r], sizeof(float));
    solo_open(&s, &model_factorisation, &data, "rank: 2\ninit: 0");
    NEAR(metric(&s, &batch, "rmse"), sqrt((0.0625 + 1 + 4 + 0) / 4));
    NEAR(metric(&s, &batch, "mae"), (0.25 + 1 + 2 + 0) / 4);
    solo_close(&s);
}

/* One feature with weight 1 and no intercept: the score is the feature itself. */
static void classes_by_hand(void **state UNUSED)
{
    static const struct gust_data data = { .dense = 1, .classes = 2 };
    static const float rows[4][2] = { { 1, 2 }, { 1, -0.5f }, { 0, 0.25f }, { 0, -3 } };
    uint32_t words[4][2];
    struct gust_batch batch = { .data = &data, .words = words[0], .row_words = 2, .rows = 4 };
    struct solo s;

    memcpy(words, rows, sizeof(words));
    solo_open(&s, &model_logistic, &data, "");
    s.views[0].rows[0] = 1;
    NEAR(metric(&s, &batch, "accuracy"), 0.5);
    NEAR(metric(&s, &batch, "log-loss"),
         (log1p(exp(-2)) + log1p(exp(0.5)) + log1p(exp(0.25)) + log1p(exp(-3))) / 4);
    solo_close(&s);
    solo_open(&s, &model_svm, &data, "");
    s.views[0].rows[0] = 1;
    NEAR(metric(&s, &batch, "accuracy"), 0.5);
    NEAR(metric(&s, &batch, "hinge-loss"), (0 + 1.5 + 1.25 + 0) / 4);
    solo_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ratings_by_hand),
        cmocka_unit_test(classes_by_hand),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
