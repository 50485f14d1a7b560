/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "base/heap.h"

static void blocks_are_aligned_zeroed_and_counted(void **state UNUSED)
{
    struct heap h;
    char *a, *b;

    heap_init(&h, 0);
    for (size_t size = 0; size < 300; size += 7) {
        a = heap_alloc(&h, size);
        assert_int_equal((uintptr_t)a % CACHE_LINE, 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(a[i], 0);
        if (size)
            memset(a, 0xAB, size);
        heap_free(&h, a);
    }
    assert_int_equal(h.used_bytes, 0);
    a = heap_alloc(&h, 100);
    b = heap_try_alloc(&h, 10, 5);
    assert_int_equal(h.used_bytes, 150);
    heap_free(&h, a);
    assert_int_equal(h.used_bytes, 50);
    assert_int_equal(h.peak_bytes, 294);
    heap_free(&h, b);
    heap_free(&h, NULL);
    assert_int_equal(h.used_bytes, 0);
    assert_null(h.blocks);
}

static void blocks_can_be_freed_in_any_order(void **state UNUSED)
{
    static const unsigned order[] = { 3, 0, 5, 1, 4, 2 };
    char *blocks[ARRAY_SIZE(order)];
    struct heap h;

    heap_init(&h, 0);
    for (unsigned i = 0; i < ARRAY_SIZE(order); i++)
        blocks[i] = heap_alloc(&h, i + 1);
    for (unsigned i = 0; i < ARRAY_SIZE(order); i++)
        heap_free(&h, blocks[order[i]]);
    assert_null(h.blocks);
    assert_int_equal(h.used_bytes, 0);
}

/* Leaks would be found by the address sanitizer. */
static void release_frees_what_is_left_and_the_heap_can_be_used_again(void **state UNUSED)
{
    struct heap h = { 0 };

    heap_release(&h);
    heap_init(&h, 1000);
    for (unsigned i = 0; i < 9; i++)
        heap_alloc(&h, 100);
    heap_release(&h);
    assert_int_equal(h.used_bytes, 0);
    assert_int_equal(h.peak_bytes, 900);
    assert_non_null(heap_try_alloc(&h, 1, 1000));
    heap_release(&h);
}

static void the_limit_is_exact_and_freed_room_counts_again(void **state UNUSED)
{
    struct heap h;
    void *a, *b;

    heap_init(&h, 1000);
    a = heap_try_alloc(&h, 1, 600);
    assert_non_null(a);
    assert_null(heap_try_alloc(&h, 1, 401));
    assert_null(heap_try_alloc_raw(&h, 401, 1));
    b = heap_try_alloc(&h, 1, 400);
    assert_non_null(b);
    assert_null(heap_try_alloc(&h, 1, 1));
    heap_free(&h, a);
    assert_non_null(heap_try_alloc_raw(&h, 6, 100));
    /* A limit that was lowered under what is in use refuses everything. */
    h.limit_bytes = 10;
    assert_null(heap_try_alloc(&h, 1, 1));
    heap_release(&h);
}

static void sizes_that_overflow_are_refused(void **state UNUSED)
{
    struct heap h;

    heap_init(&h, 0);
    assert_null(heap_try_alloc(&h, SIZE_MAX, 2));
    assert_null(heap_try_alloc(&h, SIZE_MAX / 2 + 2, 2));
    for (size_t under = 0; under < 300; under++)
        assert_null(heap_try_alloc_raw(&h, 1, SIZE_MAX - under));
    assert_null(h.blocks);
}

static jmp_buf escaped;
static size_t asked_for;

static void escape(size_t size)
{
    asked_for = size;
    longjmp(escaped, 1);
}

static void an_exhausted_small_allocation_calls_the_handler(void **state UNUSED)
{
    void (*old)(size_t) = heap_exhausted;
    struct heap h;

    heap_init(&h, 100);
    heap_exhausted = escape;
    if (setjmp(escaped) == 0) {
        heap_alloc(&h, 101);
        fail_msg("heap_alloc returned");
    }
    heap_exhausted = old;
    assert_int_equal(asked_for, 101);
}

static void strdup_copies_the_final_zero(void **state UNUSED)
{
    struct heap h;
    char *text;

    heap_init(&h, 0);
    text = heap_strdup(&h, "abc");
    assert_string_equal(text, "abc");
    assert_int_equal(h.used_bytes, 4);
    assert_string_equal(heap_strdup(&h, ""), "");
    heap_release(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_aligned_zeroed_and_counted),
        cmocka_unit_test(blocks_can_be_freed_in_any_order),
        cmocka_unit_test(release_frees_what_is_left_and_the_heap_can_be_used_again),
        cmocka_unit_test(the_limit_is_exact_and_freed_room_counts_again),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(an_exhausted_small_allocation_calls_the_handler),
        cmocka_unit_test(strdup_copies_the_final_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
