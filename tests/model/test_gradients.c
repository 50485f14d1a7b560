/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What trainers emit, against finite differences of losses computed independently in double
 * precision; what they update in place, against its definition.
 */
#include "model/solo.h"

#include "math/inputs.h"
#include "model/plain.h"

static void randomise(struct solo *s, uint64_t seed)
{
    for (unsigned g = 0; g < s->count; g++)
        for (uint64_t row = 0; row < s->groups[g].rows; row++)
            for (uint32_t c = 0; c < s->groups[g].cols; c++)
                gust_row(&s->views[g], row)[c] = random_unit(random_at(seed, g, row, c)) - 0.5f;
}

/* The emitted value of one parameter; 0 where the step touched nothing. */
static double emitted(struct solo *s, unsigned g, uint64_t row, uint32_t c)
{
    const struct gust_out_group *out = &s->out.groups[g];
    uint64_t unit = row >> out->unit_shift;

    if (out->touched && !(out->touched[unit >> 6] >> (unit & 63) & 1))
        return 0;
    return (double)out->rows[row * out->stride + c];
}

/* Groups come as weights, dense, bias, the first two only if the data has such features. */
static struct plain_params plain_of(const struct solo *s)
{
    struct plain_params p = { .bias = s->views[s->count - 1].rows,
                              .stride = s->views[s->count - 1].stride };

    for (unsigned g = 0; g < s->count; g++) {
        if (strcmp(s->groups[g].name, "weights") == 0)
            p.weights = s->views[g].rows;
        if (strcmp(s->groups[g].name, "dense") == 0)
            p.dense = s->views[g].rows;
    }
    return p;
}

static double difference(struct solo *s, enum plain_loss loss, const struct gust_batch *b, float *w)
{
    struct plain_params p = plain_of(s);
    float was = *w, high = was + 0x1p-14f, low = was - 0x1p-14f;
    double up, down;

    *w = high;
    up = plain_sum(loss, b, &p);
    *w = low;
    down = plain_sum(loss, b, &p);
    *w = was;
    return (up - down) / ((double)high - (double)low);
}

static void check_linear(const char *model, const char *settings, enum plain_loss loss,
                         const struct gust_data *data)
{
    struct solo s;
    struct gust_batch b;
    struct plain_params p;

    solo_open(&s, model_find(model), data, settings);
    b = input_batch(&s.heap, data, 5, 150);
    randomise(&s, 6);
    solo_contribute(&s, &b, 0);
    p = plain_of(&s);
    assert_true(fabs(s.out.loss - plain_sum(loss, &b, &p)) < 1e-4 * s.out.loss);
    for (unsigned g = 0; g < s.count; g++) {
        for (uint64_t row = 0; row < s.groups[g].rows; row++) {
            for (uint32_t c = 0; c < s.groups[g].cols; c++) {
                double want = difference(&s, loss, &b, gust_row(&s.views[g], row) + c);

                assert_true(fabs(emitted(&s, g, row, c) - want) < 2e-3 + 1e-4 * fabs(want));
            }
        }
    }
    solo_close(&s);
}

static const struct gust_data binary[] = {
    { .dense = 3, .ones = 5, .dims = 60, .classes = 2 },
    { .dense = 2, .ones = GUST_VARIES, .sparse = true, .dims = 50, .classes = 2 },
    { .dense = 4, .classes = 2 },
    { .sparse = true, .dims = 40, .classes = 2 },
};

static void logistic_emits_the_derivative_of_its_loss(void **state UNUSED)
{
    for (unsigned i = 0; i < ARRAY_SIZE(binary); i++)
        check_linear("logistic", "", PLAIN_LOGISTIC, &binary[i]);
}

static void svm_emits_the_derivative_of_its_loss(void **state UNUSED)
{
    for (unsigned i = 0; i < ARRAY_SIZE(binary); i++) {
        check_linear("svm", "", PLAIN_HINGE, &binary[i]);
        check_linear("svm", "loss: squared-hinge", PLAIN_SQUARED_HINGE, &binary[i]);
    }
}

static void softmax_emits_the_derivative_of_its_loss(void **state UNUSED)
{
    for (unsigned i = 0; i < ARRAY_SIZE(binary); i++) {
        struct gust_data data = binary[i];

        for (data.classes = 2; data.classes < 12; data.classes += 3)
            check_linear("softmax", "", PLAIN_SOFTMAX, &data);
    }
}

