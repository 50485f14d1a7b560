/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual time, limits and ends of simulated functions, one at a time. */
#include "support/test.h"

#include <unistd.h>

#include "platform/twin.h"

#define BEGIN NS_PER_S /* when virtual time begins */

/* Costs that can be added up in the head. */
static const struct twin_profile plain = {
    .name = "plain",
    .limits = { .concurrency = 3,
                .memory_mb_min = 1,
                .memory_mb_max = 10000,
                .timeout_ms_max = 100000,
                .vcpus_per_mb = 1.0 / 1000 },
    .cold_start_ns = 5 * NS_PER_MS,
    .charge_ns = { [ENV_CHARGE_EXAMPLES] = 100, [ENV_CHARGE_SUM_BYTES] = 0.25 },
};

/* What the tests below are about, seen by client and functions alike. */
struct scene {
    struct twin *twin;
    struct platform *platform;
    struct env *client, *function;
    unsigned forgotten;
    unsigned reached; /* how far a function came */
};

static struct scene scene;

static void forget(void *arg, struct env *env)
{
    struct scene *s = arg;

    s->forgotten++;
    if (env == s->function)
        s->function = NULL;
}

static int run_with(const struct twin_options *o, twin_client_fn client, struct error *err)
{
    struct twin_options options = *o;
    int rc;

    options.profile = options.profile ? options.profile : &plain;
    options.forget = forget;
    options.forget_arg = &scene;
    scene = (struct scene){ .twin = twin_new(&options) };
    rc = twin_run(scene.twin, client, NULL, err);
    return rc;
}

/* Runs CLIENT to a good end. */
static void play(twin_client_fn client)
{
    struct error err = { 0 };

    if (run_with(&(struct twin_options){ .seed = 1 }, client, &err))
        fail_msg("%s", err.text);
    twin_free(scene.twin);
}

/* cmocka leaves a failing test by a jump, which must not cross stacks: clients and entries return
 * it. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return fail(err, E_FAILED, "line %d: %s", __LINE__, #condition);                       \
    } while (0)

static uint64_t start_with(uint32_t memory_mb, uint64_t timeout_ms, const char *payload)
{
    struct platform_start s = {
        .memory_mb = memory_mb, .timeout_ms = timeout_ms, .payload = slice_str(payload), .fd = -1
    };
    uint64_t id = 0;

    return platform_start(scene.platform, &s, &id, NULL) ? 0 : id;
}

static void open_platform(struct env *env, platform_entry_fn entry)
{
    scene.client = env;
    scene.platform = platform_twin_new(twin_of(env), entry);
}

/* Wait for one end. */
static struct platform_exit next_exit(struct env *env)
{
    struct platform_exit e = { 0 };

    while (!platform_poll(scene.platform, &e, 1))
        env_sleep(env, NS_PER_MS);
    return e;
}

/* ---- the environment ---------------------------------------------------------------------- */

static int sleeps(struct env *env, struct heap *heap UNUSED, void *arg UNUSED, struct error *err)
{
    CHECK(env_now(env) == BEGIN);
    env_sleep(env, 0);
    CHECK(env_now(env) == BEGIN);
    env_sleep(env, NS_PER_S * 86400 * 3650);
    CHECK(env_now(env) == BEGIN + NS_PER_S * 86400 * 3650);
    CHECK(env_random(env) != env_random(env));
    return 0;
}

static void time_passes_by_sleeping_and_takes_no_time(void **state UNUSED)
{
    play(sleeps);
}

static int parks(struct env *env, struct heap *heap UNUSED, void *arg UNUSED, struct error *err)
{
    CHECK(!env_park(env, 0));
    CHECK(!env_park(env, BEGIN));
    CHECK(!env_park(env, BEGIN + 5));
    CHECK(env_now(env) == BEGIN + 5);
    env_unpark(env);
    env_unpark(env);
    CHECK(env_park(env, ENV_FOREVER));
    CHECK(!env_park(env, BEGIN + 6)); /* two unparks are one permit */
    env_unpark(env);
    env_sleep(env, 100);
    CHECK(env_park(env, 0));
    CHECK(env_now(env) == BEGIN + 106);
    return 0;
}

