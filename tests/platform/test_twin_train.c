/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real scheduler and the real worker in the twin, over the memory stores: a small logistic
 * regression, trained in virtual time. What holds here is the protocol, without any clock.
 */
#include "support/test.h"

#include "base/crc32c.h"
#include "base/random.h"
#include "client/model_file.h"
#include "client/scheduler.h"
#include "data/builder.h"
#include "objects/memory.h"
#include "params/memory.h"
#include "platform/twin.h"
#include "platform/worker_entry.h"

#define DATA_URL "memory:twin-train-data"
#define JOB_URL  "memory:twin-train-job"

static void forget(void *arg UNUSED, struct env *env)
{
    params_memory_forget(env);
    objects_memory_forget(env);
}

/* Work that is slow beside the client's looks, so that there is time to die in: 90 steps of 25 ms.
 */
static const struct twin_profile slow = {
    .name = "slow",
    .limits = { .concurrency = 100,
                .memory_mb_min = 128,
                .memory_mb_max = 10240,
                .timeout_ms_max = 900000,
                .vcpus_per_mb = 1.0 / 1769 },
    .cold_start_ns = 20 * NS_PER_MS,
    .cold_jitter_ns = 50 * NS_PER_MS,
    .charge_ns = { [ENV_CHARGE_EXAMPLES] = 1e6, [ENV_CHARGE_EVALUATED] = 1e4 },
};

/* One run: what is asked for, and what came of it. */
struct trial {
    uint32_t workers;
    uint32_t memory_mb;     /* 0: one vCPU's */
    uint64_t timeout_ms;    /* 0: ten minutes */
    uint64_t kill_after_ns; /* kill rank kill_rank so long after its entry; 0: nobody */
    uint64_t kill_rank;

    struct run run;
    double score;        /* the last evaluation's first metric */
    uint32_t model_hash; /* of the saved model; 0: none */
    uint64_t events, digest, end_ns;
};

/* Everything the client opens; zeroed parts close without harm. */
struct stage {
    struct objects *data_objects, *objects;
    struct dataset data;
    struct blueprint blueprint;
    struct props settings;
    struct prices prices;
    struct meter meter;
    struct params *params;
    struct platform *platform;
};

/* For the entry point, which nobody can hand anything but a payload. */
static struct stage *current_stage;
static struct trial *current_trial;

/* The scheduler starts ranks in order, so rank r is invocation r + 1. */
static void kill_as_asked(const struct platform_call *call)
{
    struct trial *t = current_trial;
    struct props payload;
    uint64_t rank = UINT64_MAX;

    if (!t->kill_after_ns)
        return;
    props_init(&payload, call->heap);
    if (props_parse(&payload, call->payload, NULL) == 0)
        props_u64(&payload, "rank", 0, 0, UINT32_MAX, &rank, NULL);
    props_release(&payload);
    if (rank == t->kill_rank)
        platform_twin_end_at(current_stage->platform, rank + 1,
                             env_after(call->env, t->kill_after_ns), PLATFORM_CRASHED);
}

static int entry(const struct platform_call *call, struct error *err)
{
    kill_as_asked(call);
    return worker_entry(call, err);
}

/* Three of 60 features each, a label that they decide but for some noise. */
static int add_examples(struct builder *b, enum dataset_split split, uint64_t from, uint64_t to,
                        struct error *err)
{
    int rc = 0;

    for (uint64_t i = from; i < to && !rc; i++) {
        uint32_t words[4];
        double score = 0;
        float label;

        for (uint32_t k = 0; k < 3; k++) {
            words[k + 1] = 20 * k + (uint32_t)random_below(random_at(1, i, k, 0), 20);
            score += 4 * random_unit64(random_at(2, words[k + 1], 0, 0)) - 2;
        }
        label = random_unit64(random_at(3, i, 0, 0)) < 1 / (1 + exp(-score));
        memcpy(&words[0], &label, sizeof(label));
        rc = builder_add(b, split, words, 4, err);
    }
    return rc;
}

