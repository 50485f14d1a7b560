/* SPDX-License-Identifier: Apache-2.0 */
/* An environment with the machine's clock for one thread of a test. */
#ifndef GUST_TESTS_SUPPORT_THREAD_ENV_H
#define GUST_TESTS_SUPPORT_THREAD_ENV_H

#include <pthread.h>

#include "base/env.h"

struct thread_env {
    struct env base;
    pthread_mutex_t lock;
    pthread_cond_t woken;
    bool unparked;
    uint64_t drawn; /* random numbers so far */
};

void thread_env_init(struct thread_env *e);
void thread_env_release(struct thread_env *e);

#endif
