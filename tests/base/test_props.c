/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "base/props.h"

struct fixture {
    struct heap heap;
    struct props props;
    struct error err;
};

static int set_up(void **state)
{
    static struct fixture f;

    f = (struct fixture){ 0 };
    heap_init(&f.heap, 0);
    props_init(&f.props, &f.heap);
    *state = &f;
    return 0;
}

/* Releasing the settings must leave the heap empty. */
static int tear_down(void **state)
{
    struct fixture *f = *state;

    props_release(&f->props);
    return f->heap.blocks != NULL;
}

static int parse(struct fixture *f, const char *text)
{
    return props_parse(&f->props, slice_str(text), &f->err);
}

static void lines_become_settings_in_order(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(parse(f, "# first\n\n a : 1 \r\nb b:x: y # rest\n\tc:\nd: a#b\ne: #none"), 0);
    assert_int_equal(f->props.count, 5);
    assert_string_equal(props_find(&f->props, "a"), "1");
    assert_string_equal(props_find(&f->props, "b b"), "x: y");
    assert_string_equal(props_find(&f->props, "c"), "");
    assert_string_equal(props_find(&f->props, "d"), "a#b");
    assert_string_equal(props_find(&f->props, "e"), "");
    assert_null(props_find(&f->props, "f"));
    assert_string_equal(props_str(&f->props, "f", "fallback"), "fallback");
    assert_string_equal(f->props.items[1].key, "b b");
    assert_int_equal(f->props.items[1].line, 4);
    assert_int_equal(props_parse(&f->props, slice(NULL, 0), &f->err), 0);
}

static void bad_lines_are_named_and_nothing_is_added(void **state)
{
    static const struct {
        const char *text, *complaint;
    } cases[] = {
        { "x: 1\nnonsense", "line 2 is not of the form 'key: value'" },
        { "x: 1\n\nno colon # here: x", "line 3 is not of the form 'key: value'" },
        { " : 1", "line 1 has no key before the colon" },
        { "x: 1\ny: 2\nx: 3", "line 3 gives 'x' again (first in line 1)" },
        { "x: \001", "line 1 holds a control character (byte 1)" },
        { "# a comment\001", "line 1 holds a control character (byte 1)" },
        { "x: a\rb", "line 1 holds a control character (byte 13)" },
        { "x: \"", "line 1: the quoted value of 'x' is not well formed" },
        { "x: \"a\\\"", "line 1: the quoted value of 'x' is not well formed" },
        { "x: \"a\\q\"", "line 1: the quoted value of 'x' is not well formed" },
        { "x: \"a\\x0\"", "line 1: the quoted value of 'x' is not well formed" },
        { "x: \"a\\x00\"", "line 1: the quoted value of 'x' is not well formed" },
        { "x: \"a\" b", "line 1: the quoted value of 'x' is not well formed" },
        { "before: 2", "line 1 gives 'before' again (first in line 1)" },
    };
    struct fixture *f = *state;

    assert_int_equal(parse(f, "before: 1"), 0);
    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(parse(f, cases[i].text), E_FORMAT);
        assert_string_equal(f->err.text, cases[i].complaint);
        assert_int_equal(f->props.count, 1);
        assert_string_equal(props_find(&f->props, "before"), "1");
    }
    assert_int_equal(props_parse(&f->props, slice("x: \0", 4), &f->err), E_FORMAT);
}

static void quoted_values_may_hold_anything(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(
        parse(f, "a: \" x # y \" # comment\nb: \"\"\nc: \"\\\"\\\\\\n\\x01\"\nd: a\"b\""), 0);
    assert_string_equal(props_find(&f->props, "a"), " x # y ");
    assert_string_equal(props_find(&f->props, "b"), "");
    assert_string_equal(props_find(&f->props, "c"), "\"\\\n\001");
    assert_string_equal(props_find(&f->props, "d"), "a\"b\"");
}

static void what_is_written_reads_back(void **state)
{
    static const char *const values[] = { "plain", "",      " lead", "trail ",   "a # b", "#",
                                          "a#b",   "\"",    "\"q\"", "a\nb",     "\r",    "x\t",
                                          "\001",  "\\n",   "x: y",  "\303\244", "a\tb",  "tr\r",
                                          "\\",    "a \"#", "\177" };
    struct fixture *f = *state;
    struct props again;
    struct buf text;

    for (unsigned i = 0; i < ARRAY_SIZE(values); i++) {
        char key[20];

        snprintf(key, sizeof(key), "key %u", i);
        props_set(&f->props, key, values[i]);
    }
    buf_init(&text, &f->heap, PROPS_MAX_BYTES);
    props_write(&f->props, &text);
    props_init(&again, &f->heap);
    assert_int_equal(props_parse(&again, buf_slice(&text), &f->err), 0);
    assert_int_equal(again.count, ARRAY_SIZE(values));
    for (unsigned i = 0; i < again.count; i++) {
        assert_string_equal(again.items[i].key, f->props.items[i].key);
        assert_string_equal(again.items[i].value, values[i]);
    }
    props_release(&again);
    buf_release(&text);
}

