/* SPDX-License-Identifier: Apache-2.0 */
/* The readers of libsvm files and of ratings. */
#include "data/read.h"
#include "data/scan.h"
#include "support/test.h"
#include "data_fixture.h"

typedef int (*read_fn)(const struct builder_options *to, const struct read_options *options,
                       struct error *err);

static int read_text(struct data_fixture *f, read_fn run, const char *train, const char *test,
                     double held_out)
{
    struct builder_options to = fixture_options(f);
    struct read_options o = { { "train.txt", slice_str(train) },
                              { "test.txt", { NULL, 0 } },
                              held_out };

    to.replace = true;
    if (test)
        o.test.text = slice_str(test);
    return run(&to, &o, &f->err);
}

static void open_data(struct data_fixture *f, struct dataset *d)
{
    assert_int_equal(dataset_open(d, f->objects, "data", &f->heap, &f->err), 0);
    assert_int_equal(dataset_verify(d, &f->err), 0);
}

/* The words of the only training row. */
static const uint32_t *only_row(struct dataset *d, struct minibatch *m)
{
    assert_int_equal(d->rows[DATASET_TRAIN], 1);
    assert_int_equal(dataset_range(d, DATASET_TRAIN, 0, 1, m, NULL), 0);
    return m->batch.words + gust_at(&m->batch, 0);
}

static void libsvm_values_become_pairs(void **state)
{
    struct data_fixture *f = *state;
    struct minibatch m;
    struct dataset d;
    const uint32_t *w;

    assert_int_equal(read_text(f, read_libsvm, "2.5 1:0.5 7:-1e-3 # words\r\n", NULL, 0), 0);
    open_data(f, &d);
    minibatch_init(&m, &f->heap);
    assert_true(d.data.sparse && d.data.ones == 0 && d.data.classes == 0);
    assert_int_equal(d.data.dims, 7);
    w = only_row(&d, &m);
    assert_true(gust_f32(&w[0]) == 2.5f);
    assert_int_equal(w[1], 2);
    assert_int_equal(w[2], 0);
    assert_true(gust_f32(&w[3]) == 0.5f);
    assert_int_equal(w[4], 6);
    assert_true(gust_f32(&w[5]) == -1e-3f);
    minibatch_release(&m);
    dataset_close(&d);
}

static void libsvm_ones_become_lists(void **state)
{
    struct data_fixture *f = *state;
    struct dataset d;

    assert_int_equal(read_text(f, read_libsvm, "+1 1:1 2:1\n\n# nothing\n-1 2:1.0 5:1\n", NULL, 0),
                     0);
    open_data(f, &d);
    assert_true(!d.data.sparse && d.data.ones == 2 && d.data.dims == 5 && d.data.classes == 2);
    assert_true(d.data.label_mean == 0.5);
    dataset_close(&d);
    assert_int_equal(read_text(f, read_libsvm, "0 0:1 2:1\n1 2:1\n1\n", NULL, 0), 0);
    open_data(f, &d);
    assert_true(!d.data.sparse && d.data.ones == GUST_VARIES && d.data.dims == 3);
    assert_int_equal(d.rows[DATASET_TRAIN], 3);
    dataset_close(&d);
}

static void libsvm_labels_decide_the_task(void **state)
{
    static const struct {
        const char *text;
        uint32_t classes;
    } cases[] = {
        { "+1 1:1\n-1 1:1\n", 2 },      { "0 1:1\n1 1:1\n", 2 },
        { "1 1:1\n2 1:1\n3 1:1\n", 3 }, { "0 1:1\n2 1:1\n1 1:1\n", 3 },
        { "1 1:1\n3 1:1\n", 0 },        { "0.5 1:1\n1 1:1\n", 0 },
        { "-1 1:1\n2 1:1\n", 0 },       { "-1 1:1\n0 1:1\n1 1:1\n", 0 },
        { "1 1:1\n2 1:1\n", 2 },        { "-2 1:1\n1 1:1\n", 0 },
    };
    struct data_fixture *f = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct dataset d;

        assert_int_equal(read_text(f, read_libsvm, cases[i].text, NULL, 0), 0);
        open_data(f, &d);
        assert_int_equal(d.data.classes, cases[i].classes);
        dataset_close(&d);
    }
}

static void libsvm_errors_name_file_line_and_what_was_found(void **state)
{
    static const char *const cases[][2] = {
        { "", "train.txt holds no examples" },
        { "\n# only words\n", "train.txt holds no examples" },
        { "1 1:1\nabc 1:1\n", "train.txt:2: expected a finite label, found 'abc'" },
        { "nan 1:1\n", "train.txt:1: expected a finite label, found 'nan'" },
        { "1 1:inf\n", "train.txt:1: expected a finite value after the colon, found '1:inf'" },
        { "1 1:1e99\n", "found '1:1e99'" },
        { "1 -3:1\n", "expected index:value with a whole index, found '-3:1'" },
        { "1 4294967295:1\n", "found '4294967295:1'" },
        { "1 3:1 3:2\n", "indices must rise within a line, found '3:2'" },
        { "1 3:1 2:2\n", "indices must rise within a line, found '2:2'" },
        { "1 3\n", "found '3'" },
        { "1 3:\n", "found '3:'" },
        { "1 3:1x\n", "found '3:1x'" },
        { "1 x\001\377y:1\n", "found 'x??y:1'" },
        { "1 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:1\n", "..." },
    };
    struct data_fixture *f = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(read_text(f, read_libsvm, cases[i][0], NULL, 0), E_FORMAT);
        if (!strstr(f->err.text, cases[i][1]))
            print_error("'%s' does not say '%s'\n", f->err.text, cases[i][1]);
        assert_non_null(strstr(f->err.text, cases[i][1]));
    }
    assert_int_equal(read_text(f, read_libsvm, "1 1:1\n", "1 1:1\n1 1\n", 0), E_FORMAT);
    assert_non_null(strstr(f->err.text, "test.txt:2"));
}

