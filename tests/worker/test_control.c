/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "base/random.h"
#include "worker/control.h"

static struct heap heap;

static struct control sample(void)
{
    struct control c = { .term = 3, .era = 1, .floor = 5, .horizon = 100, .plan_count = 2 };

    c.plans[0] = (struct plan){ .workers = 4, .shards = 8, .threads = 1, .batch = 1000 };
    c.plans[1] = (struct plan){
        .from = 60, .workers = 2, .shards = 8, .threads = 2, .batch = 500, .base_every = 7
    };
    c.member_count = 4;
    for (uint32_t r = 0; r < 4; r++)
        c.attempts[r] = r + 1;
    return c;
}

static void a_record_survives_the_wire(void **state UNUSED)
{
    struct control in = sample(), out;
    struct buf text;

    buf_init(&text, &heap, PARAMS_CAS_MAX);
    control_encode(&in, &text);
    assert_false(text.failed);
    assert_int_equal(control_decode(&out, buf_slice(&text), NULL), 0);
    assert_memory_equal(&in, &out, sizeof(in));
    buf_release(&text);
}

static void every_truncation_is_refused_and_changes_nothing(void **state UNUSED)
{
    struct control in = sample(), out, before;
    struct buf text;

    memset(&out, 0x5a, sizeof(out));
    before = out;
    buf_init(&text, &heap, PARAMS_CAS_MAX);
    control_encode(&in, &text);
    for (size_t size = 0; size < text.size; size++) {
        assert_int_equal(control_decode(&out, slice(text.data, size), NULL), E_FORMAT);
        assert_memory_equal(&out, &before, sizeof(out));
    }
    buf_str(&text, "x");
    assert_int_equal(control_decode(&out, buf_slice(&text), NULL), E_FORMAT);
    buf_release(&text);
}

static void the_largest_fleet_fits_a_record(void **state UNUSED)
{
    struct control c = sample();
    struct buf text;

    c.member_count = CONTROL_RANKS_MAX;
    buf_init(&text, &heap, PARAMS_CAS_MAX);
    control_encode(&c, &text);
    assert_false(text.failed);
    buf_release(&text);
}

static void the_plan_of_a_step_is_the_last_that_begins_by_then(void **state UNUSED)
{
    struct control c = sample();

    assert_ptr_equal(control_plan(&c, 0), &c.plans[0]);
    assert_ptr_equal(control_plan(&c, 59), &c.plans[0]);
    assert_ptr_equal(control_plan(&c, 60), &c.plans[1]);
    assert_ptr_equal(control_plan(&c, 1000), &c.plans[1]);
}

static void impossible_records_are_named(void **state UNUSED)
{
    struct control c;
    struct error err;

    c = sample();
    c.plan_count = 0;
    assert_int_equal(control_check(&c, &err), E_FORMAT);
    c = sample();
    c.plans[1].from = 101; /* after the horizon */
    assert_int_equal(control_check(&c, &err), E_FORMAT);
    c = sample();
    c.plans[1].stop = 1; /* a stop below the horizon */
    assert_int_equal(control_check(&c, &err), E_FORMAT);
    c = sample();
    c.plans[0].workers = 5; /* more than there are members */
    assert_int_equal(control_check(&c, &err), E_FORMAT);
    c = sample();
    c.plans[0].shards = 3; /* fewer pieces than workers */
    assert_int_equal(control_check(&c, &err), E_FORMAT);
    c = sample();
    c.plans[1].from = 0; /* not in order */
    assert_int_equal(control_check(&c, &err), E_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_survives_the_wire),
        cmocka_unit_test(every_truncation_is_refused_and_changes_nothing),
        cmocka_unit_test(the_largest_fleet_fits_a_record),
        cmocka_unit_test(the_plan_of_a_step_is_the_last_that_begins_by_then),
        cmocka_unit_test(impossible_records_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
