/* SPDX-License-Identifier: Apache-2.0 */
/* The list of exchanges, and what they have in common. */
#include "sync/exchange.h"

static const struct exchange_ops *const exchanges[] = { &exchange_scatter };

static const struct exchange_ops *find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(exchanges); i++)
        if (strcmp(exchanges[i]->name, name) == 0)
            return exchanges[i];
    return NULL;
}

int exchange_new(const char *name, const struct exchange_options *o, struct exchange **out,
                 struct error *err)
{
    const struct exchange_ops *ops = find(name);
    /* n heads, and n copies of at most ceil(m/n) pieces. */
    size_t keys = (size_t)o->ranks_max * 2 + o->shards_max + 2;
    struct exchange *x;

    if (!ops)
        return fail(err, E_NOT_FOUND, "there is no exchange '%s' (there is: scatter)", name);
    x = heap_alloc(o->heap, sizeof(*x));
    *x = (struct exchange){ .ops = ops,
                            .env = o->env,
                            .heap = o->heap,
                            .params = o->params,
                            .shape = o->shape,
                            .kernels = o->kernels,
                            .ranks_max = o->ranks_max,
                            .shards_max = o->shards_max };
    x->keys = heap_alloc(o->heap, keys * sizeof(*x->keys));
    x->sizes = heap_alloc(o->heap, keys * sizeof(*x->sizes));
    x->views = heap_alloc(o->heap, keys * sizeof(*x->views));
    x->pieces = heap_alloc(o->heap, o->shards_max * sizeof(*x->pieces));
    sum_sources_init(&x->sources, o->heap, o->ranks_max);
    *out = x;
    return 0;
}

void exchange_free(struct exchange *x)
{
    if (!x)
        return;
    heap_free(x->heap, x->keys);
    heap_free(x->heap, x->sizes);
    heap_free(x->heap, x->views);
    heap_free(x->heap, x->pieces);
    heap_free(x->heap, x->spare);
    sum_sources_release(&x->sources, x->heap);
    heap_free(x->heap, x);
}

int exchange_begin(struct exchange *x, const struct exchange_step *s, struct exchange_part *part,
                   struct error *err)
{
    if (s->n > x->ranks_max || s->shards > x->shards_max || s->rank >= s->n || s->shards < s->n)
        return fail(err, E_LIMIT, "an exchange for %u ranks cannot run rank %u of %u with %u shards",
                    x->ranks_max, s->rank, s->n, s->shards);
    return x->ops->begin(x, s, part, err);
}

int exchange_publish(struct exchange *x, const struct exchange_step *s, struct exchange_part *part,
                     struct error *err)
{
    return x->ops->publish(x, s, part, err);
}

bool exchange_is_due(struct exchange *x, const struct exchange_step *s)
{
    return x->ops->is_due(x, s);
}

int exchange_collect(struct exchange *x, const struct exchange_step *s,
                     struct exchange_result *out, struct error *err)
{
    return x->ops->collect(x, s, out, err);
}

void exchange_layout(const struct shape *shape, uint32_t ranks, uint32_t shards, uint32_t sums,
                     struct params_layout *out)
{
    *out = (struct params_layout){ .ranks = ranks,
                                   .shards = shards + 1,
                                   .sums_kept = sums,
                                   .part_bytes = part_bytes(shape),
                                   .sum_bytes = sum_piece_bytes_max(shape, shards) * (shards + 1) };
}
