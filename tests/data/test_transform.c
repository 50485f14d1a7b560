/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms: new lines are treated as those of training were, and damage is refused. */
#include "support/test.h"
#include "import_fixture.h"

/* The transform of what was imported last. */
static void fetch_transform(struct import_fixture *f, struct buf *text, struct transform *t)
{
    struct dataset d;

    assert_int_equal(dataset_open(&d, f->objects, "data", &f->heap, &f->err), 0);
    buf_init(text, &f->heap, MIB);
    assert_int_equal(dataset_transform(&d, text, &f->err), 0);
    assert_int_equal(transform_decode(t, &f->heap, buf_slice(text), &f->err), 0);
    dataset_close(&d);
}

static uint32_t words[64];

/* One line of a file whose first line is FIRST. */
static int row(struct import_fixture *f, const struct transform *t, const char *first,
               const char *line, struct transform_example *e)
{
    struct transform_file file;
    bool header;
    int rc;

    *e = (struct transform_example){ .words = words, .room = ARRAY_SIZE(words) };
    transform_file_init(&file, t, &f->heap, true);
    rc = transform_first_line(&file, slice_str(first), &header, &f->err);
    rc = rc ? rc : transform_row(&file, slice_str(line), e, &f->err);
    transform_file_release(&file);
    return rc;
}

static const char csv[] = "city,click,age,pay\nParis,yes,30,10\nRome,no,50,20\nParis,no,40,\n";

static void new_rows_get_the_scaling_and_hashing_of_training(void **state)
{
    struct import_fixture *f = *state;
    struct transform_example e;
    struct transform t;
    struct minibatch m;
    struct dataset d;
    struct buf text;
    uint32_t paris;

    assert_int_equal(import_text(f, csv), 0);
    fetch_transform(f, &text, &t);
    /* Other order of columns, no label, another separator. */
    assert_int_equal(row(f, &t, "pay\tage\tcity", "15\t\"45\"\tParis", &e), 0);
    assert_true(e.count == 4 && !e.has_label && e.weight == 1);
    assert_true(gust_f32(&words[0]) == 0 && gust_f32(&words[1]) == 0.75f &&
                gust_f32(&words[2]) == 0.5f);
    paris = words[3];
    open_data(f, &d);
    minibatch_init(&m, &f->heap);
    for (uint64_t r = 0; r < 3; r++) {
        const uint32_t *w = row_at(&d, &m, r);

        assert_true((w[3] == paris) == (gust_f32(&w[1]) != 1));
    }
    minibatch_release(&m);
    dataset_close(&d);
    /* Outside of what training saw: clipped; not there: 0. */
    assert_int_equal(row(f, &t, "city,age,pay,click", "Oslo,1000,NA,no", &e), 0);
    assert_true(gust_f32(&words[1]) == 1 && gust_f32(&words[2]) == 0 && e.has_label);
    assert_true(gust_f32(&words[0]) == 0);
    assert_int_equal(row(f, &t, "city,age,pay,click", "\"Paris\",-5,15,yes", &e), 0);
    assert_true(gust_f32(&words[1]) == 0 && gust_f32(&words[0]) == 1 && words[3] == paris);
    assert_int_equal(row(f, &t, "city,age,pay,click", "Oslo,1,1,perhaps", &e), E_FORMAT);
    expect_words(f, "the label 'perhaps' is none of the 2 classes");
    assert_int_equal(row(f, &t, "city,pay,click", "Oslo,1,yes", &e), E_FORMAT);
    expect_words(f, "the header does not name the numeric column 'age'");
    transform_release(&t);
    buf_release(&text);
}

