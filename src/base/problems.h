/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong with something that a person wrote: all of it at once, each problem with its
 * place. In the order of their lines, whatever the order in which they were found.
 */
#ifndef GUST_BASE_PROBLEMS_H
#define GUST_BASE_PROBLEMS_H

#include "base/buf.h"

/* Nobody reads more; the rest is counted. */
#define PROBLEMS_MAX 100u

struct problem {
    const char *source; /* the file's name, or "--workers" */
    unsigned line;      /* 0: not in a file, or the file as a whole */
    char *text;         /* a sentence without a full stop */
};

struct problems {
    struct heap *heap;
    struct problem *items; /* the first PROBLEMS_MAX */
    unsigned kept;
    unsigned count; /* of all that were found */
};

void problems_init(struct problems *p, struct heap *heap);
/* Accepts zeroed ones. */
void problems_release(struct problems *p);

/* SOURCE is borrowed and outlives P. */
void problems_add(struct problems *p, const char *source, unsigned line, const char *format, ...)
    PRINTF(4, 5);

#endif
