/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines: one table per command says what it takes, and drives parsing, checking and
 * `--help`. Options are `--name value`, `--name=value` or, for flags, `--name`.
 */
#ifndef GUST_CLI_ARGS_H
#define GUST_CLI_ARGS_H

#include <stdbool.h>

#include "base/util.h"

enum arg_kind {
    ARG_FLAG,   /* bool */
    ARG_TEXT,   /* const char * */
    ARG_COUNT,  /* uint64_t; also 10k, 5M */
    ARG_NUMBER, /* double */
    ARG_LIST,   /* struct arg_list: may be given several times */
};

#define ARG_LIST_MAX 64

struct arg_list {
    const char *items[ARG_LIST_MAX];
    unsigned count;
};

struct arg {
    const char *name; /* without the dashes; NULL ends the table */
    enum arg_kind kind;
    void *out;         /* where the value goes; holds the default */
    const char *value; /* what to call it in --help: "N", "FOLDER" */
    const char *help;
    double min, max; /* for COUNT and NUMBER; both 0: anything */
    bool required;
};

struct args_command {
    const char *name;    /* "gust train" */
    const char *summary; /* one line */
    const char *words;   /* how positional words are shown: "movielens|criteo"; NULL: none */
    unsigned words_max;  /* how many there may be */
    const struct arg *table;
    const char *notes; /* what else to know: paragraphs, one per line; NULL: nothing */
};

#define ARGS_WORDS_MAX 8

struct args_words {
    const char *items[ARGS_WORDS_MAX];
    unsigned count;
};

/* What `gust help --man COMMAND` calls a command with. */
#define ARGS_MANUAL "--manual-page"

enum args_outcome {
    ARGS_GO = -1, /* carry on; otherwise: exit with this status */
};

/*
 * Parse ARGV after its first word. Prints help (0; for ARGS_MANUAL, the manual page) or what is
 * wrong and how to get help (2) itself; WORDS may be NULL when the command takes none.
 */
int args_parse(const struct args_command *c, int argc, char **argv, struct args_words *words);

/* Print "gust train: SENTENCE" to standard error and return STATUS. */
int args_complain(const struct args_command *c, int status, const char *format, ...) PRINTF(3, 4);

#endif
