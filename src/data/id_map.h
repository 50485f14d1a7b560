/* SPDX-License-Identifier: Apache-2.0 */
/* A growing hash table from 32-bit ids to 64-bit values: how key columns are renumbered. */
#ifndef GUST_DATA_ID_MAP_H
#define GUST_DATA_ID_MAP_H

#include <stdbool.h>

#include "base/heap.h"

struct id_slot {
    uint32_t id;
    uint32_t round; /* the slot is in use if this is the map's */
    uint64_t value;
};

struct id_map {
    struct heap *heap;
    struct id_slot *slots;
    uint32_t room; /* a power of two */
    uint32_t count;
    uint32_t round; /* changed to empty the map */
};

void id_map_init(struct id_map *m, struct heap *heap);
/* Accepts a zeroed map. */
void id_map_release(struct id_map *m);
/* Forget all ids, keep the memory. */
void id_map_reset(struct id_map *m);

/* The value of ID, 0 when new; borrowed until the next call. NULL: out of memory. */
uint64_t *id_map_at(struct id_map *m, uint32_t id);

/* The value of ID, or NULL where there is none. Changes nothing. */
const uint64_t *id_map_find(const struct id_map *m, uint32_t id);

/* The slots in use, in no useful order: calls EACH for them. */
typedef void (*id_map_fn)(void *arg, uint32_t id, uint64_t *value);
void id_map_each(struct id_map *m, id_map_fn each, void *arg);

#endif
