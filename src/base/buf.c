/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <stdarg.h>

void buf_init(struct buf *b, struct heap *heap, size_t max_bytes)
{
    *b = (struct buf){ .heap = heap, .max_bytes = max_bytes };
}

void buf_release(struct buf *b)
{
    if (b->heap)
        heap_free(b->heap, b->data);
    *b = (struct buf){ 0 };
}

void buf_reset(struct buf *b)
{
    b->size = 0;
    b->failed = false;
    if (b->data)
        b->data[0] = 0;
}

/* Room for SIZE more bytes and the final zero. */
static bool grow(struct buf *b, size_t size)
{
    size_t room;
    char *data;

    /* One byte less than the largest size, so that the final zero never makes it wrap. */
    if (b->failed || size > MIN(b->max_bytes, SIZE_MAX - 1) - b->size) {
        b->failed = true;
        return false;
    }
    if (b->size + size < b->room)
        return true;
    room = MAX(MAX(2 * b->room, b->size + size + 1), (size_t)64);
    data = heap_try_alloc_raw(b->heap, 1, room);
    if (!data) {
        b->failed = true;
        return false;
    }
    if (b->size)
        memcpy(data, b->data, b->size);
    heap_free(b->heap, b->data);
    b->data = data;
    b->room = room;
    return true;
}

void *buf_extend(struct buf *b, size_t size)
{
    char *at;

    if (!grow(b, size))
        return NULL;
    at = b->data + b->size;
    b->size += size;
    b->data[b->size] = 0;
    return at;
}

void buf_add(struct buf *b, const void *data, size_t size)
{
    void *at = buf_extend(b, size);

    if (at && size)
        memcpy(at, data, size);
}

void buf_str(struct buf *b, const char *text)
{
    buf_add(b, text, strlen(text));
}

void buf_printf(struct buf *b, const char *format, ...)
{
    va_list args, again;
    int size;
    char *at;

    va_start(args, format);
    va_copy(again, args);
    size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    /* vsnprintf also writes a zero, for which buf_extend keeps room. */
    at = size < 0 ? NULL : buf_extend(b, (size_t)size);
    if (at)
        vsnprintf(at, (size_t)size + 1, format, again);
    else
        b->failed = true;
    va_end(again);
}
