/* SPDX-License-Identifier: Apache-2.0 */
/* gust-worker: the program that is a function on this machine. Started by gust, not by people. */
#include "cli/commands.h"
#include "platform/local_serve.h"
#include "platform/worker_entry.h"

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        printf("gust-worker " GUST_VERSION "\n");
        return 0;
    }
    if (argc > 1 || !local_serve_has_client(LOCAL_SERVE_FD)) {
        fputs("gust-worker is what gust starts as a function; run by hand it does nothing.\n"
              "Use 'gust train JOB' to train, and 'gust doctor' to check this machine.\n",
              stderr);
        return 2;
    }
    return local_serve(LOCAL_SERVE_FD, worker_entry);
}
