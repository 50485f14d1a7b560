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

/*
 * X / STEPS, rounded down. A product with the inverse is off by one at most while X has fewer
 * bits than a double; the division is for absurdly long stretches.
 */
static uint64_t divide(const struct pass *p, uint64_t x)
{
    uint64_t q = (uint64_t)((double)x * p->inverse);
    int64_t rest = (int64_t)(x - q * p->steps);

    if (x >> 52)
        return x / p->steps;
    return rest < 0 ? q - 1 : rest >= (int64_t)p->steps ? q + 1 : q;
}

/* floor((k left + f) / T) */
static uint32_t boundary(const struct pass *p, uint64_t k, uint32_t left, uint64_t f)
{
    if (p->steps >> 31)
        return (uint32_t)(((wide)k * left + f) / p->steps);
    return (uint32_t)divide(p, k * left + f);
}

void pass_slice(const struct pass *p, uint32_t lane, uint32_t *begin, uint32_t *end)
{
    uint32_t taken = p->taken[lane], left = p->sizes[lane] - taken;
    uint64_t reversed = bit_reverse(lane, p->lanes), f;

    assert(lane < p->lanes);
    f = (uint64_t)((wide)reversed * p->steps >> __builtin_ctz(p->lanes));
    *begin = taken + boundary(p, p->at, left, f);
    *end = taken + boundary(p, p->at + 1, left, f);
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
    p->inverse = 1 / (double)p->steps;
    p->at = 0;
    /* A lane with T rows or more has one for every step. */
    p->may_skip = longest < p->steps;
}

static void draw_order(struct pass *p)
{
    p->order = random_at(p->seed, p->epoch, 0x6f72646572ull, 0);
}

static void begin_epoch(struct pass *p)
{
    memset(p->taken, 0, p->lanes * sizeof(*p->taken));
    draw_order(p);
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
 * Primes above the number of chunks of any lane, so that each is prime to every such number:
 * visiting every p-th chunk of the ring visits all. Which one, where the visit begins and
 * where the ring is cut are drawn for each lane and epoch. Richer permutations (Feistel networks,
 * multiplications in k bits repeated until in range) cost a mispredicted branch per chunk and buy
 * nothing: the rows of neighbouring chunks have nothing to do with one another.
 */
static const uint32_t primes[64] = {
    539708237u,  586609469u,  593195929u,  621358589u,  629514269u,  677407481u,  831954961u,
    875472077u,  902785781u,  1000954453u, 1066762621u, 1166110969u, 1185880001u, 1222365791u,
    1263965533u, 1274861191u, 1307046133u, 1414617307u, 1478465641u, 1606543927u, 1607738201u,
    1798955831u, 1872393833u, 1887937151u, 1936621931u, 2165518441u, 2271133243u, 2326297609u,
    2373963853u, 2481727697u, 2522027831u, 2580071569u, 2594342573u, 2656051603u, 2685854029u,
    2755029031u, 2812634533u, 2862192953u, 2880171953u, 2912880401u, 2939107657u, 3069885307u,
    3114786001u, 3188809291u, 3206994611u, 3321704429u, 3355034029u, 3395413129u, 3489320089u,
    3548708783u, 3568146809u, 3677281057u, 3717545411u, 3879998977u, 3912812173u, 4044483383u,
    4087972657u, 4124167121u, 4208915687u, 4212738961u, 4229229911u, 4260485023u, 4262268869u,
    4262579357u,
};

/* The order of one lane in one epoch, at the chunk that comes next. */
struct order {
    uint32_t size, chunks;
    uint32_t chunk, stride;
    uint32_t cut;   /* the row where the ring begins */
    uint32_t twist; /* permutes within chunks */
};

static void order_init(struct order *o, const struct pass *p, uint32_t lane, uint32_t chunk)
{
    uint64_t bits = random_mix(p->order + lane * 0xD1342543DE82EF95ull);

    o->size = p->sizes[lane];
    o->chunks = o->size / PASS_CHUNK;
    o->cut = (uint32_t)random_below(bits, o->size);
    o->twist = (uint32_t)bits;
    o->stride = o->chunk = 0;
    if (o->chunks == 0)
        return;
    o->stride = primes[bits >> 26 & 63] % o->chunks;
    o->chunk = (uint32_t)(((uint64_t)o->stride * chunk + (uint32_t)(bits >> 32)) % o->chunks);
}

/* Place on the ring to row; a wrapped difference is larger than any row. */
static uint32_t order_row(const struct order *o, uint32_t place)
{
    uint32_t row = place + o->cut;

    return MIN(row, row - o->size);
}

/*
 * Positions FROM .. TO-1 of the next chunk. An odd multiple plus a constant permutes its eight
 * rows. The one chunk that lies across the end of the lane becomes single rows.
 */
static unsigned order_next(struct order *o, unsigned from, unsigned to, struct pass_run *out)
{
    uint32_t place = o->chunk * PASS_CHUNK, first = order_row(o, place);
    uint32_t twist = (place ^ o->twist) * 0x9E3779B1u;
    uint8_t step = (uint8_t)(twist >> 29 | 1), start = twist >> 26 & (PASS_CHUNK - 1);
    unsigned n = 0;

    o->chunk += o->stride;
    o->chunk = MIN(o->chunk, o->chunk - o->chunks);
    if (first + PASS_CHUNK <= o->size) {
        *out = (struct pass_run){ first, (uint8_t)from, (uint8_t)to, step, start, PASS_CHUNK };
        return 1;
    }
    for (unsigned i = from; i < to; i++) {
        uint32_t row = order_row(o, place + ((i * step + start) & (PASS_CHUNK - 1)));

        out[n++] = (struct pass_run){ .first = row, .to = 1, .span = 1 };
    }
    return n;
}

unsigned pass_runs(const struct pass *p, uint32_t lane, uint32_t *begin, uint32_t end,
                   struct pass_run *out, unsigned max)
{
    uint32_t at = *begin, whole;
    struct order o;
    unsigned n = 0;

    if (at >= end)
        return 0;
    order_init(&o, p, lane, at / PASS_CHUNK);
    assert(end <= o.size && max >= PASS_CHUNK);
    whole = MIN(end, o.chunks * PASS_CHUNK);
    while (at < whole && n + PASS_CHUNK <= max) {
        unsigned from = at % PASS_CHUNK, to = MIN((unsigned)PASS_CHUNK, from + (whole - at));

        n += order_next(&o, from, to, out + n);
        at += to - from;
    }
    /* What is left over after the last whole chunk keeps its place at the end of the ring. */
    for (; at >= whole && at < end && n < max; at++)
        out[n++] = (struct pass_run){ .first = order_row(&o, at), .to = 1, .span = 1 };
    *begin = at;
    return n;
}

void pass_rows(const struct pass *p, uint32_t lane, uint32_t begin, uint32_t end, uint32_t *out)
{
    struct pass_run runs[32];

    while (begin < end) {
        unsigned n = pass_runs(p, lane, &begin, end, runs, ARRAY_SIZE(runs));

        for (const struct pass_run *r = runs; r < runs + n; r++)
            for (unsigned i = r->from; i < r->to; i++)
                *out++ = r->first + ((i * r->step + r->start) & (PASS_CHUNK - 1));
    }
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
    draw_order(p);
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
