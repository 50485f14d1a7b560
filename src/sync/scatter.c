/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exchange `scatter`: SMLT section 3.3, LambdaML's scatter-reduce. Five steps:
 *
 *   1  each rank cuts its contribution into m pieces,
 *   2  hands them in,
 *   3  fetches everyone's copy of the pieces it is responsible for and adds them up,
 *   4  hands in the sums,
 *   5  fetches all m sums.
 *
 * Rank r is responsible for pieces floor(rm/n) .. floor((r+1)m/n)-1. Order of sums: over ranks
 * 0 .. n-1, as in part.h. Where the store shows memory in place (shm), 1, 2 and 5 move
 * nothing: the trainer adds straight into the pieces and the result is read where it lies.
 *
 * Why a rank may write to its contribution of step t while others are still at t-1, and why
 * nobody reads what is overwritten:
 *  S1  A rank contributes to t only after it has the whole result of t-1.
 *  S2  The result of t-1 is whole only after all ranks have contributed to t-1, and hence
 *      (S1) have the whole result of t-2 and will never read a contribution to t-2 again.
 *  S3  So contributions need two buffers by parity; and results need two, because whoever
 *      adds up t+2 has contributions to t+2 from all, who therefore have applied t.
 */
#include "sync/exchange.h"

static struct params_key part_key(const struct exchange_step *s, uint32_t rank, uint32_t shard)
{
    return (struct params_key){
        .kind = PARAMS_PART, .era = s->era, .step = s->step, .rank = rank, .shard = shard
    };
}

static struct params_key sum_key(const struct exchange_step *s, uint32_t shard)
{
    return (
        struct params_key){ .kind = PARAMS_SUM, .era = s->era, .step = s->step, .shard = shard };
}

/* The pieces that this rank is responsible for: lo .. hi-1. */
static void own_pieces(const struct exchange_step *s, uint32_t *lo, uint32_t *hi)
{
    *lo = (uint32_t)((uint64_t)s->rank * s->shards / s->n);
    *hi = (uint32_t)((uint64_t)(s->rank + 1) * s->shards / s->n);
}

static int spare_part(struct exchange *x, void **memory, struct error *err)
{
    if (!x->spare)
        x->spare = heap_try_alloc_raw(x->heap, 1, part_bytes(x->shape));
    *memory = x->spare;
    return x->spare ? 0 : fail(err, E_MEMORY, "no memory to compute a contribution again");
}

static int scatter_begin(struct exchange *x, const struct exchange_step *s,
                         struct exchange_part *part, struct error *err)
{
    void *memory;
    int rc;

    x->keys[0] = part_key(s, s->rank, 0);
    x->sizes[0] = part_head_bytes(x->shape);
    for (uint32_t i = 0; i < s->shards; i++) {
        x->keys[1 + i] = part_key(s, s->rank, 1 + i);
        x->sizes[1 + i] = shape_piece_floats(x->shape, s->shards, i) * sizeof(float);
    }
    rc = params_reserve(x->params, x->keys, x->sizes, 1 + s->shards, &memory, err);
    /* Given by the one this rank replaces; private rows change while it is computed again. */
    if (rc == E_EXISTS)
        rc = spare_part(x, &memory, err);
    if (rc)
        return rc;
    part->head = memory;
    part->floats = (float *)((char *)memory + x->sizes[0]);
    part_begin(x->shape, part->head, part->floats, &part->out);
    return 0;
}

static int scatter_publish(struct exchange *x, const struct exchange_step *s,
                           struct exchange_part *part, struct error *err)
{
    uint64_t start = env_now(x->env);
    int rc;

    part_finish(x->shape, part->head, &part->out, s->rank, s->step);
    for (uint32_t i = 0; i <= s->shards; i++)
        x->keys[i] = part_key(s, s->rank, i);
    rc = params_publish(x->params, x->keys, 1 + s->shards, err);
    x->times.ul_shard_ns += env_now(x->env) - start;
    x->times.bytes_up += part_bytes(x->shape);
    return rc == E_EXISTS ? 0 : rc;
}

/* Everyone's head, and their pieces LO .. HI-1: views[r * (1 + hi - lo) + ...]. */
static int wait_parts(struct exchange *x, const struct exchange_step *s, uint32_t lo, uint32_t hi,
                      struct error *err)
{
    unsigned each = 1 + hi - lo, count = 0;
    struct params_wait wait = { .keys = x->keys,
                                .count = s->n * each,
                                .views = x->views,
                                .seen_version = s->seen_version,
                                .until = s->until };
    int rc;

    for (uint32_t r = 0; r < s->n; r++) {
        x->keys[count++] = part_key(s, r, 0);
        for (uint32_t i = lo; i < hi; i++)
            x->keys[count++] = part_key(s, r, 1 + i);
    }
    rc = params_wait(x->params, &wait, err);
    for (uint32_t r = 0; !rc && r < s->n; r++)
        rc = part_check(x->shape, x->views[r * each], r, s->step, err);
    return rc;
}

