/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "worker/report.h"

static struct heap heap;

/* A report of each kind with every field of that kind set. */
static void fill(struct report *r, enum report_kind kind, uint32_t rank)
{
    memset(r, 0, sizeof(*r));
    r->kind = kind;
    r->rank = rank;
    r->attempt = 2;
    r->step = 77;
    r->clock_ns = 123456789;
    switch (kind) {
    case REPORT_READY:
    case REPORT_DONE:
        r->ready_ns = 5;
        r->heap_bytes = 6;
        r->first_at = 7;
        break;
    case REPORT_STEPS:
        r->count = 3;
        r->examples = 99;
        r->times.compute_ns = 11;
        r->times.exchange.bytes_down = 12;
        for (uint32_t i = 0; rank == 0 && i < r->count; i++) {
            r->losses[i] = 0.5 * i;
            r->weights[i] = 33;
        }
        break;
    case REPORT_EVAL:
        r->took_ns = 8;
        for (int i = 0; i < GUST_SUMS_MAX; i++)
            r->sums[i] = i - 0.25;
        break;
    case REPORT_BASE:
        r->took_ns = 9;
        break;
    case REPORT_HASH:
        r->hash = 0xfeedfacecafef00dull;
        break;
    default:
        break;
    }
}

static void every_kind_survives_the_wire(void **state UNUSED)
{
    struct report *in = heap_alloc(&heap, sizeof(*in)), *out = heap_alloc(&heap, sizeof(*out));
    struct buf text;

    buf_init(&text, &heap, PARAMS_ENTRY_MAX);
    for (int kind = REPORT_READY; kind < REPORT_KINDS; kind++)
        for (uint32_t rank = 0; rank < 2; rank++) {
            fill(in, (enum report_kind)kind, rank);
            report_encode(in, &text);
            memset(out, 0, sizeof(*out));
            assert_int_equal(report_decode(out, buf_slice(&text), NULL), 0);
            assert_memory_equal(in, out, sizeof(*in));
        }
    heap_release(&heap);
}

static void truncations_and_tails_are_refused(void **state UNUSED)
{
    struct report *r = heap_alloc(&heap, sizeof(*r));
    struct buf text;

    buf_init(&text, &heap, PARAMS_ENTRY_MAX);
    for (int kind = REPORT_READY; kind < REPORT_KINDS; kind++) {
        struct report *in = heap_alloc(&heap, sizeof(*in));

        fill(in, (enum report_kind)kind, 0);
        report_encode(in, &text);
        for (size_t size = 0; size < text.size; size++)
            assert_int_equal(report_decode(r, slice(text.data, size), NULL), E_FORMAT);
        buf_str(&text, "x");
        assert_int_equal(report_decode(r, buf_slice(&text), NULL), E_FORMAT);
    }
    heap_release(&heap);
}

static void the_longest_report_fits_an_entry_of_a_log(void **state UNUSED)
{
    struct report *r = heap_alloc(&heap, sizeof(*r));
    struct buf text;

    buf_init(&text, &heap, PARAMS_ENTRY_MAX);
    r->kind = REPORT_STEPS;
    r->count = REPORT_STEPS_MAX;
    report_encode(r, &text);
    assert_false(text.failed);
    assert_int_equal(report_decode(r, buf_slice(&text), NULL), 0);
    /* One step more than there is room for: the count lies behind the fields of all kinds. */
    memcpy(text.data + 32, &(uint32_t){ REPORT_STEPS_MAX + 1 }, sizeof(uint32_t));
    assert_int_equal(report_decode(r, buf_slice(&text), NULL), E_FORMAT);
    heap_release(&heap);
}

static void times_add_up_field_by_field(void **state UNUSED)
{
    struct report_times a = { .batch_ns = 1, .exchange.bytes_down = 2 };
    struct report_times b = { .batch_ns = 10, .apply_ns = 5, .exchange.bytes_down = 20 };

    report_times_add(&a, &b);
    assert_int_equal(a.batch_ns, 11);
    assert_int_equal(a.apply_ns, 5);
    assert_int_equal(a.exchange.bytes_down, 22);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_survives_the_wire),
        cmocka_unit_test(truncations_and_tails_are_refused),
        cmocka_unit_test(the_longest_report_fits_an_entry_of_a_log),
        cmocka_unit_test(times_add_up_field_by_field),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
