/* SPDX-License-Identifier: Apache-2.0 */
/* A model file answers as the formula over its tensors does, and refuses what is not right. */
#include "support/test.h"

#include <math.h>

#include "client/model_fixture.h"
#include "client/predictor.h"
#include "client/ranking.h"

#define USERS 20u
#define ITEMS 30u

static struct heap heap;
static struct world world;
static struct buf model;

static int set_up(void **state)
{
    (void)state;
    world_ratings(&world, &heap, "memory:predictor", 7, USERS, ITEMS);
    world_blueprint(&world, &heap, "factorisation", NULL);
    buf_init(&model, &heap, 16 * MIB);
    world_model(&world, &heap, 3, &model);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    buf_release(&model);
    world_close(&world);
    return 0;
}

/* ---- the formula, from nothing but the file's bytes ---- */

static float value_at(const struct safetensors *s, const char *name, uint64_t at)
{
    float value;

    memcpy(&value, (const char *)safetensors_find(s, name)->bytes.data + at * sizeof(value),
           sizeof(value));
    return value;
}

static uint64_t row_of(const struct safetensors *s, const char *name, int64_t id)
{
    const struct safetensor *t = safetensors_find(s, name);

    for (uint64_t r = 0; r < t->shape[0]; r++)
        if (memcmp((const char *)t->bytes.data + r * sizeof(id), &id, sizeof(id)) == 0)
            return r;
    return UINT64_MAX;
}

/* mean + b_u + b_i + p_u.q_i, unclipped; what is not in the file counts as 0. */
static double formula(const struct safetensors *s, uint32_t user, uint32_t item)
{
    uint64_t u = row_of(s, "user_ids", user), i = row_of(s, "item_ids", item);
    double sum = world.data.data.label_mean;

    if (u != UINT64_MAX)
        sum += (double)value_at(s, "user_bias", u);
    if (i != UINT64_MAX)
        sum += (double)value_at(s, "item_bias", i);
    for (uint32_t f = 0; u != UINT64_MAX && i != UINT64_MAX && f < FIXTURE_RANK; f++)
        sum += (double)value_at(s, "user_factors", u * FIXTURE_RANK + f) *
               (double)value_at(s, "item_factors", i * FIXTURE_RANK + f);
    return sum;
}

static float ask(const struct predictor *p, uint32_t user, uint32_t item)
{
    uint32_t words[3 + 16] = { 0, predictor_row(p, 0, user), predictor_row(p, 1, item) };
    struct gust_batch batch = { .data = &p->data, .words = words, .row_words = 3, .rows = 1 };
    float out;

    predictor_predict(p, &batch, &out);
    return out;
}

static void predictions_are_the_formula_over_the_tensors(void **state)
{
    struct safetensors s;
    struct predictor p;
    struct error err = { 0 };

    (void)state;
    check_rc(safetensors_open(&s, &heap, buf_slice(&model), &err), &err);
    check_rc(predictor_open(&p, &heap, buf_slice(&model), &err), &err);
    /* The last ones are unknown. */
    for (uint32_t u = 0; u <= USERS; u++)
        for (uint32_t i = 0; i <= ITEMS; i++) {
            double want = fmin(fmax(formula(&s, 7 + 2 * u, 1000 + 3 * i), 1), 5);

            if (fabs((double)ask(&p, 7 + 2 * u, 1000 + 3 * i) - want) > 1e-5)
                fail_msg("user %u, item %u: %g instead of %g", u, i,
                         (double)ask(&p, 7 + 2 * u, 1000 + 3 * i), want);
        }
    assert_int_equal(predictor_row(&p, 0, 8), USERS);
    predictor_close(&p);
    safetensors_close(&s);
}

static void recommendations_are_all_items_in_order(void **state)
{
    uint8_t skip[ITEMS] = { 0 };
    struct ranked best[ITEMS];
    struct safetensors s;
    struct predictor p;
    struct ranking r;
    struct error err = { 0 };

    (void)state;
    check_rc(safetensors_open(&s, &heap, buf_slice(&model), &err), &err);
    check_rc(predictor_open(&p, &heap, buf_slice(&model), &err), &err);
    check_rc(ranking_open(&r, &p, &err), &err);
    assert_int_equal(ranking_top(&r, 3, ITEMS, NULL, best), ITEMS);
    for (uint32_t i = 0; i < ITEMS; i++) {
        uint32_t user = model_file_id(&p.model, 0, 3),
                 item = model_file_id(&p.model, 1, best[i].item);

        assert_true(fabs((double)best[i].score - formula(&s, user, item)) < 1e-5);
        assert_true(i == 0 || best[i].score <= best[i - 1].score);
        for (uint32_t k = 1; k <= ITEMS; k++)
            assert_int_equal(ranking_has(&r, 3, best[i].item, k), i < k);
    }
    skip[best[0].item] = skip[best[2].item] = 1;
    {
        struct ranked rest[2];

        assert_int_equal(ranking_top(&r, 3, 2, skip, rest), 2);
        assert_int_equal(rest[0].item, best[1].item);
        assert_int_equal(rest[1].item, best[3].item);
    }
    assert_false(ranking_has(&r, 3, ITEMS, ITEMS));
    ranking_close(&r);
    predictor_close(&p);
    safetensors_close(&s);
}

/* ---- what is refused ---- */

