/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes: fixed slices of the data, the unit of ownership, and the pass over them that gives
 * every example exactly once per epoch whatever the fleet and however the batch size changes.
 *
 * Rank r of n owns lanes floor(rV/n) .. floor((r+1)V/n)-1. A stretch of a pass begins with
 * left_q rows in lane q and nominal global batch B: it has T = ceil(sum left_q / B) steps, and
 * its step k takes the rows
 *
 *     floor((k left_q + f_q) / T) .. floor(((k+1) left_q + f_q) / T) - 1,   f_q = floor(bitrev(q) T
 * / V)
 *
 * of what is left of lane q. The bit-reversed offsets spread the roundings, so that the global
 * batch varies by little; it is the same set for every fleet because no n occurs in it.
 * Positions are then permuted within the lane by (seed, epoch, lane).
 *
 * The permutation keeps neighbours together, because rows were shuffled once and for all when
 * the data was imported and memory is read in lines: the lane is a ring, cut anywhere, divided
 * into chunks of PASS_CHUNK consecutive rows; the chunks are visited with a constant stride that is
 * prime to their number, and the rows within each in a permuted order.
 */
#ifndef GUST_DATA_LANES_H
#define GUST_DATA_LANES_H

#include "base/buf.h"

/*
 * Unless asked otherwise: a lane is the unit in which keys (users) are owned, so there are many
 * with keys; without, fewer make longer runs of rows in small batches.
 */
#define LANES_KEYED   1024
#define LANES_PLAIN   256
#define LANES_MAX     65536
#define LANE_ROWS_MAX ((uint32_t)1 << 31)
#define PASS_CHUNK    8

/* The lanes of rank R of N: lo .. hi-1. N must be at most LANES. */
void lanes_of_rank(uint32_t lanes, uint32_t n, uint32_t r, uint32_t *lo, uint32_t *hi);

/* The lane of a row whose key (or content) hashes to HASH. */
uint32_t lanes_of_hash(uint32_t lanes, uint64_t hash);

/*
 * Where a job is in the data. Equal in all functions of a job at the same step; part of every
 * base. The structure is the same for every fleet.
 */
struct pass {
    struct heap *heap;
    uint32_t lanes;
    uint64_t seed;
    const uint32_t *sizes; /* rows per lane; borrowed, lives as long as the pass */
    uint64_t epoch;        /* completed passes */
    uint64_t batch;        /* nominal global batch B */
    uint64_t steps, at;    /* T, and the current k < T */
    uint32_t *taken;       /* rows of each lane taken before this stretch */
    bool may_skip;         /* lanes are so short that a step could be empty: those are left out */
    double inverse;        /* 1 / steps, to divide by */
    uint64_t order;        /* what the epoch's permutations are drawn from */
};

/*
 * At the first step of epoch 0. LANES must be a power of two, SIZES hold at least one row in
 * all and no more than LANE_ROWS_MAX each, BATCH be at least 1.
 */
void pass_init(struct pass *p, struct heap *heap, uint32_t lanes, const uint32_t *sizes,
               uint64_t seed, uint64_t batch);
void pass_release(struct pass *p);

/* From the current step on, use another nominal batch: T is taken over what is left. */
void pass_set_batch(struct pass *p, uint64_t batch);

/* The positions of LANE in the current step: begin .. end-1, each to be mapped by pass_row(). */
void pass_slice(const struct pass *p, uint32_t lane, uint32_t *begin, uint32_t *end);

/* Examples of the current step in lanes lo .. hi-1. */
uint64_t pass_count(const struct pass *p, uint32_t lo, uint32_t hi);

/* The row of LANE at POSITION in this epoch's order. */
uint32_t pass_row(const struct pass *p, uint32_t lane, uint32_t position);

/* The rows at positions begin .. end-1, as pass_row() gives them, at a fraction of its price. */
void pass_rows(const struct pass *p, uint32_t lane, uint32_t begin, uint32_t end, uint32_t *out);

/*
 * The same order as runs of rows that lie together: a run stands for the rows
 * first + (i step + start) mod PASS_CHUNK, i = from .. to-1, whose range first .. first+span-1
 * lies within the lane.
 */
struct pass_run {
    uint32_t first;
    uint8_t from, to;
    uint8_t step, start;
    uint8_t span; /* PASS_CHUNK, or 1 for a single row */
};

/*
 * Store in OUT, room for MAX >= PASS_CHUNK, the runs from *BEGIN on, at most up to END, and move
 * *BEGIN behind them. Returns how many.
 */
unsigned pass_runs(const struct pass *p, uint32_t lane, uint32_t *begin, uint32_t end,
                   struct pass_run *out, unsigned max);

/* To the next step; begins a new epoch after the last. No step is empty. */
void pass_advance(struct pass *p);

/* The most examples that any step of this stretch can have in lanes lo .. hi-1. */
uint64_t pass_most(const struct pass *p, uint32_t lo, uint32_t hi);

/* As part of a base. Decoding checks everything against LANES and SIZES: E_FORMAT. */
void pass_encode(const struct pass *p, struct buf *out);
int pass_decode(struct pass *p, struct heap *heap, uint32_t lanes, const uint32_t *sizes,
                struct slice from, struct error *err);

#endif
