/* SPDX-License-Identifier: Apache-2.0 */
/* What the benchmarks share. */
#ifndef GUST_CLI_BENCH_H
#define GUST_CLI_BENCH_H

#include "base/buf.h"
#include "base/json.h"
#include "sync/exchange.h"

/* One configuration of an exchange, run by forked processes. */
struct bench_exchange {
    uint32_t ranks;
    uint32_t shards;  /* 0: as many as ranks */
    uint64_t rows;    /* of the one group that is exchanged */
    uint32_t cols;
    double touched;   /* share of the rows that a rank touches; 1: dense */
    bool copies;      /* the contribution starts and the result ends in private memory */
    unsigned repeats; /* timed steps, after two that are not */
};

struct bench_exchange_result {
    double median_s, min_s; /* of a step: the slowest rank's time, from a common start */
    double cpu_s;           /* of all ranks together, per step */
    struct exchange_times times; /* per step, mean over ranks */
};

/* Run one configuration; checks every float of the last result. */
int bench_exchange_run(const struct bench_exchange *b, struct bench_exchange_result *out,
                       struct error *err);

/* The middle of COUNT values, which are sorted in place. */
double bench_median(double *values, unsigned count);

/* What a peer printed: lines of up to three numbers. */
#define BENCH_LINES_MAX 256

struct bench_lines {
    double at[BENCH_LINES_MAX][3];
    unsigned count;
};

/*
 * Run FOLDER/run with the formatted arguments. E_NOT_FOUND when the peer is not installed,
 * E_FAILED when it failed.
 */
int bench_peer(const char *folder, struct bench_lines *out, const char *format, ...) PRINTF(3, 4);

int bench_exchange_command(int argc, char **argv);
int bench_train_command(int argc, char **argv);

#endif
