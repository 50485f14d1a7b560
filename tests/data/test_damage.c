/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damaged data sets: cut short, garbled, swapped, or crafted with right check sums and wrong
 * contents. Each is refused with a sentence; none is read out of bounds (run this under the
 * address sanitizer).
 */
#include "base/crc32c.h"
#include "base/random.h"
#include "support/test.h"
#include "data_fixture.h"

#define ROWS 3000u

/* A small data set: ratings, or lists of unequal length. */
static void build(struct data_fixture *f, bool ratings, uint32_t salt)
{
    struct builder_options o = fixture_options(f);
    struct builder *b;

    fixture_clear(f);
    o.schema = ratings ? (struct gust_data){ .ones = 2, .keys = 2 }
                       : (struct gust_data){ .ones = GUST_VARIES, .sparse = true, .dims = 50 };
    assert_int_equal(builder_open(&b, &o, &f->err), 0);
    for (uint32_t i = 0; i < ROWS; i++) {
        uint32_t row[16] = { 0 }, n = 1, count = i % 4;
        float one = 1;

        if (ratings) {
            row[n++] = (i * 7 + salt) % 61;
            row[n++] = i % 17;
        } else {
            row[n++] = count;
            for (uint32_t k = 0; k < count; k++)
                row[n++] = (i + k + salt) % 50;
            row[n++] = 1;
            row[n++] = i % 50;
            memcpy(&row[n++], &one, 4);
        }
        assert_int_equal(builder_add(b, i % 10 == 0, row, n, &f->err), 0);
    }
    assert_int_equal(builder_finish(b, &f->err), 0);
    builder_close(b);
}

static void fetch(struct data_fixture *f, const char *name, struct buf *out)
{
    buf_init(out, &f->heap, 16 * MIB);
    assert_int_equal(objects_get_all(f->objects, name, out, NULL), 0);
}

/* Read everything; the code of the first failure. */
static int read_all(struct data_fixture *f)
{
    struct dataset d = { 0 };
    struct minibatch m;
    int rc = dataset_open(&d, f->objects, "data", &f->heap, &f->err);

    minibatch_init(&m, &f->heap);
    for (unsigned s = 0; !rc && s < DATASET_SPLITS; s++)
        rc = dataset_range(&d, s, 0, d.rows[s], &m, &f->err);
    minibatch_release(&m);
    dataset_close(&d);
    return rc;
}

static const char *const objects_of_a_data_set[] = { "data/manifest", "data/lanes",
                                                     "data/train/00000", "data/test/00000" };

static void a_cut_object_is_refused(void **state)
{
    struct data_fixture *f = *state;

    for (int ratings = 0; ratings < 2; ratings++) {
        build(f, ratings, 0);
        for (size_t k = 0; k < ARRAY_SIZE(objects_of_a_data_set); k++) {
            const char *name = objects_of_a_data_set[k];
            struct buf whole;

            fetch(f, name, &whole);
            for (size_t cut = 0; cut < whole.size; cut += 1 + whole.size / 97) {
                objects_put(f->objects, name, slice(whole.data, cut), NULL);
                assert_int_equal(read_all(f), E_FORMAT);
            }
            objects_put(f->objects, name, slice(whole.data, whole.size - 1), NULL);
            assert_int_equal(read_all(f), E_FORMAT);
            objects_put(f->objects, name, buf_slice(&whole), NULL);
            assert_int_equal(read_all(f), 0);
            buf_release(&whole);
        }
    }
}

static void a_garbled_object_is_refused(void **state)
{
    struct data_fixture *f = *state;

    for (int ratings = 0; ratings < 2; ratings++) {
        build(f, ratings, 0);
        for (size_t k = 0; k < ARRAY_SIZE(objects_of_a_data_set); k++) {
            const char *name = objects_of_a_data_set[k];
            struct buf whole;

            fetch(f, name, &whole);
            for (uint64_t i = 0; i < 300; i++) {
                size_t at = random_below(random_at(1, i, k, 0), whole.size);

                whole.data[at] ^= (char)(1 << (i % 8));
                objects_put(f->objects, name, buf_slice(&whole), NULL);
                assert_int_equal(read_all(f), E_FORMAT);
                whole.data[at] ^= (char)(1 << (i % 8));
            }
            objects_put(f->objects, name, buf_slice(&whole), NULL);
            assert_int_equal(read_all(f), 0);
            buf_release(&whole);
        }
    }
}

