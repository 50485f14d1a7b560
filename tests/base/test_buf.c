/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "base/buf.h"

static int set_up(void **state)
{
    static struct heap h;

    heap_init(&h, 0);
    *state = &h;
    return 0;
}

/* Every test gives back what it took. */
static int tear_down(void **state)
{
    struct heap *h = *state;

    return h->blocks != NULL;
}

static void appends_grow_the_buffer_and_keep_a_final_zero(void **state)
{
    struct buf b;

    buf_init(&b, *state, 100000);
    buf_str(&b, "x=");
    buf_printf(&b, "%d/%s", 42, "y");
    buf_add(&b, "\0z", 2);
    assert_int_equal(b.size, 8);
    assert_memory_equal(b.data, "x=42/y\0z", 9);
    for (unsigned i = 0; i < 5000; i++) {
        buf_printf(&b, "%u,", i);
        assert_int_equal(b.data[b.size], 0);
    }
    assert_false(b.failed);
    assert_int_equal(b.size, 8 + 10 * 2 + 90 * 3 + 900 * 4 + 4000 * 5);
    assert_memory_equal(b.data + 8, "0,1,2,", 6);
    assert_string_equal(b.data + b.size - 5, "4999,");
    buf_release(&b);
}

static void growing_past_the_bound_fails_once_and_for_all(void **state)
{
    struct buf b;

    buf_init(&b, *state, 10);
    buf_str(&b, "0123456789");
    assert_false(b.failed);
    buf_str(&b, "x");
    assert_true(b.failed);
    assert_string_equal(b.data, "0123456789");
    buf_reset(&b);
    buf_str(&b, "01234");
    buf_printf(&b, "%s", "567890");
    assert_true(b.failed);
    buf_str(&b, "");
    assert_null(buf_extend(&b, 1));
    assert_string_equal(b.data, "01234");
    buf_release(&b);
}

static void sizes_that_wrap_fail(void **state)
{
    struct buf b;

    buf_init(&b, *state, SIZE_MAX);
    assert_null(buf_extend(&b, SIZE_MAX));
    assert_true(b.failed);
    buf_reset(&b);
    buf_str(&b, "abc");
    assert_null(buf_extend(&b, SIZE_MAX - 3));
    buf_reset(&b);
    buf_str(&b, "abc");
    assert_null(buf_extend(&b, SIZE_MAX - 5));
    buf_release(&b);
}

static void exhausted_memory_fails_and_keeps_what_was_there(void **state UNUSED)
{
    struct heap small;
    struct buf b;

    heap_init(&small, 100);
    buf_init(&b, &small, 1000);
    buf_str(&b, "kept");
    buf_extend(&b, 80);
    assert_true(b.failed);
    assert_string_equal(b.data, "kept");
    buf_release(&b);
    assert_null(small.blocks);
}

static void reset_keeps_the_memory_and_forgets_text_and_failure(void **state)
{
    struct buf b;
    char *data;

    buf_init(&b, *state, 20);
    buf_str(&b, "something");
    data = b.data;
    buf_add(&b, "................", 16);
    assert_true(b.failed);
    buf_reset(&b);
    assert_false(b.failed);
    assert_ptr_equal(b.data, data);
    assert_string_equal(b.data, "");
    assert_int_equal(buf_slice(&b).size, 0);
    buf_release(&b);
    buf_release(&b);
}

static void slices_compare_by_bytes(void **state UNUSED)
{
    assert_true(slice_equal(slice(NULL, 0), slice_str("")));
    assert_true(slice_equal(slice_str("ab"), slice("abc", 2)));
    assert_false(slice_equal(slice_str("ab"), slice_str("abc")));
    assert_false(slice_equal(slice_str("ab"), slice_str("ac")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(appends_grow_the_buffer_and_keep_a_final_zero, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(growing_past_the_bound_fails_once_and_for_all, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(sizes_that_wrap_fail, set_up, tear_down),
        cmocka_unit_test(exhausted_memory_fails_and_keeps_what_was_there),
        cmocka_unit_test_setup_teardown(reset_keeps_the_memory_and_forgets_text_and_failure, set_up,
                                        tear_down),
        cmocka_unit_test(slices_compare_by_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
