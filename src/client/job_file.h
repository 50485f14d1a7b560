/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job as a person describes it: a YAML file, options of the command line, or both. Everything
 * that is wrong is collected, with line and remedy, before anything starts.
 *
 *   model: factorisation        the section's main setting, for short
 *   data: ratings               ..
 *   fleet:
 *     workers: 8                client/settings.h has them all
 *     memory: 442MB
 *
 * Read a file, add options, check, and hand the outcome to a session:
 *
 *   job_file_init(&f, heap);
 *   job_file_read(&f, text, "job.yaml");
 *   job_file_set(&f, setting_find("fleet.workers"), "4", "--workers");
 *   rc = job_file_check(&f);                              or f.problems says what is wrong
 *   session_open(&s, env, heap, f.data, f.out, &f.settings, &err);
 *   job_file_fit(&f, &s, &err);
 *   session_train(&s, &f.job, ...);
 */
#ifndef GUST_CLIENT_JOB_FILE_H
#define GUST_CLIENT_JOB_FILE_H

#include "base/problems.h"
#include "client/session.h"
#include "client/setting_value.h"
#include "data/import.h"

struct job_file {
    struct heap *heap;
    struct setting_value values[SETTINGS_MAX]; /* by setting_index() */
    struct problems problems;
    const char *source; /* the name of the file that was read; NULL: none */
    bool partial;       /* not all of it could be read, so that nothing is said to be missing */

    /* Filled by job_file_check(). */
    const char *model, *data, *out;
    const char *start;     /* model file to start from; NULL: none. The caller sets job.model */
    const char *test;      /* held-out raw examples; NULL: none */
    struct props settings; /* what workers are told */
    struct job job;        /* complete after job_file_fit() */
};

void job_file_init(struct job_file *f, struct heap *heap);
/* Accepts a zeroed one. */
void job_file_release(struct job_file *f);

/* Take over what TEXT, the contents of SOURCE, gives; what is wrong goes to f->problems. SOURCE is
 * borrowed. */
void job_file_read(struct job_file *f, struct slice text, const char *source);

/*
 * Take over TEXT, given as SOURCE ("--workers") on the command line; it goes before what the file
 * says, and drops what in the file contradicts it. SOURCE is borrowed.
 */
void job_file_set(struct job_file *f, const struct setting *s, const char *text,
                  const char *source);

/* The same for "fleet.workers=4", given as --set. */
void job_file_assign(struct job_file *f, const char *assignment);

/*
 * Look for contradictions and for what is missing, and fill in the rest. E_INVALID when there
 * is anything in f->problems.
 */
int job_file_check(struct job_file *f);

/*
 * How f->data is to be imported if it holds raw examples (data/import.h): everything but inputs,
 * environment, threads and callbacks. Borrows from F.
 */
void job_file_import(const struct job_file *f, struct import_options *out);

/*
 * Complete f->job for session S, opened with f->settings: batch size from the model and the data,
 * then session_check(). E_INVALID or E_LIMIT with a remedy.
 */
int job_file_fit(struct job_file *f, struct session *s, struct error *err);

/* What was given for the setting at PATH, which exists. */
const struct setting_value *job_file_value(const struct job_file *f, const char *path);

/* What holds for S: what was given, or the default of the job's model; NULL: see s->otherwise. */
const char *job_file_effective(const struct job_file *f, const struct setting *s);

#endif
