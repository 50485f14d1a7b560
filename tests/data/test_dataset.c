/* SPDX-License-Identifier: Apache-2.0 */
/* Building data sets and reading them back: every row once, in its lane, and the same every time.
 */
#include <fcntl.h>

#include "base/random.h"
#include "data/generate.h"
#include "support/test.h"
#include "data_fixture.h"

/* ---- rows of several shapes, each carrying its own number ---- */

enum shape { RATINGS, CLICKS, LISTS, PAIRS, SHAPES };

static struct gust_data schema_of(enum shape shape)
{
    switch (shape) {
    case RATINGS:
        return (struct gust_data){ .ones = 2, .keys = 2 };
    case CLICKS:
        return (struct gust_data){ .dense = 2, .ones = 3, .dims = 1000, .classes = 2 };
    case LISTS:
        return (struct gust_data){ .ones = GUST_VARIES, .dims = 1000 };
    default:
        return (struct gust_data){ .dense = 1, .sparse = true, .dims = 1000 };
    }
}

/* The label is the row's number, or a class with the number in the first dense value. */
static uint32_t make_row(enum shape shape, uint64_t seed, uint32_t row, uint32_t *out)
{
    uint64_t bits = random_at(seed, row, 0, 0);
    float number = (float)row, one = 1.0f * (float)(bits & 1);
    uint32_t count = (uint32_t)(bits >> 8) % 6, n = 0;

    memcpy(&out[n++], shape == CLICKS ? &one : &number, 4);
    switch (shape) {
    case RATINGS:
        out[n++] = 5 * (uint32_t)random_below(bits, 97) + 1000;
        out[n++] = 7 * (uint32_t)random_below(random_mix(bits), 31);
        break;
    case CLICKS:
        memcpy(&out[n++], &number, 4);
        memcpy(&out[n++], &one, 4);
        for (int i = 0; i < 3; i++)
            out[n++] = (uint32_t)random_below(random_mix(bits + (uint64_t)i), 1000);
        break;
    case LISTS:
        out[n++] = count;
        for (uint32_t i = 0; i < count; i++)
            out[n++] = (uint32_t)random_below(random_mix(bits + i), 1000);
        break;
    default:
        memcpy(&out[n++], &one, 4);
        out[n++] = count;
        for (uint32_t i = 0; i < count; i++) {
            out[n++] = (uint32_t)random_below(random_mix(bits + i), 1000);
            memcpy(&out[n++], &number, 4);
        }
    }
    return n;
}

static uint32_t number_of(enum shape shape, const uint32_t *example)
{
    return (uint32_t)gust_f32(shape == CLICKS ? example + 1 : example);
}

static bool is_held_out(uint32_t row)
{
    return row % 10 == 3;
}

static int build(struct data_fixture *f, enum shape shape, uint32_t rows, size_t memory)
{
    struct builder_options o = fixture_options(f);
    struct builder *b;
    uint32_t row[32];
    int rc;

    o.schema = schema_of(shape);
    o.memory_bytes = memory;
    o.replace = true;
    rc = builder_open(&b, &o, &f->err);
    for (uint32_t i = 0; !rc && i < rows; i++) {
        uint32_t words = make_row(shape, 1, i, row);

        rc = builder_add(b, is_held_out(i) ? DATASET_TEST : DATASET_TRAIN, row, words, &f->err);
    }
    rc = rc ? rc : builder_finish(b, &f->err);
    builder_close(b);
    return rc;
}

/* That EXAMPLE is row NUMBER as it was added, its keys translated back by IDS. */
static void assert_is_row(enum shape shape, const uint32_t *example, uint32_t number,
                          uint32_t *const ids[2])
{
    uint32_t row[32], copy[32], words = make_row(shape, 1, number, row);

    memcpy(copy, example, words * 4);
    if (shape == RATINGS) {
        copy[1] = ids[0][copy[1]];
        copy[2] = ids[1][copy[2]];
    }
    assert_memory_equal(copy, row, words * 4);
}

