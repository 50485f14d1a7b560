/* SPDX-License-Identifier: Apache-2.0 */
/* The status line: whatever the figures and the terminal, it fits and says what matters most. */
#include "support/test.h"

/* Commands are not in the library. */
#include "cli/progress.c"
#include "cli/text.c"

static const struct progress usual = { .step = 1234,
                                       .epoch = 3.42,
                                       .seconds = 12,
                                       .loss_train = 0.71234,
                                       .workers = 8,
                                       .rate = 12.3e6,
                                       .share = 0.342,
                                       .seconds_left = 23,
                                       .bill_usd = 0.000312 };

static const struct progress vast = { .step = UINT64_MAX,
                                      .epoch = 1e9,
                                      .seconds = 1e9,
                                      .loss_train = -1.2345678e-300,
                                      .workers = UINT32_MAX,
                                      .rate = 1e15,
                                      .share = 7,
                                      .seconds_left = 9e8,
                                      .bill_usd = 1e9 };

static const char *line(const struct progress *p, const char *metric, unsigned width)
{
    static char text[DISPLAY_WIDTH_MAX + 1];
    const struct status_line l = { .progress = p, .metric = metric, .quality = 0.75 };

    status_write(&l, width, text, sizeof(text));
    return text;
}

static void no_line_is_wider_than_asked(void **state)
{
    const struct progress *const all[] = { &usual, &vast };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        for (unsigned width = 1; width <= DISPLAY_WIDTH_MAX; width++)
            assert_true(strlen(line(all[i], "balanced-accuracy", width)) <= width);
}

static void eighty_columns_hold_all_but_the_bar(void **state)
{
    (void)state;
    assert_string_equal(
        line(&usual, NULL, 79),
        " 34 %  epoch 3.4  step 1,234  loss 0.7123  8 fn  12.3 M/s  $0.000312  23 s left");
}

static void wide_terminals_show_a_bar_and_the_quality(void **state)
{
    (void)state;
    assert_string_equal(line(&usual, "rmse", 140),
                        "[#####...........]   34 %  epoch 3.4  step 1,234  loss 0.7123  rmse 0.75"
                        "  8 fn  12.3 M/s  $0.000312  23 s left");
}

static void narrow_terminals_keep_loss_and_time_left(void **state)
{
    (void)state;
    assert_string_equal(line(&usual, "rmse", 24), "loss 0.7123  23 s left");
    assert_string_equal(line(&usual, "rmse", 12), "loss 0.7123");
    assert_string_equal(line(&usual, "rmse", 5), "");
}

static void what_is_not_known_is_not_shown(void **state)
{
    struct progress p = usual;

    (void)state;
    p.share = 0;
    p.rate = 0;
    p.seconds_left = INFINITY;
    assert_string_equal(line(&p, NULL, 100),
                        "epoch 3.4  step 1,234  loss 0.7123  8 fn  $0.000312");
}

static void long_times_are_told_by_the_clock(void **state)
{
    struct progress p = usual;

    (void)state;
    p.seconds_left = 59.4;
    assert_non_null(strstr(line(&p, NULL, 100), "59 s left"));
    p.seconds_left = 200;
    assert_non_null(strstr(line(&p, NULL, 100), "3:20 left"));
    p.seconds_left = 7510;
    assert_non_null(strstr(line(&p, NULL, 100), "2:05:10 left"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_line_is_wider_than_asked),
        cmocka_unit_test(eighty_columns_hold_all_but_the_bar),
        cmocka_unit_test(wide_terminals_show_a_bar_and_the_quality),
        cmocka_unit_test(narrow_terminals_keep_loss_and_time_left),
        cmocka_unit_test(what_is_not_known_is_not_shown),
        cmocka_unit_test(long_times_are_told_by_the_clock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
