/* SPDX-License-Identifier: Apache-2.0 */
/* Step sizes over time, against the formulas in model/schedule.h. */
#include "support/test.h"

#include "model/schedule.h"

static struct schedule read_schedule(const char *text)
{
    struct error err = { 0 };
    struct schedule s;
    struct props p;
    struct heap h;

    heap_init(&h, 0);
    props_init(&p, &h);
    assert_int_equal(props_parse(&p, slice_str(text), &err), 0);
    assert_int_equal(schedule_read(&s, &p, &err), 0);
    heap_release(&h);
    return s;
}

static void assert_rate(const struct schedule *s, double epochs, double want)
{
    assert_true(fabs(schedule_rate(s, epochs) - want) <= 1e-6 * fabs(want) + 1e-12);
}

static void the_formulas_hold(void **state UNUSED)
{
    struct schedule constant = read_schedule("rate: 0.5");
    struct schedule inverse = read_schedule("rate: 0.5\nschedule: inverse\ndecay: 0.3");
    struct schedule root = read_schedule("rate: 0.5\nschedule: inverse-sqrt\ndecay: 0.3");
    struct schedule exponential = read_schedule("rate: 0.5\nschedule: exponential\ndecay: 0.3");
    struct schedule step = read_schedule("rate: 0.5\nschedule: step\ndecay: 1\ndecay-every: 2");
    struct schedule cosine = read_schedule("rate: 0.5\nschedule: cosine\ndecay-every: 4");

    for (double x = 0; x < 9; x += 0.0625) {
        assert_rate(&constant, x, 0.5);
        assert_rate(&inverse, x, 0.5 / (1 + 0.3 * x));
        assert_rate(&root, x, 0.5 / sqrt(1 + 0.3 * x));
        assert_rate(&exponential, x, 0.5 * exp(-0.3 * x));
        assert_rate(&step, x, 0.5 / pow(2, floor(x / 2)));
        assert_rate(&cosine, x, x < 4 ? 0.25 * (1 + cos(3.14159265358979323846 * x / 4)) : 0);
    }
}

static void a_warm_up_rises_and_then_leaves_the_schedule_alone(void **state UNUSED)
{
    struct schedule s = read_schedule("rate: 0.5\nschedule: inverse\ndecay: 1\nwarmup: 2");

    assert_rate(&s, 0, 0.005);
    assert_rate(&s, 1, 0.25 * 0.505);
    assert_rate(&s, 2, 0.5 / 3);
    assert_rate(&s, 5, 0.5 / 6);
}

static void bad_settings_are_named(void **state UNUSED)
{
    static const struct {
        const char *key, *value;
    } bad[] = {
        { "schedule", "lunar" }, { "rate", "-1" },   { "rate", "fast" },
        { "decay", "-0.1" },     { "warmup", "-2" }, { "decay-every", "0" },
    };

    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
        struct schedule s = { .rate = 7 };
        struct error err = { 0 };
        struct props p;
        struct heap h;

        heap_init(&h, 0);
        props_init(&p, &h);
        props_set(&p, bad[i].key, bad[i].value);
        assert_int_equal(schedule_read(&s, &p, &err), E_INVALID);
        assert_non_null(strstr(err.text, bad[i].key));
        assert_non_null(strstr(err.text, bad[i].value));
        assert_true(s.rate == 7);
        heap_release(&h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_formulas_hold),
        cmocka_unit_test(a_warm_up_rises_and_then_leaves_the_schedule_alone),
        cmocka_unit_test(bad_settings_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
