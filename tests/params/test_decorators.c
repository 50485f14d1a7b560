/* SPDX-License-Identifier: Apache-2.0 */
/* What the decorators do beyond keeping the contract: the lines, the delays and the faults
 * themselves. */
#include "params/decorators.h"

#include <unistd.h>

#include "support/test.h"
#include "support/thread_env.h"

static const struct params_layout layout = {
    .ranks = 1,
    .spares = 0,
    .shards = 2,
    .sums_kept = 2,
    .part_bytes = 2048,
    .sum_bytes = 2048,
    .general_bytes = MIB,
};

#define VALUE(n) ((struct params_key){ .kind = PARAMS_VALUE, .step = (n) })

/* An environment in which sleeping only moves the clock. */
struct clock_env {
    struct env base;
    uint64_t now;
};

static uint64_t clock_now(struct env *e)
{
    return container_of(e, struct clock_env, base)->now;
}

static void clock_sleep(struct env *e, uint64_t ns)
{
    container_of(e, struct clock_env, base)->now += ns;
}

static const struct env_ops clock_ops = { .now = clock_now, .sleep = clock_sleep };

struct setting {
    struct clock_env env;
    struct heap heap;
    struct params *inner;
};

static void set_up(struct setting *s)
{
    s->env = (struct clock_env){ .base = { &clock_ops } };
    heap_init(&s->heap, 0);
    assert_int_equal(params_create("memory:", &layout,
                                   &(struct params_open){ &s->env.base, &s->heap }, &s->inner,
                                   NULL),
                     0);
}

static void tear_down(struct setting *s, struct params *outer)
{
    params_close(outer);
    assert_int_equal(s->heap.used_bytes, 0);
}

static void add_line(void *arg, const char *line)
{
    struct buf *b = arg;

    buf_str(b, line);
    buf_str(b, "\n");
}

static void a_traced_store_writes_a_line_for_every_call(void **state)
{
    const struct params_key parts[2] = { { PARAMS_PART, 0, 7, 0, 0 }, { PARAMS_PART, 0, 7, 0, 1 } };
    const struct params_key sum = { PARAMS_SUM, 1, 7, 0, 1 }, log = { .kind = PARAMS_LOG };
    const struct params_key control = { .kind = PARAMS_CONTROL }, value = VALUE(3);
    const size_t sizes[2] = { 8, 8 };
    struct slice view;
    struct params_wait w = { .keys = &sum, .count = 1, .views = &view };
    uint64_t version, cursor = 0;
    struct setting s;
    struct params *p;
    struct heap heap;
    struct buf lines, out;
    bool missing;
    void *room;

    (void)state;
    set_up(&s);
    heap_init(&heap, 0);
    buf_init(&lines, &heap, MIB);
    buf_init(&out, &heap, MIB);
    p = params_traced_new(s.inner, &s.heap, add_line, &lines);
    params_reserve(p, parts, sizes, 2, &room, NULL);
    params_publish(p, parts, 2, NULL);
    params_cas(p, &control, 4, slice_str("x"), &version, NULL);
    params_get(p, &control, &out, &version, NULL);
    params_wait(p, &w, NULL);
    params_missing(p, &value, 1, &missing, NULL);
    params_append(p, &log, slice_str("x"), NULL);
    params_read(p, &log, &cursor, &out, NULL);
    params_drop(p, &value, 1, NULL);
    params_release(p, 5);
    tear_down(&s, p);
    assert_string_equal(lines.data, "reserve part era 0 step 7 rank 0 shard 0 +1: ok\n"
                                    "publish part era 0 step 7 rank 0 shard 0 +1: ok\n"
                                    "cas control era 0 step 0 rank 0 shard 0: E_CHANGED\n"
                                    "get control era 0 step 0 rank 0 shard 0: E_NOT_FOUND\n"
                                    "wait sum era 1 step 7 rank 0 shard 1: E_TIMEOUT\n"
                                    "missing value era 0 step 3 rank 0 shard 0: ok\n"
                                    "append log era 0 step 0 rank 0 shard 0: ok\n"
                                    "read log era 0 step 0 rank 0 shard 0: ok\n"
                                    "drop value era 0 step 3 rank 0 shard 0: ok\n"
                                    "release: ok\n"
                                    "close: ok\n");
    buf_release(&lines);
    buf_release(&out);
}

