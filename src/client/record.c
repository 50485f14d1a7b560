/* SPDX-License-Identifier: Apache-2.0 */
#include "client/record.h"

#include "client/report_html.h"

#define SUMMARY_MAX (64 * MIB)

static const char *status_of(const struct record_end *end)
{
    if (end->interrupted || (!end->error && end->run->end == RUN_INTERRUPTED))
        return "interrupted";
    return end->error ? "failed" : "done";
}

static int put_summary(struct record *r, const char *status, const struct record_end *end,
                       struct error *err)
{
    const struct summary_source source = { .status = status,
                                           .error = end->error,
                                           .time = r->client.time,
                                           .pid = r->client.pid,
                                           .pid_started = r->client.pid_started,
                                           .saved = end->saved,
                                           .file = r->file,
                                           .session = r->session,
                                           .run = end->run,
                                           .bill = end->bill,
                                           .local = true };

    buf_reset(&r->summary);
    summary_write(&source, &r->summary);
    if (r->summary.failed)
        return fail(err, E_LIMIT, "the summary is too long");
    return objects_put(r->session->objects, SUMMARY_NAME, buf_slice(&r->summary), err);
}

static int put_job(struct record *r, struct error *err)
{
    struct buf text;
    int rc;

    buf_init(&text, r->session->heap, MIB);
    summary_write_job(r->file, &text);
    rc = objects_put(r->session->objects, JOB_COPY_NAME, buf_slice(&text), err);
    buf_release(&text);
    return rc;
}

static void tell_start(struct record *r)
{
    const struct fleet *fleet = &r->file->job.fleet;

    events_started(&r->events,
                   &(struct events_start){ .time = r->client.time,
                                           .model = r->file->model,
                                           .data = r->file->data,
                                           .workers = fleet->workers,
                                           .memory_mb = fleet->memory_mb,
                                           .batch = fleet->batch,
                                           .examples = r->session->data.rows[DATASET_TRAIN] });
}

int record_begin(struct record *r, const struct job_file *file, struct session *session,
                 const struct record_client *client, struct error *err)
{
    const struct run nothing = { 0 };
    const struct record_end begun = { .run = &nothing };
    int rc;

    *r = (struct record){ .file = file, .session = session, .client = *client };
    buf_init(&r->summary, session->heap, SUMMARY_MAX);
    events_open(&r->events, session->env, session->heap, session->objects,
                session->blueprint.trainer->metrics);
    tell_start(r);
    rc = put_summary(r, "running", &begun, err);
    return rc ? rc : put_job(r, err);
}

int record_finish(struct record *r, const struct record_end *end, struct error *err)
{
    struct error other;
    int rc = events_flush(&r->events, err), next;

    next = put_summary(r, status_of(end), end, rc ? &other : err);
    rc = rc ? rc : next;
    if (!rc)
        rc = report_html_make(r->session->objects, r->session->heap, r->client.version, err);
    return rc;
}

void record_close(struct record *r)
{
    events_close(&r->events);
    buf_release(&r->summary);
    *r = (struct record){ 0 };
}
