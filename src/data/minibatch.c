/* SPDX-License-Identifier: Apache-2.0 */
/* Minibatches: rows of a data set gathered into one piece, or shown where they lie. */
#include <inttypes.h>

#include "data/dataset_internal.h"

/* Runs of rows that are worked out at once, and how many are in flight to the cache. */
#define PIECE     64u
#define IN_FLIGHT 16u

/* Examples up to this are short: copying a few too many costs less than a mispredicted branch. */
#define WORDS_SHORT 4u
/* Words behind the last example of a minibatch that may be overwritten. */
#define PADDING (SHARD_PADDING / 4 + PASS_CHUNK * WORDS_SHORT)

/* ---- buffers ---- */

void minibatch_init(struct minibatch *m, struct heap *heap)
{
    *m = (struct minibatch){ .heap = heap };
}

void minibatch_release(struct minibatch *m)
{
    if (m->heap) {
        heap_free(m->heap, m->words);
        heap_free(m->heap, m->at);
        heap_free(m->heap, m->slices);
    }
    *m = (struct minibatch){ 0 };
}

/* No step takes an example twice. */
static size_t most_words(const struct dataset *d, uint64_t rows)
{
    return MIN(rows * d->row_words_max, d->bytes[DATASET_TRAIN] / sizeof(uint32_t)) + PADDING;
}

size_t dataset_minibatch_bytes(const struct dataset *d, uint64_t rows)
{
    size_t words = most_words(d, rows);

    /* Where lengths differ, the buffer grows: the old and the new one are there at once. */
    if (!format_row_words(&d->data))
        words += words + rows + 1;
    return words * sizeof(uint32_t) + (size_t)d->lanes * sizeof(*((struct minibatch *)0)->slices);
}

static int no_memory(uint64_t rows, struct error *err)
{
    return fail(err, E_MEMORY, "no memory for a minibatch of %" PRIu64 " examples", rows);
}

/*
 * Room for WORDS words, of which the first USED are kept, and padding for whole vectors. A buffer
 * that grows gets more than it needs, but not more than MOST.
 */
static int reserve_words(struct minibatch *m, size_t words, size_t used, size_t most,
                         struct error *err)
{
    uint32_t *grown;

    words += PADDING;
    if (words <= m->words_room)
        return 0;
    if (used) {
        words = MAX(words, MIN(words + words / 2, most));
    } else {
        heap_free(m->heap, m->words);
        m->words = NULL;
        m->words_room = 0;
    }
    grown = heap_try_alloc_raw(m->heap, words, sizeof(*grown));
    if (!grown)
        return no_memory(m->batch.rows, err);
    if (used)
        memcpy(grown, m->words, used * sizeof(*grown));
    heap_free(m->heap, m->words);
    m->words = grown;
    m->words_room = words;
    return 0;
}

static int reserve_at(struct minibatch *m, uint64_t rows, struct error *err)
{
    if (rows + 1 <= m->rows_room)
        return 0;
    heap_free(m->heap, m->at);
    m->rows_room = 0;
    m->at = rows >= UINT32_MAX ? NULL : heap_try_alloc_raw(m->heap, rows + 1, sizeof(*m->at));
    if (!m->at)
        return no_memory(rows, err);
    m->rows_room = (uint32_t)rows + 1;
    return 0;
}

/* Room for ROWS examples, as far as their length is known. */
static int prepare(struct dataset *d, struct minibatch *m, uint64_t rows, struct error *err)
{
    uint32_t fixed = format_row_words(&d->data);
    int rc;

    if (rows > UINT32_MAX / 4)
        return fail(err, E_LIMIT, "%" PRIu64 " examples are too many for one minibatch", rows);
    m->batch = (struct gust_batch){ .data = &d->data, .row_words = fixed, .rows = (uint32_t)rows };
    rc = reserve_words(m, rows * MAX(fixed, 1u), 0, 0, err);
    if (!rc && !fixed)
        rc = reserve_at(m, rows, err);
    return rc;
}

