/* SPDX-License-Identifier: Apache-2.0 */
#include "base/wire.h"

static void put(struct buf *b, uint64_t v, size_t size)
{
    unsigned char *at = buf_extend(b, size);

    for (size_t i = 0; at && i < size; i++)
        at[i] = (unsigned char)(v >> (8 * i));
}

void wire_put_u32(struct buf *b, uint32_t v)
{
    put(b, v, 4);
}

void wire_put_u64(struct buf *b, uint64_t v)
{
    put(b, v, 8);
}

void wire_put_f64(struct buf *b, double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof(bits));
    put(b, bits, 8);
}

void wire_put_bytes(struct buf *b, struct slice s)
{
    if (s.size > UINT32_MAX) {
        b->failed = true;
        return;
    }
    wire_put_u32(b, (uint32_t)s.size);
    buf_add(b, s.data, s.size);
}

void wire_read(struct wire_reader *r, struct slice message)
{
    r->at = message.data;
    /* Nothing may be added to a null pointer, not even zero. */
    r->end = message.size ? r->at + message.size : r->at;
    r->failed = false;
}

static uint64_t get(struct wire_reader *r, size_t size)
{
    uint64_t v = 0;

    if (r->failed || (size_t)(r->end - r->at) < size) {
        r->failed = true;
        return 0;
    }
    for (size_t i = 0; i < size; i++)
        v |= (uint64_t)r->at[i] << (8 * i);
    r->at += size;
    return v;
}

uint32_t wire_u32(struct wire_reader *r)
{
    return (uint32_t)get(r, 4);
}

uint64_t wire_u64(struct wire_reader *r)
{
    return get(r, 8);
}

double wire_f64(struct wire_reader *r)
{
    uint64_t bits = get(r, 8);
    double v;

    memcpy(&v, &bits, sizeof(v));
    return v;
}

struct slice wire_bytes(struct wire_reader *r, size_t max)
{
    uint32_t size = wire_u32(r);
    struct slice s;

    if (r->failed || size > max || (size_t)(r->end - r->at) < size) {
        r->failed = true;
        return slice(NULL, 0);
    }
    s = slice(r->at, size);
    r->at += size;
    return s;
}

bool wire_done(const struct wire_reader *r)
{
    return !r->failed && r->at == r->end;
}
