/* SPDX-License-Identifier: Apache-2.0 */
/* Ratings with planted biases and factors; data/generate.h describes the distribution. */
#include <inttypes.h>

#include "base/random.h"
#include "data/columns.h"
#include "data/generate.h"
#include "data/sampler.h"

#define RANK        10u
#define DRAWN       1.22 /* draws per rating wanted; the rest are repeated pairs */
#define ATTEMPTS    12   /* at finding enough pairs, each with a quarter more draws */
#define ACTIVITY    20.0 /* ratings that every user draws at least */
#define ROWS_USUAL  10000000ull
#define USERS_USUAL 71567.0
#define ITEMS_USUAL 10681.0

/* What the counters of the generator draw. */
enum draw { ACTIVITIES, POPULARITY, PAIRS, CHOICE, HOLD_OUT, NOISE, USER, ITEM };

struct ratings {
    struct heap *heap;
    uint64_t seed, rows;
    uint32_t users, items;
    double held_out;
    struct sampler popularity;
    uint32_t *draws;    /* by user */
    uint32_t *last;     /* by item: the last user (plus 1) who drew it */
    float *user, *item; /* RANK factors and a bias per user and item */
    double error_sum;   /* squared, of the planted model on held-out ratings */
    uint64_t held;
};

static bool draw_activity(struct ratings *g, double drawn)
{
    double total = drawn * (double)g->rows, floor_all, sum = 0;
    double base = fmin(ACTIVITY, 0.3 * total / g->users);
    double *activity = heap_try_alloc_raw(g->heap, g->users, sizeof(*activity));

    if (!activity)
        return false;
    for (uint32_t u = 0; u < g->users; u++) {
        activity[u] = exp(1.25 * sampler_normal(g->seed, ACTIVITIES, u, 0));
        sum += activity[u];
    }
    floor_all = base * g->users;
    for (uint32_t u = 0; u < g->users; u++) {
        double n = base + activity[u] / sum * (total - floor_all);

        g->draws[u] = (uint32_t)fmax(fmin(n, 0.7 * g->items), 1);
    }
    heap_free(g->heap, activity);
    return true;
}

static float *draw_factors(struct ratings *g, uint32_t count, enum draw what, double bias)
{
    float *f = heap_try_alloc_raw(g->heap, count, (RANK + 1) * sizeof(*f));

    for (uint32_t i = 0; f && i < count; i++) {
        for (uint32_t k = 0; k < RANK; k++)
            f[i * (RANK + 1) + k] = (float)sampler_normal(g->seed, what, i, k);
        f[i * (RANK + 1) + RANK] = (float)(bias * sampler_normal(g->seed, what, i, RANK));
    }
    return f;
}

static int prepare(struct ratings *g, struct error *err)
{
    g->draws = heap_try_alloc_raw(g->heap, g->users, sizeof(*g->draws));
    g->last = heap_try_alloc_raw(g->heap, g->items, sizeof(*g->last));
    g->user = draw_factors(g, g->users, USER, 0.40);
    g->item = draw_factors(g, g->items, ITEM, 0.50);
    if (!g->draws || !g->last || !g->user || !g->item ||
        !sampler_init(&g->popularity, g->heap, g->items, 30, 1.05, true,
                      random_at(g->seed, POPULARITY, 0, 0)))
        return fail(err, E_MEMORY, "no memory for %u users and %u items", g->users, g->items);
    return 0;
}

static void release(struct ratings *g)
{
    sampler_release(&g->popularity);
    heap_free(g->heap, g->draws);
    heap_free(g->heap, g->last);
    heap_free(g->heap, g->user);
    heap_free(g->heap, g->item);
}

typedef int (*pair_fn)(struct ratings *g, uint32_t user, uint32_t item, void *arg,
                       struct error *err);

/* Every different pair that is drawn, in the order of users. */
static int each_pair(struct ratings *g, pair_fn each, void *arg, struct error *err)
{
    int rc = 0;

    memset(g->last, 0, g->items * sizeof(*g->last));
    for (uint32_t u = 0; !rc && u < g->users; u++)
        for (uint32_t n = 0; !rc && n < g->draws[u]; n++) {
            uint32_t i = sampler_draw(&g->popularity, random_at(g->seed, PAIRS, u, n));

            if (g->last[i] == u + 1)
                continue;
            g->last[i] = u + 1;
            rc = each(g, u, i, arg, err);
        }
    return rc;
}

static int count_pair(struct ratings *g UNUSED, uint32_t user UNUSED, uint32_t item UNUSED,
                      void *arg, struct error *err UNUSED)
{
    ++*(uint64_t *)arg;
    return 0;
}