static int build_data(struct stage *s, struct heap *heap, struct error *err)
{
    struct builder_options options = { .objects = s->data_objects,
                                       .prefix = "data",
                                       .heap = heap,
                                       .kind = "test",
                                       .schema = { .ones = 3, .dims = 60, .classes = 2 },
                                       .lanes = 16,
                                       .replace = true };
    struct builder *b = NULL;
    int rc = builder_open(&b, &options, err);

    if (!rc)
        rc = add_examples(b, DATASET_TRAIN, 0, 3000, err);
    if (!rc)
        rc = add_examples(b, DATASET_TEST, 3000, 3500, err);
    if (!rc)
        rc = builder_finish(b, err);
    builder_close(b);
    return rc;
}

static int open_stage(struct stage *s, struct env *env, struct heap *heap, const struct job *job,
                      struct error *err)
{
    struct objects_open objects = { env, heap };
    struct params_layout layout;
    int rc;

    *s = (struct stage){ .platform = platform_twin_new(twin_of(env), entry) };
    props_init(&s->settings, heap);
    props_set(&s->settings, "model", "logistic");
    props_setf(&s->settings, "batch", "%llu", (unsigned long long)job->fleet.batch);
    rc = objects_open(DATA_URL, &objects, &s->data_objects, err);
    if (!rc)
        rc = objects_open(JOB_URL, &objects, &s->objects, err);
    if (!rc)
        rc = build_data(s, heap, err);
    if (!rc)
        rc = dataset_open(&s->data, s->data_objects, "data", heap, err);
    if (!rc)
        rc = blueprint_open(&s->blueprint, heap, &s->settings, &s->data, err);
    if (!rc)
        rc = prices_open(&s->prices, "aws-lambda-x86", heap, err);
    if (rc)
        return rc;
    meter_init(&s->meter, &s->prices);
    scheduler_layout(&s->blueprint, job, &layout);
    return params_create("memory:", &layout, &(struct params_open){ env, heap }, &s->params, err);
}

static void close_stage(struct stage *s)
{
    platform_close(s->platform);
    params_close(s->params);
    prices_close(&s->prices);
    blueprint_close(&s->blueprint);
    dataset_close(&s->data);
    props_release(&s->settings);
    objects_close(s->objects);
    objects_close(s->data_objects);
}

static int keep_model(struct stage *s, struct heap *heap, struct trial *t, struct error *err)
{
    struct buf bytes;
    int rc = model_file_save(&s->blueprint, s->objects, t->run.base_step, "model", err);

    buf_init(&bytes, heap, 16 * MIB);
    if (!rc)
        rc = objects_get_all(s->objects, "model", &bytes, err);
    if (!rc)
        t->model_hash = crc32c(0, bytes.data, bytes.size);
    buf_release(&bytes);
    return rc;
}

static int client(struct env *env, struct heap *heap, void *arg, struct error *err)
{
    struct trial *t = arg;
    struct job job = { .fleet = { t->workers, t->memory_mb, 100 },
                       .threads = 1,
                       .steps_max = 90,
                       .evaluate_every = 30,
                       .base_every = 30,
                       .hash_every = 10,
                       .timeout_ms = t->timeout_ms,
                       .data_url = DATA_URL,
                       .objects_url = JOB_URL };
    struct stage s;
    struct policy policy;
    int rc = open_stage(&s, env, heap, &job, err);

    current_stage = &s;
    current_trial = t;
    if (!rc)
        rc = policy_init(&policy, "fixed", job.fleet, err);
    if (!rc)
        rc = scheduler_run(&(struct scheduler_options){ .env = env,
                                                        .heap = heap,
                                                        .platform = s.platform,
                                                        .params = s.params,
                                                        .objects = s.objects,
                                                        .blueprint = &s.blueprint,
                                                        .job = &job,
                                                        .policy = &policy,
                                                        .meter = &s.meter },
                           &t->run, err);
    if (!rc && t->run.evaluation_count)
        t->score = t->run.evaluations[t->run.evaluation_count - 1].values[0];
    if (!rc)
        rc = keep_model(&s, heap, t, err);
    close_stage(&s);
    return rc;
}

