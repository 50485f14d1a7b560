/* SPDX-License-Identifier: Apache-2.0 */
/* gust: finds the command and lets it run. */
#include "cli/commands.h"

#include <stdbool.h>

#include "base/suggest.h"

const struct command commands[] = {
    { "train", cmd_train, "train a model on a data set" },
    { "predict", cmd_predict, "what a model makes of new rows; recommendations" },
    { "evaluate", cmd_evaluate, "measure a model on rows with labels" },
    { "check", cmd_check, "say what a job file would run, or all that is wrong with it" },
    { "jobs", cmd_jobs, "list jobs: status, quality, time, bill" },
    { "report", cmd_report, "what became of a job, as text and as a page" },
    { "stop", cmd_stop, "have a running job save its model and end" },
    { "data", cmd_data, "generate, import, export and look at data sets",
      "generate import export info" },
    { "bench", cmd_bench, "measure training and exchange, beside other programs",
      "train exchange" },
    { "prices", cmd_prices, "the price book, and what a run would cost" },
    { "doctor", cmd_doctor, "check what this machine can do" },
    { "help", cmd_help, "about a command, or about job files: 'gust help job'" },
    { 0 },
};

void commands_usage(FILE *to)
{
    fprintf(to, "Gust trains machine-learning models on functions.\n\n"
                "usage: gust COMMAND [options]\n\n");
    for (const struct command *c = commands; c->name; c++)
        fprintf(to, "  %-8s %s\n", c->name, c->summary);
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
    struct suggest near = { .word = argc > 1 ? argv[1] : "" };

    if (argc < 2) {
        commands_usage(stderr);
        return 2;
    }
    if (is(argv[1], "--help") || is(argv[1], "-h")) {
        commands_usage(stdout);
        return 0;
    }
    if (is(argv[1], "--version")) {
        printf("gust %s\n", GUST_VERSION);
        return 0;
    }
    for (const struct command *c = commands; c->name; c++) {
        suggest_offer(&near, c->name);
        if (is(argv[1], c->name))
            return c->run(argc - 1, argv + 1);
    }
    if (near.best)
        fprintf(stderr, "gust: there is no command '%s'; did you mean '%s'?\n", argv[1], near.best);
    else
        fprintf(stderr, "gust: there is no command '%s'; 'gust --help' lists them\n", argv[1]);
    return 2;
}
