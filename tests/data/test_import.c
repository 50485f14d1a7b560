/* SPDX-License-Identifier: Apache-2.0 */
/* Importing: every format, what the rows become, and what is refused. */
#include "data/scan.h"
#include "platform/local_env.h"
#include "support/test.h"
#include "import_fixture.h"

/* ---- libsvm ---- */

static void libsvm_values_become_pairs(void **state)
{
    struct import_fixture *f = *state;
    struct minibatch m;
    struct dataset d;
    const uint32_t *w;

    assert_int_equal(import_text(f, "2.5 1:0.5 7:-1e-3 # words\r\n"), 0);
    open_data(f, &d);
    minibatch_init(&m, &f->heap);
    assert_true(d.data.sparse && d.data.ones == 0 && d.data.classes == 0);
    assert_int_equal(d.data.dims, 7);
    w = row_at(&d, &m, 0);
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
    struct import_fixture *f = *state;
    struct dataset d;

    assert_int_equal(import_text(f, "+1 1:1 2:1\n\n# nothing\n-1 2:1.0 5:1\n"), 0);
    open_data(f, &d);
    assert_true(!d.data.sparse && d.data.ones == 2 && d.data.dims == 5 && d.data.classes == 2);
    assert_true(d.data.label_mean == 0.5);
    dataset_close(&d);
    assert_int_equal(import_text(f, "0 0:1 2:1\n1 2:1\n1\n"), 0);
    open_data(f, &d);
    assert_true(!d.data.sparse && d.data.ones == GUST_VARIES && d.data.dims == 3);
    assert_int_equal(d.rows[DATASET_TRAIN], 3);
    dataset_close(&d);
}

static void labels_decide_the_task(void **state)
{
    static const struct {
        const char *text, *wish;
        uint32_t classes;
    } cases[] = {
        { "+1 1:1\n-1 1:1\n", NULL, 2 },       { "0 1:1\n1 1:1\n", NULL, 2 },
        { "1 1:1\n2 1:1\n3 1:1\n", NULL, 3 },  { "0 1:1\n2 1:1\n1 1:1\n", NULL, 3 },
        { "1 1:1\n3 1:1\n", NULL, 0 },         { "1 1:1\n3 1:1\n", "classes", 2 },
        { "0.5 1:1\n1 1:1\n", NULL, 0 },       { "-1 1:1\n2 1:1\n", NULL, 0 },
        { "-1 1:1\n0 1:1\n1 1:1\n", NULL, 0 }, { "-1 1:1\n0 1:1\n1 1:1\n", "classes", 3 },
        { "1 1:1\n2 1:1\n", NULL, 2 },         { "1 1:1\n2 1:1\n", "numbers", 0 },
        { "-2 1:1\n1 1:1\n", NULL, 0 },
    };
    struct import_fixture *f = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct dataset d;

        f->o.labels = cases[i].wish;
        assert_int_equal(import_text(f, cases[i].text), 0);
        open_data(f, &d);
        assert_int_equal(d.data.classes, cases[i].classes);
        dataset_close(&d);
    }
}

static void libsvm_errors_name_file_line_and_what_was_found(void **state)
{
    static const char *const cases[][2] = {
        { "", "in.txt holds no examples" },
        { "\n# only words\n", "in.txt holds no examples" },
        { "1 1:1\nabc 1:1\n", "in.txt:2: expected a finite label, found 'abc'" },
        { "nan 1:1\n", "in.txt:1: expected a finite label, found 'nan'" },
        { "1 1:inf\n", "in.txt:1: expected a finite value after the colon, found '1:inf'" },
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
    struct import_fixture *f = *state;

    f->o.format = TRANSFORM_LIBSVM;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(import_text(f, cases[i][0]), E_FORMAT);
        expect_words(f, cases[i][1]);
    }
}

/* ---- ratings ---- */

