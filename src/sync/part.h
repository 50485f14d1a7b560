/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two values that an exchange moves, in the form in which they lie in the store.
 *
 * A PART is what one rank contributes to one step: piece 0 is the head (struct part_head and
 * the mask, a word per cell of the shape), pieces 1 .. m are the array of floats, cut as
 * shape_piece() says. Reserved in one go the pieces 1 .. m are one array, and a trainer adds
 * into it in place. Floats of units whose bit is not set are undefined.
 *
 * A SUM piece is one of m results: struct sum_head, the mask words of its cells rounded up to
 * a cache line, and their floats. Sums run over ranks 0 .. n-1 in that order, starting from
 * +0, skipping ranks that did not touch the unit.
 */
#ifndef GUST_SYNC_PART_H
#define GUST_SYNC_PART_H

#include "params/params.h"
#include "sync/shape.h"

#define PART_MAGIC 0x54524150u /* "PART" */
#define SUM_MAGIC  0x204d5553u /* "SUM " */

struct part_head {
    uint32_t magic;
    uint32_t rank;
    uint64_t step;
    double weight; /* examples */
    double loss;   /* sum over them */
    uint64_t floats, cells;
    uint64_t unused[2];
};

struct sum_head {
    uint32_t magic;
    uint32_t ranks; /* how many contributed */
    uint64_t step;
    double weight;
    double loss;
    uint64_t cell_first, cells;
    uint64_t unused[2];
};

_Static_assert(sizeof(struct part_head) == CACHE_LINE, "a head is a cache line");
_Static_assert(sizeof(struct sum_head) == CACHE_LINE, "a head is a cache line");

/* Bytes of a PART's head piece. */
size_t part_head_bytes(const struct shape *s);
/* Bytes of a whole PART, into however many pieces it is cut. */
size_t part_bytes(const struct shape *s);
/* Bytes of SUM piece I of M, and of the largest. */
size_t sum_piece_bytes(const struct shape *s, unsigned m, unsigned i);
size_t sum_piece_bytes_max(const struct shape *s, unsigned m);

/* The mask words after a head. */
static inline uint64_t *part_mask(struct part_head *h)
{
    return (uint64_t *)(h + 1);
}

/*
 * Point OUT's groups at a PART under construction: HEAD is piece 0, FLOATS the array. Clears the mask;
 * zeroes dense groups and sets their bits.
 */
void part_begin(const struct shape *s, struct part_head *head, float *floats,
                struct gust_out *out);

/* Write the head's fields from OUT. Call last, before publishing. */
void part_finish(const struct shape *s, struct part_head *head, const struct gust_out *out,
                 uint32_t rank, uint64_t step);

/* Check what another process wrote: E_FORMAT when it does not fit shape, rank and step. */
int part_check(const struct shape *s, struct slice head, uint32_t rank, uint64_t step,
               struct error *err);

/* One decoded SUM piece: a view. */
struct sum_view {
    double weight, loss;
    size_t cell_first, cells;
    const uint64_t *mask; /* cells words */
    const float *floats;  /* from shape_float_of(cell_first) */
};

int sum_check(const struct shape *s, unsigned m, unsigned i, struct slice piece, uint64_t step,
              struct sum_view *out, struct error *err);

struct kernels;

/* The parts that are added up, in rank order, with room for the pointers that the sum needs. */
struct sum_sources {
    uint32_t n;
    const struct part_head **heads; /* n */
    const float **floats;           /* n: each rank's floats of the piece */
    const uint64_t **mask_at;       /* n, scratch */
    const float **float_at;         /* n, scratch */
};

/* Room for up to N sources; all on HEAP. */
void sum_sources_init(struct sum_sources *s, struct heap *heap, uint32_t n);
void sum_sources_release(struct sum_sources *s, struct heap *heap);

/* Add up piece I of M. Writes the whole SUM piece at INTO (sum_piece_bytes() of room). */
void sum_build(const struct kernels *k, const struct shape *s, unsigned m, unsigned i,
               const struct sum_sources *from, uint64_t step, void *into);

/*
 * Add the touched units of FROM to TO, two arrays of the same shape: how the threads of a
 * function are summed, in thread order.
 */
void part_add(const struct kernels *k, const struct shape *s, uint64_t *to_mask, float *to,
              const uint64_t *from_mask, const float *from);

#endif
