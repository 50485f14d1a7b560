/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run leaves in its job's store beside the model, so that the folder explains itself:
 *
 *   job.yaml         the settings that held          from the start
 *   summary.json     status, quality, time, bill     from the start, complete at the end
 *   events.jsonl     what happened when              now and then, complete at the end
 *   report.html      both of these as a page         at the end
 */
#ifndef GUST_CLIENT_RECORD_H
#define GUST_CLIENT_RECORD_H

#include "client/events.h"
#include "client/summary.h"

/* Who runs the job and when; borrowed. */
struct record_client {
    const char *version;       /* of the program */
    const char *time;          /* now: "2026-11-15T10:58:13Z" */
    uint64_t pid, pid_started; /* this process, and its start by the kernel's count */
};

struct record {
    const struct job_file *file;
    struct session *session;
    struct record_client client;
    struct events events; /* the caller's listener tells them */
    struct buf summary;   /* as last written */
};

/* Begin, after job_file_fit(): the job is "running". */
int record_begin(struct record *r, const struct job_file *file, struct session *session,
                 const struct record_client *client, struct error *err);

/* How a run ended. */
struct record_end {
    const struct run *run;
    const struct bill *bill;
    const char *error; /* the sentence of a failure; NULL: none */
    bool interrupted;  /* it failed because somebody wanted it to end */
    bool saved;        /* the model is there */
};

/* Complete everything. All files are tried, the first failure is told. */
int record_finish(struct record *r, const struct record_end *end, struct error *err);

/* Accepts a zeroed one. */
void record_close(struct record *r);

#endif
