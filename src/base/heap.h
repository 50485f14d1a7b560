/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heap of one function (or of the client): every block that worker-side code takes
 * comes from here, so that a simulated function can be killed by dropping its heap, and so
 * that a real one knows what it uses and what it used at most.
 *
 * Blocks are aligned to a cache line. A heap is used by one thread at a time; the threads
 * of env_parallel() do not allocate.
 */
#ifndef GUST_BASE_HEAP_H
#define GUST_BASE_HEAP_H

#include "base/util.h"

struct heap_block;

struct heap {
    struct heap_block *blocks; /* all live blocks, newest first */
    size_t used_bytes;         /* payload of the live blocks */
    size_t peak_bytes;         /* highest used_bytes so far */
    size_t limit_bytes;        /* heap_try_alloc() fails above this; 0: no limit */
};

/* Start empty. LIMIT_BYTES 0 means no limit. */
void heap_init(struct heap *h, size_t limit_bytes);

/* Free every block. H is empty afterwards and may be used again. Accepts a zeroed heap. */
void heap_release(struct heap *h);

/* A zeroed block of SIZE bytes, for sizes the program chooses. Never NULL: see heap_exhausted. */
void *heap_alloc(struct heap *h, size_t size);

/* A zeroed block of COUNT * SIZE bytes, for sizes that come from data. NULL if it does not fit. */
void *heap_try_alloc(struct heap *h, size_t count, size_t size);

/* As heap_try_alloc() without the zeroes. */
void *heap_try_alloc_raw(struct heap *h, size_t count, size_t size);

/* Give a block back. PTR may be NULL. */
void heap_free(struct heap *h, void *ptr);

/* A copy of the string TEXT, never NULL. */
char *heap_strdup(struct heap *h, const char *text);

/*
 * Called when a small allocation fails; must not return. The default prints one line and
 * aborts. Set once, before any thread starts.
 */
extern void (*heap_exhausted)(size_t size);

#endif
