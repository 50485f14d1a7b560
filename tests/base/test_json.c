/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include <float.h>

#include "base/json.h"
#include "base/random.h"

struct fixture {
    struct heap heap;
    struct buf buf;
    struct json json;
};

static int set_up(void **state)
{
    static struct fixture f;

    heap_init(&f.heap, 0);
    buf_init(&f.buf, &f.heap, 100000);
    json_init(&f.json, &f.buf);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    buf_release(&f->buf);
    return 0;
}

static void commas_and_brackets_nest_as_the_calls_do(void **state)
{
    struct fixture *f = *state;
    struct json *w = &f->json;

    json_open(w, NULL, '{');
    json_str(w, "name", "gust");
    json_open(w, "empty", '[');
    json_close(w);
    json_open(w, "list", '[');
    json_u64(w, NULL, UINT64_MAX);
    json_bool(w, NULL, false);
    json_open(w, NULL, '{');
    json_f64(w, "x", 0.5);
    json_close(w);
    json_open(w, NULL, '{');
    json_close(w);
    json_close(w);
    json_bool(w, "last", true);
    json_close(w);
    assert_string_equal(f->buf.data,
                        "{\"name\":\"gust\",\"empty\":[],\"list\":[18446744073709551615,"
                        "false,{\"x\":0.5},{}],\"last\":true}");
}

static void text_is_escaped_and_always_utf8(void **state)
{
    static const struct {
        const char *text, *json;
    } cases[] = {
        { "a\"b\\c", "\"a\\\"b\\\\c\"" },
        { "\n\t\037", "\"\\u000a\\u0009\\u001f\"" },
        { "\303\244 \342\202\254 \360\237\230\200", "\"\303\244 \342\202\254 \360\237\230\200\"" },
        { "\344x", "\"\\ufffdx\"" },                                /* Latin-1 */
        { "\303", "\"\\ufffd\"" },                                  /* broken off */
        { "\300\200", "\"\\ufffd\\ufffd\"" },                       /* overlong */
        { "\340\200\200", "\"\\ufffd\\ufffd\\ufffd\"" },            /* overlong */
        { "\355\240\200", "\"\\ufffd\\ufffd\\ufffd\"" },            /* half a surrogate pair */
        { "\364\220\200\200", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" }, /* past U+10FFFF */
        { "\377", "\"\\ufffd\"" },
    };
    struct fixture *f = *state;

    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        buf_reset(&f->buf);
        json_init(&f->json, &f->buf);
        json_str(&f->json, NULL, cases[i].text);
        assert_string_equal(f->buf.data, cases[i].json);
    }
}

static const char *number(struct fixture *f, double value)
{
    buf_reset(&f->buf);
    json_init(&f->json, &f->buf);
    json_f64(&f->json, NULL, value);
    return f->buf.data;
}

static void numbers_are_short_and_read_back_exactly(void **state)
{
    struct fixture *f = *state;

    assert_string_equal(number(f, 0), "0");
    assert_string_equal(number(f, 0.1), "0.1");
    assert_string_equal(number(f, -1234567), "-1234567");
    assert_string_equal(number(f, 1e300), "1e+300");
    assert_string_equal(number(f, 5e-324), "5e-324");
    assert_string_equal(number(f, 0.1 + 0.2), "0.30000000000000004");
    assert_string_equal(number(f, NAN), "null");
    assert_string_equal(number(f, -INFINITY), "null");
    assert_true(strtod(number(f, DBL_MAX), NULL) == DBL_MAX);
    for (unsigned i = 0; i < 2000; i++) {
        uint64_t bits = random_at(3, i, 0, 0);
        double value;

        memcpy(&value, &bits, sizeof(value));
        if (isfinite(value))
            assert_true(strtod(number(f, value), NULL) == value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(commas_and_brackets_nest_as_the_calls_do, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(text_is_escaped_and_always_utf8, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers_are_short_and_read_back_exactly, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
