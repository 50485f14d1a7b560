/* SPDX-License-Identifier: Apache-2.0 */
/* gust-worker: the program that is a function on this machine. Started by gust, not by people. */
#include "cli/commands.h"
#include "platform/local_serve.h"
#include "worker/worker.h"

/* The worker does not know platforms; this is where the two meet. */
static int run_worker(const struct platform_call *call, struct error *err)
{
    struct worker_call c = { .env = call->env,
                             .heap = call->heap,
                             .payload = call->payload,
                             .fd = call->fd,
                             .memory_mb = call->memory_mb,
                             .deadline = call->deadline };

    return worker_run(&c, err);
}

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
    return local_serve(LOCAL_SERVE_FD, run_worker);
}