static void ratings_come_in_several_forms(void **state)
{
    static const char *const forms[] = {
        "7::12::3.5::978300760\n",
        "7::12::3.5\r\n",
        "7\t12\t3.5\t978300760\n",
        "userId,movieId,rating,timestamp\n7,12,3.5,978300760\n",
        "rating,timestamp,movieId,userId\n3.5,1,12,7",
        "\"user_id\",\"item_id\",\"rating\"\n\"7\",\"12\",\"3.5\"\n",
        "7,12,3.5\n\n",
        "\xef\xbb\xbf\x37,12,3.5\n",
        "user;item;rating\n7;12;3.5\n",
        "7 12 3.5\n",
    };
    struct import_fixture *f = *state;

    for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
        uint32_t *ids[2];
        struct minibatch m;
        struct dataset d;
        const uint32_t *w;

        assert_int_equal(import_text(f, forms[i]), 0);
        assert_int_equal(f->result.format, TRANSFORM_MOVIELENS);
        open_data(f, &d);
        minibatch_init(&m, &f->heap);
        assert_int_equal(d.rows[DATASET_TRAIN], 1);
        w = row_at(&d, &m, 0);
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
        { "", "holds no examples" },
        { "userId,movieId,rating\n", "holds no examples" },
        { "userId,film,rating\n1,2,3\n", "header" },
        { "1::2::3\n1::2\n", "in.txt:2: the line has 2 columns, expected 3" },
        { "1::2::x\n", "expected a finite rating, found 'x'" },
        { "1::2::nan\n", "expected a finite rating" },
        { "-1::2::3\n", "expected a user's id below 2^32 - 1, found '-1'" },
        { "1::2.5::3\n", "expected an item's id" },
        { "1::2::3x::4\n", "expected a finite rating" },
        { "4294967295::2::3\n", "user's id" },
        { "1,2,\"3\n", "quote" },
    };
    struct import_fixture *f = *state;

    f->o.format = TRANSFORM_MOVIELENS;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(import_text(f, cases[i][0]), E_FORMAT);
        expect_words(f, cases[i][1]);
    }
}

/* ---- Criteo and CSV ---- */

static void criteo_rows(struct buf *text, int rows)
{
    for (int i = 0; i < rows; i++) {
        buf_printf(text, "%d", i % 4 == 0);
        for (int k = 0; k < 13; k++)
            buf_printf(text, k == 3 ? "\t" : "\t%d", i * k);
        for (int k = 0; k < 26; k++)
            buf_printf(text, k == 5 ? "\t" : "\t%08x", (unsigned)(i % 7 + k));
        buf_str(text, "\n");
    }
}

static void clicks_are_scaled_and_hashed(void **state)
{
    struct import_fixture *f = *state;
    float low = INFINITY, high = -INFINITY;
    struct minibatch m;
    struct dataset d;
    struct buf text;

    buf_init(&text, &f->heap, MIB);
    criteo_rows(&text, 100);
    f->o.hash_width = 1000;
    assert_int_equal(import_text(f, text.data), 0);
    assert_int_equal(f->result.format, TRANSFORM_CRITEO);
    open_data(f, &d);
    assert_true(d.data.dense == 13 && d.data.ones == 26 && d.data.dims == 1000 &&
                d.data.classes == 2 && !d.data.sparse);
    assert_int_equal(d.rows[DATASET_TRAIN], 100);
    minibatch_init(&m, &f->heap);
    for (uint64_t r = 0; r < 100; r++) {
        const uint32_t *w = row_at(&d, &m, r);
        float x = gust_f32(&w[13]);

        low = fminf(low, x);
        high = fmaxf(high, x);
        assert_true(gust_f32(&w[1]) == 0 && gust_f32(&w[4]) == 0);
        /* A logarithm: numbers are spread to the upper half. */
        assert_true(x == 0 || x > 0.3f);
    }
    assert_true(low == 0 && high == 1);
    minibatch_release(&m);
    dataset_close(&d);
    buf_release(&text);
}

