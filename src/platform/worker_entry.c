/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/worker_entry.h"

#include "worker/worker.h"

int worker_entry(const struct platform_call *call, struct error *err)
{
    struct worker_call w = { .env = call->env,
                             .heap = call->heap,
                             .payload = call->payload,
                             .fd = call->fd,
                             .memory_mb = call->memory_mb,
                             .deadline = call->deadline };

    return worker_run(&w, err);
}
