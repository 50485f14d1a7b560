/* SPDX-License-Identifier: Apache-2.0 */
/* A report from anywhere: refused, or one that encodes to the same bytes. */
#include <assert.h>

#include "worker/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct report r;
    struct heap heap;
    struct buf text;

    memset(&r, 0, sizeof(r));
    if (report_decode(&r, slice(data, size), NULL))
        return 0;
    heap_init(&heap, 0);
    buf_init(&text, &heap, PARAMS_ENTRY_MAX);
    report_encode(&r, &text);
    assert(slice_equal(buf_slice(&text), slice(data, size)));
    heap_release(&heap);
    return 0;
}