static void a_test_file_shares_the_schema(void **state)
{
    struct data_fixture *f = *state;
    struct dataset d;

    assert_int_equal(read_text(f, read_libsvm, "1 1:1\n0 2:1\n", "1 9:0.5", 0.5), 0);
    open_data(f, &d);
    assert_int_equal(d.rows[DATASET_TRAIN], 2);
    assert_int_equal(d.rows[DATASET_TEST], 1);
    assert_int_equal(d.data.dims, 9);
    assert_true(d.data.sparse);
    dataset_close(&d);
}

static void a_share_is_held_out(void **state)
{
    struct data_fixture *f = *state;
    struct dataset d;
    struct buf text;

    buf_init(&text, &f->heap, MIB);
    for (int i = 0; i < 5000; i++)
        buf_printf(&text, "%d,%d,%d.5\n", i % 100, i % 37, i % 5);
    assert_int_equal(read_text(f, read_movielens, text.data, NULL, 0.2), 0);
    open_data(f, &d);
    assert_true(d.rows[DATASET_TEST] > 850 && d.rows[DATASET_TEST] < 1150);
    assert_int_equal(d.rows[0] + d.rows[1], 5000);
    dataset_close(&d);
    buf_release(&text);
}

static void ratings_come_in_several_forms(void **state)
{
    static const char *const forms[] = {
        "7::12::3.5::978300760\n",
        "7::12::3.5\r\n",
        "7\t12\t3.5\t978300760\n",
        "userId,movieId,rating,timestamp\n7,12,3.5,978300760\n",
        "rating,timestamp,movieId,userId\n3.5,1,12,7",
        "7,12,3.5\n\n",
        "7 12 3.5\n",
    };
    struct data_fixture *f = *state;

    for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
        uint32_t *ids[2];
        struct minibatch m;
        struct dataset d;
        const uint32_t *w;

        assert_int_equal(read_text(f, read_movielens, forms[i], NULL, 0), 0);
        open_data(f, &d);
        minibatch_init(&m, &f->heap);
        w = only_row(&d, &m);
        assert_true(gust_f32(w) == 3.5f);
        for (uint32_t k = 0; k < 2; k++) {
            assert_int_equal(dataset_ids(&d, k, &ids[k], NULL), 0);
            assert_int_equal(ids[k][w[1 + k]], k ? 12 : 7);
            heap_free(&f->heap, ids[k]);
        }
        minibatch_release(&m);
        dataset_close(&d);
    }
}

static void bad_ratings_are_refused(void **state)
{
    static const char *const cases[][2] = {
        { "", "holds no ratings" },
        { "userId,movieId,rating\n", "holds no ratings" },
        { "userId,film,rating\n1,2,3\n", "header" },
        { "1::2::3\n1::2\n", "train.txt:2: the line has 2 columns, expected 3" },
        { "1::2::x\n", "expected a finite rating, found 'x'" },
        { "1::2::nan\n", "expected a finite rating" },
        { "-1::2::3\n", "expected a user's id below 2^32 - 1, found '-1::2::3'" },
        { "1::2.5::3\n", "expected an item's id" },
        { "1::2::3x::4\n", "expected a finite rating" },
        { "4294967295::2::3\n", "user's id" },
    };
    struct data_fixture *f = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(read_text(f, read_movielens, cases[i][0], NULL, 0), E_FORMAT);
        if (!strstr(f->err.text, cases[i][1]))
            print_error("'%s' does not say '%s'\n", f->err.text, cases[i][1]);
        assert_non_null(strstr(f->err.text, cases[i][1]));
    }
}

static void everything_held_out_leaves_nothing_to_train_on(void **state)
{
    struct data_fixture *f = *state;

    assert_int_equal(read_text(f, read_movielens, "1::2::3\n", NULL, 0.999999), E_INVALID);
    assert_non_null(strstr(f->err.text, "no examples to train on"));
}

static void numbers_are_rounded_as_by_strtof(void **state UNUSED)
{
    static const char *const numbers[] = {
        "0",
        "-0",
        "1",
        "+1",
        "0.1",
        ".5",
        "5.",
        "1e10",
        "1E-10",
        "123456.789",
        "0.411427677",
        "0.0392076895",
        "16777217",
        "3.4028234e38",
        "1e-45",
        "-7.25",
        "0.000000001",
        "123456789012345",
        "0.30000001192092896",
        "1234567890123456789",
    };

    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        struct scan s = { numbers[i], numbers[i] + strlen(numbers[i]) };
        float got = -1;

        assert_true(scan_f32(&s, &got));
        assert_ptr_equal(s.at, s.end);
        assert_true(got == (float)strtod(numbers[i], NULL));
    }
    for (const char *const *bad =
             (const char *const[]){ "", "-", "+", ".", "e5", "--1", "inf", "1e400", "1-2", NULL };
         *bad; bad++) {
        struct scan s = { *bad, *bad + strlen(*bad) };
        float got;

        assert_true(!scan_f32(&s, &got) || s.at != s.end);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(libsvm_values_become_pairs),
        TEST(libsvm_ones_become_lists),
        TEST(libsvm_labels_decide_the_task),
        TEST(libsvm_errors_name_file_line_and_what_was_found),
        TEST(a_test_file_shares_the_schema),
        TEST(a_share_is_held_out),
        TEST(ratings_come_in_several_forms),
        TEST(bad_ratings_are_refused),
        TEST(everything_held_out_leaves_nothing_to_train_on),
        TEST(numbers_are_rounded_as_by_strtof),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