static void csv_columns_get_roles_by_name_and_content(void **state)
{
    static const char text[] = "id,city,\"age, years\",click,pay,empty\n"
                               "1,Paris,30,yes,1.5,\n"
                               "2,\"New \"\"York\"\"\",,no,NA,\n"
                               "3,Paris,50,yes,2.5,\r\n";
    struct import_fixture *f = *state;
    static const enum transform_role roles[] = { ROLE_IGNORE, ROLE_CATEGORICAL, ROLE_NUMERIC,
                                                 ROLE_LABEL,  ROLE_NUMERIC,     ROLE_IGNORE };
    struct transform t;
    struct minibatch m;
    struct dataset d;
    struct buf encoded;
    unsigned halves = 0, missing = 0;

    assert_int_equal(import_text(f, text), 0);
    assert_int_equal(f->result.format, TRANSFORM_CSV);
    open_data(f, &d);
    buf_init(&encoded, &f->heap, MIB);
    assert_int_equal(dataset_transform(&d, &encoded, &f->err), 0);
    assert_int_equal(transform_decode(&t, &f->heap, buf_slice(&encoded), &f->err), 0);
    assert_int_equal(t.column_count, 6);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(t.columns[i].role, roles[i]);
    assert_string_equal(t.columns[2].name, "age, years");
    assert_true(t.columns[2].min == 30 && t.columns[2].max == 50);
    assert_true(t.labels == LABELS_TEXTS && t.data.classes == 2);
    assert_string_equal(t.classes[0].text, "no");
    minibatch_init(&m, &f->heap);
    for (uint64_t r = 0; r < 3; r++) {
        const uint32_t *w = row_at(&d, &m, r);

        if (gust_f32(&w[0]) == 0)
            missing += gust_f32(&w[1]) == 0 && gust_f32(&w[2]) == 0;
        else
            halves += gust_f32(&w[1]) == gust_f32(&w[2]);
    }
    assert_int_equal(missing, 1);
    assert_int_equal(halves, 2);
    minibatch_release(&m);
    transform_release(&t);
    buf_release(&encoded);
    dataset_close(&d);
}

static void csv_columns_may_be_said(void **state)
{
    static const char text[] = "who,what,stars,more\n5,9,3,x\n6,9,4,y\n";
    static const struct {
        const char *columns;
        int rc;
        const char *words;
    } cases[] = {
        { "user=who,item=what,label=stars", 0, "" },
        { "label=stars numeric=w*", 0, "" },
        { "label=stars,categorical=more,who,ignore=what", 0, "" },
        { "label=stars,ignore=who", 0, "" },
        { NULL, E_INVALID, "no column looks like the label; say which is" },
        { "label=nothing", E_INVALID, "there is no column 'nothing'" },
        { "rating=stars", E_INVALID, "'rating' is no role; use label" },
        { "stars", E_INVALID, "begins with a role" },
        { "label=stars,user=who", E_INVALID, "a user needs an item" },
        { "label=stars,who", E_INVALID, "one label" },
        { "label=stars,user=who,item=what,categorical=more", E_UNSUPPORTED, "not supported" },
        { "label=stars,ignore=who,what,more", E_INVALID, "no column to learn from" },
    };
    struct import_fixture *f = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        f->o.columns = cases[i].columns;
        assert_int_equal(import_text(f, text), cases[i].rc);
        if (cases[i].rc)
            expect_words(f, cases[i].words);
    }
    f->o.columns = "label=a";
    assert_int_equal(import_text(f, "1 2:1\n"), E_INVALID);
    expect_words(f, "--columns is for CSV");
}

