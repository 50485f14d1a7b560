/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "base/error.h"

static void fail_records_code_and_sentence(void **state UNUSED)
{
    struct error err = { .retriable = true };

    assert_int_equal(fail(&err, E_IO, "cannot read '%s'", "x"), E_IO);
    assert_int_equal(err.code, E_IO);
    assert_false(err.retriable);
    assert_string_equal(err.text, "cannot read 'x'");
    assert_int_equal(fail_retriable(&err, E_FULL, "full"), E_FULL);
    assert_true(err.retriable);
    assert_int_equal(fail(NULL, E_LIMIT, "nobody listens"), E_LIMIT);
    assert_int_equal(fail_within(NULL, E_LIMIT, "nobody listens"), E_LIMIT);
}

static void context_goes_before_the_text_and_keeps_the_code(void **state UNUSED)
{
    struct error err = { 0 };

    fail_retriable(&err, E_TIMEOUT, "no answer");
    assert_int_equal(fail_within(&err, E_IO, "cannot open '%s'", "job"), E_TIMEOUT);
    assert_string_equal(err.text, "cannot open 'job': no answer");
    assert_true(err.retriable);
}

/* Otherwise a failure could be returned as 0. */
static void context_without_a_failure_below_is_a_failure_itself(void **state UNUSED)
{
    struct error err = { 0 };

    assert_int_equal(fail_within(&err, E_IO, "cannot open"), E_IO);
    assert_int_equal(err.code, E_IO);
    assert_string_equal(err.text, "cannot open");
}

static void the_old_text_may_be_an_argument(void **state UNUSED)
{
    struct error err = { 0 };

    fail(&err, E_IO, "inner");
    fail(&err, E_FORMAT, "outer (%s)", err.text);
    assert_string_equal(err.text, "outer (inner)");
    fail_within(&err, E_FORMAT, "again %s", err.text);
    assert_string_equal(err.text, "again outer (inner): outer (inner)");
}

static void long_texts_are_cut_and_end_with_a_zero(void **state UNUSED)
{
    char text[2000];
    struct error err;

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    fail(&err, E_IO, "%s", text);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    fail_within(&err, E_IO, "context");
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    assert_memory_equal(err.text, "context: xxx", 12);
    fail_within(&err, E_IO, "%s", text);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

static void every_code_has_a_name_a_text_and_an_exit_status(void **state UNUSED)
{
    assert_string_equal(error_name(-5), "E_IO");
    assert_string_equal(error_text(E_GOAL), "the goal was not met");
    assert_string_equal(error_name(1), "E_?");
    assert_int_equal(error_exit_status(0), 0);
    assert_int_equal(error_exit_status(E_INVALID), 2);
    assert_int_equal(error_exit_status(E_GOAL), 3);
    assert_int_equal(error_exit_status(E_IO), 4);
    assert_int_equal(error_exit_status(E_INTERRUPTED), 130);
    for (int code = -16; code < 0; code++) {
        assert_memory_equal(error_name(code), "E_", 2);
        assert_string_not_equal(error_name(code), "E_?");
        assert_string_not_equal(error_text(code), error_text(1));
        assert_int_not_equal(error_exit_status(code), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fail_records_code_and_sentence),
        cmocka_unit_test(context_goes_before_the_text_and_keeps_the_code),
        cmocka_unit_test(context_without_a_failure_below_is_a_failure_itself),
        cmocka_unit_test(the_old_text_may_be_an_argument),
        cmocka_unit_test(long_texts_are_cut_and_end_with_a_zero),
        cmocka_unit_test(every_code_has_a_name_a_text_and_an_exit_status),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