/* Sixteen bytes at a time; source and destination have padding behind their last example. */
static inline void copy_words(uint32_t *to, const uint32_t *from, uint32_t words)
{
    typedef uint32_t four __attribute__((vector_size(16), aligned(4), may_alias));

    for (uint32_t i = 0; i < words; i += 4)
        *(four *)(to + i) = *(const four *)(from + i);
}

static inline void prefetch_words(const uint32_t *from, uint32_t words)
{
    for (uint32_t i = 0; i < words; i += 16)
        __builtin_prefetch(from + i);
    __builtin_prefetch(from + words - 1);
}

/* ---- fills ---- */

/*
 * One fill in progress. Runs of neighbouring rows go in, wait in a ring for their cache lines,
 * and are copied out.
 */
struct gather {
    struct dataset *d;
    struct dataset_shards *shards;
    struct minibatch *m;
    uint32_t fixed; /* words per example, or 0 */
    uint64_t mask;  /* of a row within its shard */
    unsigned block_shift, shard_shift;
    uint32_t entered, left; /* runs (examples, where lengths differ) put into and taken out */
    size_t used;            /* words copied */
    size_t most;            /* words that there can be */
    struct waiting {
        const uint32_t *from;
        struct pass_run run;
        uint32_t words;
    } ring[IN_FLIGHT];
};

static inline const struct shard *shard_of(const struct gather *g, uint64_t row)
{
    return &g->shards->shards[row >> g->shard_shift];
}

static inline int ensure_checked(struct gather *g, uint64_t row, struct error *err)
{
    if (__builtin_expect(g->shards->checked[row >> g->block_shift], 1))
        return 0;
    return dataset_first_read(g->d, DATASET_TRAIN, row, err);
}

/*
 * Copy the oldest run out of the ring; room is there. Short examples are copied by whole chunks
 * whatever the run's length, which the processor could not predict: what is too much is
 * overwritten by the next run, or lies in the padding.
 */
static inline __attribute__((always_inline)) void leave_run(struct gather *g, uint32_t words)
{
    const struct waiting *w = &g->ring[g->left++ % IN_FLIGHT];
    unsigned rows = w->run.to - w->run.from, copied = words <= WORDS_SHORT ? PASS_CHUNK : rows;
    unsigned at = w->run.from * w->run.step + w->run.start;
    uint32_t *to = g->m->words + g->used;

    for (unsigned i = 0; i < copied; i++, at += w->run.step, to += words)
        copy_words(to, w->from + (size_t)(at % PASS_CHUNK) * words, words);
    g->used += (size_t)rows * words;
}

static inline __attribute__((always_inline)) void enter_run(struct gather *g, uint64_t row,
                                                            struct pass_run run, uint32_t words)
{
    struct waiting *w;

    if (g->entered - g->left == IN_FLIGHT)
        leave_run(g, words);
    w = &g->ring[g->entered++ % IN_FLIGHT];
    w->from = shard_of(g, row)->records + (row & g->mask) * words;
    w->run = run;
    prefetch_words(w->from, run.span * words);
}

/* A run that lies across the end of a shard goes in row by row. */
static void enter_rows(struct gather *g, uint64_t row, const struct pass_run *run)
{
    for (unsigned i = run->from; i < run->to; i++) {
        unsigned place = (i * run->step + run->start) % PASS_CHUNK;

        enter_run(g, row + place, (struct pass_run){ .to = 1, .span = 1 }, g->fixed);
    }
}

/* Runs of examples of equal length WORDS, in the lane that begins at row FIRST. */
static inline __attribute__((always_inline)) int gather_fixed(struct gather *g, uint64_t first,
                                                              const struct pass_run *runs,
                                                              unsigned count, uint32_t words,
                                                              struct error *err)
{
    for (const struct pass_run *r = runs; r < runs + count; r++) {
        uint64_t row = first + r->first, last = row + r->span - 1;
        int rc = ensure_checked(g, row, err);

        rc = rc ? rc : ensure_checked(g, last, err);
        if (rc)
            return rc;
        if (__builtin_expect(row >> g->shard_shift == last >> g->shard_shift, 1))
            enter_run(g, row, *r, words);
        else
            enter_rows(g, row, r);
    }
    return 0;
}

