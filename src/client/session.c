/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session.h"

#include <inttypes.h>

#include "client/model_file.h"
#include "params/shm.h"
#include "platform/local.h"
#include "worker/base.h"

#define TIMEOUT_MS_DEFAULT 900000ull /* Lambda's: fifteen minutes */

static int open_folder(struct session *s, const char *dir, bool existing, char *url,
                       size_t url_size, struct objects **out, struct error *err)
{
    struct objects_open open = { .env = s->env, .heap = s->heap, .existing = existing };

    if ((size_t)snprintf(url, url_size, "file:%s", dir) >= url_size)
        return fail(err, E_INVALID, "the folder name '%s' is too long", dir);
    return objects_open(url, &open, out, err);
}

int session_open(struct session *s, struct env *env, struct heap *heap, const char *data_dir,
                 const char *out_dir, const struct props *settings, struct error *err)
{
    int rc;

    *s = (struct session){ .heap = heap, .env = env };
    rc = open_folder(s, data_dir, true, s->data_url, sizeof(s->data_url), &s->data_objects, err);
    if (!rc)
        rc = dataset_open(&s->data, s->data_objects, "data", heap, err);
    if (!rc)
        rc = blueprint_open(&s->blueprint, heap, settings, &s->data, err);
    if (!rc && out_dir)
        rc = open_folder(s, out_dir, false, s->objects_url, sizeof(s->objects_url), &s->objects,
                         err);
    if (!rc)
        rc = prices_open(&s->prices, "aws-lambda-x86", heap, err);
    if (rc) {
        session_close(s);
        return rc;
    }
    meter_init(&s->meter, &s->prices);
    return 0;
}

void session_close(struct session *s)
{
    platform_close(s->platform);
    params_close(s->params);
    prices_close(&s->prices);
    blueprint_close(&s->blueprint);
    dataset_close(&s->data);
    objects_close(s->objects);
    objects_close(s->data_objects);
    *s = (struct session){ 0 };
}

static void fill_defaults(const struct session *s, struct job *job)
{
    uint64_t epoch = (s->data.rows[DATASET_TRAIN] + job->fleet.batch - 1) / job->fleet.batch;

    if (job->threads == 0)
        job->threads = MAX(job->fleet.memory_mb / LOCAL_MB_PER_VCPU, 1u);
    if (job->shards == 0)
        job->shards = job->fleet.workers;
    if (job->evaluate_every == 0)
        job->evaluate_every = epoch;
    if (job->base_every == 0)
        job->base_every = epoch;
    /* Whichever evaluation turns out to be the best, its state must be there. */
    if (job->patience)
        job->base_every = job->evaluate_every;
    if (job->hash_every == 0)
        job->hash_every = 100;
    if (job->timeout_ms == 0)
        job->timeout_ms = TIMEOUT_MS_DEFAULT;
    job->data_url = s->data_url;
    job->objects_url = s->objects_url;
}

int session_check(struct session *s, struct job *job, struct error *err)
{
    struct fleet *f = &job->fleet;

    if (f->workers > s->data.lanes)
        return fail(err, E_LIMIT,
                    "%" PRIu32 " workers are more than the data set's %" PRIu32
                    " lanes; use at most that many, or import the data with more lanes",
                    f->workers, s->data.lanes);
    if (f->workers > CONTROL_RANKS_MAX)
        return fail(err, E_LIMIT, "%" PRIu32 " workers are more than the %d that one job can have",
                    f->workers, CONTROL_RANKS_MAX);
    if (f->batch > s->data.rows[DATASET_TRAIN])
        return fail(err, E_INVALID,
                    "a batch of %" PRIu64 " is more than the %" PRIu64 " examples to train on",
                    f->batch, s->data.rows[DATASET_TRAIN]);
    if (job->shards && job->shards < f->workers)
        return fail(err, E_INVALID,
                    "%" PRIu32 " shards are fewer than the %" PRIu32
                    " workers, each of which adds up at least one; use more, or leave it out",
                    job->shards, f->workers);
    fill_defaults(s, job);
    s->need = blueprint_need(&s->blueprint, f->workers, f->batch, job->threads);
    return need_check(&s->need, f->memory_mb, err);
}

static int open_platform(struct session *s, const struct job *job, struct error *err)
{
    struct platform_local_options options = { .concurrency = MAX(job->fleet.workers,
                                                                 (uint32_t)LOCAL_CONCURRENCY) };

    int rc = 0;

    if (!s->platform)
        rc = platform_local_new(&options, s->env, s->heap, &s->platform, err);
    /* Processes start while the store's memory is being touched. */
    return rc ? rc : platform_local_prepare(s->platform, job->fleet.workers, err);
}

int session_train(struct session *s, const struct job *job, const struct listener *listener,
                  const volatile int *interrupted, struct run *out, struct error *err)
{
    struct params_open open = { .env = s->env, .heap = s->heap };
    uint64_t from = env_now(s->env);
    struct params_layout layout;
    struct policy policy;
    int rc = open_platform(s, job, err);

    *out = (struct run){ .end = RUN_FAILED };
    scheduler_layout(&s->blueprint, job, &layout);
    if (!rc)
        rc = params_shm_size(&layout, &s->store_bytes, err);
    if (!rc)
        rc = policy_init(&policy, "fixed", job->fleet, err);
    if (!rc)
        rc = params_create("shm:", &layout, &open, &s->params, err);
    if (!rc) {
        struct scheduler_options options = { .env = s->env,
                                             .heap = s->heap,
                                             .platform = s->platform,
                                             .params = s->params,
                                             .objects = s->objects,
                                             .blueprint = &s->blueprint,
                                             .job = job,
                                             .policy = &policy,
                                             .meter = &s->meter,
                                             .store_bytes = s->store_bytes,
                                             .listener = listener,
                                             .interrupted = interrupted };

        rc = scheduler_run(&options, out, err);
        meter_store(&s->meter, s->store_bytes, (env_now(s->env) - from) / NS_PER_MS);
    }
    params_close(s->params);
    s->params = NULL;
    return rc;
}

int session_save(struct session *s, const struct run *run, struct error *err)
{
    int rc;

    if (!run->has_base)
        return fail(err, E_NOT_FOUND, "no complete state was saved, so there is no model");
    rc = model_file_save(&s->blueprint, s->objects, run->base_step, "model.safetensors", err);
    if (!rc)
        rc = base_delete_all(s->objects, s->heap, err);
    return rc;
}
