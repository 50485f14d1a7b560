/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job on a command line: the name of a job file, options made from the table of settings, and
 * --set. What `gust train` and `gust check` have in common.
 */
#ifndef GUST_CLI_JOB_ARGS_H
#define GUST_CLI_JOB_ARGS_H

#include "cli/args.h"
#include "client/job_file.h"

/* Options of a command's own that fit beside those of the settings. */
#define JOB_ARGS_OWN_MAX 16

struct job_args {
    struct heap heap;                /* of the help texts */
    const char *given[SETTINGS_MAX]; /* by setting_index(); NULL: not given */
    struct arg_list set;
    struct arg table[SETTINGS_MAX + JOB_ARGS_OWN_MAX];
};

/* Make a->table: the settings that have options, --set, and OWN, which ends with a zero. */
void job_args_init(struct job_args *a, const struct arg *own);
void job_args_release(struct job_args *a);

/*
 * Read file PATH (NULL: none; "-": standard input) and the options into F, and check it. What is
 * wrong is in f->problems; E_INVALID then. F has been initialised and is released by the caller.
 */
int job_args_load(const struct job_args *a, const char *path, struct job_file *f);

/* Print f->problems as compilers do, and return exit status 2. */
int job_args_complain(const struct args_command *c, const struct job_file *f);

#endif
