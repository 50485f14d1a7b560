/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Model files: any bytes are refused, or read as tensors that lie inside the file. The length of
 * the header is made right first, or hardly anything would get past it: the input is a header
 * that ends at the first zero byte, then data.
 */
#include <assert.h>

#include "base/wire.h"
#include "client/ranking.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What opens also answers. Trainers leave memory to the heap, so this one has its own. */
static void check_predictor(struct slice file)
{
    struct predictor p;
    struct ranking r;
    struct ranked best[4];
    struct heap heap;

    heap_init(&heap, 64 * MIB);
    if (predictor_open(&p, &heap, file, NULL) == 0) {
        if (ranking_open(&r, &p, NULL) == 0)
            ranking_top(&r, predictor_row(&p, 0, 1), 4, NULL, best);
        ranking_close(&r);
        predictor_close(&p);
    }
    heap_release(&heap);
}

static void check(struct slice file, struct heap *heap)
{
    const char *begin = file.data, *end = begin + file.size;
    struct safetensors s;
    struct model_file m;

    if (safetensors_open(&s, heap, file, NULL) == 0) {
        size_t sum = 0;

        for (unsigned i = 0; i < s.count; i++) {
            const char *at = s.tensors[i].bytes.data;

            assert(at >= begin && at + s.tensors[i].bytes.size <= end);
            assert(s.tensors[i].bytes.size == safetensor_size(&s.tensors[i]));
            sum += s.tensors[i].bytes.size;
        }
        assert(sum < file.size);
        safetensors_close(&s);
    }
    if (model_file_open(&m, heap, file, NULL) == 0) {
        for (uint32_t k = 0; k < m.data.keys; k++)
            for (uint64_t r = 0; r < m.data.key_rows[k]; r++)
                assert(model_file_id(&m, k, r) != UINT32_MAX);
        model_file_close(&m);
    }
    check_predictor(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    size_t header = zero ? (size_t)(zero - data) : size;
    struct heap heap;
    struct buf file;

    heap_init(&heap, 256 * MIB);
    check(slice(data, size), &heap);
    buf_init(&file, &heap, 16 * MIB);
    wire_put_u64(&file, header);
    buf_add(&file, data, header);
    if (zero)
        buf_add(&file, zero + 1, size - header - 1);
    check(buf_slice(&file), &heap);
    buf_release(&file);
    assert(heap.used_bytes == 0);
    heap_release(&heap);
    return 0;
}
