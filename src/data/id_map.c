/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probing, at most half full. */
#include "data/id_map.h"

#include "base/random.h"

void id_map_init(struct id_map *m, struct heap *heap)
{
    *m = (struct id_map){ .heap = heap, .round = 1 };
}

void id_map_release(struct id_map *m)
{
    if (m->heap)
        heap_free(m->heap, m->slots);
    *m = (struct id_map){ 0 };
}

void id_map_reset(struct id_map *m)
{
    m->count = 0;
    m->round++;
}

static struct id_slot *probe(struct id_slot *slots, uint32_t room, uint32_t round, uint32_t id)
{
    uint32_t at = (uint32_t)(id * 0x9E3779B97F4A7C15ull >> 32) & (room - 1);

    while (slots[at].round == round && slots[at].id != id)
        at = (at + 1) & (room - 1);
    return &slots[at];
}

static bool grow(struct id_map *m)
{
    uint32_t room = m->room ? 2 * m->room : 256;
    struct id_slot *slots = room ? heap_try_alloc(m->heap, room, sizeof(*slots)) : NULL;

    if (!slots)
        return false;
    for (uint32_t i = 0; i < m->room; i++)
        if (m->slots[i].round == m->round)
            *probe(slots, room, m->round, m->slots[i].id) = m->slots[i];
    heap_free(m->heap, m->slots);
    m->slots = slots;
    m->room = room;
    return true;
}

uint64_t *id_map_at(struct id_map *m, uint32_t id)
{
    struct id_slot *s;

    if (2 * (uint64_t)m->count >= m->room && !grow(m))
        return NULL;
    s = probe(m->slots, m->room, m->round, id);
    if (s->round != m->round) {
        *s = (struct id_slot){ .id = id, .round = m->round };
        m->count++;
    }
    return &s->value;
}

const uint64_t *id_map_find(const struct id_map *m, uint32_t id)
{
    const struct id_slot *s = m->room ? probe(m->slots, m->room, m->round, id) : NULL;

    return s && s->round == m->round ? &s->value : NULL;
}

void id_map_each(struct id_map *m, id_map_fn each, void *arg)
{
    for (uint32_t i = 0; i < m->room; i++)
        if (m->slots[i].round == m->round)
            each(arg, m->slots[i].id, &m->slots[i].value);
}
