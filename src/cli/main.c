/* SPDX-License-Identifier: Apache-2.0 */
/* gust: finds the command and lets it run. */
#include "cli/commands.h"

#include <stdbool.h>

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    { "train", cmd_train, "train a model on a data set" },
    { "data", cmd_data, "generate, import, export and look at data sets" },
    { "bench", cmd_bench, "measure training and exchange, beside other programs" },
    { "prices", cmd_prices, "the price book, and what a run would cost" },
    { "doctor", cmd_doctor, "check what this machine can do" },
};

static void usage(FILE *to)
{
    fprintf(to, "Gust trains machine-learning models on functions.\n\n"
                "usage: gust COMMAND [options]\n\n");
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].summary);
    fprintf(to, "\n'gust COMMAND --help' says more about one. "
                "Exit status: 0 done, 2 bad usage, job or data,\n"
                "3 goal not met, 4 machine, platform or store failed, 130 interrupted.\n");
}

static bool is(const char *arg, const char *name)
{
    return strcmp(arg, name) == 0;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        usage(stderr);
        return 2;
    }
    if (is(argv[1], "--help") || is(argv[1], "-h") || is(argv[1], "help")) {
        usage(stdout);
        return 0;
    }
    if (is(argv[1], "--version")) {
        printf("gust %s\n", GUST_VERSION);
        return 0;
    }
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        if (is(argv[1], commands[i].name))
            return commands[i].run(argc - 1, argv + 1);
    fprintf(stderr, "gust: there is no command '%s'; 'gust --help' lists them\n", argv[1]);
    return 2;
}