static void open_data(struct data_fixture *f, struct dataset *d, enum shape shape, uint32_t *ids[2])
{
    assert_int_equal(dataset_open(d, f->objects, "data", &f->heap, &f->err), 0);
    ids[0] = ids[1] = NULL;
    for (uint32_t k = 0; shape == RATINGS && k < 2; k++)
        assert_int_equal(dataset_ids(d, k, &ids[k], &f->err), 0);
}

static void close_data(struct dataset *d, uint32_t *ids[2])
{
    for (uint32_t k = 0; k < 2; k++)
        heap_free(d->heap, ids[k]);
    dataset_close(d);
}

static void count_batch(const struct minibatch *m, enum shape shape, uint32_t *const ids[2],
                        unsigned char *seen)
{
    for (uint32_t r = 0; r < m->batch.rows; r++) {
        const uint32_t *example = m->batch.words + gust_at(&m->batch, r);
        uint32_t number = number_of(shape, example);

        assert_is_row(shape, example, number, ids);
        seen[number]++;
    }
}

/* Small blocks make lanes lie across blocks and shards even in a small data set. */
static void every_row_comes_back_once(void **state)
{
    struct data_fixture *f = *state;
    const uint32_t rows = 30000;

    for (enum shape shape = 0; shape < SHAPES; shape++) {
        unsigned char *seen = calloc(rows, 1);
        uint32_t *ids[2];
        struct minibatch m;
        struct dataset d;

        assert_int_equal(build(f, shape, rows, 0), 0);
        open_data(f, &d, shape, ids);
        minibatch_init(&m, &f->heap);
        assert_int_equal(d.rows[DATASET_TEST], rows / 10);
        assert_int_equal(d.rows[DATASET_TRAIN], rows - rows / 10);
        for (unsigned s = 0; s < DATASET_SPLITS; s++)
            for (uint32_t q = 0; q < d.lanes; q++) {
                assert_int_equal(dataset_rows(&d, s, q, 0, d.lane_rows[s][q], &m, &f->err), 0);
                for (uint32_t r = 0; r < m.batch.rows; r++) {
                    const uint32_t *e = m.batch.words + gust_at(&m.batch, r);

                    assert_int_equal(is_held_out(number_of(shape, e)), s == DATASET_TEST);
                    if (shape == RATINGS)
                        assert_true(e[1] >= d.key_first[q] && e[1] < d.key_first[q + 1]);
                }
                count_batch(&m, shape, ids, seen);
            }
        for (uint32_t i = 0; i < rows; i++)
            assert_int_equal(seen[i], 1);
        minibatch_release(&m);
        close_data(&d, ids);
        free(seen);
    }
}

static void fills_give_every_training_row_once_per_epoch(void **state)
{
    struct data_fixture *f = *state;
    const uint32_t rows = 20000;

    for (enum shape shape = 0; shape < SHAPES; shape++) {
        unsigned char *seen = calloc(rows, 1);
        uint32_t *ids[2];
        struct minibatch m;
        struct dataset d;
        struct pass p;
        struct heap scratch;
        uint32_t most = 0;

        assert_int_equal(build(f, shape, rows, 0), 0);
        open_data(f, &d, shape, ids);
        heap_init(&scratch, 0);
        minibatch_init(&m, &scratch);
        pass_init(&p, &f->heap, d.lanes, d.lane_rows[DATASET_TRAIN], 5, 700);
        for (uint32_t step = 0; p.epoch < 2; step++) {
            uint32_t n = 1 + step % 5;

            for (uint32_t r = 0; r < n; r++) {
                uint32_t lo, hi;

                lanes_of_rank(d.lanes, n, r, &lo, &hi);
                assert_int_equal(dataset_fill(&d, &p, lo, hi, &m, &f->err), 0);
                assert_int_equal(m.batch.rows, pass_count(&p, lo, hi));
                most = MAX(most, m.batch.rows);
                assert_true(scratch.peak_bytes <= dataset_minibatch_bytes(&d, most));
                count_batch(&m, shape, ids, seen);
            }
            pass_advance(&p);
        }
        for (uint32_t i = 0; i < rows; i++)
            assert_int_equal(seen[i], is_held_out(i) ? 0 : 2);
        pass_release(&p);
        minibatch_release(&m);
        close_data(&d, ids);
        free(seen);
    }
}

