/* SPDX-License-Identifier: Apache-2.0 */
/* Manual pages from the tables that the commands themselves use. */
#ifndef GUST_CLI_MAN_H
#define GUST_CLI_MAN_H

#include "base/buf.h"
#include "cli/args.h"
#include "cli/commands.h"

/* gust-NAME(1) of a command, from its table of options. */
void man_command(const struct args_command *c, struct buf *out);

/* gust(1): what there is. */
void man_overview(const struct command *list, struct buf *out);

/* gust-job(5): the job file, from the table of settings. */
void man_job(struct buf *out);

#endif
