/* SPDX-License-Identifier: Apache-2.0 */
/* What reading a job (job_file.c) and checking it (job_check.c) share. */
#ifndef GUST_CLIENT_JOB_INTERNAL_H
#define GUST_CLIENT_JOB_INTERNAL_H

#include "client/job_file.h"

/* Of keys and values that somebody wrote, this much is repeated. */
#define QUOTED_MAX 60

/* As if S had not been given. */
void job_file_forget(struct job_file *f, const struct setting *s);

/* The setting that cannot be given beside S; NULL: there is none. */
const struct setting *job_file_rival(const struct setting *s);

#endif
