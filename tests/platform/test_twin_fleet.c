/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fleet in the twin: hundreds of functions meet at a barrier every round, some are killed on
 * the way, and a client replaces them. Everything that happens is a function of the seed.
 */
#include "support/test.h"

#include "base/props.h"
#include "base/random.h"
#include "platform/twin.h"

#define RANKS  300u
#define ROUNDS 12u
#define DEATHS 25u

/* Where functions leave values for one another; what a store is, without its rules. */
struct board {
    bool there[ROUNDS][RANKS];
    uint64_t values[ROUNDS][RANKS];
    unsigned count[ROUNDS];
    struct env *waiting[RANKS]; /* by rank; NULL: does not wait */
    uint64_t results[RANKS];
};

static struct board board;

static void forget(void *arg UNUSED, struct env *env)
{
    for (unsigned r = 0; r < RANKS; r++)
        if (board.waiting[r] == env)
            board.waiting[r] = NULL;
}

static void put(unsigned round, unsigned rank, uint64_t value)
{
    if (board.there[round][rank])
        return;
    board.there[round][rank] = true;
    board.values[round][rank] = value;
    if (++board.count[round] < RANKS)
        return;
    for (unsigned r = 0; r < RANKS; r++)
        if (board.waiting[r])
            env_unpark(board.waiting[r]);
}

static void wait_for_all(struct env *env, unsigned round, unsigned rank)
{
    board.waiting[rank] = env;
    while (board.count[round] < RANKS)
        env_park(env, ENV_FOREVER);
    board.waiting[rank] = NULL;
}

/* A worker in small: State(t) is the fold over the rounds' values, so a replacement just begins
 * again. */
static int member(const struct platform_call *call, struct error *err)
{
    uint64_t rank, state = 1, *history;
    struct props payload;
    int rc;

    props_init(&payload, call->heap);
    rc = props_parse(&payload, call->payload, err);
    if (rc == 0)
        rc = props_u64(&payload, "rank", 0, 0, RANKS - 1, &rank, err);
    if (rc)
        return rc;
    for (unsigned round = 0; round < ROUNDS; round++) {
        if (!board.there[round][rank]) {
            env_charge(call->env, ENV_CHARGE_EXAMPLES,
                       1000 + random_below(env_random(call->env), 1000));
            put(round, (unsigned)rank, random_at(state, rank, round, 0));
        }
        wait_for_all(call->env, round, (unsigned)rank);
        history = heap_alloc(call->heap, sizeof(*history) * RANKS);
        memcpy(history, board.values[round], sizeof(*history) * RANKS);
        for (unsigned r = 0; r < RANKS; r++)
            state = random_mix(state + history[r]);
    }
    board.results[rank] = state;
    return 0;
}

static int start_rank(struct platform *p, unsigned rank, uint64_t *ranks_by_id, struct error *err)
{
    char payload[32];
    uint64_t id;
    int size = snprintf(payload, sizeof(payload), "rank: %u\n", rank), rc;

    rc = platform_start(p,
                        &(struct platform_start){ .memory_mb = 1769,
                                                  .timeout_ms = 60000,
                                                  .payload = slice(payload, (size_t)size),
                                                  .fd = -1 },
                        &id, err);
    if (rc == 0)
        ranks_by_id[id] = rank;
    return rc;
}

struct outcome {
    bool kills;
    unsigned killed;
};

/* A scheduler in small: one function per rank, and another for each that dies. */
static int client(struct env *env, struct heap *heap, void *arg, struct error *err)
{
    struct platform *p = platform_twin_new(twin_of(env), member);
    uint64_t *rank_of = heap_alloc(heap, sizeof(*rank_of) * (RANKS + DEATHS + 1));
    struct outcome *outcome = arg;
    struct platform_exit e;
    unsigned done = 0;
    int rc = 0;

    for (unsigned r = 0; r < RANKS && rc == 0; r++)
        rc = start_rank(p, r, rank_of, err);
    for (unsigned i = 0; outcome->kills && i < DEATHS; i++)
        platform_twin_end_at(p, 1 + random_below(env_random(env), RANKS),
                             env_after(env, random_below(env_random(env), NS_PER_S)),
                             PLATFORM_CRASHED);
    while (done < RANKS && rc == 0) {
        env_sleep(env, 10 * NS_PER_MS);
        while (rc == 0 && platform_poll(p, &e, 1)) {
            if (e.reason == PLATFORM_CRASHED) {
                outcome->killed++;
                rc = start_rank(p, (unsigned)rank_of[e.id], rank_of, err);
            } else if (e.reason == PLATFORM_DONE) {
                done++;
            } else {
                rc = fail(err, E_FAILED, "rank %u: %s", (unsigned)rank_of[e.id], e.words);
            }
        }
    }
    platform_close(p);
    return rc;
}