/* Take the oldest example of unequal length out of the ring. */
static int leave_varying(struct gather *g, struct error *err)
{
    const struct waiting *w = &g->ring[g->left % IN_FLIGHT];
    int rc;

    if (g->used + w->words > UINT32_MAX)
        return fail(err, E_LIMIT, "a minibatch of more than %u examples is longer than 16 GiB",
                    g->left);
    rc = reserve_words(g->m, g->used + w->words, g->used, g->most, err);
    if (rc)
        return rc;
    copy_words(g->m->words + g->used, w->from, w->words);
    g->m->at[g->left++] = (uint32_t)g->used;
    g->used += w->words;
    return 0;
}

static int enter_varying(struct gather *g, uint64_t row, struct error *err)
{
    const struct shard *s = shard_of(g, row);
    const uint32_t *at = &s->at[row & g->mask];
    struct waiting *w = &g->ring[g->entered % IN_FLIGHT];
    int rc = 0;

    if (g->entered - g->left == IN_FLIGHT)
        rc = leave_varying(g, err);
    if (rc)
        return rc;
    g->entered++;
    w->from = s->records + at[0];
    w->words = at[1] - at[0];
    prefetch_words(w->from, w->words);
    return 0;
}

static int gather_varying(struct gather *g, uint64_t first, const struct pass_run *runs,
                          unsigned count, struct error *err)
{
    int rc = 0;

    for (unsigned i = 0; !rc && i < count; i++) {
        uint64_t row = first + runs[i].first, last = row + runs[i].span - 1;

        rc = ensure_checked(g, row, err);
        rc = rc ? rc : ensure_checked(g, last, err);
        if (!rc)
            __builtin_prefetch(&shard_of(g, row)->at[row & g->mask]);
    }
    for (const struct pass_run *r = runs; r < runs + count; r++)
        for (unsigned i = r->from; !rc && i < r->to; i++)
            rc = enter_varying(g, first + r->first + (i * r->step + r->start) % PASS_CHUNK, err);
    return rc;
}

/* The common lengths get loops of their own, in which the copy is a fixed few instructions. */
static int gather_runs(struct gather *g, uint64_t first, const struct pass_run *runs,
                       unsigned count, struct error *err)
{
    switch (g->fixed) {
    case 0:
        return gather_varying(g, first, runs, count, err);
    case 3:
        return gather_fixed(g, first, runs, count, 3, err);
    case 40:
        return gather_fixed(g, first, runs, count, 40, err);
    default:
        return gather_fixed(g, first, runs, count, g->fixed, err);
    }
}

static int gather_finish(struct gather *g, struct error *err)
{
    int rc = 0;

    while (!rc && g->left < g->entered) {
        if (g->fixed)
            leave_run(g, g->fixed);
        else
            rc = leave_varying(g, err);
    }
    return rc;
}

/* The step's slices of lanes lo .. hi-1 in M, and room for their examples. */
static int prepare_fill(struct dataset *d, const struct pass *pass, uint32_t lo, uint32_t hi,
                        struct minibatch *m, struct error *err)
{
    uint64_t rows = 0;

    if (hi - lo > m->slices_room) {
        heap_free(m->heap, m->slices);
        m->slices = heap_alloc(m->heap, (hi - lo) * sizeof(*m->slices));
        m->slices_room = hi - lo;
    }
    for (uint32_t q = lo; q < hi; q++) {
        uint32_t *slice = m->slices[q - lo];

        pass_slice(pass, q, &slice[0], &slice[1]);
        rows += slice[1] - slice[0];
    }
    return prepare(d, m, rows, err);
}

