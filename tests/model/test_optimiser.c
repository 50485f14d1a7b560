/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optimisers on made-up gradients: the rules against an independent computation in double
 * precision, and the promise that making up missed steps changes no bit of a result.
 */
#include "support/test.h"

#include "base/random.h"
#include "model/optimiser.h"

#define ROWS 157

static const char *const rules[] = {
    "sgd", "momentum", "nesterov", "adam", "adagrad", "adagrad-row"
};
static const char *const strengths[] = { "", "l2: 0.02", "l1: 0.002", "l1: 0.001\nl2: 0.03" };

/* One sparse group, its parameters, and the sums of a step. */
struct bed {
    struct heap heap;
    struct gust_group group;
    struct gust_view view;
    struct optimiser_config config;
    struct optimiser optimiser;
    float *sums;
    uint64_t touched[4];
    uint32_t stride, shift;
    uint64_t units;
};

static void bed_open(struct bed *b, uint32_t cols, const char *rule, const char *more)
{
    struct error err = { 0 };
    struct props p;
    char text[256];
    size_t floats;

    *b = (struct bed){ .group = { .name = "w",
                                  .rows = ROWS,
                                  .cols = cols,
                                  .sparse = true,
                                  .index = GUST_INDEX_LISTS },
                       .stride = gust_stride(cols) };
    b->shift = gust_unit_shift(b->stride);
    b->units = (ROWS >> b->shift) + 1;
    floats = (b->units << b->shift) * b->stride;
    heap_init(&b->heap, 0);
    b->view = (struct gust_view){ heap_alloc(&b->heap, floats * 4), 0, ROWS, b->stride };
    b->sums = heap_alloc(&b->heap, floats * 4);
    for (uint64_t r = 0; r < ROWS; r++)
        for (uint32_t c = 0; c < cols; c++)
            gust_row(&b->view, r)[c] = r % 5 == 0 ? 0 : random_unit(random_at(1, r, c, 0)) - 0.5f;
    props_init(&p, &b->heap);
    snprintf(text, sizeof(text), "optimiser: %s\naccumulator: 0.1\n%s", rule, more);
    assert_int_equal(props_parse(&p, slice_str(text), &err), 0);
    assert_int_equal(optimiser_config_read(&b->config, &p, &err), 0);
    assert_int_equal(
        optimiser_open(&b->optimiser, &b->heap, &b->config, &b->group, &b->view, 1, &err), 0);
}

static void bed_close(struct bed *b)
{
    optimiser_close(&b->optimiser);
    heap_release(&b->heap);
}

static double rate_at(uint64_t step)
{
    return 0.1 / (1 + 0.05 * (double)step);
}

/* The gradient of one parameter in a step: one unit in six is touched. */
static float sum_at(const struct bed *b, uint64_t step, uint64_t row, uint32_t c)
{
    if (c >= b->group.cols || random_at(2, step, row >> b->shift, 0) % 6)
        return 0;
    return 4 * random_unit(random_at(3, step, row, c)) - 2;
}

static void fill_sums(struct bed *b, uint64_t step)
{
    memset(b->touched, 0, sizeof(b->touched));
    for (uint64_t r = 0; r < ROWS; r++) {
        uint64_t unit = r >> b->shift;

        for (uint32_t c = 0; c < b->stride; c++)
            b->sums[r * b->stride + c] = sum_at(b, step, r, c);
        if (random_at(2, step, unit, 0) % 6 == 0)
            b->touched[unit / 64] |= (uint64_t)1 << (unit % 64);
    }
}

static void step_bed(struct bed *b, uint64_t step, bool masked)
{
    struct optimiser_piece piece = { .end = ROWS, .sums = b->sums };

    fill_sums(b, step);
    piece.touched = masked ? b->touched : NULL;
    optimiser_begin(&b->optimiser, rate_at(step), 8);
    optimiser_apply(&b->optimiser, &piece);
    optimiser_end(&b->optimiser);
}