static struct twin *run_fleet(uint64_t seed, bool kills, size_t trace_bytes,
                              struct outcome *outcome)
{
    struct twin *t = twin_new(
        &(struct twin_options){ .seed = seed, .trace_bytes = trace_bytes, .forget = forget });
    struct error err = { 0 };

    board = (struct board){ 0 };
    *outcome = (struct outcome){ .kills = kills };
    if (twin_run(t, client, outcome, &err))
        fail_msg("%s", err.text);
    for (unsigned r = 0; r < RANKS; r++)
        assert_true(board.results[r] == board.results[0] && board.results[r] != 0);
    return t;
}

static void the_same_seed_gives_the_same_events_byte_for_byte(void **state UNUSED)
{
    struct outcome outcome;
    struct twin *first = run_fleet(7, true, 16 * MIB, &outcome);
    uint64_t result = board.results[0];
    struct twin *second = run_fleet(7, true, 16 * MIB, &outcome);
    struct twin *untraced = run_fleet(7, true, 0, &outcome);

    assert_true(outcome.killed > DEATHS / 3);
    assert_true(twin_trace(first).size > RANKS * ROUNDS * 40);
    assert_true(slice_equal(twin_trace(first), twin_trace(second)));
    assert_true(board.results[0] == result);
    assert_true(twin_digest(first) == twin_digest(second));
    assert_true(twin_digest(first) == twin_digest(untraced));
    assert_int_equal(twin_trace(untraced).size, 0);
    assert_memory_equal(twin_trace(first).data, "1000000000 1 0 begun\n1000000000 2 1 started\n",
                        44);
    twin_free(first);
    twin_free(second);
    twin_free(untraced);
}

static void another_seed_gives_other_events(void **state UNUSED)
{
    struct outcome outcome;
    struct twin *first = run_fleet(7, true, 16 * MIB, &outcome);
    struct twin *second = run_fleet(8, true, 16 * MIB, &outcome);

    assert_false(slice_equal(twin_trace(first), twin_trace(second)));
    assert_true(twin_digest(first) != twin_digest(second));
    twin_free(first);
    twin_free(second);
}

/* Rule 4 of the design, in small. */
static void killed_functions_change_nothing_but_time(void **state UNUSED)
{
    struct outcome outcome;
    struct twin *t = run_fleet(7, false, 0, &outcome);
    uint64_t quiet_ns = twin_now(t), result = board.results[0];

    assert_int_equal(outcome.killed, 0);
    twin_free(t);
    t = run_fleet(7, true, 0, &outcome);
    assert_true(outcome.killed > 0);
    assert_true(board.results[0] == result);
    assert_true(twin_now(t) > quiet_ns);
    twin_free(t);
}

static void a_trace_is_cut_at_the_end_of_a_line(void **state UNUSED)
{
    struct outcome outcome;
    struct twin *whole = run_fleet(7, false, 16 * MIB, &outcome);
    struct twin *cut = run_fleet(7, false, 1000, &outcome);
    struct slice text = twin_trace(cut);

    assert_in_range(text.size, 900, 1000);
    assert_int_equal(((const char *)text.data)[text.size - 1], '\n');
    assert_memory_equal(text.data, twin_trace(whole).data, text.size);
    assert_true(twin_events(cut) == twin_events(whole));
    twin_free(whole);
    twin_free(cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_gives_the_same_events_byte_for_byte),
        cmocka_unit_test(another_seed_gives_other_events),
        cmocka_unit_test(killed_functions_change_nothing_but_time),
        cmocka_unit_test(a_trace_is_cut_at_the_end_of_a_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