static void a_permit_is_kept_until_the_next_park(void **state UNUSED)
{
    play(parks);
}

static int unparks_client(const struct platform_call *call, struct error *err UNUSED)
{
    env_sleep(call->env, 3 * NS_PER_MS);
    env_unpark(scene.client);
    return 0;
}

static int waits_for_function(struct env *env, struct heap *heap UNUSED, void *arg UNUSED,
                              struct error *err)
{
    open_platform(env, unparks_client);
    CHECK(start_with(1000, 1000, "") == 1);
    CHECK(env_park(env, BEGIN + NS_PER_S));
    CHECK(env_now(env) == BEGIN + 8 * NS_PER_MS);
    /* The time limit of that wait must be gone. */
    CHECK(!env_park(env, BEGIN + 2 * NS_PER_S));
    CHECK(env_now(env) == BEGIN + 2 * NS_PER_S);
    platform_close(scene.platform);
    return 0;
}

static void unpark_ends_a_wait_at_once(void **state UNUSED)
{
    play(waits_for_function);
}

static void add_one(void *arg, unsigned index)
{
    unsigned *sums = arg;

    sums[index] += index + 1;
}

static int charges(const struct platform_call *call, struct error *err)
{
    uint64_t began = env_now(call->env);
    unsigned sums[3] = { 0 };

    /* A tenth of a vCPU: ten times as long. */
    env_charge(call->env, ENV_CHARGE_EXAMPLES, 7);
    CHECK(env_now(call->env) - began == 7 * 100 * 10);
    env_charge(call->env, ENV_CHARGE_EVALUATED, 1000);
    CHECK(env_now(call->env) - began == 7000);
    for (unsigned i = 0; i < 100; i++)
        env_charge(call->env, ENV_CHARGE_SUM_BYTES, 1); /* 2.5 ns each */
    CHECK(env_now(call->env) - began == 7250);
    env_parallel(call->env, 3, add_one, sums);
    CHECK(sums[0] == 1 && sums[1] == 2 && sums[2] == 3);
    CHECK(env_now(call->env) - began == 7250);
    scene.reached = 1;
    return 0;
}

static int starts_slow_function(struct env *env, struct heap *heap UNUSED, void *arg UNUSED,
                                struct error *err)
{
    struct platform_exit e;

    open_platform(env, charges);
    CHECK(start_with(100, 1000, "") == 1);
    e = next_exit(env);
    if (e.reason != PLATFORM_DONE)
        return fail(err, E_FAILED, "%s", e.words);
    CHECK(scene.reached == 1);
    return 0;
}

static void work_takes_time_by_its_cost_and_the_share_of_a_cpu(void **state UNUSED)
{
    play(starts_slow_function);
}

/* ---- starts and ends ---------------------------------------------------------------------- */

static int reads_call(const struct platform_call *call, struct error *err)
{
    char byte;

    CHECK(slice_equal(call->payload, slice_str("rank: 3\n")));
    CHECK(call->memory_mb == 500);
    CHECK(call->deadline == env_now(call->env) + 2000 * NS_PER_MS);
    CHECK(read(call->fd, &byte, 1) == 1 && byte == 'x');
    heap_alloc(call->heap, 12345);
    env_sleep(call->env, 2500000);
    return fail(err, E_MISMATCH, "as was to be shown");
}

static int starts_and_polls(struct env *env, struct heap *heap UNUSED, void *arg UNUSED,
                            struct error *err)
{
    char payload[] = "rank: 3\n";
    struct platform_exit e;
    uint64_t id;
    int ends[2];

