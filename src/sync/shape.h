/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shape of what a step exchanges: the groups of a trainer laid out as one array of floats
 * and cut into pieces. Everyone derives it from the same list of groups, so it never travels.
 *
 *   group 0                          group 1
 *   +--------+--------+-----+        +----+
 *   | cell 0 | cell 1 | ... |        |    |      a cell is 64 units: one word of the mask
 *   +--------+--------+-----+        +----+
 *   '--- piece 0 ---' '---- piece 1 -------'     a piece is a run of whole cells
 *
 * A unit is what is marked as touched (gust_unit_shift() rows, at least a cache line). Cells
 * are multiples of a cache line, and so is the start of every group.
 */
#ifndef GUST_SYNC_SHAPE_H
#define GUST_SYNC_SHAPE_H

#include "base/buf.h"
#include "gust.h"

/* The most pieces that a step is cut into. */
#define SHAPE_PIECES_MAX 4096

struct shape_group {
    unsigned group;      /* its number in the trainer's list */
    uint64_t rows;       /* as declared */
    uint32_t stride;     /* floats between rows */
    uint32_t unit_shift; /* rows per unit, as a power of two */
    bool sparse;         /* marked by units; otherwise every bit counts as set */
    size_t units;        /* rows rounded up to units */
    size_t unit_floats;
    size_t cell_first;  /* number of its first cell */
    size_t cells;
    size_t float_first; /* where its rows begin in the array */
};

struct shape {
    unsigned count;
    struct shape_group groups[GUST_GROUPS_MAX];
    size_t cells;  /* of all groups: words of the mask */
    size_t floats; /* of the whole array, a multiple of a cache line */
};

/*
 * The shape for a trainer of KIND with COUNT groups: shared parameters, or for
 * GUST_STATISTIC the statistic groups. E_INVALID when there are none, E_LIMIT when sizes
 * overflow.
 */
int shape_init(struct shape *s, enum gust_kind kind, const struct gust_group *groups,
               unsigned count, struct error *err);

/* The group that CELL belongs to. */
const struct shape_group *shape_group_of(const struct shape *s, size_t cell);

/* Where CELL begins in the array; shape->floats for CELL == cells. */
size_t shape_float_of(const struct shape *s, size_t cell);

/* The cells of one group at the start of a run of cells. */
struct shape_span {
    const struct shape_group *group;
    size_t cells;
    size_t at;        /* first float, in the whole array */
    size_t units;     /* really there: the last cell of a group may be short */
    uint64_t row;     /* first row, in the group */
    uint64_t rows;    /* really there */
};

/* The longest span of one group in cells FIRST .. LAST-1, from FIRST; false when that is empty. */
bool shape_span(const struct shape *s, size_t first, size_t last, struct shape_span *out);

/*
 * The cells of piece I of M: *first .. *last-1, chosen so that pieces hold about equally many floats.
 * A pure function; pieces cover all cells in order and may be empty when there are more pieces
 * than cells.
 */
void shape_piece(const struct shape *s, unsigned m, unsigned i, size_t *first, size_t *last);

/* Floats of piece I of M. */
size_t shape_piece_floats(const struct shape *s, unsigned m, unsigned i);

#endif