static void bad_cells_of_csv_are_refused(void **state)
{
    static const char *const cases[][2] = {
        { "label,a,b\n1,2\n", "in.txt:2: the line has 2 columns, expected 3" },
        { "label,a,b\n1,2,3,4\n", "the line has 4 columns, expected 3" },
        { "label,a,b\n1,\"2,3\n", "a quote in column 2 is not closed" },
        { "label,a,b\n1,\"2\"x,3\n", "quote" },
        { "label,a,a\n1,2,3\n", "names column 'a' twice" },
        { "label,a,b\n,2,3\n", "expected a finite label, found ''" },
    };
    struct import_fixture *f = *state;

    f->o.format = TRANSFORM_CSV;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(import_text(f, cases[i][0]), E_FORMAT);
        expect_words(f, cases[i][1]);
    }
    f->o.columns = "label=label,numeric=a";
    assert_int_equal(import_text(f, "label,a,b\n1,x,3\n"), E_FORMAT);
    expect_words(f, "in.txt:2: column 'a': expected a number, found 'x'");
}

static void a_weight_says_how_often_a_row_counts(void **state)
{
    struct import_fixture *f = *state;
    struct dataset d;
    struct buf text;

    buf_init(&text, &f->heap, MIB);
    buf_str(&text, "label,a,weight\n");
    for (int i = 0; i < 2000; i++)
        buf_printf(&text, "%d,%d,%s\n", i % 2, i, i % 2 ? "2.25" : "0");
    assert_int_equal(import_text(f, text.data), 0);
    open_data(f, &d);
    assert_true(d.rows[DATASET_TRAIN] > 2150 && d.rows[DATASET_TRAIN] < 2350);
    assert_true(d.data.label_mean == 1);
    dataset_close(&d);
    assert_int_equal(import_text(f, "label,a,weight\n1,2,-1\n"), E_FORMAT);
    expect_words(f, "expected a weight of 0 to 1000, found '-1'");
    buf_release(&text);
}

/* ---- splits, files, threads ---- */

static void a_test_file_shares_the_schema(void **state)
{
    static const char *const tests[] = { "test.txt" };
    struct import_fixture *f = *state;
    struct dataset d;

    f->o.tests = tests;
    f->o.test_count = 1;
    f->o.held_out = 0.5;
    write_text("test.txt", "1 9:0.5");
    assert_int_equal(import_text(f, "1 1:1\n0 2:1\n"), 0);
    open_data(f, &d);
    assert_int_equal(d.rows[DATASET_TRAIN], 2);
    assert_int_equal(d.rows[DATASET_TEST], 1);
    assert_int_equal(d.data.dims, 9);
    assert_true(d.data.sparse);
    dataset_close(&d);
    write_text("test.txt", "1 1:1\n1 1\n");
    assert_int_equal(import_text(f, "1 1:1\n"), E_FORMAT);
    expect_words(f, "test.txt:2");
}

static void a_share_is_held_out_by_the_row_itself(void **state)
{
    struct import_fixture *f = *state;
    uint64_t rows[2];
    struct dataset d;
    struct buf text;

    buf_init(&text, &f->heap, MIB);
    for (int i = 0; i < 5000; i++)
        buf_printf(&text, "%d,%d,%d.5\n", i, i % 37, i % 5);
    f->o.held_out = 0.2;
    assert_int_equal(import_text(f, text.data), 0);
    open_data(f, &d);
    assert_true(d.rows[DATASET_TEST] > 850 && d.rows[DATASET_TEST] < 1150);
    assert_int_equal(d.rows[0] + d.rows[1], 5000);
    memcpy(rows, d.rows, sizeof(rows));
    dataset_close(&d);
    /* Equal rows fall on the same side. */
    for (int i = 0; i < 5000; i++)
        buf_printf(&text, "%d,%d,%d.5\n", i, i % 37, i % 5);
    assert_int_equal(import_text(f, text.data), 0);
    open_data(f, &d);
    assert_int_equal(d.rows[0], 2 * rows[0]);
    assert_int_equal(d.rows[1], 2 * rows[1]);
    dataset_close(&d);
    buf_release(&text);
    f->o.held_out = 0.999999;
    assert_int_equal(import_text(f, "1::2::3\n"), E_INVALID);
    expect_words(f, "no examples to train on");
}