    open_platform(env, reads_call);
    CHECK(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
    CHECK(platform_start(scene.platform,
                         &(struct platform_start){ .memory_mb = 500,
                                                   .timeout_ms = 2000,
                                                   .payload = slice_str(payload),
                                                   .fd = ends[0] },
                         &id, err) == 0);
    /* The platform has a copy of both. */
    memset(payload, 0, sizeof(payload));
    close(ends[0]);
    close(ends[1]);
    CHECK(id == 1);
    CHECK(platform_poll(scene.platform, &e, 1) == 0);
    env_sleep(env, NS_PER_S);
    CHECK(platform_poll(scene.platform, &e, 1) == 1);
    CHECK(platform_poll(scene.platform, &e, 1) == 0);
    CHECK(e.id == 1 && e.reason == PLATFORM_FAILED && e.code == E_MISMATCH);
    CHECK(strcmp(e.words, "as was to be shown") == 0);
    CHECK(e.billed_ms == 3 && e.cold && e.peak_bytes == 12345);
    CHECK(scene.forgotten == 1);
    return 0;
}

static void a_function_gets_its_call_and_its_end_is_told_once(void **state UNUSED)
{
    play(starts_and_polls);
}

static int works_long(const struct platform_call *call, struct error *err UNUSED)
{
    scene.function = call->env;
    scene.reached++;
    heap_alloc(call->heap, 100000);
    env_charge(call->env, ENV_CHARGE_EXAMPLES,
               strcmp(call->payload.data, "long") ? 10 : 1000000000);
    scene.reached++;
    return 0;
}

static int waits_for_time_limit(struct env *env, struct heap *heap UNUSED, void *arg UNUSED,
                                struct error *err)
{
    struct platform_exit e;

    open_platform(env, works_long);
    CHECK(start_with(1000, 700, "long") == 1);
    env_sleep(env, 705 * NS_PER_MS - 1);
    CHECK(platform_poll(scene.platform, &e, 1) == 0 && scene.function);
    env_sleep(env, 1);
    CHECK(platform_poll(scene.platform, &e, 1) == 1);
    CHECK(e.reason == PLATFORM_TIME && e.billed_ms == 700 && e.peak_bytes == 100000);
    CHECK(scene.reached == 1 && scene.forgotten == 1 && !scene.function);
    return 0;
}

static void the_time_limit_strikes_in_the_middle_of_work(void **state UNUSED)
{
    play(waits_for_time_limit);
}

static int takes_memory(const struct platform_call *call, struct error *err)
{
    const char *payload = call->payload.data;

    scene.function = call->env;
    env_sleep(call->env, NS_PER_MS);
    if (payload[0] == 't') {
        CHECK(!heap_try_alloc(call->heap, 1, 2 * MIB + 1));
        CHECK(heap_try_alloc(call->heap, 2, MIB));
        return 0;
    }
    for (;;) {
        heap_alloc(call->heap, 1000);
        scene.reached++;
    }
}

static int exhausts_functions(struct env *env, struct heap *heap, void *arg UNUSED,
                              struct error *err)
{
    struct platform_exit e;

    open_platform(env, takes_memory);
    CHECK(start_with(2, 1000, "small") == 1);
    e = next_exit(env);
    CHECK(e.reason == PLATFORM_MEMORY && e.billed_ms == 1);
    CHECK(scene.reached == 2 * MIB / 1000 && e.peak_bytes == scene.reached * 1000);
    CHECK(scene.forgotten == 1 && !scene.function);
    CHECK(start_with(2, 1000, "try") == 2);
    e = next_exit(env);
    CHECK(e.reason == PLATFORM_DONE);
    CHECK(heap_try_alloc(heap, 1, 3 * MIB)); /* nobody else is limited */
    return 0;
}

static void too_much_memory_ends_the_function_and_nobody_else(void **state UNUSED)
{
    play(exhausts_functions);
}

static int stops_functions(struct env *env, struct heap *heap UNUSED, void *arg UNUSED,
                           struct error *err)
{
    struct platform_exit e[4];

    open_platform(env, works_long);
    CHECK(start_with(1000, 10000, "long") == 1);
    platform_stop(scene.platform, 1);
    CHECK(platform_poll(scene.platform, e, 4) == 1);
    CHECK(e[0].reason == PLATFORM_STOPPED && e[0].billed_ms == 0 && scene.reached == 0);
    CHECK(start_with(1000, 10000, "long") == 2);
    CHECK(start_with(1000, 10000, "short") == 3);
    env_sleep(env, 100 * NS_PER_MS);
    platform_stop(scene.platform, 2);
    platform_stop(scene.platform, 2);
    platform_stop(scene.platform, 3);
    platform_stop(scene.platform, 1);
    platform_stop(scene.platform, 99);
    platform_stop(scene.platform, 0);
    CHECK(platform_poll(scene.platform, e, 4) == 2);
    CHECK(e[0].id == 3 && e[0].reason == PLATFORM_DONE && e[0].billed_ms == 1);
    CHECK(e[1].id == 2 && e[1].reason == PLATFORM_STOPPED && e[1].billed_ms == 95);
    CHECK(scene.forgotten == 2);
    return 0;
}

static void stop_ends_a_function_wherever_it_is(void **state UNUSED)
{
    play(stops_functions);
}

static int ends_functions(struct env *env, struct heap *heap UNUSED, void *arg UNUSED,
                          struct error *err)
{
    struct platform_exit e;

