/* SPDX-License-Identifier: Apache-2.0 */
/* What trainers are given when they open, and what is done with their mistakes. */
#include "model/solo.h"

struct fixture {
    struct heap heap;
    struct props settings;
    struct gust_host host;
};

static int set_up(void **state)
{
    static struct fixture f;

    heap_init(&f.heap, 0);
    props_init(&f.settings, &f.heap);
    host_init(&f.host, &f.settings, &f.heap, 7);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    heap_release(&((struct fixture *)*state)->heap);
    return 0;
}

static const struct gust_data data = { .dense = 2, .ones = 3, .dims = 100, .classes = 2 };

static void settings_are_found_or_fall_back(void **state)
{
    struct fixture *f = *state;

    props_set(&f->settings, "rank", "12");
    props_set(&f->settings, "l2", "0.5");
    assert_int_equal(gust_setting_u64(&f->host, "rank", 20, 1, 100), 12);
    assert_int_equal(gust_setting_u64(&f->host, "depth", 20, 1, 100), 20);
    assert_true(gust_setting_f64(&f->host, "l2", 0, 0, 1) == 0.5);
    assert_string_equal(gust_setting(&f->host, "loss", "hinge"), "hinge");
    assert_int_equal(gust_seed(&f->host), 7);
    assert_int_equal(f->host.error.code, 0);
}

static void the_first_bad_setting_is_kept(void **state)
{
    struct fixture *f = *state;

    props_set(&f->settings, "rank", "many");
    props_set(&f->settings, "l2", "-3");
    assert_int_equal(gust_setting_u64(&f->host, "rank", 20, 1, 100), 20);
    assert_true(gust_setting_f64(&f->host, "l2", 0.25, 0, 1) == 0.25);
    gust_refuse(&f->host, "and another thing");
    assert_int_equal(f->host.error.code, E_INVALID);
    assert_non_null(strstr(f->host.error.text, "rank"));
    assert_non_null(strstr(f->host.error.text, "many"));
}

static void a_bad_setting_stops_a_trainer_that_did_not_look(void **state)
{
    struct fixture *f = *state;
    const struct gust_data ratings = { .ones = 2, .keys = 2, .key_rows = { 5, 5 } };
    struct error err = { 0 };
    void *self = NULL;

    props_set(&f->settings, "rank", "-1");
    assert_int_equal(host_open(&f->host, &model_factorisation, &ratings, &self, &err), E_INVALID);
    assert_non_null(strstr(err.text, "rank"));
    assert_null(self);
}

static void trainers_refuse_data_they_cannot_use(void **state)
{
    struct fixture *f = *state;
    const struct gust_data real = { .dense = 2 };
    struct error err = { 0 };
    void *self = NULL;

    assert_int_equal(host_open(&f->host, &model_factorisation, &data, &self, &err), E_INVALID);
    assert_non_null(strstr(err.text, "user and an item"));
    assert_int_equal(host_open(&f->host, &model_logistic, &real, &self, &err), E_INVALID);
    assert_int_equal(host_open(&f->host, &model_svm, &real, &self, &err), E_INVALID);
    assert_int_equal(host_open(&f->host, &model_softmax, &real, &self, &err), E_INVALID);
    props_set(&f->settings, "loss", "cubic");
    assert_int_equal(host_open(&f->host, &model_svm, &data, &self, &err), E_INVALID);
    assert_non_null(strstr(err.text, "cubic"));
}

/* For jobs that choose their instruction level. */
static void an_unknown_instruction_level_is_refused_by_every_model(void **state)
{
    struct fixture *f = *state;

    props_set(&f->settings, "kernels", "abacus");
    for (unsigned i = 0; model_at(i); i++) {
        struct error err = { 0 };
        void *self = NULL;

        assert_int_equal(host_open(&f->host, model_at(i), &data, &self, &err), E_INVALID);
        assert_non_null(strstr(err.text, "abacus"));
    }
}

static void another_interface_version_is_refused(void **state)
{
    struct fixture *f = *state;
    struct gust_trainer other = model_logistic;
    struct error err = { 0 };
    void *self = NULL;

    other.abi = GUST_ABI + 1;
    assert_int_equal(host_open(&f->host, &other, &data, &self, &err), E_UNSUPPORTED);
}

