/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "base/json_read.h"

static struct heap heap;
static struct json_reader reader;

static struct json_reader *read_text(const char *text)
{
    json_read_release(&reader);
    json_read_init(&reader, &heap, slice_str(text), 64);
    return &reader;
}

static void objects_and_arrays_are_walked_in_their_order(void **state)
{
    struct json_reader *r = read_text(" {\"a\" : 7, \"b\":[1,2 ,3], \"c\":\"x\"}\n");
    uint64_t sum = 0;

    (void)state;
    json_enter(r, '{');
    assert_string_equal(json_next_key(r), "a");
    assert_int_equal(json_read_u64(r), 7);
    assert_string_equal(json_next_key(r), "b");
    json_enter(r, '[');
    while (json_next(r))
        sum = sum * 10 + json_read_u64(r);
    assert_int_equal(sum, 123);
    assert_string_equal(json_next_key(r), "c");
    assert_string_equal(json_read_str(r), "x");
    assert_null(json_next_key(r));
    assert_true(json_done(r));
}

static void strings_are_decoded(void **state)
{
    struct json_reader *r = read_text("\"q\\\"\\\\\\/\\n\\u0041\\u00e9\\u20ac\\ud83d\\ude00\"");

    (void)state;
    assert_string_equal(json_read_str(r), "q\"\\/\nA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    assert_true(json_done(r));
}

static void any_value_is_skipped(void **state)
{
    static const char *const good[] = { "1",       "-0.5e+10", "\"a\"",
                                        "true",    "false",    "null",
                                        "{}",      "[]",       "0",
                                        "[[],{}]", "[1,2]",    "{\"a\":[{\"b\":null}],\"c\":\"d\"}",
                                        " [ ] " };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        struct json_reader *r = read_text(good[i]);

        json_skip(r);
        if (!json_done(r))
            fail_msg("'%s': %s", good[i], r->failed);
    }
}

static void what_is_not_json_is_refused(void **state)
{
    static const char *const bad[] = { "",
                                       "{",
                                       "[1",
                                       "[1,]",
                                       "{\"a\":1,}",
                                       "{a:1}",
                                       "{\"a\" 1}",
                                       "01",
                                       "-",
                                       "1.",
                                       "1e",
                                       ".5",
                                       "+1",
                                       "tru",
                                       "nul",
                                       "\"abc",
                                       "\"\n\"",
                                       "\"\\x\"",
                                       "\"\\u12\"",
                                       "\"\\ud800\"",
                                       "\"\\udc00\"",
                                       "1 2",
                                       "\"\\ud800\\u0041\"",
                                       "]",
                                       "}",
                                       "[1}",
                                       "{\"a\":1]",
                                       "{1:2}",
                                       "\"\\u0000\"",
                                       "[1 2]" };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct json_reader *r = read_text(bad[i]);

        json_skip(r);
        if (json_done(r))
            fail_msg("'%s' was accepted", bad[i]);
    }
}

static void numbers_have_their_limits(void **state)
{
    (void)state;
    assert_true(json_read_u64(read_text("18446744073709551615")) == UINT64_MAX);
    assert_null(reader.failed);
    json_read_u64(read_text("18446744073709551616"));
    assert_non_null(reader.failed);
    json_read_u64(read_text("1.5"));
    assert_non_null(reader.failed);
    json_read_u64(read_text("-1"));
    assert_non_null(reader.failed);
    json_read_u64(read_text("\"1\""));
    assert_non_null(reader.failed);
}

static void depth_and_length_are_bounded(void **state)
{
    char deep[2 * JSON_MAX_DEPTH], text[80];

    (void)state;
    memset(deep, '[', sizeof(deep) - 1);
    deep[sizeof(deep) - 1] = 0;
    json_skip(read_text(deep));
    assert_string_equal(reader.failed, "too many levels");
    memset(text, 'x', sizeof(text));
    text[0] = text[sizeof(text) - 2] = '"';
    text[sizeof(text) - 1] = 0;
    assert_string_equal(json_read_str(read_text(text)), "");
    assert_string_equal(reader.failed, "a string is too long");
}

static void after_a_failure_nothing_is_read(void **state)
{
    struct json_reader *r = read_text("{\"a\" 1, \"b\": 2}");

    (void)state;
    json_enter(r, '{');
    assert_null(json_next_key(r));
    assert_null(json_next_key(r));
    assert_int_equal(json_read_u64(r), 0);
    assert_false(json_next(r));
    assert_string_equal(r->failed, "a colon is expected");
    assert_int_equal(json_read_place(r), 5);
}

static void real_numbers_and_truth_values_are_read(void **state)
{
    struct json_reader *r = read_text("[-1.5e3, 0, 12, null, true ,false]");
    static const char *const not_numbers[] = { "\"1\"", "[1]", "true", "-", "1.", "nul", "" };

    (void)state;
    json_enter(r, '[');
    assert_true(json_next(r) && json_read_f64(r) == -1500);
    assert_true(json_next(r) && json_read_f64(r) == 0);
    assert_true(json_next(r) && json_read_f64(r) == 12);
    assert_true(json_next(r) && isnan(json_read_f64(r)));
    assert_true(json_next(r) && json_read_bool(r));
    assert_true(json_next(r) && !json_read_bool(r));
    assert_false(json_next(r));
    assert_true(json_done(r));
    for (size_t i = 0; i < ARRAY_SIZE(not_numbers); i++) {
        r = read_text(not_numbers[i]);
        assert_true(json_read_f64(r) == 0);
        assert_non_null(r->failed);
    }
    r = read_text("1");
    assert_false(json_read_bool(r));
    assert_non_null(r->failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_and_arrays_are_walked_in_their_order),
        cmocka_unit_test(strings_are_decoded),
        cmocka_unit_test(any_value_is_skipped),
        cmocka_unit_test(what_is_not_json_is_refused),
        cmocka_unit_test(numbers_have_their_limits),
        cmocka_unit_test(depth_and_length_are_bounded),
        cmocka_unit_test(after_a_failure_nothing_is_read),
        cmocka_unit_test(real_numbers_and_truth_values_are_read),
    };
    int rc;

    heap_init(&heap, 0);
    json_read_init(&reader, &heap, slice("", 0), 64);
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    json_read_release(&reader);
    return rc;
}