/* Draw until there are enough different pairs, which small sets need more draws for. */
static int draw_pairs(struct ratings *g, uint64_t *pairs, struct error *err)
{
    double drawn = DRAWN;
    int rc = 0;

    *pairs = 0;
    for (int i = 0; !rc && i < ATTEMPTS && *pairs < g->rows; i++, drawn *= 1.25) {
        if (!draw_activity(g, drawn))
            return fail(err, E_MEMORY, "no memory for %u users", g->users);
        *pairs = 0;
        rc = each_pair(g, count_pair, pairs, err);
    }
    return rc;
}

/* The second pass chooses exactly `wanted` of `left` pairs: Knuth's algorithm S. */
struct chosen {
    struct builder *builder;
    uint64_t left, wanted;
};

static double planted(const struct ratings *g, uint32_t user, uint32_t item)
{
    const float *u = g->user + (size_t)user * (RANK + 1), *i = g->item + (size_t)item * (RANK + 1);
    double dot = 0;

    for (uint32_t k = 0; k < RANK; k++)
        dot += u[k] * i[k];
    return 3.52 + u[RANK] + i[RANK] + 0.48 / sqrt(RANK) * dot;
}

static double clip(double x)
{
    return fmin(fmax(x, 0.5), 5);
}

static int add_rating(struct ratings *g, uint32_t user, uint32_t item, void *arg, struct error *err)
{
    struct chosen *c = arg;
    uint64_t pair = (uint64_t)user * g->items + item;
    enum dataset_split split = DATASET_TRAIN;
    uint32_t example[3] = { 0, user, item };
    double clean;
    float rating;

    if (random_below(random_at(g->seed, CHOICE, pair, 0), c->left--) >= c->wanted)
        return 0;
    c->wanted--;
    clean = planted(g, user, item);
    rating = (float)clip(rint(2 * (clean + 0.72 * sampler_normal(g->seed, NOISE, pair, 0))) / 2);
    memcpy(example, &rating, sizeof(rating));
    if (random_unit64(random_at(g->seed, HOLD_OUT, pair, 0)) < g->held_out) {
        split = DATASET_TEST;
        g->error_sum += (clip(clean) - rating) * (clip(clean) - rating);
        g->held++;
    }
    return builder_add(c->builder, split, example, 3, err);
}

static int fill_in(struct ratings *g, const struct generate_options *o, struct heap *heap,
                   struct error *err)
{
    double scale;
    uint64_t users, items;

    *g = (struct ratings){ .heap = heap, .seed = o->seed, .held_out = o->held_out };
    g->rows = o->rows ? o->rows : ROWS_USUAL;
    scale = (double)g->rows / ROWS_USUAL;
    users = o->users ? o->users : (uint64_t)fmax(USERS_USUAL * scale, 20);
    items = o->items ? o->items : (uint64_t)fmax(ITEMS_USUAL * sqrt(scale), 20);
    if (users > UINT32_MAX / 2 || items > UINT32_MAX / 2)
        return fail(err, E_INVALID, "%" PRIu64 " users and %" PRIu64 " items are too many", users,
                    items);
    if (!(o->held_out >= 0 && o->held_out < 1))
        return fail(err, E_INVALID, "a held-out share of %g: it must be 0 or more, below 1",
                    o->held_out);
    g->users = (uint32_t)users;
    g->items = (uint32_t)items;
    return 0;
}

/* Files of ratings fit a model of these rows, as if the rows had been one. */
static int describe_rows(struct builder *b, struct heap *heap, struct error *err)
{
    const struct columns_options none = { 0 };
    struct transform t;
    struct buf text;
    int rc;

    transform_init(&t, heap, TRANSFORM_MOVIELENS);
    buf_init(&text, heap, TRANSFORM_BYTES_MAX);
    rc = columns_find(&t, slice(NULL, 0), &none, err);
    if (!rc) {
        transform_encode(&t, &text);
        builder_set_transform(b, buf_slice(&text));
    }
    buf_release(&text);
    transform_release(&t);
    return rc;
}

int generate_movielens(const struct builder_options *to, const struct generate_options *options,
                       struct error *err)
{
    struct builder_options bo = *to;
    struct chosen c = { 0 };
    struct ratings g;
    int rc = fill_in(&g, options, to->heap, err);

    if (rc)
        return rc;
    bo.kind = "movielens";
    bo.schema = (struct gust_data){ .ones = 2, .keys = 2 };
    rc = builder_open(&c.builder, &bo, err);
    rc = rc ? rc : prepare(&g, err);
    rc = rc ? rc : draw_pairs(&g, &c.left, err);
    c.wanted = MIN(g.rows, c.left);
    rc = rc ? rc : each_pair(&g, add_rating, &c, err);
    if (!rc && g.held)
        builder_set_oracle(c.builder, "rmse", sqrt(g.error_sum / (double)g.held));
    release(&g);
    rc = rc ? rc : describe_rows(c.builder, to->heap, err);
    rc = rc ? rc : builder_finish(c.builder, err);
    builder_close(c.builder);
    return rc;
}