    open_platform(env, works_long);
    CHECK(start_with(1000, 1000, "long") == 1);
    platform_twin_end_at(scene.platform, 1, BEGIN + 50 * NS_PER_MS, PLATFORM_CRASHED);
    platform_twin_end_at(scene.platform, 1, BEGIN + 60 * NS_PER_MS, PLATFORM_MEMORY);
    platform_twin_end_at(scene.platform, 2, BEGIN, PLATFORM_MEMORY);
    e = next_exit(env);
    CHECK(e.id == 1 && e.reason == PLATFORM_CRASHED && e.billed_ms == 45);
    CHECK(env_now(env) == BEGIN + 50 * NS_PER_MS);
    CHECK(start_with(1000, 1000, "long") == 2);
    platform_twin_end_at(scene.platform, 2, 0, PLATFORM_CRASHED);
    e = next_exit(env);
    CHECK(e.id == 2 && e.reason == PLATFORM_CRASHED && e.billed_ms == 0 && scene.reached == 1);
    return 0;
}

static void an_end_can_be_set_for_any_time_and_the_earliest_counts(void **state UNUSED)
{
    play(ends_functions);
}

static int fills_platform(struct env *env, struct heap *heap UNUSED, void *arg UNUSED,
                          struct error *err)
{
    struct platform_start s = { .memory_mb = 1000, .timeout_ms = 1000, .fd = -1 };
    struct error refusal = { 0 };
    uint64_t id = 77;

    open_platform(env, works_long);
    CHECK(start_with(1000, 1000, "a") == 1 && start_with(1000, 1000, "long") == 2 &&
          start_with(1000, 1000, "b") == 3);
    CHECK(platform_start(scene.platform, &s, &id, &refusal) == E_FULL);
    CHECK(refusal.retriable && id == 77);
    env_sleep(env, 10 * NS_PER_MS);
    CHECK(start_with(1000, 1000, "c") == 4);
    s.memory_mb = 10001;
    CHECK(platform_start(scene.platform, &s, &id, &refusal) == E_LIMIT);
    s = (struct platform_start){ .memory_mb = 1000, .timeout_ms = 100001, .fd = -1 };
    CHECK(platform_start(scene.platform, &s, &id, &refusal) == E_LIMIT);
    platform_close(scene.platform);
    return 0;
}

static void no_more_functions_run_than_may(void **state UNUSED)
{
    play(fills_platform);
    assert_int_equal(scene.forgotten, 4); /* the three that had begun, and the client */
}

/* ---- when it goes wrong ------------------------------------------------------------------- */

static int parks_forever(const struct platform_call *call, struct error *err UNUSED)
{
    env_sleep(call->env, call->payload.size * NS_PER_MS);
    env_park(call->env, ENV_FOREVER);
    return 0;
}

static int waits_forever(struct env *env, struct heap *heap, void *arg UNUSED, struct error *err)
{
    heap_alloc(heap, 100);
    open_platform(env, parks_forever);
    CHECK(start_with(1000, 1000, "xx") == 1 && start_with(1000, 3000, "x") == 2);
    env_park(env, ENV_FOREVER);
    return 0;
}

static void a_deadlock_is_found_and_says_who_waits(void **state UNUSED)
{
    struct error err = { 0 };

    assert_int_equal(run_with(&(struct twin_options){ .seed = 1 }, waits_forever, &err), E_FAILED);
    assert_string_equal(err.text, "deadlock at 4.005000 s, after 2 functions ran into their time "
                                  "limit; 1 wait: the client (since 1.000000 s)");
    assert_int_equal(scene.forgotten, 3);
    twin_free(scene.twin);
}

static int returns_early(struct env *env, struct heap *heap UNUSED, void *arg UNUSED,
                         struct error *err)
{
    open_platform(env, works_long);
    CHECK(start_with(1000, 10000, "long") == 1 && start_with(1000, 10000, "long") == 2);
    env_sleep(env, 100 * NS_PER_MS);
    return E_GOAL;
}

static int looks_again(struct env *env, struct heap *heap UNUSED, void *arg UNUSED,
                       struct error *err)
{
    struct platform_exit e[2];

