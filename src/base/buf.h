/* SPDX-License-Identifier: Apache-2.0 */
/* Slices (borrowed bytes) and buffers (owned, growing bytes with an upper bound). */
#ifndef GUST_BASE_BUF_H
#define GUST_BASE_BUF_H

#include "base/error.h"
#include "base/heap.h"

/* Bytes that somebody else owns. */
struct slice {
    const void *data;
    size_t size;
};

static inline struct slice slice(const void *data, size_t size)
{
    return (struct slice){ data, size };
}

/* The bytes of a string without its final zero. */
static inline struct slice slice_str(const char *text)
{
    return slice(text, strlen(text));
}

static inline bool slice_equal(struct slice a, struct slice b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/*
 * A growing buffer. Growing past max_bytes or past memory sets `failed` and appends nothing
 * more; the writer checks once at the end. data[size] is always a zero byte once anything was
 * appended, so that text can be printed.
 */
struct buf {
    struct heap *heap; /* where the bytes live */
    char *data;
    size_t size;
    size_t room;
    size_t max_bytes;
    bool failed;
};

/* An empty buffer that may grow to MAX_BYTES. */
void buf_init(struct buf *b, struct heap *heap, size_t max_bytes);
/* Give the memory back. Accepts a zeroed buffer. */
void buf_release(struct buf *b);
/* Empty it, keep the memory, forget a failure. */
void buf_reset(struct buf *b);

/* Append; on failure sets b->failed. */
void buf_add(struct buf *b, const void *data, size_t size);
void buf_str(struct buf *b, const char *text);
void buf_printf(struct buf *b, const char *format, ...) PRINTF(2, 3);

/* SIZE bytes at the end to be filled by the caller, or NULL on failure. */
void *buf_extend(struct buf *b, size_t size);

static inline struct slice buf_slice(const struct buf *b)
{
    return slice(b->data, b->size);
}

#endif
