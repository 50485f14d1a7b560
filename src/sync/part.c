/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/part.h"

#include "math/kernels.h"

size_t part_head_bytes(const struct shape *s)
{
    return sizeof(struct part_head) + round_up(s->cells * sizeof(uint64_t), CACHE_LINE);
}

size_t part_bytes(const struct shape *s)
{
    return part_head_bytes(s) + s->floats * sizeof(float);
}

static size_t sum_bytes(size_t cells, size_t floats)
{
    return sizeof(struct sum_head) + round_up(cells * sizeof(uint64_t), CACHE_LINE) +
           floats * sizeof(float);
}

size_t sum_piece_bytes(const struct shape *s, unsigned m, unsigned i)
{
    size_t first, last;

    shape_piece(s, m, i, &first, &last);
    return sum_bytes(last - first, shape_float_of(s, last) - shape_float_of(s, first));
}

size_t sum_piece_bytes_max(const struct shape *s, unsigned m)
{
    size_t most = 0;

    for (unsigned i = 0; i < m; i++)
        most = MAX(most, sum_piece_bytes(s, m, i));
    return most;
}

/* The bits of the units that a group really has in its cell number C. */
static uint64_t full_mask(const struct shape_group *g, size_t c)
{
    size_t units = g->units - c * 64;

    return units >= 64 ? UINT64_MAX : ((uint64_t)1 << units) - 1;
}

void part_begin(const struct shape *s, struct part_head *head, float *floats,
                struct gust_out *out)
{
    uint64_t *mask = part_mask(head);

    memset(mask, 0, s->cells * sizeof(*mask));
    memset(out, 0, sizeof(*out));
    for (unsigned i = 0; i < s->count; i++) {
        const struct shape_group *g = &s->groups[i];
        struct gust_out_group *o = &out->groups[g->group];

        *o = (struct gust_out_group){ .rows = floats + g->float_first,
                                      .stride = g->stride,
                                      .unit_shift = g->unit_shift };
        if (g->sparse) {
            o->touched = mask + g->cell_first;
            continue;
        }
        memset(o->rows, 0, g->units * g->unit_floats * sizeof(float));
        for (size_t c = 0; c < g->cells; c++)
            mask[g->cell_first + c] = full_mask(g, c);
    }
}

void part_finish(const struct shape *s, struct part_head *head, const struct gust_out *out,
                 uint32_t rank, uint64_t step)
{
    *head = (struct part_head){ .magic = PART_MAGIC,
                                .rank = rank,
                                .step = step,
                                .weight = out->weight,
                                .loss = out->loss,
                                .floats = s->floats,
                                .cells = s->cells };
}

int part_check(const struct shape *s, struct slice head, uint32_t rank, uint64_t step,
               struct error *err)
{
    const struct part_head *h = head.data;

    if (head.size < part_head_bytes(s) || h->magic != PART_MAGIC || h->rank != rank ||
        h->step != step || h->floats != s->floats || h->cells != s->cells ||
        !isfinite(h->weight) || h->weight < 0)
        return fail(err, E_FORMAT, "the contribution of rank %u to step %llu does not fit the model",
                    rank, (unsigned long long)step);
    return 0;
}

int sum_check(const struct shape *s, unsigned m, unsigned i, struct slice piece, uint64_t step,
              struct sum_view *out, struct error *err)
{
    const struct sum_head *h = piece.data;
    size_t first, last;

    shape_piece(s, m, i, &first, &last);
    if (piece.size < sum_piece_bytes(s, m, i) || h->magic != SUM_MAGIC || h->step != step ||
        h->cell_first != first || h->cells != last - first)
        return fail(err, E_FORMAT, "piece %u of step %llu's result does not fit the model", i,
                    (unsigned long long)step);
    out->weight = h->weight;
    out->loss = h->loss;
    out->cell_first = first;
    out->cells = last - first;
    out->mask = (const uint64_t *)(h + 1);
    out->floats = (const float *)((const char *)(h + 1) +
                                  round_up(out->cells * sizeof(uint64_t), CACHE_LINE));
    return 0;
}

void sum_sources_init(struct sum_sources *s, struct heap *heap, uint32_t n)
{
    *s = (struct sum_sources){ .n = n,
                               .heads = heap_alloc(heap, n * sizeof(*s->heads)),
                               .floats = heap_alloc(heap, n * sizeof(*s->floats)),
                               .mask_at = heap_alloc(heap, n * sizeof(*s->mask_at)),
                               .float_at = heap_alloc(heap, n * sizeof(*s->float_at)) };
}

void sum_sources_release(struct sum_sources *s, struct heap *heap)
{
    heap_free(heap, s->heads);
    heap_free(heap, s->floats);
    heap_free(heap, s->mask_at);
    heap_free(heap, s->float_at);
    *s = (struct sum_sources){ 0 };
}

void sum_build(const struct kernels *k, const struct shape *s, unsigned m, unsigned i,
               const struct sum_sources *from, uint64_t step, void *into)
{
    struct sum_head *h = into;
    uint64_t *mask = (uint64_t *)(h + 1);
    struct shape_span span;
    size_t first, last;
    float *out;

    shape_piece(s, m, i, &first, &last);
    out = (float *)((char *)mask + round_up((last - first) * sizeof(uint64_t), CACHE_LINE));
    *h = (struct sum_head){ .magic = SUM_MAGIC,
                            .ranks = from->n,
                            .step = step,
                            .cell_first = first,
                            .cells = last - first };
    for (uint32_t r = 0; r < from->n; r++) {
        h->weight += from->heads[r]->weight;
        h->loss += from->heads[r]->loss;
    }
    for (size_t at = first; shape_span(s, at, last, &span); at += span.cells) {
        size_t offset = span.at - shape_float_of(s, first);

        for (uint32_t r = 0; r < from->n; r++) {
            from->mask_at[r] = (const uint64_t *)(from->heads[r] + 1) + at;
            from->float_at[r] = from->floats[r] + offset;
        }
        k->sum_units(out + offset, mask + (at - first), from->float_at, from->mask_at, from->n,
                     span.group->unit_floats, span.units);
    }
}

/* The units of one word of the mask; TO and FROM are at its first unit. */
static void add_cell(const struct kernels *k, uint64_t *to_mask, float *to, uint64_t from_mask,
                     const float *from, size_t unit_floats)
{
    for (uint64_t left = from_mask; left; left &= left - 1) {
        unsigned unit = (unsigned)__builtin_ctzll(left);
        float *out = to + unit * unit_floats;
        const float *in[2] = { out, from + unit * unit_floats };

        if (*to_mask >> unit & 1)
            k->sum_n(out, in, 2, unit_floats);
        else
            memcpy(out, in[1], unit_floats * sizeof(float));
    }
    *to_mask |= from_mask;
}

void part_add(const struct kernels *k, const struct shape *s, uint64_t *to_mask, float *to,
              const uint64_t *from_mask, const float *from)
{
    for (unsigned i = 0; i < s->count; i++) {
        const struct shape_group *g = &s->groups[i];

        for (size_t c = 0; c < g->cells; c++) {
            size_t cell = g->cell_first + c, at = g->float_first + c * 64 * g->unit_floats;

            add_cell(k, &to_mask[cell], to + at, from_mask[cell], from + at, g->unit_floats);
        }
    }
}