static void set_replaces_and_copies_even_its_own_value(void **state)
{
    struct fixture *f = *state;
    char long_value[5000];

    props_set(&f->props, "a", "1");
    props_set(&f->props, "b", "2");
    props_set(&f->props, "a", props_find(&f->props, "b"));
    props_set(&f->props, "a", props_find(&f->props, "a"));
    assert_string_equal(props_find(&f->props, "a"), "2");
    assert_int_equal(f->props.count, 2);
    memset(long_value, 'v', sizeof(long_value) - 1);
    long_value[sizeof(long_value) - 1] = 0;
    props_setf(&f->props, "c", "%s-%d", long_value, 7);
    assert_int_equal(strlen(props_find(&f->props, "c")), sizeof(long_value) + 1);
    props_setf(&f->props, "c", "%s", "");
    assert_string_equal(props_find(&f->props, "c"), "");
}

static void too_many_bytes_or_settings_are_refused(void **state)
{
    struct fixture *f = *state;
    struct buf text;

    buf_init(&text, &f->heap, 2 * PROPS_MAX_BYTES);
    for (unsigned i = 0; i < PROPS_MAX_ITEMS; i++)
        buf_printf(&text, "%u:\n", i);
    assert_int_equal(props_parse(&f->props, buf_slice(&text), &f->err), 0);
    props_release(&f->props);
    buf_str(&text, "x:\n");
    assert_int_equal(props_parse(&f->props, buf_slice(&text), &f->err), E_FORMAT);
    assert_int_equal(f->props.count, 0);
    buf_reset(&text);
    memset(buf_extend(&text, PROPS_MAX_BYTES), '\n', PROPS_MAX_BYTES);
    assert_int_equal(props_parse(&f->props, buf_slice(&text), &f->err), 0);
    buf_str(&text, "\n");
    assert_int_equal(props_parse(&f->props, buf_slice(&text), &f->err), E_FORMAT);
    buf_release(&text);
}

static void numbers_are_checked_against_their_range(void **state)
{
    struct fixture *f = *state;
    uint64_t u = 99;
    double d = 99;

    assert_int_equal(parse(f, "n: 12\nx: 2.5e3\nbad: 12x"), 0);
    assert_int_equal(props_u64(&f->props, "n", 1, 0, 12, &u, &f->err), 0);
    assert_int_equal(u, 12);
    assert_int_equal(props_u64(&f->props, "absent", 7, 0, 5, &u, &f->err), 0);
    assert_int_equal(u, 7);
    assert_int_equal(props_u64(&f->props, "n", 1, 13, 20, &u, &f->err), E_INVALID);
    assert_string_equal(f->err.text, "n: '12' is not a whole number from 13 to 20");
    assert_int_equal(u, 7);
    assert_int_equal(props_u64(&f->props, "bad", 1, 0, 20, &u, &f->err), E_INVALID);
    assert_int_equal(props_f64(&f->props, "x", 1, 0, 1e4, &d, &f->err), 0);
    assert_true(d == 2500);
    assert_int_equal(props_f64(&f->props, "x", 1, 0, 1, &d, &f->err), E_INVALID);
    assert_string_equal(f->err.text, "x: '2.5e3' is not a number from 0 to 1");
    assert_true(d == 2500);
}

static void only_whole_strings_are_numbers(void **state UNUSED)
{
    static const char *const not_u64[] = { "",     " 1",  "1 ",
                                           "-1",   "+1",  "1.0",
                                           "0x10", "1e3", "18446744073709551616" };
    static const char *const not_f64[] = { "",    " 1",   "\n1",   "\v1", "1 ", "nan",
                                           "inf", "-inf", "1e999", "1,5", "e" };
    uint64_t u = 5;
    double d = 5;

    for (unsigned i = 0; i < ARRAY_SIZE(not_u64); i++)
        assert_false(parse_u64(not_u64[i], &u));
    for (unsigned i = 0; i < ARRAY_SIZE(not_f64); i++)
        assert_false(parse_f64(not_f64[i], &d));
    assert_int_equal(u, 5);
    assert_true(d == 5);
    assert_true(parse_u64("18446744073709551615", &u) && u == UINT64_MAX);
    assert_true(parse_u64("007", &u) && u == 7);
    assert_true(parse_f64("-1.5e-3", &d) && d == -1.5e-3);
    assert_true(parse_f64("0", &d) && d == 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(lines_become_settings_in_order),
        TEST(bad_lines_are_named_and_nothing_is_added),
        TEST(quoted_values_may_hold_anything),
        TEST(what_is_written_reads_back),
        TEST(set_replaces_and_copies_even_its_own_value),
        TEST(too_many_bytes_or_settings_are_refused),
        TEST(numbers_are_checked_against_their_range),
        TEST(only_whole_strings_are_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