static void new_libsvm_lines_may_have_any_length_and_values(void **state)
{
    struct import_fixture *f = *state;
    struct transform_example e;
    struct transform t;
    struct buf text;

    assert_int_equal(import_text(f, "1 1:1 3:1\n-1 2:1 3:1\n"), 0);
    fetch_transform(f, &text, &t);
    assert_int_equal(t.data.ones, 2);
    assert_int_equal(row(f, &t, "", "-1 1:1 2:1 3:1", &e), E_FORMAT);
    expect_words(f, "the line has 3 values, expected 2");
    assert_int_equal(row(f, &t, "", "-1 1:0.5 2:1", &e), E_FORMAT);
    transform_relax(&t);
    assert_true(t.data.sparse && t.data.ones == 0);
    /* Index 9 was never seen. */
    assert_int_equal(row(f, &t, "", "-1 1:0.5 2:1 3:7 9:4", &e), 0);
    assert_true(e.count == 2 + 6 && words[1] == 3 && words[2] == 0 && words[6] == 2);
    assert_true(gust_f32(&words[7]) == 7);
    assert_int_equal(row(f, &t, "", "1 0:1", &e), E_FORMAT);
    expect_words(f, "indices count from 1 here");
    assert_int_equal(row(f, &t, "", "0 1:1", &e), E_FORMAT);
    expect_words(f, "the label 0 is none of the 2 classes");
    assert_int_equal(row(f, &t, "", " # nothing", &e), 0);
    assert_int_equal(e.count, 0);
    transform_release(&t);
    buf_release(&text);
}

static void new_ratings_need_no_rating_and_no_common_form(void **state)
{
    static const char *const lines[][2] = {
        { "7,12", "7,12" },
        { "movieId\tuserId", "12\t7" },
        { "7::12::3::9", "7::12::3::9" },
    };
    struct import_fixture *f = *state;
    struct transform_example e;
    struct transform t;
    struct buf text;

    assert_int_equal(import_text(f, "1::2::3\n"), 0);
    fetch_transform(f, &text, &t);
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        assert_int_equal(row(f, &t, lines[i][0], lines[i][1], &e), 0);
        assert_true(e.count == 3 && words[1] == 7 && words[2] == 12);
        assert_int_equal(e.has_label, i == 2);
    }
    assert_int_equal(row(f, &t, "7", "7", &e), E_FORMAT);
    transform_release(&t);
    buf_release(&text);
}

static void another_seed_hashes_otherwise(void **state)
{
    struct slice text = slice_str("68fd1e64");
    unsigned counts[16] = { 0 };
    char name[16];

    (void)state;
    assert_int_equal(transform_hash(1, text, 1000), transform_hash(1, text, 1000));
    assert_int_not_equal(transform_hash(1, text, 1u << 30), transform_hash(2, text, 1u << 30));
    for (unsigned i = 0; i < 16000; i++) {
        snprintf(name, sizeof(name), "%x", i);
        counts[transform_hash(7, slice_str(name), 16)]++;
    }
    for (unsigned i = 0; i < 16; i++)
        assert_true(counts[i] > 850 && counts[i] < 1150);
}

static void a_damaged_transform_is_refused(void **state)
{
    struct import_fixture *f = *state;
    struct transform t = { 0 }, again;
    struct buf text, copy;

    assert_int_equal(import_text(f, csv), 0);
    fetch_transform(f, &text, &t);
    buf_init(&copy, &f->heap, MIB);
    transform_encode(&t, &copy);
    assert_true(slice_equal(buf_slice(&text), buf_slice(&copy)));
    for (size_t i = 0; i < text.size; i++) {
        assert_int_equal(transform_decode(&again, &f->heap, slice(text.data, i), &f->err),
                         E_FORMAT);
        copy.data[i] ^= 1;
        assert_int_equal(transform_decode(&again, &f->heap, buf_slice(&copy), &f->err), E_FORMAT);
        copy.data[i] ^= 1;
    }
    buf_release(&copy);
    buf_release(&text);
    transform_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(new_rows_get_the_scaling_and_hashing_of_training),
        TEST(new_libsvm_lines_may_have_any_length_and_values),
        TEST(new_ratings_need_no_rating_and_no_common_form),
        TEST(another_seed_hashes_otherwise),
        TEST(a_damaged_transform_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
