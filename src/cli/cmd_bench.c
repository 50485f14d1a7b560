/* SPDX-License-Identifier: Apache-2.0 */
/* gust bench: measurements that anybody can repeat, beside what one would use instead. */
#include "cli/args.h"
#include "cli/bench.h"
#include "cli/commands.h"

int cmd_bench(int argc, char **argv)
{
    static const struct args_command command = { .name = "gust bench" };

    if (argc >= 2 && strcmp(argv[1], "exchange") == 0)
        return bench_exchange_command(argc - 1, argv + 1);
    if (argc >= 2 && strcmp(argv[1], "train") == 0)
        return bench_train_command(argc - 1, argv + 1);
    if (argc >= 2 && strcmp(argv[1], "--help") == 0) {
        printf("usage: gust bench train|exchange [options]\n\n"
               "  train     throughput and time to quality of a model, beside other programs\n"
               "  exchange  adding up vectors between processes, beside MPI and Gloo\n");
        return 0;
    }
    return args_complain(&command, 2, "say what to measure: 'gust bench train' or 'gust bench "
                                      "exchange'");
}