static int train(uint64_t seed, struct trial *t, struct error *err)
{
    struct twin *twin = twin_new(&(struct twin_options){
        .seed = seed, .profile = &slow, .forget = forget, .limit_ns = 3600 * NS_PER_S });
    int rc;

    t->memory_mb = t->memory_mb ? t->memory_mb : 1769;
    t->timeout_ms = t->timeout_ms ? t->timeout_ms : 600000;
    rc = twin_run(twin, client, t, err);
    t->events = twin_events(twin);
    t->digest = twin_digest(twin);
    t->end_ns = twin_now(twin);
    twin_free(twin);
    return rc;
}

static void train_well(uint64_t seed, struct trial *t)
{
    struct error err = { 0 };

    if (train(seed, t, &err))
        fail_msg("%s", err.text);
    assert_int_equal(t->run.steps, 90);
    assert_int_equal(t->run.evaluation_count, 3);
    assert_int_not_equal(t->model_hash, 0);
}

static void the_real_client_and_worker_repeat_themselves_event_for_event(void **state UNUSED)
{
    struct trial one = { .workers = 4 }, two = one;

    train_well(1, &one);
    train_well(1, &two);
    assert_true(one.events > 90 * 4);
    assert_true(one.events == two.events && one.digest == two.digest);
    assert_true(one.end_ns == two.end_ns);
    assert_int_equal(one.model_hash, two.model_hash);
}

static void other_delays_give_other_events_and_the_same_model(void **state UNUSED)
{
    struct trial one = { .workers = 4 }, two = one;

    train_well(1, &one);
    train_well(2, &two);
    assert_true(one.digest != two.digest);
    assert_int_equal(one.model_hash, two.model_hash);
}

static void the_model_is_good_for_every_fleet(void **state UNUSED)
{
    for (uint32_t n = 1; n <= 8; n *= 2) {
        struct trial t = { .workers = n };

        train_well(1, &t);
        /* Log-loss: 0.69 knows nothing, 0.5 is about what the noise allows. */
        assert_true(t.score > 0.3 && t.score < 0.62);
    }
}

static void time_is_the_profiles_not_the_machines(void **state UNUSED)
{
    struct trial whole = { .workers = 4 }, tenth = { .workers = 4, .memory_mb = 177 };

    train_well(1, &whole);
    train_well(1, &tenth);
    assert_true(tenth.run.seconds > 5 * whole.run.seconds);
    assert_int_equal(tenth.model_hash, whole.model_hash);
}

static void a_function_at_its_time_limit_ends_the_job_with_its_name(void **state UNUSED)
{
    struct trial t = { .workers = 4, .timeout_ms = 500 };
    struct error err = { 0 };

    assert_int_equal(train(1, &t, &err), E_FAILED);
    assert_non_null(strstr(err.text, "time limit"));
    assert_int_equal(t.run.end, RUN_FAILED);
}

/*
 * Whenever and whichever function dies, the client notices, stops the others, says who it was,
 * and has the last sealed base; nothing hangs and nothing is touched after it is gone.
 */
static void a_death_at_any_time_ends_the_job_with_a_clear_message(void **state UNUSED)
{
    struct trial quiet = { .workers = 4 };
    unsigned with_base = 0, failed = 0;

    train_well(1, &quiet);
    for (unsigned i = 0; i < 48; i++) {
        struct trial t = { .workers = 4, .kill_rank = i % 4 };
        struct error err = { 0 };
        char expected[64];

        t.kill_after_ns = 1 + (quiet.end_ns - NS_PER_S) / 48 * i;
        snprintf(expected, sizeof(expected), "function %u of 4 ended: crashed", i % 4);
        if (train(1, &t, &err) == 0) {
            assert_int_equal(t.model_hash, quiet.model_hash); /* it was done before */
            continue;
        }
        assert_string_equal(err.text, expected);
        assert_int_equal(t.run.end, RUN_FAILED);
        failed++;
        with_base += t.run.has_base;
    }
    assert_true(failed > 20 && with_base > 5 && with_base < failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_real_client_and_worker_repeat_themselves_event_for_event),
        cmocka_unit_test(other_delays_give_other_events_and_the_same_model),
        cmocka_unit_test(the_model_is_good_for_every_fleet),
        cmocka_unit_test(time_is_the_profiles_not_the_machines),
        cmocka_unit_test(a_function_at_its_time_limit_ends_the_job_with_its_name),
        cmocka_unit_test(a_death_at_any_time_ends_the_job_with_a_clear_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
