/* SPDX-License-Identifier: Apache-2.0 */
/* Columns by role, as a job file lists them and as the importer reads them. */
#ifndef GUST_CLIENT_JOB_COLUMNS_H
#define GUST_CLIENT_JOB_COLUMNS_H

#include "base/yaml.h"

/*
 * Append to OUT what mapping NODE (role: name, or role: [name, ..]) says, as
 * "label=click numeric=age,price". What is wrong goes to PROBLEMS, and E_INVALID is returned.
 */
int job_columns_write(const struct yaml_node *node, const char *source, struct problems *problems,
                      struct buf *out);

/* Whether TEXT is of that form; E_INVALID with a sentence that says what is wrong. */
int job_columns_check(const char *text, struct error *err);

#endif
