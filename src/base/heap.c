/* SPDX-License-Identifier: Apache-2.0 */
#include "base/heap.h"

#include <stdalign.h>
#include <stdbool.h>

/* Lies in the cache line before the block, so that blocks can be freed in any order. */
struct heap_block {
    struct heap_block *next, *prev;
    size_t size;
    alignas(CACHE_LINE) char payload[];
};

static void abort_with_message(size_t size)
{
    fprintf(stderr, "gust: out of memory for a block of %zu bytes\n", size);
    abort();
}

void (*heap_exhausted)(size_t size) = abort_with_message;

void heap_init(struct heap *h, size_t limit_bytes)
{
    *h = (struct heap){ .limit_bytes = limit_bytes };
}

void heap_release(struct heap *h)
{
    struct heap_block *b = h->blocks;

    while (b) {
        struct heap_block *next = b->next;

        free(b);
        b = next;
    }
    h->blocks = NULL;
    h->used_bytes = 0;
}

static bool fits(const struct heap *h, size_t size)
{
    if (size > PTRDIFF_MAX - 2 * CACHE_LINE)
        return false;
    return !h->limit_bytes ||
           (h->used_bytes <= h->limit_bytes && size <= h->limit_bytes - h->used_bytes);
}

static void *take(struct heap *h, size_t size, bool zero)
{
    size_t total = sizeof(struct heap_block) + round_up(size, CACHE_LINE);
    struct heap_block *b;

    if (!fits(h, size))
        return NULL;
    b = aligned_alloc(CACHE_LINE, total);
    if (!b)
        return NULL;
    b->size = size;
    b->prev = NULL;
    b->next = h->blocks;
    if (b->next)
        b->next->prev = b;
    h->blocks = b;
    h->used_bytes += size;
    h->peak_bytes = MAX(h->peak_bytes, h->used_bytes);
    if (zero)
        memset(b->payload, 0, size);
    return b->payload;
}

void *heap_alloc(struct heap *h, size_t size)
{
    void *p = take(h, size, true);

    if (!p) {
        heap_exhausted(size);
        abort();
    }
    return p;
}

static void *try_take(struct heap *h, size_t count, size_t size, bool zero)
{
    size_t total;

    if (__builtin_mul_overflow(count, size, &total))
        return NULL;
    return take(h, total, zero);
}

void *heap_try_alloc(struct heap *h, size_t count, size_t size)
{
    return try_take(h, count, size, true);
}

void *heap_try_alloc_raw(struct heap *h, size_t count, size_t size)
{
    return try_take(h, count, size, false);
}

void heap_free(struct heap *h, void *ptr)
{
    struct heap_block *b;

    if (!ptr)
        return;
    b = container_of(ptr, struct heap_block, payload);
    if (b->prev)
        b->prev->next = b->next;
    else
        h->blocks = b->next;
    if (b->next)
        b->next->prev = b->prev;
    h->used_bytes -= b->size;
    free(b);
}

char *heap_strdup(struct heap *h, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = heap_alloc(h, size);

    memcpy(copy, text, size);
    return copy;
}