static void a_delayed_store_takes_latency_and_transfer_time(void **state)
{
    const struct params_delays delays = { .latency_ns = 1000, .bytes_per_s = 1e9 };
    const struct params_key value = VALUE(1), control = { .kind = PARAMS_CONTROL };
    static const char bytes[500];
    struct slice view;
    struct params_wait w = {
        .keys = &value, .count = 1, .views = &view, .seen_version = PARAMS_UNWATCHED
    };
    struct setting s;
    struct params *p;
    uint64_t version;

    (void)state;
    set_up(&s);
    p = params_delayed_new(s.inner, &(struct params_open){ &s.env.base, &s.heap }, &delays);
    assert_int_equal(params_put_new(p, &value, slice(bytes, 500), NULL), 0);
    assert_int_equal(s.env.now, 1500);
    assert_int_equal(params_wait(p, &w, NULL), 0);
    assert_int_equal(s.env.now, 3000);
    assert_int_equal(params_cas(p, &control, 0, slice(bytes, 100), &version, NULL), 0);
    assert_int_equal(s.env.now, 4100);
    assert_int_equal(params_drop(p, &value, 1, NULL), 0);
    assert_int_equal(s.env.now, 5100);
    assert_false(params_has(p, PARAMS_CAP_IN_PLACE));
    tear_down(&s, p);
}

static void a_lost_reply_hides_what_happened(void **state)
{
    const struct params_faults faults = { .seed = 1, .lost_reply = 1, .lost_append = 1 };
    const struct params_key value = VALUE(1), log = { .kind = PARAMS_LOG };
    const struct params_key control = { .kind = PARAMS_CONTROL };
    struct error err = { 0 };
    uint64_t version = 77, cursor = 0;
    struct setting s;
    struct params *p;
    struct buf out;

    (void)state;
    set_up(&s);
    buf_init(&out, &s.heap, MIB);
    p = params_faulty_new(s.inner, &s.heap, &faults);
    assert_int_equal(params_put_new(p, &value, slice_str("there"), &err), E_IO);
    assert_true(err.retriable);
    assert_int_equal(params_get(p, &value, &out, &version, NULL), 0);
    assert_int_equal(out.size, 5);
    assert_int_equal(params_cas(p, &control, 0, slice_str("set"), &cursor, NULL), E_IO);
    assert_int_equal(cursor, 0);
    assert_int_equal(params_get(p, &control, &out, &version, NULL), 0);
    assert_int_equal(version, 1);
    assert_int_equal(params_append(p, &log, slice_str("e"), NULL), E_IO);
    assert_int_equal(params_append(p, &log, slice_str("e"), NULL), E_IO);
    buf_reset(&out);
    assert_int_equal(params_read(p, &log, &cursor, &out, NULL), 0);
    assert_int_equal(out.size, 10);
    buf_release(&out);
    tear_down(&s, p);
}

static void a_request_that_fails_changes_nothing(void **state)
{
    const struct params_faults faults = { .seed = 1, .fails = 1 };
    const struct params_key value = VALUE(1), other = VALUE(2);
    struct error err = { 0 };
    struct setting s;
    struct params *p;
    bool missing = false;

    (void)state;
    set_up(&s);
    assert_int_equal(params_put_new(s.inner, &other, slice_str("x"), NULL), 0);
    p = params_faulty_new(s.inner, &s.heap, &faults);
    assert_int_equal(params_put_new(p, &value, slice_str("x"), &err), E_IO);
    assert_true(err.retriable);
    assert_int_equal(params_drop(p, &other, 1, NULL), E_IO);
    assert_int_equal(params_missing(s.inner, &value, 1, &missing, NULL), 0);
    assert_true(missing);
    assert_int_equal(params_missing(s.inner, &other, 1, &missing, NULL), 0);
    assert_false(missing);
    tear_down(&s, p);
}

/* The codes of 200 calls, one character each. */
static void record_faults(uint64_t seed, char *text)
{
    const struct params_faults faults = {
        .seed = seed, .fails = 0.2, .lost_reply = 0.2, .timeout = 0.3
    };
    struct setting s;
    struct params *p;

    set_up(&s);
    p = params_faulty_new(s.inner, &s.heap, &faults);
    for (unsigned i = 0; i < 200; i++) {
        struct params_key key = VALUE(i / 2);
        struct slice view;
        struct params_wait w = { .keys = &key, .count = 1, .views = &view, .seen_version = 0 };
        int rc = i % 2 ? params_wait(p, &w, NULL) : params_put_new(p, &key, slice_str("x"), NULL);

        text[i] = (char)('a' - rc);
    }
    text[200] = 0;
    tear_down(&s, p);
}

static void faults_repeat_with_their_seed(void **state)
{
    char one[201], same[201], other[201];
    unsigned failed = 0, early = 0;

    (void)state;
    record_faults(5, one);
    record_faults(5, same);
    record_faults(6, other);
    assert_string_equal(one, same);
    assert_string_not_equal(one, other);
    for (unsigned i = 0; i < 200; i++) {
        failed += one[i] == 'a' - E_IO;
        early += one[i] == 'a' - E_TIMEOUT;
    }
    assert_in_range(failed, 30, 110);
    assert_in_range(early, 10, 70);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_traced_store_writes_a_line_for_every_call),
        cmocka_unit_test(a_delayed_store_takes_latency_and_transfer_time),
        cmocka_unit_test(a_lost_reply_hides_what_happened),
        cmocka_unit_test(a_request_that_fails_changes_nothing),
        cmocka_unit_test(faults_repeat_with_their_seed),
    };

    alarm(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
