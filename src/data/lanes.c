/* SPDX-License-Identifier: Apache-2.0 */
/* Which examples a step is made of: lanes, their slices, and the order within a lane. */
#include "data/lanes.h"

#include <assert.h>

#include "base/random.h"
#include "base/wire.h"

#define PASS_VERSION 1u

__extension__ typedef unsigned __int128 wide;

void lanes_of_rank(uint32_t lanes, uint32_t n, uint32_t r, uint32_t *lo, uint32_t *hi)
{
    assert(n > 0 && n <= lanes && r < n);
    *lo = (uint32_t)((uint64_t)r * lanes / n);
    *hi = (uint32_t)(((uint64_t)r + 1) * lanes / n);
}

uint32_t lanes_of_hash(uint32_t lanes, uint64_t hash)
{
    return (uint32_t)random_below(hash, lanes);
}

/* The lowest log2(LANES) bits of Q in opposite order. */
static uint32_t bit_reverse(uint32_t q, uint32_t lanes)
{
    uint32_t x = q;

    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0F0F0F0Fu) | (x & 0x0F0F0F0Fu) << 4;
    x = __builtin_bswap32(x);
    return lanes == 1 ? 0 : x >> (32 - __builtin_ctz(lanes));
}

/* floor((k left + f) / T); the product needs more than 64 bits only for absurdly long stretches. */
static uint32_t boundary(uint64_t k, uint32_t left, uint64_t f, uint64_t steps)
{
    if (steps >> 31)
        return (uint32_t)(((wide)k * left + f) / steps);
    return (uint32_t)((k * left + f) / steps);
}

void pass_slice(const struct pass *p, uint32_t lane, uint32_t *begin, uint32_t *end)
{
    uint32_t taken = p->taken[lane], left = p->sizes[lane] - taken;
    uint64_t reversed = bit_reverse(lane, p->lanes), f;

    assert(lane < p->lanes);
    f = (uint64_t)((wide)reversed * p->steps >> __builtin_ctz(p->lanes));
    *begin = taken + boundary(p->at, left, f, p->steps);
    *end = taken + boundary(p->at + 1, left, f, p->steps);
}

uint64_t pass_count(const struct pass *p, uint32_t lo, uint32_t hi)
{
    uint64_t count = 0;

    for (uint32_t q = lo; q < hi; q++) {
        uint32_t begin, end;

        pass_slice(p, q, &begin, &end);
        count += end - begin;
    }
    return count;
}

uint64_t pass_most(const struct pass *p, uint32_t lo, uint32_t hi)
{
    uint64_t most = 0;

    for (uint32_t q = lo; q < hi; q++) {
        uint64_t left = p->sizes[q] - p->taken[q];

        most += (left + p->steps - 1) / p->steps;
    }
    return most;
}

static bool is_step_empty(const struct pass *p)
{
    for (uint32_t q = 0; q < p->lanes; q++) {
        uint32_t begin, end;

        pass_slice(p, q, &begin, &end);
        if (begin < end)
            return false;
    }
    return true;
}

static void begin_stretch(struct pass *p)
{
    uint64_t left = 0, longest = 0;

    for (uint32_t q = 0; q < p->lanes; q++) {
        uint32_t n = p->sizes[q] - p->taken[q];

        left += n;
        longest = MAX(longest, n);
    }
    p->steps = MAX((left + p->batch - 1) / p->batch, 1);
    p->at = 0;
    /* A lane with T rows or more has one for every step. */
    p->may_skip = longest < p->steps;
}

static void begin_epoch(struct pass *p)
{
    memset(p->taken, 0, p->lanes * sizeof(*p->taken));
    begin_stretch(p);
}

static void skip_empty(struct pass *p)
{
    while (p->may_skip && is_step_empty(p)) {
        if (++p->at < p->steps)
            continue;
        p->epoch++;
        begin_epoch(p);
    }
}

void pass_init(struct pass *p, struct heap *heap, uint32_t lanes, const uint32_t *sizes,
               uint64_t seed, uint64_t batch)
{
    assert(lanes > 0 && lanes <= LANES_MAX && (lanes & (lanes - 1)) == 0 && batch > 0);
    *p =
        (struct pass){ .heap = heap, .lanes = lanes, .seed = seed, .sizes = sizes, .batch = batch };
    p->taken = heap_alloc(heap, lanes * sizeof(*p->taken));
    begin_epoch(p);
    skip_empty(p);
}

void pass_release(struct pass *p)
{
    if (p->heap)
        heap_free(p->heap, p->taken);
    *p = (struct pass){ 0 };
}

void pass_set_batch(struct pass *p, uint64_t batch)
{
    assert(batch > 0);
    for (uint32_t q = 0; q < p->lanes; q++) {
        uint32_t begin, end;

        pass_slice(p, q, &begin, &end);
        p->taken[q] = begin;
    }
    p->batch = batch;
    begin_stretch(p);
    skip_empty(p);
}

void pass_advance(struct pass *p)
{
    if (++p->at == p->steps) {
        p->epoch++;
        begin_epoch(p);
    }
    skip_empty(p);
}

/*
 * The order of one lane in one epoch. Chunk numbers below `chunks` are permuted by a bijection of
 * the k-bit numbers (k the smallest that suffices), repeated until the result is below `chunks`:
 * odd multiplications and a shifted exclusive-or, all invertible modulo 2^k. What is left over
 * after the last whole chunk keeps its place at the end of the ring.
 */