static void assert_same_beds(struct bed *a, struct bed *b)
{
    size_t floats_a, floats_b;
    float *state_a, *state_b;

    optimiser_finish(&a->optimiser);
    optimiser_finish(&b->optimiser);
    state_a = optimiser_state(&a->optimiser, 0, &floats_a);
    state_b = optimiser_state(&b->optimiser, 0, &floats_b);
    assert_memory_equal(a->view.rows, b->view.rows, ROWS * a->stride * 4);
    assert_int_equal(floats_a, floats_b);
    assert_memory_equal(state_a, state_b, floats_a * 4);
}

static void missed_steps_are_made_up_bit_for_bit(void **state UNUSED)
{
    static const uint32_t cols[] = { 1, 3, 5, 20 };

    for (unsigned i = 0; i < ARRAY_SIZE(cols) * ARRAY_SIZE(rules) * ARRAY_SIZE(strengths); i++) {
        const char *rule = rules[i % ARRAY_SIZE(rules)];
        const char *more = strengths[i / ARRAY_SIZE(rules) % ARRAY_SIZE(strengths)];
        uint32_t width = cols[i / ARRAY_SIZE(rules) / ARRAY_SIZE(strengths)];
        struct bed lazy, dense, mixed;

        bed_open(&lazy, width, rule, more);
        bed_open(&dense, width, rule, more);
        bed_open(&mixed, width, rule, more);
        for (uint64_t step = 0; step < 60; step++) {
            step_bed(&lazy, step, true);
            step_bed(&dense, step, false);
            step_bed(&mixed, step, step % 7 != 3);
            if (step % 11 == 5)
                optimiser_finish(&mixed.optimiser);
        }
        assert_same_beds(&lazy, &dense);
        assert_same_beds(&mixed, &dense);
        bed_close(&lazy);
        bed_close(&dense);
        bed_close(&mixed);
    }
}

static void a_row_may_lag_for_thousands_of_steps(void **state UNUSED)
{
    struct bed lazy, dense;

    bed_open(&lazy, 3, "adam", "l2: 0.001");
    bed_open(&dense, 3, "adam", "l2: 0.001");
    for (uint64_t step = 0; step < 10000; step++) {
        struct optimiser_piece none = { .end = ROWS, .sums = lazy.sums, .touched = lazy.touched };
        struct optimiser_piece all = { .end = ROWS, .sums = dense.sums };

        optimiser_begin(&lazy.optimiser, rate_at(step), 8);
        optimiser_apply(&lazy.optimiser, &none);
        optimiser_end(&lazy.optimiser);
        optimiser_begin(&dense.optimiser, rate_at(step), 8);
        optimiser_apply(&dense.optimiser, &all);
        optimiser_end(&dense.optimiser);
    }
    assert_same_beds(&lazy, &dense);
    bed_close(&lazy);
    bed_close(&dense);
}

/* Pieces arrive in any order; a piece's mask begins at its own first unit. */
static void pieces_add_up_to_the_whole(void **state UNUSED)
{
    for (unsigned i = 0; i < ARRAY_SIZE(rules); i++) {
        struct bed whole, parts;

        bed_open(&whole, 2, rules[i], "l2: 0.01");
        bed_open(&parts, 2, rules[i], "l2: 0.01");
        for (uint64_t step = 0; step < 30; step++) {
            uint64_t cut = (1 + step % 9) << parts.shift, unit = cut >> parts.shift;
            uint64_t later[4] = { 0 };

            step_bed(&whole, step, true);
            fill_sums(&parts, step);
            for (uint64_t u = unit; u < parts.units; u++)
                later[(u - unit) / 64] |= (parts.touched[u / 64] >> (u % 64) & 1)
                                          << ((u - unit) % 64);
            optimiser_begin(&parts.optimiser, rate_at(step), 8);
            optimiser_apply(&parts.optimiser,
                            &(struct optimiser_piece){ .first = cut,
                                                       .end = ROWS,
                                                       .sums = parts.sums + cut * parts.stride,
                                                       .touched = later });
            optimiser_apply(&parts.optimiser,
                            &(struct optimiser_piece){
                                .end = cut, .sums = parts.sums, .touched = parts.touched });
            optimiser_end(&parts.optimiser);
        }
        assert_same_beds(&whole, &parts);
        bed_close(&whole);
        bed_close(&parts);
    }
}