struct digest {
    struct objects *objects;
    uint64_t value;
};

static int add_digest(void *arg, const char *name, const struct objects_stat *st UNUSED)
{
    struct digest *d = arg;
    struct slice view;

    /* The manifest names the files. */
    if (strstr(name, "manifest"))
        return 0;
    assert_int_equal(objects_map(d->objects, name, &view, NULL), 0);
    for (size_t i = 0; i < view.size; i++)
        d->value = d->value * 31 + ((const unsigned char *)view.data)[i];
    objects_unmap(d->objects, view);
    return 0;
}

static uint64_t digest(struct import_fixture *f)
{
    struct digest d = { f->objects, 0 };

    assert_int_equal(objects_list(f->objects, "", add_digest, &d, NULL), 0);
    return d.value;
}

/* Some megabytes, so that there are several pieces. */
static void threads_and_files_do_not_change_the_bytes(void **state)
{
    static const char *const folder[] = { "parts" };
    struct import_fixture *f = *state;
    struct env *env = local_env_new(&f->heap);
    uint64_t first = 0;
    struct buf text;
    size_t half;

    buf_init(&text, &f->heap, 64 * MIB);
    criteo_rows(&text, 25000);
    f->o.env = env;
    for (unsigned threads = 1; threads <= 5; threads += 2) {
        f->o.threads = threads;
        assert_int_equal(import_text(f, text.data), 0);
        assert_int_equal(f->result.rows, 25000);
        first = first ? first : digest(f);
        assert_int_equal(digest(f), first);
    }
    assert_true(text.size > 5 * MIB);
    half = text.size / 2;
    while (text.data[half - 1] != '\n')
        half++;
    assert_int_equal(mkdir("parts", 0700), 0);
    assert_int_equal(mkdir("parts/b", 0700), 0);
    write_bytes("parts/b/1.tsv", text.data + half, text.size - half);
    write_bytes("parts/a.tsv", text.data, half);
    write_text("parts/_SUCCESS", "");
    write_text("parts/.hidden", "nonsense\n");
    write_text("parts/aa-empty.tsv", "");
    f->o.inputs = folder;
    objects_list(f->objects, "", delete_object, f->objects, NULL);
    assert_int_equal(run_import(f), 0);
    assert_int_equal(digest(f), first);
    local_env_free(env);
    buf_release(&text);
}

static void the_same_import_again_does_nothing(void **state)
{
    struct import_fixture *f = *state;
    struct timespec times[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };

    f->o.replace = false;
    assert_int_equal(import_text(f, "1::2::3\n4::5::1\n"), 0);
    assert_false(f->result.reused);
    assert_int_equal(run_import(f), 0);
    assert_true(f->result.reused);
    f->o.held_out = 0.01;
    assert_int_equal(run_import(f), E_EXISTS);
    f->o.held_out = 0;
    assert_int_equal(utimensat(AT_FDCWD, "in.txt", times, 0), 0);
    assert_int_equal(run_import(f), E_EXISTS);
    expect_words(f, "made from something else");
    f->o.replace = true;
    assert_int_equal(run_import(f), 0);
    assert_false(f->result.reused);
}

/* ---- bad rows, and files that are something else ---- */

static void bad_rows_are_counted_told_and_limited(void **state)
{
    struct import_fixture *f = *state;
    struct dataset d;
    struct buf text;

    buf_init(&text, &f->heap, MIB);
    for (int i = 0; i < 6000; i++)
        buf_printf(&text, i % 1000 == 7 ? "%d::x::3\n" : "%d::%d::3\n", i, i % 50);
    assert_int_equal(import_text(f, text.data), 0);
    assert_int_equal(f->result.rows, 5994);
    assert_int_equal(f->result.bad_rows, 6);
    assert_non_null(strstr(f->told, "in.txt:8: expected an item's id below 2^32 - 1, found 'x'\n"));
    assert_non_null(strstr(f->told, "in.txt:4008: "));
    assert_null(strstr(f->told, "in.txt:5008: "));
    open_data(f, &d);
    assert_int_equal(d.rows[0] + d.rows[1], 5994);
    dataset_close(&d);
    /* One more is more than a thousandth. */
    buf_str(&text, "1::2\n");
    assert_int_equal(import_text(f, text.data), E_FORMAT);
    expect_words(f, "in.txt:8: expected an item's id");
    expect_words(f, "7 of 6001 rows cannot be used, and 6 may be left out (--bad-rows N)");
    f->o.bad_rows = 7;
    assert_int_equal(import_text(f, text.data), 0);
    f->o.bad_rows = 0;
    assert_int_equal(import_text(f, text.data), E_FORMAT);
    buf_release(&text);
}

