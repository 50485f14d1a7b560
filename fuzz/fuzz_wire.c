/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first half of the input chooses fields, the second is the message. A reader never leaves
 * the message; the fields of a message that was read whole give the same bytes when written.
 */
#include "base/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void copy_field(struct wire_reader *r, unsigned kind, struct buf *out)
{
    switch (kind % 4) {
    case 0:
        wire_put_u32(out, wire_u32(r));
        break;
    case 1:
        wire_put_u64(out, wire_u64(r));
        break;
    case 2:
        wire_put_f64(out, wire_f64(r));
        break;
    default:
        wire_put_bytes(out, wire_bytes(r, kind));
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice message = slice(data + size / 2, size - size / 2);
    struct wire_reader r;
    struct heap heap;
    struct buf out;

    heap_init(&heap, 0);
    buf_init(&out, &heap, 1 << 20);
    wire_read(&r, message);
    for (size_t i = 0; i < size / 2 && !r.failed; i++)
        copy_field(&r, data[i], &out);
    if (wire_done(&r) && !slice_equal(buf_slice(&out), message))
        abort();
    buf_release(&out);
    return 0;
}