/* Before a batch reads rows they are as if every step had been swept. */
static void preparing_brings_the_rows_of_a_batch_up_to_date(void **state UNUSED)
{
    const struct gust_data data = { .ones = 2, .sparse = true, .dims = ROWS };
    const float label = 0, value = 1;
    uint32_t words[6] = { 0, 3, 150, 1, 77, 0 };
    struct gust_batch batch = { .data = &data, .words = words, .row_words = 6, .rows = 1 };
    struct bed lazy, dense;

    memcpy(words, &label, 4);
    memcpy(words + 5, &value, 4);
    bed_open(&lazy, 20, "momentum", "l2: 0.1");
    bed_open(&dense, 20, "momentum", "l2: 0.1");
    for (uint64_t step = 0; step < 40; step++) {
        step_bed(&lazy, step, true);
        step_bed(&dense, step, false);
    }
    optimiser_prepare(&lazy.optimiser, &batch);
    assert_true(lazy.optimiser.groups[0].seen[3] == 40);
    for (int i = 0; i < 3; i++) {
        uint64_t row = (uint64_t[]){ 3, 150, 77 }[i];

        assert_memory_equal(gust_row(&lazy.view, row), gust_row(&dense.view, row), 20 * 4);
    }
    assert_memory_not_equal(lazy.view.rows, dense.view.rows, ROWS * 24 * 4);
    batch.row_words = 0; /* the same example many times: a batch that reads most of the rows */
    batch.rows = ROWS;
    optimiser_prepare(&lazy.optimiser, &batch);
    assert_memory_equal(lazy.view.rows, dense.view.rows, ROWS * 24 * 4);
    bed_close(&lazy);
    bed_close(&dense);
}

static void a_restored_optimiser_goes_on_with_the_same_bits(void **state UNUSED)
{
    for (unsigned i = 0; i < ARRAY_SIZE(rules); i++) {
        struct bed through, saved;
        size_t floats;
        float *state_through, *state_saved;

        bed_open(&through, 5, rules[i], "l2: 0.01");
        bed_open(&saved, 5, rules[i], "l2: 0.01");
        for (uint64_t step = 0; step < 20; step++)
            step_bed(&through, step, true);
        optimiser_finish(&through.optimiser);
        state_through = optimiser_state(&through.optimiser, 0, &floats);
        state_saved = optimiser_state(&saved.optimiser, 0, &floats);
        memcpy(saved.view.rows, through.view.rows, ROWS * through.stride * 4);
        memcpy(state_saved, state_through, floats * 4);
        optimiser_restored(&saved.optimiser, 20);
        for (uint64_t step = 20; step < 40; step++) {
            step_bed(&through, step, true);
            step_bed(&saved, step, true);
        }
        assert_same_beds(&through, &saved);
        bed_close(&through);
        bed_close(&saved);
    }
}

/* ---- the rules, once more, in double precision ---------------------------------------------- */

struct cell {
    double w, m, v;
};

static double towards_zero(double w, double by)
{
    return w > by ? w - by : w < -by ? w + by : 0;
}

