/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of parameter stores as tests: what params.h promises, run over every store and
 * through every decorator. A store is done when this passes.
 */
#ifndef GUST_TESTS_SUPPORT_PARAMS_CONTRACT_H
#define GUST_TESTS_SUPPORT_PARAMS_CONTRACT_H

#include "params/params.h"
#include "support/thread_env.h"

/* One handle with an environment and a heap of its own, as a function has. */
struct contract_handle {
    struct thread_env env;
    struct heap heap;
    struct params *p;
};

/* A store under test. */
struct contract_kind {
    const char *name; /* of the test group */
    const char *url;  /* what it is made of */
    /* Optional: put a decorator around a handle's store. N counts the handles. */
    struct params *(*wrap)(struct contract_handle *h, struct params *inner, unsigned n);
    bool loses_replies; /* calls fail with E_IO now and then and are to be repeated */
};

/* Run all tests; the number that failed. */
int contract_run(const struct contract_kind *kind);

#endif
