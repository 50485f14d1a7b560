/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What crosses a local function's socket: any bytes are refused or decode to something that
 * encodes to the same bytes. The checksum is made right first, or nothing would get past it.
 */
#include <assert.h>

#include "base/crc32c.h"
#include "platform/local_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_invocation(struct slice message, struct heap *heap)
{
    struct local_invocation i;
    struct buf again;

    if (local_invocation_decode(message, &i, NULL))
        return;
    assert(i.payload.size <= PLATFORM_PAYLOAD_MAX);
    buf_init(&again, heap, LOCAL_MESSAGE_MAX);
    local_invocation_encode(&i, &again);
    assert(slice_equal(buf_slice(&again), message));
}

static void check_answer(struct slice message, struct heap *heap)
{
    struct local_answer a;
    struct buf again;

    if (local_answer_decode(message, &a, NULL))
        return;
    assert(a.code <= 0 && memchr(a.words, 0, sizeof(a.words)));
    buf_init(&again, heap, LOCAL_MESSAGE_MAX);
    local_answer_encode(&a, &again);
    /* Words that hold a zero byte come out shorter. */
    assert(again.size <= message.size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heap heap;
    uint8_t *sealed;
    uint32_t crc;

    heap_init(&heap, 0);
    check_invocation(slice(data, size), &heap);
    check_answer(slice(data, size), &heap);
    sealed = heap_alloc(&heap, size + 4);
    if (size)
        memcpy(sealed, data, size);
    crc = crc32c(0, sealed, size);
    for (unsigned i = 0; i < 4; i++)
        sealed[size + i] = (uint8_t)(crc >> 8 * i);
    check_invocation(slice(sealed, size + 4), &heap);
    check_answer(slice(sealed, size + 4), &heap);
    heap_release(&heap);
    return 0;
}
