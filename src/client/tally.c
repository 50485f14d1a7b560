/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tally.h"

void tally_init(struct tally *t, struct heap *heap, uint32_t ranks)
{
    *t = (struct tally){ .heap = heap, .ranks = ranks };
}

void tally_release(struct tally *t)
{
    for (unsigned i = 0; i < t->room; i++) {
        heap_free(t->heap, t->entries[i].seen);
        heap_free(t->heap, t->entries[i].sums);
        heap_free(t->heap, t->entries[i].hashes);
        heap_free(t->heap, t->entries[i].clocks);
    }
    heap_free(t->heap, t->entries);
    *t = (struct tally){ 0 };
}

/* Twice the room; returns the first new entry, or NULL at the limit. */
static struct tally_entry *grow(struct tally *t)
{
    unsigned room = MAX(2 * t->room, 16u), first = t->room;
    struct tally_entry *more;

    if (room > TALLY_OPEN_MAX)
        return NULL;
    more = heap_alloc(t->heap, room * sizeof(*more));
    if (t->room)
        memcpy(more, t->entries, t->room * sizeof(*more));
    heap_free(t->heap, t->entries);
    t->entries = more;
    t->room = room;
    return &more[first];
}

static struct tally_entry *entry_for(struct tally *t, uint64_t step)
{
    struct tally_entry *unused = NULL;

    for (unsigned i = 0; i < t->room; i++) {
        struct tally_entry *e = &t->entries[i];

        if (e->count && e->step == step)
            return e;
        if (!e->count && !unused)
            unused = e;
    }
    if (!unused)
        unused = grow(t);
    if (unused && !unused->seen) {
        unused->seen = heap_alloc(t->heap, t->ranks * sizeof(*unused->seen));
        unused->sums = heap_alloc(t->heap, t->ranks * sizeof(*unused->sums));
        unused->hashes = heap_alloc(t->heap, t->ranks * sizeof(*unused->hashes));
        unused->clocks = heap_alloc(t->heap, t->ranks * sizeof(*unused->clocks));
    }
    if (unused) {
        memset(unused->seen, 0, t->ranks * sizeof(*unused->seen));
        unused->step = step;
    }
    return unused;
}

int tally_add(struct tally *t, const struct report *r, struct tally_entry **entry,
              struct error *err)
{
    struct tally_entry *e = entry_for(t, r->step);

    if (!e)
        return fail(err, E_FULL, "more than %u steps wait for a rank's report", TALLY_OPEN_MAX);
    if (r->rank >= t->ranks)
        return fail(err, E_FORMAT, "a report of rank %u in a fleet of %u", r->rank, t->ranks);
    *entry = e;
    if (e->seen[r->rank])
        return 0;
    e->seen[r->rank] = true;
    e->count++;
    memcpy(e->sums[r->rank], r->sums, sizeof(r->sums));
    e->hashes[r->rank] = r->hash;
    e->clocks[r->rank] = r->clock_ns;
    return 0;
}

bool tally_complete(const struct tally *t, const struct tally_entry *e)
{
    return e->count == t->ranks;
}

void tally_free_entry(struct tally_entry *e)
{
    e->count = 0;
}

void tally_sums(const struct tally *t, const struct tally_entry *e, double *out)
{
    for (int i = 0; i < GUST_SUMS_MAX; i++)
        out[i] = 0;
    for (uint32_t r = 0; r < t->ranks; r++)
        for (int i = 0; i < GUST_SUMS_MAX; i++)
            out[i] += e->sums[r][i];
}

uint64_t tally_clock(const struct tally *t, const struct tally_entry *e)
{
    uint64_t least = UINT64_MAX;

    for (uint32_t r = 0; r < t->ranks; r++)
        least = MIN(least, e->clocks[r]);
    return least;
}

uint32_t tally_odd_one(const struct tally *t, const struct tally_entry *e)
{
    uint32_t r = 1;

    while (r < t->ranks && e->hashes[r] == e->hashes[0])
        r++;
    return r < t->ranks ? r : t->ranks;
}
