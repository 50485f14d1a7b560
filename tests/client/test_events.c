/* SPDX-License-Identifier: Apache-2.0 */
/* Events as they are written, as they are read back, and the page that is made of them. */
#include "support/test.h"

#include "client/chart.h"
#include "client/events.h"
#include "client/report_html.h"

/* A clock that the test moves. */
struct still {
    struct env base;
    uint64_t now;
};

static uint64_t still_now(struct env *e)
{
    return container_of(e, struct still, base)->now;
}

static const struct env_ops still_ops = { .now = still_now };
static const struct gust_metric metrics[] = { { "rmse", false }, { "mae", false }, { NULL } };

static struct still env = { .base = { &still_ops } };
static struct heap heap;
static struct objects *store;
static struct events events;

static int set_up(void **state)
{
    const struct objects_open open = { .heap = &heap };

    (void)state;
    assert_int_equal(objects_open("memory:events", &open, &store, NULL), 0);
    env.now = 5 * NS_PER_S;
    events_open(&events, &env.base, &heap, store, metrics);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    events_close(&events);
    objects_close(store);
    assert_int_equal(heap.used_bytes, 0);
    return 0;
}

static void tell_start(void)
{
    events_started(&events, &(struct events_start){ .time = "2026-11-15T10:58:13Z",
                                                    .model = "factorisation",
                                                    .data = "a\"b",
                                                    .workers = 2,
                                                    .memory_mb = 442,
                                                    .batch = 100,
                                                    .examples = 1000 });
}

static void every_event_is_one_line_of_json(void **state)
{
    (void)state;
    tell_start();
    env.now += 1500 * NS_PER_US;
    events_evaluation(
        &events,
        &(struct evaluation){
            .step = 7, .epoch = 0.5, .seconds = 0.25, .values = { 0.75, NAN }, .loss_train = 0.5 });
    events_stop(&events, RUN_PATIENCE, 9);
    events_exit(
        &events, 1,
        &(struct platform_exit){ .reason = PLATFORM_FAILED, .billed_ms = 3, .words = "no\nroom" });
    assert_string_equal(
        events.text.data,
        "{\"event\":\"started\",\"at\":0,\"version\":1,\"time\":\"2026-11-15T10:58:13Z\","
        "\"model\":\"factorisation\",\"data\":\"a\\\"b\",\"workers\":2,\"memory_mb\":442,"
        "\"batch\":100,\"examples\":1000}\n"
        "{\"event\":\"evaluation\",\"at\":0.0015,\"step\":7,\"epoch\":0.5,\"seconds\":0.25,"
        "\"loss_train\":0.5,\"metrics\":{\"rmse\":0.75,\"mae\":null}}\n"
        "{\"event\":\"stop\",\"at\":0.0015,\"why\":\"patience\",\"step\":9}\n"
        "{\"event\":\"exit\",\"at\":0.0015,\"rank\":1,\"reason\":\"failed\",\"billed_ms\":3,"
        "\"peak_bytes\":0,\"cold\":false,\"words\":\"no\\u000aroom\"}\n");
}

/* An hour of reports, a hundred a second. */
static void a_long_run_leaves_a_bounded_number_of_samples(void **state)
{
    struct history h;

    (void)state;
    tell_start();
    for (unsigned i = 0; i < 360000; i++) {
        env.now += 10 * NS_PER_MS;
        events_steps(&events, &(struct progress){ .step = i, .workers = 2, .rate = 1e6 });
    }
    assert_int_equal(history_read(&h, &heap, buf_slice(&events.text), NULL), 0);
    assert_in_range(h.sample_count, 1000, 3000);
    assert_true(h.samples[0].step == 0 && h.samples[h.sample_count - 1].step > 355000);
    history_release(&h);
    assert_int_equal(objects_delete(store, EVENTS_NAME, NULL), 0);
}

static void events_are_put_while_the_run_goes_on(void **state)
{
    struct objects_stat stat;

    (void)state;
    tell_start();
    assert_int_equal(objects_stat(store, EVENTS_NAME, &stat, NULL), E_NOT_FOUND);
    env.now += 2 * NS_PER_S;
    events_ready(&events, 0.1);
    assert_int_equal(objects_stat(store, EVENTS_NAME, &stat, NULL), 0);
    assert_int_equal(stat.size_bytes, events.text.size);
    assert_int_equal(objects_delete(store, EVENTS_NAME, NULL), 0);
}