/* Rows of 4 bytes payload would need millions to fill a shard: long rows do it with few. */
static void lanes_may_lie_across_shards(void **state)
{
    struct data_fixture *f = *state;
    struct builder_options o = fixture_options(f);
    const uint32_t rows = 700, dense = 40000;
    uint32_t *row = calloc(dense + 1, 4);
    unsigned char *seen = calloc(rows, 1);
    struct builder *b;
    struct minibatch m;
    struct dataset d;
    struct pass p;

    o.lanes = 4;
    o.schema = (struct gust_data){ .dense = dense };
    assert_int_equal(builder_open(&b, &o, &f->err), 0);
    for (uint32_t i = 0; i < rows; i++) {
        float number = (float)i;

        memcpy(&row[0], &number, 4);
        memcpy(&row[dense], &number, 4);
        assert_int_equal(builder_add(b, DATASET_TRAIN, row, dense + 1, &f->err), 0);
    }
    assert_int_equal(builder_finish(b, &f->err), 0);
    builder_close(b);
    assert_int_equal(dataset_open(&d, f->objects, "data", &f->heap, &f->err), 0);
    assert_true(shard_count(d.manifest, DATASET_TRAIN) >= 2);
    minibatch_init(&m, &f->heap);
    pass_init(&p, &f->heap, d.lanes, d.lane_rows[DATASET_TRAIN], 5, 100);
    for (; p.epoch < 1; pass_advance(&p)) {
        assert_int_equal(dataset_fill(&d, &p, 0, 4, &m, &f->err), 0);
        for (uint32_t r = 0; r < m.batch.rows; r++) {
            const uint32_t *e = m.batch.words + gust_at(&m.batch, r);

            assert_int_equal(e[0], e[dense]);
            seen[(uint32_t)gust_f32(e)]++;
        }
    }
    assert_int_equal(dataset_range(&d, DATASET_TRAIN, 0, rows, &m, &f->err), 0);
    for (uint32_t r = 0; r < rows; r++)
        seen[(uint32_t)gust_f32(m.batch.words + gust_at(&m.batch, r))]++;
    for (uint32_t i = 0; i < rows; i++)
        assert_int_equal(seen[i], 2);
    pass_release(&p);
    minibatch_release(&m);
    dataset_close(&d);
    free(seen);
    free(row);
}

/* ---- the same bytes ---- */

struct digest {
    struct objects *objects;
    struct heap *heap;
    uint64_t value;
};

static int add_digest(void *arg, const char *name, const struct objects_stat *st UNUSED)
{
    struct digest *d = arg;
    struct slice view;

    assert_int_equal(objects_map(d->objects, name, &view, NULL), 0);
    for (size_t i = 0; i < view.size; i++)
        d->value = d->value * 31 + ((const unsigned char *)view.data)[i];
    for (; *name; name++)
        d->value = d->value * 31 + (unsigned char)*name;
    objects_unmap(d->objects, view);
    return 0;
}

static uint64_t digest(struct data_fixture *f)
{
    struct digest d = { f->objects, &f->heap, 0 };

    assert_int_equal(objects_list(f->objects, "", add_digest, &d, NULL), 0);
    return d.value;
}

static void bytes_do_not_depend_on_the_memory_of_the_builder(void **state)
{
    struct data_fixture *f = *state;

    for (enum shape shape = 0; shape < SHAPES; shape++) {
        uint64_t plenty, little;

        fixture_clear(f);
        assert_int_equal(build(f, shape, 20000, 0), 0);
        plenty = digest(f);
        fixture_clear(f);
        assert_int_equal(build(f, shape, 20000, 100 * KIB), 0);
        little = digest(f);
        assert_int_equal(plenty, little);
    }
}

