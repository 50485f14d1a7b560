/* SPDX-License-Identifier: Apache-2.0 */
/* A control record from anywhere: refused, or one whose invariants hold and that encodes to the same bytes. */
#include <assert.h>

#include "worker/control.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct control c;
    struct heap heap;
    struct buf text;

    if (control_decode(&c, slice(data, size), NULL))
        return 0;
    assert(control_check(&c, NULL) == 0);
    heap_init(&heap, 0);
    buf_init(&text, &heap, PARAMS_CAS_MAX);
    control_encode(&c, &text);
    assert(slice_equal(buf_slice(&text), slice(data, size)));
    heap_release(&heap);
    return 0;
}
