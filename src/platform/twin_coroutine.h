/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coroutines: functions that stop in the middle and go on later, each on a stack of its own with
 * a guard page below it. Whoever resumes one gets control back when it suspends itself or
 * returns; a suspended one may be dropped at any time, which frees its stack and runs nothing.
 * The sanitizers are told of every switch.
 *
 * A coroutine belongs to one thread. Resuming may nest: a coroutine can resume others.
 */
#ifndef GUST_PLATFORM_TWIN_COROUTINE_H
#define GUST_PLATFORM_TWIN_COROUTINE_H

#include <stdbool.h>

#include "base/error.h"

#if !defined(__x86_64__) && !defined(__aarch64__) && !defined(COROUTINE_UCONTEXT)
#define COROUTINE_UCONTEXT
#endif

#ifdef COROUTINE_UCONTEXT
#include <ucontext.h>
#endif

typedef void (*coroutine_fn)(void *arg);

/* A stack pointer behind which the registers that a call keeps are saved. */
struct coroutine_context {
#ifdef COROUTINE_UCONTEXT
    ucontext_t machine;
#else
    void *sp;
#endif
    void *sanitizer; /* address: the fake stack; thread: the fiber */
    const void *stack_bottom;
    size_t stack_bytes;
};

struct coroutine {
    coroutine_fn fn;
    void *arg;
    bool ended;    /* FN has returned */
    void *mapping; /* guard page and stack; NULL: released */
    size_t mapping_bytes;
    struct coroutine_context self;   /* while it is suspended */
    struct coroutine_context caller; /* while it runs: who resumed it */
};

/*
 * Prepare to call fn(arg) on a new stack of STACK_BYTES (rounded up to pages, which are taken
 * when touched) at the first coroutine_resume(). E_MEMORY.
 */
int coroutine_init(struct coroutine *c, size_t stack_bytes, coroutine_fn fn, void *arg);

/* Drop the stack, wherever on it the coroutine stopped; not from inside. Accepts a zeroed one. */
void coroutine_release(struct coroutine *c);

/* Run it until it suspends or ends. It must not have ended, nor be running. */
void coroutine_resume(struct coroutine *c);

/* From inside C: go back to whoever resumed it; returns at the next coroutine_resume(). */
void coroutine_suspend(struct coroutine *c);

#endif
