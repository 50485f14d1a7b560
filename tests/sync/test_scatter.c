/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exchange between ranks that are threads of this process, over the memory store and over
 * one mapping of the shared-memory store, against sums made one by one in rank order.
 */
#include "support/test.h"

#include <pthread.h>

#include "base/random.h"
#include "math/kernels.h"
#include "platform/local_env.h"
#include "sync/exchange.h"

#define RANKS_MAX 8
#define STEPS     7

struct fixture {
    const char *url;
    uint32_t n, shards;
    uint64_t seed;
    struct shape shape;
    struct params *store;
    struct params_address address;
    bool repeat; /* every rank does everything twice, as a replacement would */
    pthread_mutex_t lock;
    unsigned failures;
};

struct rank {
    struct fixture *f;
    uint32_t rank;
    pthread_t thread;
};

static const struct gust_group groups[] = {
    { .name = "wide", .rows = 700, .cols = 22, .sparse = true },
    { .name = "narrow", .rows = 3001, .cols = 1, .sparse = true },
    { .name = "bias", .rows = 1, .cols = 1 },
    { .name = "dense", .rows = 90, .cols = 10 },
};

/* What RANK adds to a row of a group in a step; about a third of the sparse rows are touched. */
static bool touches(const struct fixture *f, uint32_t rank, unsigned g, uint64_t row, uint64_t step)
{
    return !groups[g].sparse || random_at(f->seed + step, rank, g, row) % 3 == 0;
}

static float value(const struct fixture *f, uint32_t rank, unsigned g, uint64_t row, uint32_t col,
                   uint64_t step)
{
    return random_unit(random_at(f->seed ^ (step << 20), rank * 16 + g, row, col)) - 0.5f;
}

static void contribute(const struct fixture *f, uint32_t rank, uint64_t step, struct gust_out *out)
{
    for (unsigned g = 0; g < ARRAY_SIZE(groups); g++)
        for (uint64_t row = 0; row < groups[g].rows; row++) {
            float *to;

            if (!touches(f, rank, g, row, step))
                continue;
            to = gust_out_row(out, g, row);
            for (uint32_t c = 0; c < groups[g].cols; c++)
                to[c] += value(f, rank, g, row, c, step);
        }
    out->loss = rank + 0.25;
    out->weight = 10 * (rank + 1);
}

/* In rank order, beginning with the first rank that marked the row's unit. */
static float expected(const struct fixture *f, unsigned g, uint64_t row, uint32_t col,
                      uint64_t step)
{
    float sum = 0;
    bool any = false;

    for (uint32_t r = 0; r < f->n; r++) {
        float v;

        if (!touches(f, r, g, row, step))
            continue;
        v = value(f, r, g, row, col, step);
        sum = any ? sum + v : v;
        any = true;
    }
    return sum;
}

static unsigned check(const struct fixture *f, const struct exchange_result *result, uint64_t step)
{
    unsigned wrong = result->weight != 5.0 * f->n * (f->n + 1);
    uint64_t rows[ARRAY_SIZE(groups)] = { 0 };

    for (unsigned i = 0; i < result->count; i++) {
        const struct sum_view *p = &result->pieces[i];
        size_t last = p->cell_first + p->cells;
        struct shape_span span;

        for (size_t at = p->cell_first; shape_span(&f->shape, at, last, &span); at += span.cells) {
            const float *floats = p->floats + (span.at - shape_float_of(&f->shape, p->cell_first));
            unsigned g = span.group->group;

            for (uint64_t row = 0; row < span.rows; row++) {
                uint64_t unit = row >> span.group->unit_shift;
                bool marked = p->mask[at - p->cell_first + unit / 64] >> (unit % 64) & 1;
                bool touched = false;

                for (uint32_t r = 0; r < f->n; r++)
                    touched |= touches(f, r, g, span.row + row, step);
                wrong += touched && !marked;
                for (uint32_t c = 0; marked && c < groups[g].cols; c++) {
                    float got = floats[row * span.group->stride + c];

                    /* Rows beside a touched one in its unit are sums of zeroes. */
                    wrong += got != expected(f, g, span.row + row, c, step);
                }
                rows[g]++;
            }
        }
    }
    for (unsigned g = 0; g < ARRAY_SIZE(groups); g++)
        wrong += rows[g] != groups[g].rows;
    return wrong;
}

