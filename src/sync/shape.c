/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/shape.h"

#define CELL_UNITS  64
#define LINE_FLOATS (CACHE_LINE / sizeof(float))

/* Far above any model, far below overflow of the sizes computed from it. */
#define FLOATS_MAX ((uint64_t)1 << 40)

static bool is_exchanged(enum gust_kind kind, const struct gust_group *g)
{
    return kind == GUST_STATISTIC ? g->statistic : !g->statistic && g->scope == GUST_SHARED;
}

static int add_group(struct shape *s, const struct gust_group *g, unsigned number,
                     struct error *err)
{
    struct shape_group *out = &s->groups[s->count++];
    uint64_t unit_rows;

    *out = (struct shape_group){ .group = number,
                                 .rows = g->rows,
                                 .stride = gust_stride(g->cols),
                                 .sparse = g->sparse,
                                 .cell_first = s->cells,
                                 .float_first = s->floats };
    if (g->rows == 0 || g->cols == 0 || g->rows > FLOATS_MAX / out->stride)
        return fail(err, E_LIMIT, "group '%s' of %llu rows and %u columns cannot be exchanged",
                    g->name, (unsigned long long)g->rows, g->cols);
    out->unit_shift = gust_unit_shift(out->stride);
    unit_rows = (uint64_t)1 << out->unit_shift;
    out->units = (g->rows + unit_rows - 1) >> out->unit_shift;
    out->unit_floats = (size_t)out->stride << out->unit_shift;
    out->cells = (out->units + CELL_UNITS - 1) / CELL_UNITS;
    s->cells += out->cells;
    s->floats += round_up(out->units * out->unit_floats, LINE_FLOATS);
    return 0;
}

int shape_init(struct shape *s, enum gust_kind kind, const struct gust_group *groups,
               unsigned count, struct error *err)
{
    struct shape made = { 0 };

    for (unsigned g = 0; g < count; g++) {
        int rc;

        if (!is_exchanged(kind, &groups[g]))
            continue;
        rc = add_group(&made, &groups[g], g, err);
        if (rc)
            return rc;
    }
    if (made.count == 0)
        return fail(err, E_INVALID, "the trainer has nothing to exchange");
    *s = made;
    return 0;
}

const struct shape_group *shape_group_of(const struct shape *s, size_t cell)
{
    const struct shape_group *g = &s->groups[0];

    while (cell >= g->cell_first + g->cells)
        g++;
    return g;
}

size_t shape_float_of(const struct shape *s, size_t cell)
{
    const struct shape_group *g;

    if (cell >= s->cells)
        return s->floats;
    g = shape_group_of(s, cell);
    return g->float_first + (cell - g->cell_first) * CELL_UNITS * g->unit_floats;
}

bool shape_span(const struct shape *s, size_t first, size_t last, struct shape_span *out)
{
    const struct shape_group *g;
    size_t unit;

    if (first >= last)
        return false;
    g = shape_group_of(s, first);
    unit = (first - g->cell_first) * CELL_UNITS;
    out->group = g;
    out->cells = MIN(last, g->cell_first + g->cells) - first;
    out->at = g->float_first + unit * g->unit_floats;
    out->units = MIN(out->cells * CELL_UNITS, g->units - unit);
    out->row = (uint64_t)unit << g->unit_shift;
    out->rows = MIN((uint64_t)out->units << g->unit_shift, g->rows - out->row);
    return true;
}

/* The first cell that begins at or after float AT. */
static size_t cell_at(const struct shape *s, size_t at)
{
    for (unsigned i = 0; i < s->count; i++) {
        const struct shape_group *g = &s->groups[i];
        size_t cell_floats = CELL_UNITS * g->unit_floats;
        size_t within;

        if (at <= g->float_first)
            return g->cell_first;
        within = (at - g->float_first + cell_floats - 1) / cell_floats;
        if (within < g->cells)
            return g->cell_first + within;
    }
    return s->cells;
}

void shape_piece(const struct shape *s, unsigned m, unsigned i, size_t *first, size_t *last)
{
    *first = i == 0 ? 0 : cell_at(s, s->floats * i / m);
    *last = i + 1 == m ? s->cells : cell_at(s, s->floats * (i + 1) / m);
}

size_t shape_piece_floats(const struct shape *s, unsigned m, unsigned i)
{
    size_t first, last;

    shape_piece(s, m, i, &first, &last);
    return shape_float_of(s, last) - shape_float_of(s, first);
}
