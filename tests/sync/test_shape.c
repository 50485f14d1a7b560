/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "base/random.h"
#include "sync/shape.h"

static struct gust_group group(uint64_t rows, uint32_t cols, bool sparse)
{
    return (struct gust_group){ .name = "g", .rows = rows, .cols = cols, .sparse = sparse };
}

static void random_shape(struct shape *s, uint64_t seed)
{
    static const uint32_t widths[] = { 1, 2, 3, 4, 5, 8, 10, 20, 22, 64 };
    struct gust_group groups[5];
    unsigned count = 1 + (unsigned)(random_at(seed, 0, 0, 0) % 5);

    for (unsigned g = 0; g < count; g++)
        groups[g] = group(1 + random_at(seed, 1, g, 0) % 5000,
                          widths[random_at(seed, 2, g, 0) % ARRAY_SIZE(widths)],
                          random_at(seed, 3, g, 0) & 1);
    assert_int_equal(shape_init(s, GUST_GRADIENT, groups, count, NULL), 0);
}

static void pieces_cover_all_cells_in_order_and_start_on_cache_lines(void **state UNUSED)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        unsigned m = 1 + (unsigned)(random_at(seed, 9, 0, 0) % 40);
        size_t expected = 0, floats = 0;
        struct shape s;

        random_shape(&s, seed);
        for (unsigned i = 0; i < m; i++) {
            size_t first, last;

            shape_piece(&s, m, i, &first, &last);
            assert_int_equal(first, expected);
            assert_true(last >= first);
            assert_int_equal(shape_float_of(&s, first) * sizeof(float) % CACHE_LINE, 0);
            assert_int_equal(shape_piece_floats(&s, m, i),
                             shape_float_of(&s, last) - shape_float_of(&s, first));
            floats += shape_piece_floats(&s, m, i);
            expected = last;
        }
        assert_int_equal(expected, s.cells);
        assert_int_equal(floats, s.floats);
    }
}

static void large_pieces_are_about_equal(void **state UNUSED)
{
    struct gust_group g = group(10681, 22, true);
    struct shape s;

    assert_int_equal(shape_init(&s, GUST_GRADIENT, &g, 1, NULL), 0);
    for (unsigned i = 0; i < 8; i++) {
        double share = (double)shape_piece_floats(&s, 8, i) / (double)s.floats;

        assert_true(share > 0.11 && share < 0.14);
    }
}

static void spans_partition_the_rows_of_every_group(void **state UNUSED)
{
    for (uint64_t seed = 0; seed < 100; seed++) {
        uint64_t next_row[GUST_GROUPS_MAX] = { 0 };
        struct shape_span span;
        struct shape s;

        random_shape(&s, seed);
        for (unsigned i = 0; i < 7; i++) {
            size_t first, last;

            shape_piece(&s, 7, i, &first, &last);
            for (size_t at = first; shape_span(&s, at, last, &span); at += span.cells) {
                unsigned g = span.group->group;

                assert_int_equal(span.row, next_row[g]);
                assert_int_equal(span.at, span.group->float_first + span.row * span.group->stride);
                assert_true(span.rows <= (uint64_t)span.units << span.group->unit_shift);
                next_row[g] += span.rows;
            }
        }
        for (unsigned i = 0; i < s.count; i++)
            assert_int_equal(next_row[s.groups[i].group], s.groups[i].rows);
    }
}

static void private_and_statistic_groups_are_left_out_of_gradients(void **state UNUSED)
{
    struct gust_group groups[3] = { group(5, 1, false), group(6, 1, false), group(7, 1, false) };
    struct shape s;

    groups[0].scope = GUST_PRIVATE;
    groups[2].statistic = true;
    assert_int_equal(shape_init(&s, GUST_GRADIENT, groups, 3, NULL), 0);
    assert_int_equal(s.count, 1);
    assert_int_equal(s.groups[0].group, 1);
    assert_int_equal(shape_init(&s, GUST_STATISTIC, groups, 3, NULL), 0);
    assert_int_equal(s.count, 1);
    assert_int_equal(s.groups[0].group, 2);
}

static void nothing_to_exchange_is_refused(void **state UNUSED)
{
    struct gust_group g = group(5, 1, false);
    struct error err = { 0 };
    struct shape s;

    g.scope = GUST_PRIVATE;
    assert_int_equal(shape_init(&s, GUST_GRADIENT, &g, 1, &err), E_INVALID);
    assert_true(err.text[0] != 0);
    g = group(UINT64_MAX / 8, 16, false);
    assert_int_equal(shape_init(&s, GUST_GRADIENT, &g, 1, &err), E_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_cover_all_cells_in_order_and_start_on_cache_lines),
        cmocka_unit_test(large_pieces_are_about_equal),
        cmocka_unit_test(spans_partition_the_rows_of_every_group),
        cmocka_unit_test(private_and_statistic_groups_are_left_out_of_gradients),
        cmocka_unit_test(nothing_to_exchange_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
