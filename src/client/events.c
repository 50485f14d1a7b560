/* SPDX-License-Identifier: Apache-2.0 */
#include "client/events.h"

#include "base/json.h"

#define TEXT_MAX (64 * MIB)

/* Of the time so far, the distance of samples: about 200 of them, then 200 for every factor e. */
#define SAMPLE_NS_MIN  (2 * NS_PER_MS)
#define SAMPLE_INVERSE 200

/* Putting may take one part in so many of the time. */
#define PUT_NS_MIN       (1 * NS_PER_S)
#define PUT_COST_INVERSE 100

void events_open(struct events *e, struct env *env, struct heap *heap, struct objects *objects,
                 const struct gust_metric *metrics)
{
    *e = (struct events){ .env = env, .objects = objects, .metrics = metrics };
    e->began = env_now(env);
    e->put_next = e->began + PUT_NS_MIN;
    buf_init(&e->text, heap, TEXT_MAX);
}

void events_close(struct events *e)
{
    buf_release(&e->text);
    *e = (struct events){ 0 };
}

static void begin(struct events *e, struct json *w, const char *name)
{
    double at = (double)(env_now(e->env) - e->began) / NS_PER_S;

    json_init(w, &e->text);
    json_open(w, NULL, '{');
    json_str(w, "event", name);
    json_f64(w, "at", round(at * 1e6) / 1e6);
}

static void end(struct events *e, struct json *w)
{
    uint64_t from = env_now(e->env);

    json_close(w);
    buf_str(&e->text, "\n");
    if (from < e->put_next)
        return;
    events_flush(e, &e->failed);
    e->put_next = env_now(e->env);
    e->put_next += MAX(PUT_NS_MIN, PUT_COST_INVERSE * (e->put_next - from));
}

void events_started(struct events *e, const struct events_start *s)
{
    struct json w;

    begin(e, &w, "started");
    json_u64(&w, "version", EVENTS_VERSION);
    json_str(&w, "time", s->time);
    json_str(&w, "model", s->model);
    json_str(&w, "data", s->data);
    json_u64(&w, "workers", s->workers);
    json_u64(&w, "memory_mb", s->memory_mb);
    json_u64(&w, "batch", s->batch);
    json_u64(&w, "examples", s->examples);
    end(e, &w);
}

void events_ready(struct events *e, double seconds)
{
    struct json w;

    begin(e, &w, "ready");
    json_f64(&w, "seconds", seconds);
    end(e, &w);
}

void events_steps(struct events *e, const struct progress *p)
{
    uint64_t now = env_now(e->env);
    struct json w;

    if (now < e->sample_next)
        return;
    e->sample_next = now + MAX(SAMPLE_NS_MIN, (now - e->began) / SAMPLE_INVERSE);
    begin(e, &w, "steps");
    json_u64(&w, "step", p->step);
    json_f64(&w, "epoch", p->epoch);
    json_f64(&w, "seconds", p->seconds);
    json_f64(&w, "loss_train", p->loss_train);
    json_f64(&w, "examples_per_second", round(p->rate));
    json_u64(&w, "workers", p->workers);
    json_f64(&w, "bill_usd", p->bill_usd);
    end(e, &w);
}

void events_evaluation(struct events *e, const struct evaluation *v)
{
    struct json w;

    begin(e, &w, "evaluation");
    json_u64(&w, "step", v->step);
    json_f64(&w, "epoch", v->epoch);
    json_f64(&w, "seconds", v->seconds);
    json_f64(&w, "loss_train", v->loss_train);
    json_open(&w, "metrics", '{');
    for (unsigned i = 0; e->metrics[i].name; i++)
        json_f64(&w, e->metrics[i].name, v->values[i]);
    json_close(&w);
    end(e, &w);
}

void events_base(struct events *e, uint64_t step, double seconds)
{
    struct json w;

    begin(e, &w, "base");
    json_u64(&w, "step", step);
    json_f64(&w, "seconds", seconds);
    end(e, &w);
}

void events_stop(struct events *e, enum run_end why, uint64_t step)
{
    struct json w;

    begin(e, &w, "stop");
    json_str(&w, "why", run_end_text(why));
    json_u64(&w, "step", step);
    end(e, &w);
}

void events_exit(struct events *e, uint32_t rank, const struct platform_exit *x)
{
    struct json w;

    begin(e, &w, "exit");
    json_u64(&w, "rank", rank);
    json_str(&w, "reason", platform_reason_text(x->reason));
    json_u64(&w, "billed_ms", x->billed_ms);
    json_u64(&w, "peak_bytes", x->peak_bytes);
    json_bool(&w, "cold", x->cold);
    if (x->words[0])
        json_str(&w, "words", x->words);
    end(e, &w);
}

void events_saved(struct events *e, uint64_t step, const char *name)
{
    struct json w;

    begin(e, &w, "saved");
    json_u64(&w, "step", step);
    json_str(&w, "name", name);
    end(e, &w);
}

int events_flush(struct events *e, struct error *err)
{
    if (e->text.failed)
        return fail(err, E_LIMIT, "there are too many events to keep");
    return objects_put(e->objects, EVENTS_NAME, buf_slice(&e->text), err);
}