static void padding_stays_zero(void **state UNUSED)
{
    const struct gust_data data = { .dense = 3, .ones = 4, .dims = 30, .classes = 5 };
    struct solo s;
    struct gust_batch b;

    solo_open(&s, &model_softmax, &data, "");
    b = input_batch(&s.heap, &data, 5, 64);
    for (int step = 0; step < 20; step++)
        solo_step(&s, &b, 0);
    optimiser_finish(&s.optimiser);
    for (unsigned g = 0; g < s.count; g++)
        for (uint64_t row = 0; row < s.groups[g].rows; row++)
            for (uint32_t c = 5; c < 8; c++)
                assert_true(gust_row(&s.views[g], row)[c] == 0);
    solo_close(&s);
}

/* ---- factorisation -------------------------------------------------------------------------- */

#define RANK 6
static const struct gust_data ratings = {
    .ones = 2,
    .keys = 2,
    .key_rows = { 12, 9 },
    .dims = 12,
    .label_mean = 3,
    .label_min = 1,
    .label_max = 5,
};
static const char rating_settings[] = "rank: 6\nl2-user: 0.05\nl2-item: 0.03\ninit: 0.4\n"
                                      "user-rate: 0.5\nuser-accumulator: 0.7";

/* A user's or an item's row as a reader thinks of it. */
struct side {
    double factor[RANK], bias, squares;
};

static struct side read_side(const struct gust_view *v, uint64_t row, bool user)
{
    const float *x = gust_row(v, row);
    struct side s = { .bias = (double)x[RANK + (user ? 1 : 0)],
                      .squares = user ? (double)x[RANK + 2] : 0 };

    for (int k = 0; k < RANK; k++)
        s.factor[k] = (double)x[k];
    assert_true(x[RANK + (user ? 0 : 1)] == 1);
    return s;
}

static double rating_error(const struct side *user, const struct side *item, double label)
{
    double e = label - ratings.label_mean - user->bias - item->bias;

    for (int k = 0; k < RANK; k++)
        e -= user->factor[k] * item->factor[k];
    return e;
}

/* Half the squared errors and L2 per rating, as a function of the items with users at rest. */
static double item_objective(struct solo *s, const struct gust_batch *b)
{
    double sum = 0;

    for (uint32_t r = 0; r < b->rows; r++) {
        const uint32_t *words = b->words + gust_at(b, r);
        struct side user = read_side(&s->views[0], words[1], true);
        struct side item = read_side(&s->views[1], words[2], false);
        double e = rating_error(&user, &item, (double)gust_f32(words)), squares;

        squares = item.bias * item.bias;
        for (int k = 0; k < RANK; k++)
            squares += item.factor[k] * item.factor[k];
        sum += 0.5 * e * e + 0.5 * 0.03 * squares;
    }
    return sum;
}

static void factorisation_emits_the_derivative_by_items(void **state UNUSED)
{
    struct solo s;
    struct gust_batch b;

    solo_open(&s, &model_factorisation, &ratings, rating_settings);
    b = input_batch(&s.heap, &ratings, 3, 70);
    solo_contribute(&s, &b, 0); /* with a step size of 0 the users stay where they are */
    for (uint64_t row = 0; row < 9; row++) {
        for (uint32_t c = 0; c <= RANK; c++) {
            float *w = gust_row(&s.views[1], row) + c, was = *w;
            float high = was + 0x1p-10f, low = was - 0x1p-10f;
            double up, down, want;

            *w = high;
            up = item_objective(&s, &b);
            *w = low;
            down = item_objective(&s, &b);
            *w = was;
            want = (up - down) / ((double)high - (double)low);
            assert_true(fabs(emitted(&s, 1, row, c) - want) < 1e-4 + 1e-4 * fabs(want));
        }
        for (uint32_t c = RANK + 1; c < s.views[1].stride; c++)
            assert_true(emitted(&s, 1, row, c) == 0);
    }
    solo_close(&s);
}