static void a_file_of_another_format_is_said_to_look_like_it(void **state)
{
    static const char svm[] = "1 1:1 3:2\n-1 2:1\n", ratings[] = "1::2::3\n4::5::6\n";
    static const struct {
        int format;
        const char *text, *words;
    } cases[] = {
        { TRANSFORM_MOVIELENS, svm, "the file looks like libsvm lines" },
        { TRANSFORM_LIBSVM, ratings, "the file looks like ratings" },
        { TRANSFORM_LIBSVM, "label,a\n1,2\n2,3\n", "the file looks like CSV with a header" },
        { TRANSFORM_CRITEO, svm, "expected 40 with tabs between; the file looks like libsvm" },
        { TRANSFORM_CSV, ratings, "looks like ratings" },
        { -1, "{\"a\": 1}\n", "looks like JSON" },
        { -1, "<html>\n", "looks like a web page" },
        { -1, "just some words\n", "looks like text that is no table" },
        { -1, "a,b,c\rd,e,f\r", "lines end with a carriage return alone" },
        { TRANSFORM_LIBSVM, "PAR1xyz", "looks like a Parquet file" },
        { -1, "\xff\xfe\x31\n", "UTF-16 text; convert it to UTF-8" },
        { -1, "BZh91AY", "is bzip2; unpack it first" },
    };
    struct import_fixture *f = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        f->o.format = cases[i].format;
        assert_true(import_text(f, cases[i].text) < 0);
        expect_words(f, cases[i].words);
        assert_int_equal(error_exit_status(f->err.code), 2);
    }
    f->o.format = -1;
    write_bytes("in.txt", "\0\1\2\3\0binary\n", 12);
    assert_int_equal(run_import(f), E_FORMAT);
    expect_words(f, "in.txt looks like binary data");
}

static void files_that_cannot_be_read_are_named(void **state)
{
    static const char *const missing[] = { "nothing.txt" }, *const empty[] = { "hollow" };
    struct import_fixture *f = *state;
    struct buf text;

    f->o.inputs = missing;
    assert_int_equal(run_import(f), E_NOT_FOUND);
    expect_words(f, "cannot read nothing.txt: No such file");
    assert_int_equal(mkdir("hollow", 0700), 0);
    f->o.inputs = empty;
    assert_int_equal(run_import(f), E_INVALID);
    expect_words(f, "the folder hollow holds no files");
    fixture_reset(f);
    if (geteuid() != 0) {
        write_text("in.txt", "1::2::3\n");
        assert_int_equal(chmod("in.txt", 0), 0);
        assert_int_equal(run_import(f), E_INVALID);
        expect_words(f, "cannot read in.txt: Permission denied");
        assert_int_equal(unlink("in.txt"), 0);
    }
    /* A line that would not fit in memory, after two that do. */
    buf_init(&text, &f->heap, 8 * MIB);
    buf_str(&text, "1::2::3\n1::2::4\n");
    memset(buf_extend(&text, 5 * MIB), '7', 5 * MIB);
    buf_str(&text, "\n");
    assert_int_equal(import_text(f, text.data), E_LIMIT);
    expect_words(f, "in.txt:3: the line is longer than 2097152 bytes");
    assert_int_equal(error_exit_status(f->err.code), 2);
    buf_release(&text);
}