static void functions_that_left_are_counted(void **state)
{
    const struct platform_exit done = { .reason = PLATFORM_DONE };
    struct history h;

    (void)state;
    tell_start();
    env.now += NS_PER_MS;
    events_exit(&events, 0, &done);
    env.now += NS_PER_MS;
    events_exit(&events, 1, &done);
    assert_int_equal(history_read(&h, &heap, buf_slice(&events.text), NULL), 0);
    assert_int_equal(h.head_count, 3);
    assert_int_equal(h.heads[0].workers, 2);
    assert_int_equal(h.heads[2].workers, 0);
    assert_true(h.heads[2].at == 0.002 && h.end == 0.002);
    history_release(&h);
}

static void what_is_no_event_is_named_by_its_line(void **state)
{
    static const char *const bad[] = { "{\"event\":\"steps\",", "[1]",
                                       "{\"event\":\"steps\",\"step\":\"x\"}",
                                       "{\"event\":\"steps\",\"step\":1e}",
                                       "{\"event\":\"steps\"} more" };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct error err = { 0 };
        struct history h;
        char text[128];

        snprintf(text, sizeof(text), "{\"event\":\"steps\"}\n%s\n", bad[i]);
        assert_int_equal(history_read(&h, &heap, slice_str(text), &err), E_FORMAT);
        assert_non_null(strstr(err.text, "line 2"));
        assert_int_equal(h.sample_count, 1);
        history_release(&h);
    }
}

static void a_summary_that_is_cut_off_is_refused(void **state)
{
    static const char text[] =
        "{\"gust_summary\":1,\"status\":\"done\",\"metrics\":[{\"name\":\"auc\","
        "\"higher_is_better\":true}],\"evaluations\":[{\"step\":1,\"auc\":0.5},{\"step\":2,"
        "\"auc\":0.75},{\"step\":3,\"auc\":0.7}],\"saved\":true,\"model_step\":3,"
        "\"bill\":{\"items\":[{\"name\":\"x\",\"amount_usd\":1e-3}],\"total_usd\":0.001}}";
    struct summary s;

    (void)state;
    for (size_t n = 0; n < sizeof(text) - 1; n++) {
        assert_int_equal(summary_read(&s, slice(text, n), NULL), E_FORMAT);
        summary_release(&s);
    }
    assert_int_equal(summary_read(&s, slice_str(text), NULL), 0);
    assert_int_equal(s.best, 1);
    assert_true(summary_evaluation(&s)->values[0] == 0.7);
    assert_true(s.item_count == 1 && s.items[0].amount_usd == 1e-3 && s.bill_usd == 1e-3);
    summary_release(&s);
    assert_int_equal(summary_read(&s, slice_str("{\"gust_summary\":2}"), NULL), E_UNSUPPORTED);
    summary_release(&s);
}

static void charts_leave_out_what_is_not_finite(void **state)
{
    static const struct chart_point points[] = { { 0, 1 }, { 1, NAN }, { 2, INFINITY }, { 3, 2 } };
    const struct chart_series series = { "", points, ARRAY_SIZE(points), .dots = true };
    const struct chart chart = { "a <b>", "epochs", &series, 1 };
    const struct chart_series none = { "", &points[1], 2 };
    const struct chart empty = { "nothing", "epochs", &none, 1 };
    struct buf out;

    (void)state;
    buf_init(&out, &heap, MIB);
    chart_write(&chart, &out);
    assert_null(strstr(out.data, "nan"));
    assert_null(strstr(out.data, "inf"));
    assert_non_null(strstr(out.data, "a &lt;b&gt;"));
    buf_reset(&out);
    chart_write(&empty, &out);
    assert_null(strstr(out.data, "<svg"));
    buf_release(&out);
}

static void a_page_can_be_made_of_nearly_nothing(void **state)
{
    struct buf page;

    (void)state;
    assert_int_equal(report_html_make(store, &heap, "1", NULL), E_NOT_FOUND);
    assert_int_equal(objects_put(store, SUMMARY_NAME, slice_str("{\"gust_summary\":1}"), NULL), 0);
    assert_int_equal(report_html_make(store, &heap, "1", NULL), 0);
    buf_init(&page, &heap, MIB);
    assert_int_equal(objects_get_all(store, REPORT_NAME, &page, NULL), 0);
    assert_non_null(strstr(page.data, "</html>"));
    buf_release(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_event_is_one_line_of_json, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_long_run_leaves_a_bounded_number_of_samples, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(events_are_put_while_the_run_goes_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(functions_that_left_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_event_is_named_by_its_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_summary_that_is_cut_off_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(charts_leave_out_what_is_not_finite, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_page_can_be_made_of_nearly_nothing, set_up, tear_down),
    };

    heap_init(&heap, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