/* The definition of a user's update, in double precision, rating after rating. */
static void expect_users(const struct gust_batch *b, struct side *users, const struct side *items,
                         double rate)
{
    for (uint32_t r = 0; r < b->rows; r++) {
        const uint32_t *words = b->words + gust_at(b, r);
        struct side *user = &users[words[1]];
        const struct side *item = &items[words[2]];
        double e = rating_error(user, item, (double)gust_f32(words));
        double step = rate / sqrt(user->squares), length = 1;

        for (int k = 0; k < RANK; k++) {
            length += item->factor[k] * item->factor[k];
            user->factor[k] += step * (e * item->factor[k] - 0.05 * user->factor[k]);
        }
        user->bias += step * (e - 0.05 * user->bias);
        user->squares += e * e * length / RANK;
    }
}

static void factorisation_moves_users_rating_after_rating(void **state UNUSED)
{
    struct solo s;
    struct gust_batch b;
    struct side users[12], items[9];

    solo_open(&s, &model_factorisation, &ratings, rating_settings);
    b = input_batch(&s.heap, &ratings, 3, 200);
    for (uint64_t u = 0; u < 12; u++)
        users[u] = read_side(&s.views[0], u, true);
    for (uint64_t i = 0; i < 9; i++)
        items[i] = read_side(&s.views[1], i, false);
    solo_contribute(&s, &b, 0.2);
    expect_users(&b, users, items, 0.2 * 0.5);
    for (uint64_t u = 0; u < 12; u++) {
        struct side got = read_side(&s.views[0], u, true);

        for (int k = 0; k < RANK; k++)
            assert_true(fabs(got.factor[k] - users[u].factor[k]) < 2e-5);
        assert_true(fabs(got.bias - users[u].bias) < 2e-5);
        assert_true(fabs(got.squares - users[u].squares) < 1e-4 * users[u].squares);
    }
    solo_close(&s);
}

static void initialisation_by_row_range_equals_the_whole(void **state UNUSED)
{
    static const uint64_t cuts[] = { 0, 1, 5, 6, 12 };
    struct solo s;

    solo_open(&s, &model_factorisation, &ratings, rating_settings);
    for (unsigned i = 0; i + 1 < ARRAY_SIZE(cuts); i++) {
        uint64_t rows = cuts[i + 1] - cuts[i];
        struct gust_view part = { heap_alloc(&s.heap, rows * s.views[0].stride * 4), cuts[i], rows,
                                  s.views[0].stride };

        s.trainer->init(s.self, 0, &part);
        assert_memory_equal(part.rows, gust_row(&s.views[0], cuts[i]), rows * part.stride * 4);
    }
    solo_close(&s);
}

static void predictions_and_scores_agree(void **state UNUSED)
{
    struct solo s;
    struct gust_batch b;
    float predicted[300];
    double sum = 0;

    solo_open(&s, &model_factorisation, &ratings, rating_settings);
    b = input_batch(&s.heap, &ratings, 3, 300);
    s.trainer->predict(s.self, &b, s.views, predicted);
    for (uint32_t r = 0; r < 300; r++) {
        double e = plain_label(&b, r) - (double)predicted[r];

        assert_true(predicted[r] >= 1 && predicted[r] <= 5);
        sum += e * e;
    }
    assert_true(fabs(solo_score(&s, &b) - sqrt(sum / 300)) < 1e-6);
    solo_close(&s);
    solo_open(&s, &model_logistic, &binary[0], "");
    b = input_batch(&s.heap, &binary[0], 3, 300);
    randomise(&s, 1);
    s.trainer->predict(s.self, &b, s.views, predicted);
    sum = 0;
    for (uint32_t r = 0; r < 300; r++)
        sum -= plain_label(&b, r) > 0 ? log((double)predicted[r]) : log1p(-(double)predicted[r]);
    assert_true(fabs(solo_score(&s, &b) - sum / 300) < 1e-5);
    solo_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logistic_emits_the_derivative_of_its_loss),
        cmocka_unit_test(svm_emits_the_derivative_of_its_loss),
        cmocka_unit_test(softmax_emits_the_derivative_of_its_loss),
        cmocka_unit_test(padding_stays_zero),
        cmocka_unit_test(factorisation_emits_the_derivative_by_items),
        cmocka_unit_test(factorisation_moves_users_rating_after_rating),
        cmocka_unit_test(initialisation_by_row_range_equals_the_whole),
        cmocka_unit_test(predictions_and_scores_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
