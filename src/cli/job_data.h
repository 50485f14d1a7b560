/* SPDX-License-Identifier: Apache-2.0 */
/* The data of a job: a data set's folder as it is, or raw files, imported first. */
#ifndef GUST_CLI_JOB_DATA_H
#define GUST_CLI_JOB_DATA_H

#include <signal.h>

#include "client/job_file.h"

#define JOB_DATA_PATH_MAX 512

/* Whether f->data is something to import (or nothing at all), not a data set. */
bool job_data_is_raw(const struct job_file *f);

/*
 * Without importing anything: E_NOT_FOUND for files that are not there, E_INVALID for settings
 * about raw examples where there are none.
 */
int job_data_check(const struct job_file *f, struct heap *heap, struct error *err);

/*
 * Put the folder of the data set into OUT; raw examples are imported into the job's cache unless
 * they are there already. Progress goes to standard error unless QUIET. E_INTERRUPTED when *STOP
 * becomes non-zero meanwhile; and the errors of job_data_check() and import_auto().
 */
int job_data_find(const struct job_file *f, struct env *env, struct heap *heap, bool quiet,
                  const volatile sig_atomic_t *stop, char out[JOB_DATA_PATH_MAX],
                  struct error *err);

#endif