/* The model with metadata KEY set to VALUE (NULL: taken out) and tensor SKIPPED left out. */
static void altered(struct buf *out, const char *key, const char *value, const char *skipped)
{
    struct safetensor tensors[SAFETENSORS_COUNT_MAX];
    struct safetensors s;
    struct props metadata;
    unsigned n = 0;

    assert_int_equal(safetensors_open(&s, &heap, buf_slice(&model), NULL), 0);
    props_init(&metadata, &heap);
    for (unsigned i = 0; i < s.metadata.count; i++)
        if (!key || strcmp(s.metadata.items[i].key, key) != 0)
            props_set(&metadata, s.metadata.items[i].key, s.metadata.items[i].value);
    if (value)
        props_set(&metadata, key, value);
    for (unsigned i = 0; i < s.count; i++)
        if (!skipped || strcmp(s.tensors[i].name, skipped) != 0)
            tensors[n++] = s.tensors[i];
    buf_init(out, &heap, 16 * MIB);
    assert_int_equal(safetensors_header(tensors, n, &metadata, out, NULL), 0);
    for (unsigned i = 0; i < n; i++)
        buf_add(out, tensors[i].bytes.data, tensors[i].bytes.size);
    props_release(&metadata);
    safetensors_close(&s);
}

static void models_of_another_kind_or_version_are_refused(void **state)
{
    static const struct {
        const char *key, *value, *skipped, *why;
    } cases[] = {
        { "gust_model", NULL, NULL, "not of a model that Gust saved" },
        { "gust_model", "2", NULL, "version '2'; this program reads version 1" },
        { "model", "forest", NULL, "kind 'forest'; this program knows logistic" },
        { "model", "logistic", NULL, "labels of two classes" },
        { "setting.rank", "5", NULL, "has the shape" },
        { "setting.rank", "many", NULL, "rank" },
        { "data.dims", NULL, NULL, "no 'data.dims'" },
        { "data.keys", "0", NULL, "needs ratings" },
        { "data.keys", "9", NULL, "make no sense" },
        { "data.key_rows_0", "21", NULL, "should hold 21 ids" },
        { "data.label_mean", "nan", NULL, "make no sense" },
        { "transform", "nonsense", NULL, "transform" },
        { NULL, NULL, "user_ids", "lacks the tensor 'user_ids'" },
        { NULL, NULL, "item_bias", "lacks the tensor 'item_bias'" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err = { 0 };
        struct predictor p;
        struct buf file;
        int rc;

        altered(&file, cases[i].key, cases[i].value, cases[i].skipped);
        rc = predictor_open(&p, &heap, buf_slice(&file), &err);
        if (rc == 0 || !strstr(err.text, cases[i].why))
            fail_msg("case %zu: '%s' instead of '%s'", i, err.text, cases[i].why);
        assert_int_equal(error_exit_status(rc), 2);
        buf_release(&file);
    }
}

static void weights_that_are_not_numbers_are_refused(void **state)
{
    static const float bad[] = { NAN, INFINITY, -INFINITY };
    struct safetensors s;

    (void)state;
    assert_int_equal(safetensors_open(&s, &heap, buf_slice(&model), NULL), 0);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        float *at = (float *)(void *)((char *)safetensors_find(&s, "item_bias")->bytes.data + 8);
        struct error err = { 0 };
        struct predictor p;
        float kept = *at;

        *at = bad[i];
        assert_int_equal(predictor_open(&p, &heap, buf_slice(&model), &err), E_FORMAT);
        assert_non_null(strstr(err.text, "row 2 of 'item_bias'"));
        *at = kept;
    }
    safetensors_close(&s);
}

static void ids_must_be_ids_and_differ(void **state)
{
    static const struct {
        int64_t id;
        const char *why;
    } cases[] = { { -1, "cannot be an id" },
                  { (int64_t)1 << 40, "cannot be an id" },
                  { 0, "twice" } };
    struct safetensors s;
    int64_t first, kept;
    char *at;

    (void)state;
    assert_int_equal(safetensors_open(&s, &heap, buf_slice(&model), NULL), 0);
    at = (char *)safetensors_find(&s, "user_ids")->bytes.data;
    memcpy(&first, at, sizeof(first));
    memcpy(&kept, at + 24, sizeof(kept));
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int64_t id = cases[i].id ? cases[i].id : first;
        struct error err = { 0 };
        struct predictor p;

        memcpy(at + 24, &id, sizeof(id));
        assert_int_equal(predictor_open(&p, &heap, buf_slice(&model), &err), E_FORMAT);
        assert_non_null(strstr(err.text, cases[i].why));
    }
    memcpy(at + 24, &kept, sizeof(kept));
    safetensors_close(&s);
}

static void every_cut_is_refused(void **state)
{
    (void)state;
    for (size_t size = 0; size < model.size; size += 1 + size / 64) {
        struct predictor p;

        assert_int_not_equal(predictor_open(&p, &heap, slice(model.data, size), NULL), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predictions_are_the_formula_over_the_tensors),
        cmocka_unit_test(recommendations_are_all_items_in_order),
        cmocka_unit_test(models_of_another_kind_or_version_are_refused),
        cmocka_unit_test(weights_that_are_not_numbers_are_refused),
        cmocka_unit_test(ids_must_be_ids_and_differ),
        cmocka_unit_test(every_cut_is_refused),
    };
    int rc;

    heap_init(&heap, 0);
    rc = cmocka_run_group_tests(tests, set_up, tear_down);
    heap_release(&heap);
    return rc;
}
