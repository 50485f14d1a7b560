/* SPDX-License-Identifier: Apache-2.0 */
/* The commands: each takes its own name as argv[0] and returns an exit status. */
#ifndef GUST_CLI_COMMANDS_H
#define GUST_CLI_COMMANDS_H

#include "base/util.h"

#define GUST_VERSION "0.1"

struct command {
    const char *name; /* NULL ends the list */
    int (*run)(int argc, char **argv);
    const char *summary; /* what it does, in a few words */
    const char *parts;   /* "import export": what follows the name; NULL: nothing */
};

/* All of them, in the order in which they are shown. */
extern const struct command commands[];

/* What there is, for a person. */
void commands_usage(FILE *to);

int cmd_train(int argc, char **argv);
int cmd_predict(int argc, char **argv);
int cmd_evaluate(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_jobs(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_stop(int argc, char **argv);
int cmd_data(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_prices(int argc, char **argv);
int cmd_help(int argc, char **argv);

#endif
