/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of a real process: the machine's monotonic clock, a futex to park on, and
 * threads for parallel(). The clock is CLOCK_MONOTONIC, so times agree between all processes
 * of one machine.
 */
#ifndef GUST_PLATFORM_LOCAL_ENV_H
#define GUST_PLATFORM_LOCAL_ENV_H

#include "base/env.h"
#include "base/heap.h"

/*
 * An environment for the calling process. Its threads are made by the first parallel() that
 * needs them, sleep between calls, and go with local_env_free(). HEAP outlives it. All but unpark()
 * belong to one thread. Never NULL.
 */
struct env *local_env_new(struct heap *heap);

/* End the threads and free. E may be NULL. */
void local_env_free(struct env *e);

#endif