/* One step of one parameter; SQUARES is what adagrad-row adds for its row. */
static void expect_cell(struct cell *c, const char *rule, double g, double squares, double rate,
                        double l1, uint64_t step)
{
    double by = rate * l1;

    if (strcmp(rule, "sgd") == 0) {
        c->w -= rate * g;
    } else if (strcmp(rule, "momentum") == 0) {
        c->m = 0.9 * c->m + g;
        c->w -= rate * c->m;
    } else if (strcmp(rule, "nesterov") == 0) {
        c->m = 0.9 * c->m + g;
        c->w -= rate * (g + 0.9 * c->m);
    } else if (strcmp(rule, "adam") == 0) {
        c->m = 0.9 * c->m + 0.1 * g;
        c->v = 0.999 * c->v + 0.001 * g * g;
        c->w -= rate * (c->m / (1 - pow(0.9, (double)step + 1))) /
                (sqrt(c->v / (1 - pow(0.999, (double)step + 1))) + 1e-8);
    } else {
        c->v += squares;
        c->w -= rate / sqrt(c->v + 1e-10) * g;
        by = rate / sqrt(c->v + 1e-10) * l1;
    }
    c->w = towards_zero(c->w, by);
}

static void expect_step(const struct bed *b, struct cell *cells, const char *rule, uint64_t step,
                        double scale, double l1, double l2)
{
    uint32_t cols = b->group.cols;

    for (uint64_t r = 0; r < ROWS; r++) {
        double g[8], squares = 0;

        for (uint32_t c = 0; c < cols; c++) {
            g[c] = scale * (double)sum_at(b, step, r, c) + l2 * cells[r * cols + c].w;
            squares += g[c] * g[c] / cols;
        }
        for (uint32_t c = 0; c < cols; c++)
            expect_cell(&cells[r * cols + c], rule, g[c],
                        strcmp(rule, "adagrad-row") == 0 ? squares : g[c] * g[c], rate_at(step), l1,
                        step);
    }
}

/* Strengths are per example: with sums they count for each of the eight examples. */
static void check_rule(const char *rule, bool mean)
{
    struct bed b;
    struct cell cells[ROWS * 3];

    bed_open(&b, 3, rule,
             mean ? "reduce: mean\nl1: 0.001\nl2: 0.03" : "reduce: sum\nl1: 0.001\nl2: 0.03");
    for (uint64_t i = 0; i < ARRAY_SIZE(cells); i++)
        cells[i] = (struct cell){ .w = (double)gust_row(&b.view, i / 3)[i % 3],
                                  .v = strstr(rule, "adagrad") ? 0.1 : 0 };
    for (uint64_t step = 0; step < 100; step++) {
        step_bed(&b, step, true);
        expect_step(&b, cells, rule, step, mean ? 1.0 / 8 : 1, mean ? 0.001 : 0.008,
                    mean ? 0.03 : 0.24);
    }
    optimiser_finish(&b.optimiser);
    for (uint64_t i = 0; i < ARRAY_SIZE(cells); i++)
        assert_true(fabs((double)gust_row(&b.view, i / 3)[i % 3] - cells[i].w) < 2e-4);
    bed_close(&b);
}

static void rules_follow_their_formulas(void **state UNUSED)
{
    for (unsigned i = 0; i < ARRAY_SIZE(rules); i++) {
        check_rule(rules[i], true);
        check_rule(rules[i], false);
    }
}

static void biases_are_not_regularised(void **state UNUSED)
{
    struct bed b;
    float before;

    bed_open(&b, 1, "sgd", "l1: 0.1\nl2: 0.5");
    b.optimiser.groups[0].group.unregularised = true;
    before = b.view.rows[7];
    memset(b.sums, 0, ROWS * 4);
    optimiser_begin(&b.optimiser, 0.1, 1);
    optimiser_apply(&b.optimiser, &(struct optimiser_piece){ .end = ROWS, .sums = b.sums });
    optimiser_end(&b.optimiser);
    assert_true(before != 0 && b.view.rows[7] == before);
    bed_close(&b);
}

