/* SPDX-License-Identifier: Apache-2.0 */
#include "client/history.h"

#define STRING_MAX 4096
/* Longer lines are not events. */
#define LINE_MAX_BYTES 65536

/* Room for one more element of SIZE bytes after COUNT. */
static void *grow(struct heap *heap, void *old, unsigned count, unsigned *room, size_t size)
{
    void *more;

    if (count < *room)
        return old;
    *room = MAX(2 * *room, 64u);
    more = heap_alloc(heap, *room * size);
    if (count)
        memcpy(more, old, count * size);
    heap_free(heap, old);
    return more;
}

static void add_sample(struct history *h, const struct sample *s)
{
    h->samples = grow(h->heap, h->samples, h->sample_count, &h->sample_room, sizeof(*s));
    h->samples[h->sample_count++] = *s;
}

static void add_head(struct history *h, double at, unsigned workers)
{
    h->heads = grow(h->heap, h->heads, h->head_count, &h->head_room, sizeof(*h->heads));
    h->heads[h->head_count++] = (struct head_count){ at, workers };
}

/* The first of an evaluation's metrics is the one that decides. */
static void read_quality(struct history *h, struct json_reader *r)
{
    bool first = true;

    json_enter(r, '{');
    while (json_next_key(r)) {
        double value = json_read_f64(r);

        if (first)
            h->quality = value;
        first = false;
    }
}

/* One line, an object whose first member is its name. */
static void read_event(struct history *h, struct json_reader *r)
{
    struct {
        const char *name;
        double *value;
    } fields[8];
    struct sample s = { 0 };
    char name[16] = "";
    const char *key;

    fields[0].name = "at", fields[0].value = &s.at;
    fields[1].name = "step", fields[1].value = &s.step;
    fields[2].name = "epoch", fields[2].value = &s.epoch;
    fields[3].name = "seconds", fields[3].value = &s.seconds;
    fields[4].name = "loss_train", fields[4].value = &s.loss_train;
    fields[5].name = "examples_per_second", fields[5].value = &s.rate;
    fields[6].name = "workers", fields[6].value = &s.workers;
    fields[7].name = "bill_usd", fields[7].value = &s.bill_usd;
    json_enter(r, '{');
    while ((key = json_next_key(r))) {
        unsigned i = 0;

        while (i < ARRAY_SIZE(fields) && strcmp(key, fields[i].name) != 0)
            i++;
        if (i < ARRAY_SIZE(fields))
            *fields[i].value = json_read_f64(r);
        else if (strcmp(key, "metrics") == 0)
            read_quality(h, r);
        else if (strcmp(key, "event") == 0)
            snprintf(name, sizeof(name), "%s", json_read_str(r));
        else
            json_skip(r);
    }
    if (!json_done(r))
        return;
    h->end = s.at;
    if (strcmp(name, "steps") == 0)
        add_sample(h, &s);
    else if (strcmp(name, "started") == 0 && s.workers >= 0 && s.workers < 1e6)
        add_head(h, s.at, (unsigned)s.workers);
    else if (strcmp(name, "exit") == 0 && h->head_count && h->heads[h->head_count - 1].workers)
        add_head(h, s.at, h->heads[h->head_count - 1].workers - 1);
}

int history_read(struct history *h, struct heap *heap, struct slice text, struct error *err)
{
    const char *at = text.data, *stop = at + text.size;
    unsigned line = 1;
    int rc = 0;

    *h = (struct history){ .heap = heap, .quality = NAN };
    for (; !rc && at < stop; line++) {
        const char *end = memchr(at, '\n', (size_t)(stop - at));
        struct json_reader r;

        end = end ? end : stop;
        if (end - at > LINE_MAX_BYTES)
            return fail(err, E_FORMAT, "line %u is too long for an event", line);
        json_read_init(&r, heap, slice(at, (size_t)(end - at)), STRING_MAX);
        read_event(h, &r);
        if (r.failed)
            rc = fail(err, E_FORMAT, "line %u is not an event: %s", line, r.failed);
        json_read_release(&r);
        at = end + 1;
    }
    return rc;
}

void history_release(struct history *h)
{
    if (!h->heap)
        return;
    heap_free(h->heap, h->samples);
    heap_free(h->heap, h->heads);
    *h = (struct history){ 0 };
}
