/* SPDX-License-Identifier: Apache-2.0 */
/* The commands: each takes its own name as argv[0] and returns an exit status. */
#ifndef GUST_CLI_COMMANDS_H
#define GUST_CLI_COMMANDS_H

#include "base/util.h"

#define GUST_VERSION "0.1"

int cmd_train(int argc, char **argv);
int cmd_data(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_prices(int argc, char **argv);

#endif
