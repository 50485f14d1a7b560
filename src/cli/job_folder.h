/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of jobs, seen from outside: is it one, what does it hold, is its client alive. */
#ifndef GUST_CLI_JOB_FOLDER_H
#define GUST_CLI_JOB_FOLDER_H

#include "client/history.h"
#include "client/summary.h"

struct job_folder {
    struct heap heap;
    struct objects *objects;
    struct buf text;        /* of summary.json */
    struct summary summary; /* read from it; of a running job, steps, time and bill so far */
    struct history history; /* of events.jsonl; empty where there is none */
};

/*
 * Open the job in folder PATH (or whose file PATH is). E_NOT_FOUND when there is none; other
 * errors name the file. Close it in any case.
 */
int job_folder_open(struct job_folder *f, const char *path, struct error *err);
void job_folder_close(struct job_folder *f);

/* Whether PATH holds a summary. */
bool job_folder_is(const char *path);

/* Whether the process that runs the job is still there. */
bool job_folder_is_running(const struct job_folder *f);

/* "running", "done", "interrupted", "failed"; "died" when it says running and is not. */
const char *job_folder_status(const struct job_folder *f);

/*
 * Whether a new job may use PATH: it is not there, is empty, or holds a job without a model. With
 * FORCE also a job with a model, or other files. Never a job that is running. E_EXISTS with what to
 * do about it.
 */
int job_folder_check_free(const char *path, bool force, struct error *err);

/* When process PID began, by the kernel's count since it started; 0: there is no such process. */
uint64_t process_started(uint64_t pid);

#endif