static void keys_are_numbered_by_lane_and_by_frequency(void **state)
{
    struct data_fixture *f = *state;
    uint32_t *ids[2], counts[31] = { 0 };
    struct minibatch m;
    struct dataset d;

    assert_int_equal(build(f, RATINGS, 5000, 0), 0);
    open_data(f, &d, RATINGS, ids);
    assert_int_equal(d.data.key_rows[0], 97);
    assert_int_equal(d.data.key_rows[1], 31);
    assert_int_equal(d.data.dims, 97);
    minibatch_init(&m, &f->heap);
    assert_int_equal(dataset_range(&d, DATASET_TRAIN, 0, d.rows[DATASET_TRAIN], &m, NULL), 0);
    for (uint32_t r = 0; r < m.batch.rows; r++)
        counts[m.batch.words[3 * r + 2]]++;
    for (int i = 1; i < 31; i++)
        assert_true(counts[i] <= counts[i - 1]);
    minibatch_release(&m);
    close_data(&d, ids);
}

/* ---- what the builder refuses ---- */

static void an_existing_data_set_is_not_replaced_unasked(void **state)
{
    struct data_fixture *f = *state;
    struct builder_options o = fixture_options(f);
    struct builder *b = NULL;
    uint64_t before;

    assert_int_equal(build(f, RATINGS, 100, 0), 0);
    before = digest(f);
    o.schema = schema_of(RATINGS);
    assert_int_equal(builder_open(&b, &o, &f->err), E_EXISTS);
    assert_null(b);
    /* Asked, it stays as it was until the new one is finished. */
    o.replace = true;
    assert_int_equal(builder_open(&b, &o, &f->err), 0);
    assert_int_equal(builder_finish(b, &f->err), E_INVALID);
    assert_non_null(strstr(f->err.text, "no examples"));
    builder_close(b);
    assert_int_equal(digest(f), before);
}

static int count_object(void *arg, const char *name UNUSED, const struct objects_stat *st UNUSED)
{
    ++*(unsigned *)arg;
    return 0;
}

/* The new one grows beside the old one, and only one of them is left. */
static void a_replaced_data_set_is_whole_until_the_new_one_is(void **state)
{
    struct data_fixture *f = *state;
    unsigned before = 0;

    assert_int_equal(build(f, RATINGS, 100, 0), 0);
    objects_list(f->objects, "", count_object, &before, NULL);
    for (uint32_t round = 1; round <= 4; round++) {
        struct dataset old, new;
        struct minibatch m;
        unsigned after = 0;

        assert_int_equal(dataset_open(&old, f->objects, "data", &f->heap, &f->err), 0);
        minibatch_init(&m, &f->heap);
        assert_int_equal(dataset_range(&old, DATASET_TRAIN, 0, 10, &m, &f->err), 0);
        assert_int_equal(build(f, RATINGS, 100 + round, 0), 0);
        assert_int_equal(dataset_range(&old, DATASET_TRAIN, 0, 10, &m, &f->err), 0);
        assert_int_equal(dataset_open(&new, f->objects, "data", &f->heap, &f->err), 0);
        assert_int_equal(dataset_verify(&new, &f->err), 0);
        assert_int_equal(new.rows[0] + new.rows[1], 100 + round);
        assert_int_equal(new.manifest->generation, round % 2);
        objects_list(f->objects, "", count_object, &after, NULL);
        assert_int_equal(after, before);
        minibatch_release(&m);
        dataset_close(&old);
        dataset_close(&new);
    }
}