static int build_piece(struct exchange *x, const struct exchange_step *s, uint32_t lo, uint32_t hi,
                       uint32_t piece, void *into, struct error *err)
{
    size_t bytes = shape_piece_floats(x->shape, s->shards, piece) * sizeof(float);

    x->sources.n = s->n;
    for (uint32_t r = 0; r < s->n; r++) {
        const struct slice *of_rank = &x->views[r * (1 + hi - lo)];

        if (of_rank[1 + piece - lo].size < bytes)
            return fail(err, E_FORMAT, "rank %u's piece %u of step %llu is too short", r, piece,
                        (unsigned long long)s->step);
        x->sources.heads[r] = of_rank[0].data;
        x->sources.floats[r] = of_rank[1 + piece - lo].data;
    }
    sum_build(x->kernels, x->shape, s->shards, piece, &x->sources, s->step, into);
    x->times.bytes_down += s->n * bytes;
    env_charge(x->env, ENV_CHARGE_SUM_BYTES, s->n * bytes);
    return 0;
}

/* Steps 3 and 4 for one piece. */
static int aggregate_piece(struct exchange *x, const struct exchange_step *s, uint32_t lo,
                           uint32_t hi, uint32_t piece, struct error *err)
{
    struct params_key key = sum_key(s, piece);
    size_t size = sum_piece_bytes(x->shape, s->shards, piece);
    uint64_t from = env_now(x->env), built;
    void *memory;
    int rc = params_reserve(x->params, &key, &size, 1, &memory, err);

    if (!rc)
        rc = build_piece(x, s, lo, hi, piece, memory, err);
    built = env_now(x->env);
    x->times.dl_shard_ns += built - from;
    if (!rc)
        rc = params_publish(x->params, &key, 1, err);
    x->times.bytes_up += size;
    x->times.ul_aggr_ns += env_now(x->env) - built;
    /* A replacement may find that the rank it replaces had got this far. */
    return rc == E_EXISTS ? 0 : rc;
}

/* Steps 3 and 4 for pieces LO .. HI-1. */
static int aggregate(struct exchange *x, const struct exchange_step *s, uint32_t lo, uint32_t hi,
                     struct error *err)
{
    uint64_t from = env_now(x->env);
    int rc = wait_parts(x, s, lo, hi, err);

    x->times.dl_wait_ns += env_now(x->env) - from;
    for (uint32_t i = lo; !rc && i < hi; i++)
        rc = aggregate_piece(x, s, lo, hi, i, err);
    return rc;
}

/* Step 5. */
static int wait_sums(struct exchange *x, const struct exchange_step *s, struct exchange_result *out,
                     struct error *err)
{
    uint64_t start = env_now(x->env);
    struct params_wait wait = { .keys = x->keys,
                                .count = s->shards,
                                .views = x->views,
                                .seen_version = s->seen_version,
                                .until = s->until };
    int rc;

    for (uint32_t i = 0; i < s->shards; i++)
        x->keys[i] = sum_key(s, i);
    rc = params_wait(x->params, &wait, err);
    for (uint32_t i = 0; !rc && i < s->shards; i++) {
        rc = sum_check(x->shape, s->shards, i, x->views[i], s->step, &x->pieces[i], err);
        x->times.bytes_down += x->views[i].size;
    }
    x->times.dl_grad_ns += env_now(x->env) - start;
    if (!rc)
        *out = (struct exchange_result){ .weight = x->pieces[0].weight,
                                         .loss = x->pieces[0].loss,
                                         .count = s->shards,
                                         .pieces = x->pieces };
    return rc;
}

/* Whether the sums LO .. HI-1 are all there: after a change of the control record, or for a
 * replacement. */
static int have_sums(struct exchange *x, const struct exchange_step *s, uint32_t lo, uint32_t hi,
                     bool *all, struct error *err)
{
    bool missing;
    int rc;

    *all = true;
    for (uint32_t i = lo; i < hi && *all; i++) {
        struct params_key key = sum_key(s, i);

        rc = params_missing(x->params, &key, 1, &missing, err);
        if (rc)
            return rc;
        *all = !missing;
    }
    return 0;
}

static int scatter_collect(struct exchange *x, const struct exchange_step *s,
                           struct exchange_result *out, struct error *err)
{
    uint32_t lo, hi;
    bool done;
    int rc;

    own_pieces(s, &lo, &hi);
    rc = have_sums(x, s, lo, hi, &done, err);
    if (!rc && !done)
        rc = aggregate(x, s, lo, hi, err);
    if (!rc)
        rc = wait_sums(x, s, out, err);
    return rc;
}

static bool scatter_is_due(struct exchange *x, const struct exchange_step *s)
{
    struct params_wait wait = {
        .keys = x->keys, .count = s->n, .views = x->views, .seen_version = PARAMS_UNWATCHED
    };

    /* One rank has nobody to wait for, and nobody who waits for it. */
    if (s->n == 1)
        return true;
    for (uint32_t r = 0; r < s->n; r++)
        x->keys[r] = part_key(s, r, 0);
    return params_wait(x->params, &wait, NULL) == 0;
}

const struct exchange_ops exchange_scatter = {
    .name = "scatter",
    .begin = scatter_begin,
    .publish = scatter_publish,
    .is_due = scatter_is_due,
    .collect = scatter_collect,
};
