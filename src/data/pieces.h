/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the inputs of an import: pieces of whole lines are read one after the other, as
 * many at once as there are threads, worked on in parallel, and handed back in the order of the
 * text. What a pass gives depends on the text alone.
 */
#ifndef GUST_DATA_PIECES_H
#define GUST_DATA_PIECES_H

#include "base/env.h"
#include "data/inputs.h"
#include "data/statistics.h"
#include "data/transform.h"

#define PIECE_BYTES     (2 * MIB) /* also the longest line */
#define PIECE_BAD_SHOWN 5u

/* Where something is in the inputs, and what is wrong there. */
struct piece_bad {
    uint64_t line;
    char reason[160];
};

/* A piece, and what became of it. */
struct piece {
    const struct input *input;
    struct transform_file *file;
    char *text;
    size_t size;
    uint64_t first_line;
    bool header; /* the first line is one */

    uint64_t rows, bad_rows;
    struct piece_bad bad[PIECE_BAD_SHOWN]; /* the first ones */
    struct statistics statistics;          /* first pass */
    /*
     * Second pass: per example twice its words plus its split, how many copies, and the words
     * themselves. Scratch in the first.
     */
    uint32_t *out;
    size_t out_used, out_room;
};

/* What to do with a piece; runs on any thread, uses no heap. */
typedef void (*piece_work_fn)(void *arg, struct piece *p);
/* Take what became of it; called for one piece after the other. */
typedef int (*piece_take_fn)(void *arg, struct piece *p, struct error *err);

struct pieces {
    struct heap *heap;
    struct env *env; /* NULL: no threads */
    const struct inputs *inputs;
    const struct transform *transform;
    bool looking; /* the first pass */
    unsigned threads;
    piece_work_fn work;
    piece_take_fn take;
    void *arg;

    struct piece *all; /* one per thread */
    /* Of the pass so far. */
    uint64_t rows, bad_rows, bytes, text_bytes, hash;
};

/* The caller has set the fields above. E_MEMORY. */
int pieces_init(struct pieces *p, struct error *err);
/* Accepts zeroed pieces. */
void pieces_release(struct pieces *p);

/* Read everything; the first failure ends it. */
int pieces_run(struct pieces *p, struct error *err);

#endif