static void swapped_shards_are_refused(void **state)
{
    struct data_fixture *f = *state;
    struct buf train, test, other;

    build(f, true, 1);
    fetch(f, "data/train/00000", &other);
    build(f, true, 0);
    fetch(f, "data/train/00000", &train);
    fetch(f, "data/test/00000", &test);
    objects_put(f->objects, "data/train/00000", buf_slice(&test), NULL);
    objects_put(f->objects, "data/test/00000", buf_slice(&train), NULL);
    assert_int_equal(read_all(f), E_FORMAT);
    objects_put(f->objects, "data/test/00000", buf_slice(&test), NULL);
    /* The same place in another data set of the same shape. */
    assert_int_equal(other.size, train.size);
    objects_put(f->objects, "data/train/00000", buf_slice(&other), NULL);
    assert_int_equal(read_all(f), E_FORMAT);
    assert_non_null(strstr(f->err.text, "data set"));
    buf_release(&train);
    buf_release(&test);
    buf_release(&other);
}

static void a_missing_object_is_said_to_be_missing(void **state)
{
    struct data_fixture *f = *state;

    build(f, true, 0);
    objects_delete(f->objects, "data/train/00000", NULL);
    assert_int_equal(read_all(f), E_NOT_FOUND);
    objects_delete(f->objects, "data/manifest", NULL);
    assert_int_equal(read_all(f), E_NOT_FOUND);
}

/* ---- right check sums around wrong contents ---- */

/* Recompute every check sum of a shard. */
static void reseal(struct data_fixture *f, struct buf *bytes, bool varies)
{
    struct shard_header *h = (void *)bytes->data;
    struct block_header *b = (void *)(bytes->data + sizeof(*h));
    struct dataset d;
    uint32_t *at = (void *)(b + h->blocks);
    char *records;

    assert_int_equal(dataset_open(&d, f->objects, "data", &f->heap, NULL), 0);
    records = bytes->data + shard_records_at(d.manifest, h->rows);
    for (uint32_t i = 0; i < h->blocks; i++) {
        b[i].crc = varies ? crc32c(0, at + b[i].first_row, ((size_t)b[i].rows + 1) * 4) : 0;
        b[i].crc = crc32c(b[i].crc, records + b[i].word * 4, b[i].words * 4);
    }
    h->crc = 0;
    h->crc = crc32c(0, h, sizeof(*h) + h->blocks * sizeof(*b));
    dataset_close(&d);
}

static uint32_t *records_of(struct data_fixture *f, struct buf *bytes)
{
    struct dataset d;
    size_t at;

    assert_int_equal(dataset_open(&d, f->objects, "data", &f->heap, NULL), 0);
    at = shard_records_at(d.manifest,
                          d.rows[DATASET_TRAIN] > ROWS ? ROWS : shard_rows(d.manifest, 0, 0));
    dataset_close(&d);
    return (uint32_t *)(void *)(bytes->data + at);
}

/* Change word AT of the first shard's records to VALUE and expect WHY. */
static void expect_refused(struct data_fixture *f, bool varies, size_t at, uint32_t value,
                           const char *why)
{
    struct buf whole;
    uint32_t *records, kept;

    fetch(f, "data/train/00000", &whole);
    records = records_of(f, &whole);
    kept = records[at];
    records[at] = value;
    reseal(f, &whole, varies);
    objects_put(f->objects, "data/train/00000", buf_slice(&whole), NULL);
    assert_int_equal(read_all(f), E_FORMAT);
    if (!strstr(f->err.text, why))
        print_error("'%s' does not say '%s'\n", f->err.text, why);
    assert_non_null(strstr(f->err.text, why));
    records[at] = kept;
    reseal(f, &whole, varies);
    objects_put(f->objects, "data/train/00000", buf_slice(&whole), NULL);
    assert_int_equal(read_all(f), 0);
    buf_release(&whole);
}

static void crafted_ratings_are_refused(void **state)
{
    struct data_fixture *f = *state;

    build(f, true, 0);
    expect_refused(f, false, 0, 0x7FC00000u, "label");
    expect_refused(f, false, 3, 0xFF800000u, "label");
    expect_refused(f, false, 1, 61, "out of range");
    expect_refused(f, false, 2, 17, "out of range");
    expect_refused(f, false, 2, UINT32_MAX, "out of range");
    /* A user of the last lane in the first: its private row would be elsewhere. */
    expect_refused(f, false, 1, 60, "another lane");
}