static void exhausted_memory_is_an_error_of_the_job(void **state)
{
    struct fixture *f = *state;
    struct error err = { 0 };
    void *self = NULL;

    f->heap.limit_bytes = f->heap.used_bytes + 8;
    assert_int_equal(host_open(&f->host, &model_logistic, &data, &self, &err), E_MEMORY);
}

/* A trainer whose groups the test chooses. */
static struct gust_group odd;

static unsigned odd_groups(const void *self, struct gust_group *groups)
{
    (void)self;
    groups[0] = odd;
    return 1;
}

static void groups_that_make_no_sense_are_refused(void **state UNUSED)
{
    const struct gust_trainer trainer = { .name = "odd", .groups = odd_groups };
    const struct gust_group good = { .name = "w", .rows = 3, .cols = 2 };
    struct gust_group groups[GUST_GROUPS_MAX];
    struct error err = { 0 };
    unsigned count = 0;

    odd = good;
    assert_int_equal(host_groups(&trainer, NULL, &data, groups, &count, &err), 0);
    assert_int_equal(count, 1);
    odd.rows = 0;
    assert_int_equal(host_groups(&trainer, NULL, &data, groups, &count, &err), E_INVALID);
    odd = good;
    odd.name = NULL;
    assert_int_equal(host_groups(&trainer, NULL, &data, groups, &count, &err), E_INVALID);
    odd = good;
    odd.scope = GUST_PRIVATE;
    assert_int_equal(host_groups(&trainer, NULL, &data, groups, &count, &err), E_INVALID);
    odd = good;
    odd.index = GUST_INDEX_COLUMN;
    odd.column = 3;
    assert_int_equal(host_groups(&trainer, NULL, &data, groups, &count, &err), E_INVALID);
    odd = good;
    odd.rows = UINT64_MAX / 4;
    assert_int_equal(host_groups(&trainer, NULL, &data, groups, &count, &err), E_LIMIT);
}

static void models_are_found_by_name(void **state UNUSED)
{
    for (unsigned i = 0; model_at(i); i++)
        assert_ptr_equal(model_find(model_at(i)->name), model_at(i));
    assert_null(model_find("oracle"));
}

static void defaults_give_way_to_the_job(void **state)
{
    struct fixture *f = *state;

    props_set(&f->settings, "rate", "0.5");
    model_defaults(&model_logistic, &f->settings);
    assert_string_equal(props_find(&f->settings, "rate"), "0.5");
    assert_string_equal(props_find(&f->settings, "optimiser"), "adagrad");
}

static void defaults_of_every_model_are_valid_settings(void **state UNUSED)
{
    for (unsigned i = 0; model_at(i); i++) {
        struct optimiser_config config;
        struct error err = { 0 };
        struct heap heap;
        struct props settings;

        heap_init(&heap, 0);
        props_init(&settings, &heap);
        model_defaults(model_at(i), &settings);
        assert_int_equal(optimiser_config_read(&config, &settings, &err), 0);
        heap_release(&heap);
    }
}

static void lists_of_rows_are_added_up(void **state)
{
    struct fixture *f = *state;
    uint64_t touched[1] = { 0 };
    float *rows = heap_alloc(&f->heap, 64 * 4 * sizeof(float));
    struct gust_out out = { .groups = { { rows, touched, 4, gust_unit_shift(4) } } };
    const uint32_t index[] = { 3, 17, 3 };
    const float values[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };

    memset(rows, 0xFF, 64 * 4 * sizeof(float));
    gust_out_rows(&out, 0, 3, index, values, 3);
    assert_true(rows[12] == 8 && rows[13] == 10 && rows[14] == 12 && rows[15] == 0);
    assert_true(rows[68] == 4 && rows[69] == 5 && rows[70] == 6);
    assert_true(touched[0] == (1u << 0 | 1u << 4));
    assert_true(isnan(rows[4 * 4]));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(settings_are_found_or_fall_back),
        TEST(the_first_bad_setting_is_kept),
        TEST(a_bad_setting_stops_a_trainer_that_did_not_look),
        TEST(trainers_refuse_data_they_cannot_use),
        TEST(an_unknown_instruction_level_is_refused_by_every_model),
        TEST(another_interface_version_is_refused),
        TEST(exhausted_memory_is_an_error_of_the_job),
        TEST(groups_that_make_no_sense_are_refused),
        TEST(models_are_found_by_name),
        TEST(defaults_give_way_to_the_job),
        TEST(defaults_of_every_model_are_valid_settings),
        TEST(lists_of_rows_are_added_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
