/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The twin over the real memory store: functions exchange values step by step as workers do,
 * follow the control record, and die while they wait.
 */
#include "support/test.h"

#include "base/props.h"
#include "base/random.h"
#include "params/memory.h"
#include "platform/twin.h"

#define RANKS 200u
#define STEPS 10u

static void forget(void *arg UNUSED, struct env *env)
{
    params_memory_forget(env);
}

struct member {
    struct env *env;
    struct heap *heap;
    struct params *params;
    uint64_t rank, ranks, steps;
};

static int open_member(struct member *m, const struct platform_call *call, struct error *err)
{
    struct params_open open = { call->env, call->heap };
    struct props payload;
    int rc;

    *m = (struct member){ .env = call->env, .heap = call->heap };
    props_init(&payload, call->heap);
    rc = props_parse(&payload, call->payload, err);
    if (!rc)
        rc = props_u64(&payload, "rank", 0, 0, RANKS, &m->rank, err);
    if (!rc)
        rc = props_u64(&payload, "ranks", 1, 1, RANKS, &m->ranks, err);
    if (!rc)
        rc = props_u64(&payload, "steps", 1, 1, STEPS, &m->steps, err);
    if (!rc)
        rc = params_open(props_str(&payload, "params", ""), call->fd, &open, &m->params, err);
    return rc;
}

static struct params_key part(uint64_t step, uint64_t rank)
{
    return (
        struct params_key){ .kind = PARAMS_PART, .era = 1, .step = step, .rank = (uint32_t)rank };
}

/* Give this rank's value and fold everybody's into *FOLD. */
static int exchange(struct member *m, uint64_t step, uint64_t *fold, struct error *err)
{
    struct params_key *keys = heap_alloc(m->heap, RANKS * sizeof(*keys));
    struct slice *views = heap_alloc(m->heap, RANKS * sizeof(*views));
    uint64_t mine = random_at(*fold, m->rank, step, 0), theirs;
    struct params_wait wait = { .keys = keys,
                                .count = (unsigned)m->ranks,
                                .views = views,
                                .seen_version = PARAMS_UNWATCHED,
                                .until = ENV_FOREVER };
    int rc;

    for (uint64_t r = 0; r < m->ranks; r++)
        keys[r] = part(step, r);
    rc = params_put_new(m->params, &keys[m->rank], slice(&mine, sizeof(mine)), err);
    if (!rc)
        rc = params_wait(m->params, &wait, err);
    for (uint64_t r = 0; r < m->ranks && !rc; r++) {
        memcpy(&theirs, views[r].data, sizeof(theirs));
        *fold = random_mix(*fold + theirs);
    }
    heap_free(m->heap, keys);
    heap_free(m->heap, views);
    return rc;
}

/* Its result goes into its log, which the client reads. */
static int entry(const struct platform_call *call, struct error *err)
{
    uint64_t fold = 1;
    struct params_key log;
    struct member m;
    int rc = open_member(&m, call, err);

    for (uint64_t step = 0; step < m.steps && !rc; step++) {
        env_charge(m.env, ENV_CHARGE_EXAMPLES, 1000 + random_below(env_random(m.env), 1000));
        rc = exchange(&m, step, &fold, err);
    }
    log = (struct params_key){ .kind = PARAMS_LOG, .rank = (uint32_t)m.rank };
    if (!rc)
        rc = params_append(m.params, &log, slice(&fold, sizeof(fold)), err);
    params_close(m.params);
    return rc;
}

struct outcome {
    uint64_t ranks, steps;
    uint64_t results[RANKS];
    unsigned done, died;
};

static int open_store(struct env *env, struct heap *heap, struct params **out, struct error *err)
{
    struct params_layout layout = { .ranks = RANKS,
                                    .spares = 1,
                                    .shards = 1,
                                    .sums_kept = 2,
                                    .part_bytes = 64,
                                    .sum_bytes = 64,
                                    .general_bytes = MIB };

    return params_create("memory:", &layout, &(struct params_open){ env, heap }, out, err);
}