int dataset_fill(struct dataset *d, const struct pass *pass, uint32_t lo, uint32_t hi,
                 struct minibatch *m, struct error *err)
{
    struct dataset_shards *s = d->shards[DATASET_TRAIN];
    struct gather g = { .d = d, .shards = s, .m = m, .fixed = format_row_words(&d->data) };
    struct pass_run runs[PIECE];
    int rc = prepare_fill(d, pass, lo, hi, m, err);

    g.most = most_words(d, m->batch.rows);
    g.mask = ((uint64_t)1 << d->manifest->shard_shift) - 1;
    g.block_shift = d->manifest->block_shift;
    g.shard_shift = d->manifest->shard_shift;
    for (uint32_t q = lo; !rc && q < hi; q++) {
        uint32_t begin = m->slices[q - lo][0], end = m->slices[q - lo][1];

        while (!rc && begin < end) {
            unsigned n = pass_runs(pass, q, &begin, end, runs, PIECE);

            rc = gather_runs(&g, s->lane_first[q], runs, n, err);
        }
    }
    rc = rc ? rc : gather_finish(&g, err);
    if (rc)
        m->batch.rows = 0;
    m->batch.words = m->words;
    m->batch.at = g.fixed ? NULL : m->at;
    return rc;
}

/* ---- rows in storage order ---- */

/* Copy what lies in one shard, ROW .. ROW+COUNT-1, behind the DONE examples and USED words of M. */
static int copy_run(struct dataset *d, const struct shard *s, uint32_t row, uint32_t count,
                    struct minibatch *m, uint32_t done, size_t *used, struct error *err)
{
    size_t fixed = m->batch.row_words;
    size_t from = s->at ? s->at[row] : row * fixed;
    size_t words = s->at ? s->at[row + count] - from : count * fixed;
    int rc = reserve_words(m, *used + words, *used, SIZE_MAX, err);

    if (rc)
        return rc;
    if (*used + words > UINT32_MAX)
        return fail(err, E_LIMIT, "%u examples of '%s' are longer than 16 GiB", m->batch.rows,
                    d->prefix);
    memcpy(m->words + *used, s->records + from, words * sizeof(*m->words));
    for (uint32_t i = 0; s->at && i < count; i++)
        m->at[done + i] = (uint32_t)(*used + s->at[row + i] - from);
    *used += words;
    return 0;
}

int dataset_range(struct dataset *d, enum dataset_split split, uint64_t from, uint64_t to,
                  struct minibatch *m, struct error *err)
{
    unsigned shift = d->manifest->shard_shift;
    uint64_t mask = ((uint64_t)1 << shift) - 1;
    uint32_t fixed = format_row_words(&d->data), done = 0;
    size_t used = 0;
    int rc = dataset_check_range(d, split, from, to, err);

    if (rc)
        return rc;
    if (from < to && from >> shift == (to - 1) >> shift) {
        const struct shard *s = &d->shards[split]->shards[from >> shift];

        m->batch = (struct gust_batch){
            .data = &d->data,
            .words = fixed ? s->records + (from & mask) * fixed : s->records,
            .at = fixed ? NULL : s->at + (from & mask),
            .row_words = fixed,
            .rows = (uint32_t)(to - from),
        };
        return 0;
    }
    rc = prepare(d, m, to - from, err);
    while (!rc && from < to) {
        uint32_t n = (uint32_t)MIN(to - from, mask + 1 - (from & mask));

        rc = copy_run(d, &d->shards[split]->shards[from >> shift], (uint32_t)(from & mask), n, m,
                      done, &used, err);
        done += n;
        from += n;
    }
    if (rc)
        m->batch.rows = 0;
    m->batch.words = m->words;
    m->batch.at = fixed ? NULL : m->at;
    return rc;
}

int dataset_rows(struct dataset *d, enum dataset_split split, uint32_t lane, uint32_t from,
                 uint32_t to, struct minibatch *m, struct error *err)
{
    uint64_t first = d->shards[split]->lane_first[lane];

    return dataset_range(d, split, first + from, first + to, m, err);
}