    CHECK(env_now(env) == BEGIN + 100 * NS_PER_MS);
    env_sleep(env, 10 * NS_PER_S);
    CHECK(platform_poll(scene.platform, e, 2) == 2);
    CHECK(e[0].reason == PLATFORM_TIME && e[1].reason == PLATFORM_TIME);
    return 0;
}

static void functions_outlive_the_client_and_end_with_the_twin(void **state UNUSED)
{
    struct error err = { 0 };

    assert_int_equal(run_with(&(struct twin_options){ .seed = 1 }, returns_early, &err), E_GOAL);
    assert_int_equal(scene.forgotten, 1);
    twin_free(scene.twin);
    assert_int_equal(scene.forgotten, 3);

    assert_int_equal(run_with(&(struct twin_options){ .seed = 1 }, returns_early, &err), E_GOAL);
    assert_int_equal(twin_run(scene.twin, looks_again, NULL, &err), 0);
    twin_free(scene.twin);
}

static int polls_forever(struct env *env, struct heap *heap UNUSED, void *arg UNUSED,
                         struct error *err UNUSED)
{
    while (env_now(env))
        env_sleep(env, NS_PER_S);
    return 0;
}

static void a_run_gives_up_at_its_limit_of_virtual_time(void **state UNUSED)
{
    struct error err = { 0 };

    assert_int_equal(run_with(&(struct twin_options){ .seed = 1, .limit_ns = 3600 * NS_PER_S },
                              polls_forever, &err),
                     E_TIMEOUT);
    assert_true(twin_now(scene.twin) == BEGIN + 3600 * NS_PER_S);
    twin_free(scene.twin);
    twin_free(NULL);
}

static int asks_a_twin(const struct platform_call *call, struct error *err)
{
    struct twin *inner = twin_new(&(struct twin_options){ .seed = 5, .profile = &plain });
    uint64_t before = env_now(call->env);
    int rc = twin_run(inner, sleeps, NULL, err);

    twin_free(inner);
    CHECK(rc == 0 && env_now(call->env) == before);
    env_sleep(call->env, 1);
    CHECK(env_now(call->env) == before + 1);
    return 0;
}

static int starts_asker(struct env *env, struct heap *heap UNUSED, void *arg UNUSED,
                        struct error *err)
{
    struct platform_exit e;

    open_platform(env, asks_a_twin);
    CHECK(start_with(1000, 1000, "") == 1);
    e = next_exit(env);
    CHECK(e.reason == PLATFORM_DONE);
    return 0;
}

static void a_twin_can_be_asked_from_inside_a_twin(void **state UNUSED)
{
    play(starts_asker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_passes_by_sleeping_and_takes_no_time),
        cmocka_unit_test(a_permit_is_kept_until_the_next_park),
        cmocka_unit_test(unpark_ends_a_wait_at_once),
        cmocka_unit_test(work_takes_time_by_its_cost_and_the_share_of_a_cpu),
        cmocka_unit_test(a_function_gets_its_call_and_its_end_is_told_once),
        cmocka_unit_test(the_time_limit_strikes_in_the_middle_of_work),
        cmocka_unit_test(too_much_memory_ends_the_function_and_nobody_else),
        cmocka_unit_test(stop_ends_a_function_wherever_it_is),
        cmocka_unit_test(an_end_can_be_set_for_any_time_and_the_earliest_counts),
        cmocka_unit_test(no_more_functions_run_than_may),
        cmocka_unit_test(a_deadlock_is_found_and_says_who_waits),
        cmocka_unit_test(functions_outlive_the_client_and_end_with_the_twin),
        cmocka_unit_test(a_run_gives_up_at_its_limit_of_virtual_time),
        cmocka_unit_test(a_twin_can_be_asked_from_inside_a_twin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