static int start_all(struct platform *p, struct params *params, const struct outcome *o,
                     struct error *err)
{
    struct params_address address;
    int rc = params_address(params, &address, err);
    char text[400];
    uint64_t id;

    for (uint64_t r = 0; r < o->ranks && !rc; r++) {
        int size = snprintf(text, sizeof(text), "params: %s\nrank: %u\nranks: %u\nsteps: %u\n",
                            address.url, (unsigned)r, (unsigned)o->ranks, (unsigned)o->steps);

        rc = platform_start(p,
                            &(struct platform_start){ .memory_mb = 1769,
                                                      .timeout_ms = 60000,
                                                      .payload = slice(text, (size_t)size),
                                                      .fd = address.fd },
                            &id, err);
    }
    return rc;
}

static int read_results(struct params *params, struct heap *heap, struct outcome *o,
                        struct error *err)
{
    struct wire_entry {
        uint32_t size;
        uint64_t value;
    } __attribute__((packed)) e;
    struct buf out;
    int rc = 0;

    buf_init(&out, heap, 2 * MIB);
    for (uint32_t r = 0; r < o->ranks && !rc; r++) {
        struct params_key log = { .kind = PARAMS_LOG, .rank = r };
        uint64_t cursor = 0;

        buf_reset(&out);
        rc = params_read(params, &log, &cursor, &out, err);
        if (!rc && out.size == sizeof(e)) {
            memcpy(&e, out.data, sizeof(e));
            o->results[r] = e.value;
        }
    }
    buf_release(&out);
    return rc;
}

static int client(struct env *env, struct heap *heap, void *arg, struct error *err)
{
    struct platform *p = platform_twin_new(twin_of(env), entry);
    struct params *params = NULL;
    struct outcome *o = arg;
    struct platform_exit e;
    int rc = open_store(env, heap, &params, err);

    if (!rc)
        rc = start_all(p, params, o, err);
    while (!rc && o->done < o->ranks) {
        env_sleep(env, 50 * NS_PER_MS);
        while (!rc && platform_poll(p, &e, 1)) {
            o->done += e.reason == PLATFORM_DONE;
            if (e.reason != PLATFORM_DONE)
                rc = fail(err, E_FAILED, "%s: %s", platform_reason_text(e.reason), e.words);
        }
    }
    if (!rc)
        rc = read_results(params, heap, o, err);
    platform_close(p);
    params_close(params);
    return rc;
}

static struct twin *run(uint64_t seed, size_t trace_bytes, struct outcome *o)
{
    struct twin *t = twin_new(
        &(struct twin_options){ .seed = seed, .trace_bytes = trace_bytes, .forget = forget });
    struct error err = { 0 };

    if (twin_run(t, client, o, &err))
        fail_msg("%s", err.text);
    return t;
}

static void a_fleet_over_the_memory_store_repeats_itself_byte_for_byte(void **state UNUSED)
{
    struct outcome one = { .ranks = RANKS, .steps = STEPS }, two = one, other = one;
    struct twin *first = run(3, 8 * MIB, &one), *second = run(3, 8 * MIB, &two);
    struct twin *third = run(4, 8 * MIB, &other);

    assert_int_equal(one.done, RANKS);
    for (unsigned r = 0; r < RANKS; r++) {
        assert_true(one.results[r] != 0 && one.results[r] == one.results[0]);
        assert_true(two.results[r] == one.results[0]);
        /* Another seed of the twin moves the times, not the results. */
        assert_true(other.results[r] == one.results[0]);
    }
    assert_true(twin_trace(first).size > RANKS * STEPS * 40);
    assert_true(slice_equal(twin_trace(first), twin_trace(second)));
    assert_false(slice_equal(twin_trace(first), twin_trace(third)));
    twin_free(first);
    twin_free(second);
    twin_free(third);
}

