/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transforms as they come with a model, and lines for them: any text is refused, or is a transform
 * that is written as text which reads the same, and whose examples are complete and finite. The
 * input is a transform without its check sum, a zero byte, and lines.
 */
#include <assert.h>

#include "base/crc32c.h"
#include "data/shard.h"
#include "data/scan.h"
#include "data/transform.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_example(const struct transform *t, const struct transform_example *e)
{
    const uint64_t any[2] = { 0, (uint64_t)1 << 32 };
    struct gust_data d = t->data;
    uint64_t nonzeros = 0;
    const char *wrong;

    if (d.keys)
        d.dims = d.key_rows[0] = d.key_rows[1] = (uint64_t)1 << 32;
    wrong = shard_check_example(e->words, e->words + e->count, &d, any, &nonzeros);
    assert(!wrong);
    assert(isfinite(e->weight) && e->weight >= 0);
}

static void check_lines(const struct transform *t, struct scan text, struct heap *heap)
{
    struct transform_file f;
    struct scan line;
    bool header = false;

    transform_file_init(&f, t, heap, true);
    if (scan_line(&text, &line) &&
        transform_first_line(&f, slice(line.at, (size_t)(line.end - line.at)), &header, NULL) == 0)
        do {
            struct slice s = slice(line.at, (size_t)(line.end - line.at));
            struct transform_example e = { .room = transform_room(t, s.size) };

            e.words = heap_alloc(heap, e.room * sizeof(*e.words));
            memset(e.words, 0xff, e.room * sizeof(*e.words));
            if (transform_row(&f, s, &e, NULL) == 0 && e.count)
                check_example(t, &e);
            heap_free(heap, e.words);
        } while (scan_line(&text, &line));
    transform_file_release(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    size_t length = end ? (size_t)(end - data) : size;
    struct transform t, again;
    struct heap heap;
    struct buf text, written;

    heap_init(&heap, 256 * MIB);
    buf_init(&text, &heap, 4 * MIB);
    buf_init(&written, &heap, 4 * MIB);
    buf_add(&text, data, length);
    if (length && data[length - 1] != '\n')
        buf_str(&text, "\n");
    buf_printf(&text, "check: %08x\n", crc32c(0, text.data, text.size));
    if (transform_decode(&t, &heap, buf_slice(&text), NULL) == 0) {
        int rc;

        transform_encode(&t, &written);
        rc = transform_decode(&again, &heap, buf_slice(&written), NULL);
        assert(rc == 0);
        buf_reset(&text);
        transform_encode(&again, &text);
        assert(slice_equal(buf_slice(&text), buf_slice(&written)));
        transform_release(&again);
        if (end)
            check_lines(&t, (struct scan){ (const char *)end + 1, (const char *)data + size },
                        &heap);
        transform_relax(&t);
        if (end)
            check_lines(&t, (struct scan){ (const char *)end + 1, (const char *)data + size },
                        &heap);
        transform_release(&t);
    }
    buf_release(&text);
    buf_release(&written);
    assert(heap.used_bytes == 0);
    heap_release(&heap);
    return 0;
}