static void crafted_lists_are_refused(void **state)
{
    struct data_fixture *f = *state;
    struct buf whole;
    uint32_t *records, count;

    build(f, false, 0);
    fetch(f, "data/train/00000", &whole);
    records = records_of(f, &whole);
    count = records[1];
    buf_release(&whole);
    expect_refused(f, true, 1, UINT32_MAX, "ends within its index list");
    expect_refused(f, true, 1, count + 1, "");
    expect_refused(f, true, 2 + count, 0x80000001u, "ends within its sparse values");
    expect_refused(f, true, 2 + count, 0, "longer than its contents");
    expect_refused(f, true, 3 + count, 50, "out of range");
    expect_refused(f, true, 4 + count, 0x7F800001u, "not finite");
}

static void crafted_offsets_are_refused(void **state)
{
    struct data_fixture *f = *state;
    const uint32_t values[] = { 0, 1, 2, 4000, 0x7FFFFFFF, UINT32_MAX };

    build(f, false, 0);
    for (size_t i = 0; i < ARRAY_SIZE(values); i++)
        for (uint32_t row = 0; row < 4; row++) {
            struct buf whole;
            struct shard_header *h;
            uint32_t *at, kept;

            fetch(f, "data/train/00000", &whole);
            h = (void *)whole.data;
            at = (void *)(whole.data + sizeof(*h) + h->blocks * sizeof(struct block_header));
            at += row * (h->rows / 3);
            kept = *at;
            *at = values[i];
            reseal(f, &whole, true);
            objects_put(f->objects, "data/train/00000", buf_slice(&whole), NULL);
            if (*at != kept)
                assert_int_equal(read_all(f), E_FORMAT);
            *at = kept;
            reseal(f, &whole, true);
            objects_put(f->objects, "data/train/00000", buf_slice(&whole), NULL);
            assert_int_equal(read_all(f), 0);
            buf_release(&whole);
        }
}

/* Replace the first OLD in the manifest and seal it again. */
static void edit_manifest(struct data_fixture *f, const char *old, const char *new)
{
    struct buf whole, edited;
    char *at;

    fetch(f, "data/manifest", &whole);
    at = strstr(whole.data, old);
    assert_non_null(at);
    buf_init(&edited, &f->heap, MIB);
    buf_add(&edited, whole.data, (size_t)(at - whole.data));
    buf_str(&edited, new);
    buf_str(&edited, at + strlen(old));
    edited.size = (size_t)(strstr(edited.data, "check: ") - edited.data);
    buf_printf(&edited, "check: %08x\n", crc32c(0, edited.data, edited.size));
    objects_put(f->objects, "data/manifest", buf_slice(&edited), NULL);
    buf_release(&edited);
    buf_release(&whole);
}

static void crafted_manifests_are_refused(void **state)
{
    static const char *const edits[][3] = {
        { "gust-data: 1", "gust-data: 2", "version 2" },
        { "lanes: 16", "lanes: 17", "power of two" },
        { "lanes: 16", "lanes: 32", "lane tables" },
        { "ones: 2", "ones: 3", "words" },
        { "ones: 2", "ones: varies", "" },
        { "keys: 2", "keys: 5", "keys" },
        { "key_rows_0: 61", "key_rows_0: 60", "keys" },
        { "key_rows_0: 61", "key_rows_0: 0", "key_rows_0" },
        { "train_rows: 2700", "train_rows: 0", "train_rows" },
        { "train_rows: 2700", "train_rows: 99999999999999", "train_rows" },
        { "train_words: 8100", "train_words: 8101", "words" },
        { "block_shift: ", "block_shift: 9", "block_shift" },
        { "label_mean: 0", "label_mean: nan", "label_mean" },
        { "classes: 0", "classes: 1", "classes" },
        { "dims: 61\n", "", "dims" },
        { "id: ", "id: 1", "" },
    };
    struct data_fixture *f = *state;

    for (size_t i = 0; i < ARRAY_SIZE(edits); i++) {
        build(f, true, 0);
        edit_manifest(f, edits[i][0], edits[i][1]);
        assert_int_equal(read_all(f), E_FORMAT);
        if (!strstr(f->err.text, edits[i][2]))
            print_error("'%s' does not say '%s'\n", f->err.text, edits[i][2]);
        assert_non_null(strstr(f->err.text, edits[i][2]));
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_cut_object_is_refused),     TEST(a_garbled_object_is_refused),
        TEST(swapped_shards_are_refused),  TEST(a_missing_object_is_said_to_be_missing),
        TEST(crafted_ratings_are_refused), TEST(crafted_lists_are_refused),
        TEST(crafted_offsets_are_refused), TEST(crafted_manifests_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