/*
 * The last rank never starts its exchange before the others wait for it: one of those is killed
 * where it waits, and the store must have forgotten it when the awaited value comes.
 */
static int waits_for_the_last(const struct platform_call *call, struct error *err)
{
    uint64_t fold = 1;
    struct member m;
    int rc = open_member(&m, call, err);

    if (!rc && m.rank == m.ranks - 1)
        env_sleep(m.env, 100 * NS_PER_S);
    else if (!rc)
        rc = exchange(&m, 0, &fold, err);
    params_close(m.params);
    return rc;
}

/* What a dead function did not give, the client gives: the others go on. */
static int stand_in(struct params *params, uint64_t rank, struct error *err)
{
    struct params_key key = part(0, rank);
    uint64_t value = 0;
    int rc = params_put_new(params, &key, slice(&value, sizeof(value)), err);

    return rc == E_EXISTS ? 0 : rc;
}

static int kills_one_that_waits(struct env *env, struct heap *heap, void *arg, struct error *err)
{
    struct platform *p = platform_twin_new(twin_of(env), waits_for_the_last);
    struct params *params = NULL;
    struct outcome *o = arg;
    struct platform_exit e;
    int rc = open_store(env, heap, &params, err);

    if (!rc)
        rc = start_all(p, params, o, err);
    env_sleep(env, NS_PER_S);
    platform_stop(p, 2);                                            /* waits */
    platform_twin_end_at(p, 3, env_now(env) + 1, PLATFORM_CRASHED); /* waits */
    platform_stop(p, o->ranks);                                     /* sleeps */
    env_sleep(env, NS_PER_MS);
    if (!rc)
        rc = stand_in(params, o->ranks - 1, err);
    env_sleep(env, NS_PER_MS);
    while (platform_poll(p, &e, 1)) {
        o->done += e.reason == PLATFORM_DONE;
        o->died += e.reason == PLATFORM_CRASHED || e.reason == PLATFORM_STOPPED;
    }
    platform_close(p);
    params_close(params);
    return rc;
}

static void killed_waiters_are_forgotten_by_the_store(void **state UNUSED)
{
    struct twin *t = twin_new(&(struct twin_options){ .seed = 1, .forget = forget });
    struct outcome o = { .ranks = 6, .steps = 1 };
    struct error err = { 0 };

    if (twin_run(t, kills_one_that_waits, &o, &err))
        fail_msg("%s", err.text);
    assert_int_equal(o.done, 3);
    assert_int_equal(o.died, 3);
    twin_free(t);
}

/* Rank 1 of 4 dies before it gives its part; nobody stands in for it, and all wait for ever. */
static int loses_one(struct env *env, struct heap *heap, void *arg, struct error *err)
{
    struct platform *p = platform_twin_new(twin_of(env), entry);
    struct params *params = NULL;
    int rc = open_store(env, heap, &params, err);

    if (!rc)
        rc = start_all(p, params, arg, err);
    platform_stop(p, 2);
    if (!rc)
        env_park(env, ENV_FOREVER);
    return rc;
}

static void a_fleet_that_waits_for_the_dead_is_reported(void **state UNUSED)
{
    struct twin *t = twin_new(&(struct twin_options){ .seed = 1, .forget = forget });
    struct outcome o = { .ranks = 4, .steps = 1 };
    struct error err = { 0 };

    assert_int_equal(twin_run(t, loses_one, &o, &err), E_FAILED);
    assert_non_null(strstr(err.text, "after 3 functions ran into their time limit"));
    assert_non_null(strstr(err.text, "1 wait: the client (since 1.000000 s)"));
    twin_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fleet_over_the_memory_store_repeats_itself_byte_for_byte),
        cmocka_unit_test(killed_waiters_are_forgotten_by_the_store),
        cmocka_unit_test(a_fleet_that_waits_for_the_dead_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
