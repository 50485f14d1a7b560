/* SPDX-License-Identifier: Apache-2.0 */
/* What became of a job, for a person: the end of `gust train`, and `gust report`. */
#ifndef GUST_CLI_RESULT_H
#define GUST_CLI_RESULT_H

#include "client/summary.h"

/* Quality, time, speed, memory, and what lies in FOLDER. */
void result_print(const struct summary *s, const char *status, const char *folder);

/* The bill as the summary has it. */
void result_print_bill(const struct summary *s);

#endif
