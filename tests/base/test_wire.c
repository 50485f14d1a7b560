/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "base/wire.h"

static void fields_are_little_endian_and_read_back(void **state UNUSED)
{
    static const unsigned char expected[] = { 0x04, 0x03, 0x02, 0x01, 0x88, 0x77, 0x66, 0x55, 0x44,
                                              0x33, 0x22, 0x11, 0,    0,    0,    0,    0,    0,
                                              0xF8, 0xBF, 2,    0,    0,    0,    'h',  'i' };
    struct wire_reader r;
    struct heap h;
    struct buf b;

    heap_init(&h, 0);
    buf_init(&b, &h, 1000);
    wire_put_u32(&b, 0x01020304);
    wire_put_u64(&b, 0x1122334455667788);
    wire_put_f64(&b, -1.5);
    wire_put_bytes(&b, slice_str("hi"));
    assert_int_equal(b.size, sizeof(expected));
    assert_memory_equal(b.data, expected, sizeof(expected));

    wire_read(&r, buf_slice(&b));
    assert_int_equal(wire_u32(&r), 0x01020304);
    assert_int_equal(wire_u64(&r), 0x1122334455667788);
    assert_true(wire_f64(&r) == -1.5);
    assert_false(wire_done(&r));
    assert_true(slice_equal(wire_bytes(&r, 2), slice_str("hi")));
    assert_true(wire_done(&r));
    buf_release(&b);
}

/* Cut anywhere, a message fails, and every field behind the cut reads as zero. */
static void a_message_cut_anywhere_fails(void **state UNUSED)
{
    struct wire_reader r;
    struct heap h;
    struct buf b;

    heap_init(&h, 0);
    buf_init(&b, &h, 1000);
    wire_put_u32(&b, ~0u);
    wire_put_u64(&b, ~0ull);
    wire_put_bytes(&b, slice_str("bytes"));
    for (size_t cut = 0; cut < b.size; cut++) {
        /* A block of just that size, so that the sanitizer sees a read behind it. */
        char *part = heap_alloc(&h, cut);

        if (cut)
            memcpy(part, b.data, cut);
        wire_read(&r, slice(part, cut));
        assert_int_equal(wire_u32(&r), cut < 4 ? 0 : ~0u);
        assert_true(wire_u64(&r) == (cut < 12 ? 0 : ~0ull));
        assert_int_equal(wire_bytes(&r, 100).size, 0);
        assert_true(r.failed);
        assert_false(wire_done(&r));
        assert_int_equal(wire_u32(&r), 0);
        heap_free(&h, part);
    }
    heap_release(&h);
}

static void a_failed_reader_stays_failed_though_bytes_are_left(void **state UNUSED)
{
    struct wire_reader r;

    wire_read(&r, slice("\1\0\0\0", 4));
    assert_int_equal(wire_u64(&r), 0);
    assert_int_equal(wire_u32(&r), 0);
    assert_false(wire_done(&r));
}

static void bytes_longer_than_allowed_or_than_the_message_fail(void **state UNUSED)
{
    struct wire_reader r;

    wire_read(&r, slice("\3\0\0\0abc", 7));
    assert_int_equal(wire_bytes(&r, 2).size, 0);
    assert_true(r.failed);
    wire_read(&r, slice("\377\377\377\377abc", 7));
    assert_int_equal(wire_bytes(&r, SIZE_MAX).size, 0);
    assert_true(r.failed);
}

static void an_empty_message_is_done_at_once_and_leftovers_are_not(void **state UNUSED)
{
    struct wire_reader r;

    wire_read(&r, slice(NULL, 0));
    assert_true(wire_done(&r));
    assert_int_equal(wire_u32(&r), 0);
    assert_true(r.failed);
    wire_read(&r, slice("x", 1));
    assert_false(wire_done(&r));
}

static void bytes_that_do_not_fit_a_length_are_refused(void **state UNUSED)
{
    struct heap h;
    struct buf b;

    heap_init(&h, 0);
    buf_init(&b, &h, SIZE_MAX);
    /* The bytes must not be looked at: there are none. */
    wire_put_bytes(&b, slice("", (size_t)UINT32_MAX + 1));
    assert_true(b.failed);
    assert_int_equal(b.size, 0);
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_little_endian_and_read_back),
        cmocka_unit_test(a_message_cut_anywhere_fails),
        cmocka_unit_test(a_failed_reader_stays_failed_though_bytes_are_left),
        cmocka_unit_test(bytes_longer_than_allowed_or_than_the_message_fail),
        cmocka_unit_test(an_empty_message_is_done_at_once_and_leftovers_are_not),
        cmocka_unit_test(bytes_that_do_not_fit_a_length_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
