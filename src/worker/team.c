/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/team.h"

/* What one thread of a function works with. */
struct team_member {
    const struct replica *replica;
    const struct gust_trainer *trainer;
    uint32_t lane_lo, lane_hi;
    struct minibatch chunks[TEAM_CHUNKS];
    struct gust_out *out;
    struct gust_out own;    /* members but the first: points into the two below */
    struct part_head *head; /* members but the first */
    float *floats;
    void *scratch;
    size_t scratch_bytes;
    uint64_t step;
    double rate;
};

void team_init(struct team *t, struct env *env, struct heap *heap, struct replica *replica)
{
    *t = (struct team){ .env = env, .heap = heap, .replica = replica };
}

static void member_release(struct team *t, struct team_member *m)
{
    for (unsigned c = 0; c < TEAM_CHUNKS; c++)
        minibatch_release(&m->chunks[c]);
    heap_free(t->heap, m->head);
    heap_free(t->heap, m->floats);
    heap_free(t->heap, m->scratch);
}

/* The first member adds straight into the contribution; the others have buffers of their own. */
static int member_init(struct team *t, struct team_member *m, unsigned index, struct error *err)
{
    const struct shape *shape = &t->replica->plan->shape;
    uint32_t lanes = t->replica->lane_hi - t->replica->lane_lo;

    *m = (struct team_member){ .replica = t->replica, .trainer = t->replica->plan->trainer };
    m->lane_lo = t->replica->lane_lo + (uint32_t)((uint64_t)lanes * index / t->threads);
    m->lane_hi = t->replica->lane_lo + (uint32_t)((uint64_t)lanes * (index + 1) / t->threads);
    for (unsigned c = 0; c < TEAM_CHUNKS; c++)
        minibatch_init(&m->chunks[c], t->heap);
    if (index == 0)
        return 0;
    m->head = heap_try_alloc_raw(t->heap, 1, part_head_bytes(shape));
    m->floats = heap_try_alloc_raw(t->heap, shape->floats, sizeof(float));
    m->out = &m->own;
    if (!m->head || !m->floats)
        return fail(err, E_MEMORY, "no memory for the buffers of %u threads", t->threads);
    return 0;
}

void team_release(struct team *t)
{
    for (uint32_t i = 0; i < t->threads; i++)
        member_release(t, &t->members[i]);
    heap_free(t->heap, t->members);
    t->members = NULL;
    t->threads = 0;
    t->gathered = 0;
}

int team_resize(struct team *t, uint32_t threads, struct error *err)
{
    int rc = 0;

    if (t->threads == threads)
        return 0;
    team_release(t);
    t->members = heap_alloc(t->heap, threads * sizeof(*t->members));
    t->threads = threads;
    for (uint32_t i = 0; !rc && i < threads; i++)
        rc = member_init(t, &t->members[i], i, err);
    return rc;
}

/* Runs on a thread of its own: no heap, no store, no environment. */
static void member_step(void *arg, unsigned index)
{
    struct team_member *m = (struct team_member *)arg + index;
    struct gust_step step = { .groups = m->replica->views,
                              .out = m->out,
                              .scratch = m->scratch,
                              .rate = m->rate,
                              .step = m->step };

    for (unsigned c = 0; c < TEAM_CHUNKS; c++) {
        step.batch = &m->chunks[c].batch;
        m->out->weight += step.batch->rows;
        if (step.batch->rows > 0)
            m->trainer->step(m->replica->plan->self, &step);
    }
}

static int member_scratch(struct team *t, struct team_member *m, uint32_t rows, struct error *err)
{
    size_t bytes = 0;

    if (m->trainer->scratch_bytes)
        bytes = m->trainer->scratch_bytes(t->replica->plan->self, rows);
    if (bytes <= m->scratch_bytes)
        return 0;
    heap_free(t->heap, m->scratch);
    m->scratch = heap_try_alloc_raw(t->heap, 1, bytes);
    m->scratch_bytes = m->scratch ? bytes : 0;
    return m->scratch ? 0 : fail(err, E_MEMORY, "no memory for %zu bytes of scratch space", bytes);
}

static int member_gather(struct team *t, struct team_member *m, unsigned chunk, struct error *err)
{
    uint32_t lanes = m->lane_hi - m->lane_lo;
    uint32_t lo = m->lane_lo + (uint32_t)((uint64_t)lanes * chunk / TEAM_CHUNKS);
    uint32_t hi = m->lane_lo + (uint32_t)((uint64_t)lanes * (chunk + 1) / TEAM_CHUNKS);
    struct minibatch *batch = &m->chunks[chunk];
    int rc = dataset_fill(t->replica->plan->data, &t->replica->pass, lo, hi, batch, err);

    return rc ? rc : member_scratch(t, m, batch->batch.rows, err);
}

bool team_has_gathered(const struct team *t)
{
    return t->gathered == TEAM_CHUNKS;
}

int team_gather_some(struct team *t, struct error *err)
{
    int rc = 0;

    for (uint32_t i = 0; !rc && i < t->threads; i++)
        rc = member_gather(t, &t->members[i], t->gathered, err);
    t->gathered += rc == 0;
    return rc;
}

int team_gather(struct team *t, struct error *err)
{
    int rc = 0;

    while (!rc && !team_has_gathered(t))
        rc = team_gather_some(t, err);
    return rc;
}

void team_forget(struct team *t)
{
    t->gathered = 0;
}

/* Compute the function's contribution: members side by side, then summed in their order. */
uint64_t team_compute(struct team *t, struct exchange_part *part, uint64_t step, double rate)
{
    uint64_t examples = 0;

    t->members[0].out = &part->out;
    for (uint32_t i = 0; i < t->threads; i++) {
        struct team_member *m = &t->members[i];

        m->step = step;
        m->rate = rate;
        for (unsigned c = 0; c < TEAM_CHUNKS; c++) {
            examples += m->chunks[c].batch.rows;
            replica_prepare(t->replica, &m->chunks[c].batch);
        }
        if (i > 0)
            part_begin(&t->replica->plan->shape, m->head, m->floats, &m->own);
    }
    if (t->threads == 1)
        member_step(t->members, 0);
    else
        env_parallel(t->env, t->threads, member_step, t->members);
    for (uint32_t i = 1; i < t->threads; i++) {
        part_add(t->replica->plan->kernels, &t->replica->plan->shape, part_mask(part->head),
                 part->floats, part_mask(t->members[i].head), t->members[i].floats);
        part->out.loss += t->members[i].own.loss;
        part->out.weight += t->members[i].own.weight;
    }
    env_charge(t->env, ENV_CHARGE_EXAMPLES, examples);
    return examples;
}
