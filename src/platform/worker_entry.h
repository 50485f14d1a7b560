/* SPDX-License-Identifier: Apache-2.0 */
/* The worker as an entry point for a platform: what gust-worker and the twin are handed. */
#ifndef GUST_PLATFORM_WORKER_ENTRY_H
#define GUST_PLATFORM_WORKER_ENTRY_H

#include "platform/platform.h"

int worker_entry(const struct platform_call *call, struct error *err);

#endif