static int one_step(struct exchange *x, struct rank *r, uint64_t step, struct error *err)
{
    struct exchange_step s = { .step = step,
                               .rank = r->rank,
                               .n = r->f->n,
                               .shards = r->f->shards,
                               .seen_version = PARAMS_UNWATCHED,
                               .until = env_after(x->env, 20 * NS_PER_S) };
    struct exchange_part part;
    struct exchange_result result;
    int rc = exchange_begin(x, &s, &part, err);

    if (!rc) {
        contribute(r->f, r->rank, step, &part.out);
        rc = exchange_publish(x, &s, &part, err);
    }
    if (!rc)
        rc = exchange_collect(x, &s, &result, err);
    if (!rc && check(r->f, &result, step))
        rc = fail(err, E_MISMATCH, "wrong sums at step %u", (unsigned)step);
    if (!rc && r->f->repeat)
        rc = exchange_collect(x, &s, &result, err);
    if (!rc && r->f->repeat && check(r->f, &result, step))
        rc = fail(err, E_MISMATCH, "wrong sums when collected again at step %u", (unsigned)step);
    params_release(x->params, step);
    return rc;
}

static void *rank_main(void *arg)
{
    struct rank *r = arg;
    struct fixture *f = r->f;
    struct error err = { 0 };
    struct exchange *x = NULL;
    struct exchange_options o = { .shape = &f->shape,
                                  .kernels = kernels_best(),
                                  .ranks_max = f->n,
                                  .shards_max = f->shards };
    struct params_open open;
    struct heap heap;
    int rc;

    heap_init(&heap, 0);
    open = (struct params_open){ .env = local_env_new(&heap), .heap = &heap };
    o.env = open.env;
    o.heap = &heap;
    rc = params_open(f->address.url, f->address.fd, &open, &o.params, &err);
    if (!rc)
        rc = exchange_new("scatter", &o, &x, &err);
    for (uint64_t step = 0; !rc && step < STEPS; step++)
        rc = one_step(x, r, step, &err);
    if (rc) {
        pthread_mutex_lock(&f->lock);
        f->failures++;
        print_message("rank %u of %u: %s\n", r->rank, f->n, err.text);
        pthread_mutex_unlock(&f->lock);
    }
    exchange_free(x);
    params_close(o.params);
    local_env_free(open.env);
    heap_release(&heap);
    return NULL;
}

static void run(const char *url, uint32_t n, uint32_t shards, bool repeat)
{
    struct fixture f = { .n = n, .shards = shards, .seed = n * 100 + shards, .repeat = repeat };
    struct rank ranks[RANKS_MAX];
    struct params_layout layout;
    struct params_open open;
    struct heap heap;

    heap_init(&heap, 0);
    pthread_mutex_init(&f.lock, NULL);
    open = (struct params_open){ .env = local_env_new(&heap), .heap = &heap };
    assert_int_equal(shape_init(&f.shape, GUST_GRADIENT, groups, ARRAY_SIZE(groups), NULL), 0);
    exchange_layout(&f.shape, n, shards, 2, &layout);
    layout.general_bytes = MIB;
    assert_int_equal(params_create(url, &layout, &open, &f.store, NULL), 0);
    assert_int_equal(params_address(f.store, &f.address, NULL), 0);
    for (uint32_t r = 0; r < n; r++) {
        ranks[r] = (struct rank){ .f = &f, .rank = r };
        assert_int_equal(pthread_create(&ranks[r].thread, NULL, rank_main, &ranks[r]), 0);
    }
    for (uint32_t r = 0; r < n; r++)
        pthread_join(ranks[r].thread, NULL);
    params_close(f.store);
    local_env_free(open.env);
    heap_release(&heap);
    assert_int_equal(f.failures, 0);
}

static void sums_equal_the_reference_over_memory(void **state UNUSED)
{
    for (uint32_t n = 1; n <= RANKS_MAX; n *= 2)
        run("memory:", n, n, false);
}

static void sums_equal_the_reference_over_shared_memory(void **state UNUSED)
{
    for (uint32_t n = 1; n <= RANKS_MAX; n *= 2)
        run("shm:", n, n, false);
}

static void there_may_be_more_pieces_than_ranks(void **state UNUSED)
{
    run("memory:", 3, 8, false);
    run("shm:", 3, 8, false);
    run("shm:", 2, 61, false);
}

static void collecting_again_gives_the_same_result(void **state UNUSED)
{
    run("memory:", 3, 5, true);
    run("shm:", 3, 5, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_equal_the_reference_over_memory),
        cmocka_unit_test(sums_equal_the_reference_over_shared_memory),
        cmocka_unit_test(there_may_be_more_pieces_than_ranks),
        cmocka_unit_test(collecting_again_gives_the_same_result),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
