/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Saved passes: any bytes are refused, or decode to a pass that is written as the same bytes and
 * whose steps stay inside their lanes.
 */
#include <assert.h>

#include "data/lanes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LANES 4u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t sizes[LANES] = { 30, 0, 7, 100 };
    struct pass p = { 0 };
    struct heap heap;
    struct buf again;

    heap_init(&heap, 0);
    if (pass_decode(&p, &heap, LANES, sizes, slice(data, size), NULL) == 0) {
        buf_init(&again, &heap, MIB);
        pass_encode(&p, &again);
        assert(slice_equal(buf_slice(&again), slice(data, size)));
        buf_release(&again);
        for (int step = 0; step < 20; step++, pass_advance(&p)) {
            assert(pass_count(&p, 0, LANES) > 0);
            for (uint32_t q = 0; q < LANES; q++) {
                uint32_t begin, end;

                pass_slice(&p, q, &begin, &end);
                assert(begin <= end && end <= sizes[q]);
                for (; begin < end; begin++)
                    assert(pass_row(&p, q, begin) < sizes[q]);
            }
        }
        pass_release(&p);
    }
    assert(heap.used_bytes == 0);
    heap_release(&heap);
    return 0;
}