/* Takes the file away, or changes it, between the passes. */
static void meddle(void *arg, const struct import_progress *p)
{
    if (p->pass == 1 && *(const char *)arg == 'u')
        unlink("in.txt");
    else if (p->pass == 1)
        write_text("in.txt", "1::2::3\n5::5::5\n");
}

static void files_that_vanish_or_change_are_noticed(void **state)
{
    struct import_fixture *f = *state;
    struct dataset d;

    f->o.progress = meddle;
    f->o.bad = NULL;
    f->o.arg = (char[]){ "u" };
    assert_int_equal(import_text(f, "1::2::3\n1::2::4\n"), E_NOT_FOUND);
    expect_words(f, "in.txt");
    f->o.arg = (char[]){ "c" };
    assert_int_equal(import_text(f, "1::2::3\n1::2::4\n"), E_INVALID);
    expect_words(f, "changed");
    assert_int_equal(dataset_open(&d, f->objects, "data", &f->heap, NULL), E_NOT_FOUND);
}

static void an_interrupted_import_leaves_nothing(void **state)
{
    static volatile sig_atomic_t stop = 1;
    struct import_fixture *f = *state;
    struct dataset d;

    f->o.stop = &stop;
    assert_int_equal(import_text(f, "1::2::3\n1::2::4\n"), E_INTERRUPTED);
    assert_int_equal(dataset_open(&d, f->objects, "data", &f->heap, NULL), E_NOT_FOUND);
    f->o.stop = NULL;
    assert_int_equal(run_import(f), 0);
}

static void raw_files_become_data_sets_in_a_cache(void **state)
{
    struct import_fixture *f = *state;
    char first[256], again[256];

    write_text("my ratings.csv", "1,2,3\n4,5,1\n");
    assert_int_equal(import_auto("my ratings.csv", "cache", &f->o, &f->heap, first, sizeof(first),
                                 &f->result, &f->err),
                     0);
    assert_false(f->result.reused);
    assert_memory_equal(first, "cache/my_ratings.csv-", 21);
    assert_int_equal(import_auto("./my ratings.csv", "cache", &f->o, &f->heap, again, sizeof(again),
                                 &f->result, &f->err),
                     0);
    assert_true(f->result.reused);
    assert_string_equal(again, first);
    /* A data set is itself. */
    assert_int_equal(
        import_auto(first, "cache", &f->o, &f->heap, again, sizeof(again), &f->result, &f->err), 0);
    assert_string_equal(again, first);
    assert_int_equal(
        import_auto("no", "cache", &f->o, &f->heap, again, sizeof(again), &f->result, &f->err),
        E_NOT_FOUND);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(libsvm_values_become_pairs),
        TEST(libsvm_ones_become_lists),
        TEST(labels_decide_the_task),
        TEST(libsvm_errors_name_file_line_and_what_was_found),
        TEST(ratings_come_in_several_forms),
        TEST(bad_ratings_are_refused),
        TEST(clicks_are_scaled_and_hashed),
        TEST(csv_columns_get_roles_by_name_and_content),
        TEST(csv_columns_may_be_said),
        TEST(bad_cells_of_csv_are_refused),
        TEST(a_weight_says_how_often_a_row_counts),
        TEST(a_test_file_shares_the_schema),
        TEST(a_share_is_held_out_by_the_row_itself),
        TEST(threads_and_files_do_not_change_the_bytes),
        TEST(the_same_import_again_does_nothing),
        TEST(bad_rows_are_counted_told_and_limited),
        TEST(a_file_of_another_format_is_said_to_look_like_it),
        TEST(files_that_cannot_be_read_are_named),
        TEST(files_that_vanish_or_change_are_noticed),
        TEST(an_interrupted_import_leaves_nothing),
        TEST(raw_files_become_data_sets_in_a_cache),
        TEST(numbers_are_rounded_as_by_strtof),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