static void each_optimiser_says_whether_untouched_rows_move(void **state UNUSED)
{
    static const bool rolls[] = { false, true, true, true, false, false };
    struct bed b;

    for (unsigned i = 0; i < ARRAY_SIZE(rules); i++) {
        bed_open(&b, 1, rules[i], "");
        assert_true(optimiser_moves_untouched(&b.config, &b.group) == rolls[i]);
        assert_true((b.optimiser.groups[0].seen != NULL) == rolls[i]);
        bed_close(&b);
        bed_open(&b, 1, rules[i], "l2: 0.1");
        assert_true(optimiser_moves_untouched(&b.config, &b.group));
        b.group.unregularised = true;
        assert_true(optimiser_moves_untouched(&b.config, &b.group) == rolls[i]);
        b.group.scope = GUST_PRIVATE;
        assert_false(optimiser_moves_untouched(&b.config, &b.group));
        assert_int_equal(optimiser_state_bytes(&b.config, &b.group), 0);
        bed_close(&b);
    }
}

static void what_an_optimiser_takes_is_what_it_said(void **state UNUSED)
{
    for (unsigned i = 0; i < ARRAY_SIZE(rules); i++) {
        struct error err = { 0 };
        struct optimiser second;
        struct bed b;
        size_t before;

        bed_open(&b, 20, rules[i], "l2: 0.1");
        before = b.heap.used_bytes;
        assert_int_equal(optimiser_open(&second, &b.heap, &b.config, &b.group, &b.view, 1, &err),
                         0);
        assert_int_equal(b.heap.used_bytes - before, optimiser_state_bytes(&b.config, &b.group));
        optimiser_close(&second);
        assert_int_equal(b.heap.used_bytes, before);
        b.heap.limit_bytes = before + 64;
        assert_int_equal(optimiser_open(&second, &b.heap, &b.config, &b.group, &b.view, 1, &err),
                         E_MEMORY);
        assert_int_equal(b.heap.used_bytes, before);
        bed_close(&b);
    }
}

static void updates_are_added(void **state UNUSED)
{
    struct bed b;
    float before;

    bed_open(&b, 1, "sgd", "l2: 0.3");
    optimiser_close(&b.optimiser);
    optimiser_config_updates(&b.config, true);
    assert_int_equal(optimiser_open(&b.optimiser, &b.heap, &b.config, &b.group, &b.view, 1, NULL),
                     0);
    before = b.view.rows[3];
    b.sums[3] = 2;
    optimiser_begin(&b.optimiser, 0.125, 4);
    optimiser_apply(&b.optimiser, &(struct optimiser_piece){ .end = ROWS, .sums = b.sums });
    optimiser_end(&b.optimiser);
    assert_true(b.view.rows[3] == before + 0.5f);
    bed_close(&b);
}

static void bad_settings_are_named(void **state UNUSED)
{
    static const struct {
        const char *key, *value;
    } bad[] = {
        { "optimiser", "newton" }, { "reduce", "median" },
        { "momentum", "1" },       { "l2", "-1" },
        { "adam-decay", "1.5" },   { "epsilon", "small" },
        { "accumulator", "-0.1" }, { "schedule", "random" },
        { "l1", "nan" },           { "kernels", "abacus" },
    };

    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
        struct optimiser_config c;
        struct error err = { 0 };
        struct props p;
        struct heap h;

        heap_init(&h, 0);
        props_init(&p, &h);
        props_set(&p, bad[i].key, bad[i].value);
        assert_int_equal(optimiser_config_read(&c, &p, &err), E_INVALID);
        assert_non_null(strstr(err.text, bad[i].key));
        assert_non_null(strstr(err.text, bad[i].value));
        heap_release(&h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missed_steps_are_made_up_bit_for_bit),
        cmocka_unit_test(a_row_may_lag_for_thousands_of_steps),
        cmocka_unit_test(pieces_add_up_to_the_whole),
        cmocka_unit_test(preparing_brings_the_rows_of_a_batch_up_to_date),
        cmocka_unit_test(a_restored_optimiser_goes_on_with_the_same_bits),
        cmocka_unit_test(rules_follow_their_formulas),
        cmocka_unit_test(biases_are_not_regularised),
        cmocka_unit_test(each_optimiser_says_whether_untouched_rows_move),
        cmocka_unit_test(what_an_optimiser_takes_is_what_it_said),
        cmocka_unit_test(updates_are_added),
        cmocka_unit_test(bad_settings_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