struct order {
    uint32_t size, chunks;
    uint32_t mask;
    unsigned shift;
    uint32_t first, second; /* odd multipliers */
    uint32_t add;
    uint32_t cut; /* the row where the ring begins */
};

static void order_init(struct order *o, const struct pass *p, uint32_t lane)
{
    uint64_t bits = random_at(p->seed, p->epoch, lane, 0x6f72646572ull);
    unsigned k;

    o->size = p->sizes[lane];
    o->chunks = o->size / PASS_CHUNK;
    k = o->chunks > 1 ? 32 - (unsigned)__builtin_clz(o->chunks - 1) : 0;
    o->mask = (uint32_t)(((uint64_t)1 << k) - 1);
    o->shift = k / 2 + 1;
    o->first = (uint32_t)bits | 1;
    o->second = (uint32_t)(bits >> 32) | 1;
    o->add = (uint32_t)(bits >> 17);
    o->cut = (uint32_t)random_below(bits * 0x9E3779B97F4A7C15ull, o->size);
}

static uint32_t order_chunk(const struct order *o, uint32_t chunk)
{
    do {
        chunk = (chunk * o->first + o->add) & o->mask;
        chunk ^= chunk >> o->shift;
        chunk = chunk * o->second & o->mask;
    } while (chunk >= o->chunks);
    return chunk;
}

/* Place on the ring to row. */
static uint32_t order_row(const struct order *o, uint32_t place)
{
    uint64_t row = (uint64_t)place + o->cut;

    return (uint32_t)(row >= o->size ? row - o->size : row);
}

/* Rows WITHIN .. UNTIL-1 of the chunk at CHUNK; an odd multiple plus a constant permutes eight. */
static void order_fill(const struct order *o, uint32_t chunk, uint32_t within, uint32_t until,
                       uint32_t *out)
{
    uint32_t base = order_chunk(o, chunk) * PASS_CHUNK;
    uint32_t twist = (base + o->first) * 0x9E3779B1u;
    uint32_t step = twist >> 29 | 1, start = twist >> 26;

    for (uint32_t i = within; i < until; i++)
        *out++ = order_row(o, base + ((i * step + start) & (PASS_CHUNK - 1)));
}

void pass_rows(const struct pass *p, uint32_t lane, uint32_t begin, uint32_t end, uint32_t *out)
{
    struct order o;

    if (begin >= end)
        return;
    order_init(&o, p, lane);
    assert(end <= o.size);
    while (begin < end && begin < o.chunks * PASS_CHUNK) {
        uint32_t within = begin % PASS_CHUNK;
        uint32_t until = MIN((uint32_t)PASS_CHUNK, within + (end - begin));

        order_fill(&o, begin / PASS_CHUNK, within, until, out);
        out += until - within;
        begin += until - within;
    }
    for (; begin < end; begin++)
        *out++ = order_row(&o, begin);
}

uint32_t pass_row(const struct pass *p, uint32_t lane, uint32_t position)
{
    uint32_t row;

    pass_rows(p, lane, position, position + 1, &row);
    return row;
}

void pass_encode(const struct pass *p, struct buf *out)
{
    wire_put_u32(out, PASS_VERSION);
    wire_put_u32(out, p->lanes);
    wire_put_u64(out, p->seed);
    wire_put_u64(out, p->epoch);
    wire_put_u64(out, p->batch);
    wire_put_u64(out, p->at);
    for (uint32_t q = 0; q < p->lanes; q++)
        wire_put_u32(out, p->taken[q]);
}

/* Everything that was taken must have been there, and the step be one of the stretch. */
static int check_decoded(struct pass *p, uint64_t at, struct error *err)
{
    for (uint32_t q = 0; q < p->lanes; q++)
        if (p->taken[q] > p->sizes[q])
            return fail(err, E_FORMAT, "a saved pass took %u rows of lane %u, which has %u",
                        p->taken[q], q, p->sizes[q]);
    begin_stretch(p);
    if (at >= p->steps)
        return fail(err, E_FORMAT, "a saved pass is at step %llu of a stretch of %llu",
                    (unsigned long long)at, (unsigned long long)p->steps);
    p->at = at;
    if (p->may_skip && is_step_empty(p))
        return fail(err, E_FORMAT, "a saved pass is at a step without examples");
    return 0;
}

int pass_decode(struct pass *p, struct heap *heap, uint32_t lanes, const uint32_t *sizes,
                struct slice from, struct error *err)
{
    struct pass got = { .heap = heap, .lanes = lanes, .sizes = sizes };
    struct wire_reader r;
    uint32_t version, count;
    uint64_t at;
    int rc = 0;

    wire_read(&r, from);
    version = wire_u32(&r);
    count = wire_u32(&r);
    got.seed = wire_u64(&r);
    got.epoch = wire_u64(&r);
    got.batch = wire_u64(&r);
    at = wire_u64(&r);
    if (r.failed || version != PASS_VERSION)
        return fail(err, E_FORMAT, "a saved pass is cut short or of an unknown version");
    if (count != lanes || got.batch == 0)
        return fail(err, E_FORMAT,
                    "a saved pass has %u lanes and batch %llu; the data has %u lanes", count,
                    (unsigned long long)got.batch, lanes);
    got.taken = heap_alloc(heap, lanes * sizeof(*got.taken));
    for (uint32_t q = 0; q < lanes; q++)
        got.taken[q] = wire_u32(&r);
    rc = wire_done(&r) ? check_decoded(&got, at, err)
                       : fail(err, E_FORMAT, "a saved pass has the wrong length");
    if (rc)
        pass_release(&got);
    else
        *p = got;
    return rc;
}
