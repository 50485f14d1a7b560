/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include <stdbool.h>

#include "base/quantity.h"

static void counts_are_whole_with_k_m_and_g(void **state)
{
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {
        { "0", 0 },           { "6250", 6250 },
        { "50k", 50000 },     { "1.5M", 1500000 },
        { "2G", 2000000000 }, { "1e6", 1000000 },
        { "0.001k", 1 },      { "18446744073709551615", UINT64_MAX },
    };
    static const char *const bad[] = { "",     "-1",   "1.5",  "k",     "1kk",  "50 k",
                                       "0x10", "1e-3", "many", "1,000", "1e30", "nan" };
    uint64_t v = 7;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        assert_true(quantity_count(good[i].text, &v));
        assert_int_equal(v, good[i].value);
    }
    v = 7;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        if (quantity_count(bad[i], &v))
            fail_msg("'%s' was read as a count", bad[i]);
    assert_int_equal(v, 7);
}

static void durations_fall_from_left_to_right(void **state)
{
    static const struct {
        const char *text;
        double seconds;
    } good[] = {
        { "90", 90 },     { "90s", 90 },  { "250ms", 0.25 },  { "15m", 900 },
        { "15min", 900 }, { "1h", 3600 }, { "2h30m", 9000 },  { "1.5h", 5400 },
        { "7d", 604800 }, { "10 s", 10 }, { "1h1m1s", 3661 }, { "0", 0 },
    };
    static const char *const bad[] = {
        "", "s", "1x", "30m2h", "1h1h", "2h30", "-5s", "1 h 2", "inf"
    };
    double v = 7;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        assert_true(quantity_duration(good[i].text, &v));
        assert_true(v == good[i].seconds);
    }
    v = 7;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        if (quantity_duration(bad[i], &v))
            fail_msg("'%s' was read as a duration", bad[i]);
    assert_true(v == 7);
}

static void sizes_are_powers_of_1024(void **state)
{
    static const struct {
        const char *text;
        double bytes;
    } good[] = {
        { "442MB", 442.0 * MIB }, { "1769", 1769.0 * MIB }, { "1.5GB", 1536.0 * MIB },
        { "64 KiB", 65536 },      { "2GiB", 2048.0 * MIB }, { "100B", 100 },
    };
    static const char *const bad[] = { "", "MB", "1XB", "-1MB", "1MBs", "1mb", "1 2" };
    double v = 7;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        assert_true(quantity_size(good[i].text, (double)MIB, &v));
        assert_true(v == good[i].bytes);
    }
    v = 7;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        if (quantity_size(bad[i], (double)MIB, &v))
            fail_msg("'%s' was read as a size", bad[i]);
    assert_true(v == 7);
}

static void money_is_dollars(void **state)
{
    static const char *const bad[] = { "", "$", "-1", "1EUR", "$1USD", "1$", "$$1" };
    double v = 7;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        if (quantity_money(bad[i], &v))
            fail_msg("'%s' was read as money", bad[i]);
    assert_true(v == 7);
    assert_true(quantity_money("$0.50", &v) && v == 0.5);
    assert_true(quantity_money("12", &v) && v == 12);
    assert_true(quantity_money("0.25 USD", &v) && v == 0.25);
}

static void what_is_written_is_read_back(void **state)
{
    static const double seconds[] = { 0, 0.25, 1, 90, 3600, 9000, 86400, 3661.5 };
    static const double sizes[] = { 100, 2048, 442.0 * MIB, 10240.0 * MIB };
    static const double usd[] = { 0, 0.5, 12, 0.000312 };
    char text[QUANTITY_TEXT_MAX];
    double v;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(seconds); i++) {
        quantity_write_duration(seconds[i], text);
        assert_true(quantity_duration(text, &v) && v == seconds[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        quantity_write_size(sizes[i], text);
        assert_true(quantity_size(text, 1, &v) && v == sizes[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(usd); i++) {
        quantity_write_money(usd[i], text);
        assert_true(quantity_money(text, &v) && v == usd[i]);
    }
    quantity_write_duration(9000, text);
    assert_string_equal(text, "2h30m");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_whole_with_k_m_and_g),
        cmocka_unit_test(durations_fall_from_left_to_right),
        cmocka_unit_test(sizes_are_powers_of_1024),
        cmocka_unit_test(money_is_dollars),
        cmocka_unit_test(what_is_written_is_read_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