static void bad_examples_are_refused(void **state)
{
    struct data_fixture *f = *state;
    struct builder_options o = fixture_options(f);
    struct builder *b;
    float nan = NAN, inf = INFINITY, two = 2;
    uint32_t good[32], row[32], words;

    o.schema = schema_of(CLICKS);
    assert_int_equal(builder_open(&b, &o, &f->err), 0);
    words = make_row(CLICKS, 1, 1, good);
#define REFUSED(why)                                                                               \
    assert_int_equal(builder_add(b, DATASET_TRAIN, row, words, &f->err), E_INVALID);               \
    assert_non_null(strstr(f->err.text, why));                                                     \
    memcpy(row, good, sizeof(row))
    memcpy(row, good, sizeof(row));
    memcpy(&row[0], &nan, 4);
    REFUSED("label");
    memcpy(&row[0], &two, 4);
    REFUSED("label");
    memcpy(&row[1], &inf, 4);
    REFUSED("not finite");
    row[3] = 1000;
    REFUSED("out of range");
    words--;
    REFUSED("ends within");
    words += 2;
    REFUSED("longer");
    words--;
    assert_int_equal(builder_add(b, DATASET_TRAIN, row, words, &f->err), 0);
    assert_int_equal(builder_rows(b, DATASET_TRAIN), 1);
    builder_close(b);
}

static void nonsense_options_are_refused(void **state)
{
    struct data_fixture *f = *state;
    struct builder_options o = fixture_options(f);
    struct builder *b = NULL;

    o.schema = schema_of(RATINGS);
    o.lanes = 12;
    assert_int_equal(builder_open(&b, &o, &f->err), E_INVALID);
    o.lanes = LANES_MAX * 2;
    assert_int_equal(builder_open(&b, &o, &f->err), E_INVALID);
    o.lanes = 16;
    o.prefix = "../x";
    assert_int_equal(builder_open(&b, &o, &f->err), E_INVALID);
    o.prefix = "data";
    o.schema = (struct gust_data){ .classes = 2 };
    assert_int_equal(builder_open(&b, &o, &f->err), E_INVALID);
    o.schema = (struct gust_data){ .ones = 3 };
    assert_int_equal(builder_open(&b, &o, &f->err), E_INVALID);
    assert_null(b);
}

static void generated_data_has_the_promised_shape(void **state)
{
    struct data_fixture *f = *state;
    struct builder_options o = fixture_options(f);
    struct generate_options g = { .rows = 200000, .seed = 7, .held_out = 0.1 };
    uint64_t first;
    struct dataset d;

    assert_int_equal(generate_movielens(&o, &g, &f->err), 0);
    first = digest(f);
    assert_int_equal(dataset_open(&d, f->objects, "data", &f->heap, &f->err), 0);
    assert_int_equal(dataset_verify(&d, &f->err), 0);
    assert_int_equal(d.rows[0] + d.rows[1], 200000);
    assert_true(d.rows[1] > 19000 && d.rows[1] < 21000);
    assert_true(d.data.label_min == 0.5 && d.data.label_max == 5);
    assert_true(fabs(d.data.label_mean - 3.5) < 0.1);
    assert_true(fabs(d.manifest->oracle - 0.69) < 0.02);
    dataset_close(&d);
    fixture_clear(f);
    assert_int_equal(generate_movielens(&o, &g, &f->err), 0);
    assert_int_equal(digest(f), first);
    g.rows = 30000;
    o.replace = true;
    assert_int_equal(generate_criteo(&o, &g, &f->err), 0);
    assert_int_equal(dataset_open(&d, f->objects, "data", &f->heap, &f->err), 0);
    assert_int_equal(dataset_verify(&d, &f->err), 0);
    assert_int_equal(d.rows[0] + d.rows[1], 30000);
    assert_true(d.data.dense == 13 && d.data.ones == 26 && d.data.dims == 100000);
    assert_true(fabs(d.data.label_mean - 0.256) < 0.02);
    assert_true(d.manifest->oracle > 0.38 && d.manifest->oracle < 0.46);
    dataset_close(&d);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_row_comes_back_once),
        TEST(fills_give_every_training_row_once_per_epoch),
        TEST(lanes_may_lie_across_shards),
        TEST(bytes_do_not_depend_on_the_memory_of_the_builder),
        TEST(keys_are_numbered_by_lane_and_by_frequency),
        TEST(an_existing_data_set_is_not_replaced_unasked),
        TEST(a_replaced_data_set_is_whole_until_the_new_one_is),
        TEST(bad_examples_are_refused),
        TEST(nonsense_options_are_refused),
        TEST(generated_data_has_the_promised_shape),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
