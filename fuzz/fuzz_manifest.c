/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Manifests, and the lane tables that go with them: any bytes are refused, or read as something
 * that is written as text which reads the same. The check sums are made right first, or nothing
 * would get past them.
 */
#include <assert.h>

#include "base/crc32c.h"
#include "data/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_lanes(const struct manifest *m, struct slice bytes, struct heap *heap)
{
    struct lane_tables t;
    struct buf sealed;
    uint32_t crc;

    buf_init(&sealed, heap, 4 * MIB);
    buf_add(&sealed, bytes.data, bytes.size);
    crc = crc32c(0, sealed.data, sealed.size);
    buf_add(&sealed, &crc, sizeof(crc));
    if (lane_tables_read(&t, heap, m, buf_slice(&sealed), NULL) == 0)
        lane_tables_release(&t);
    buf_release(&sealed);
}

static bool check_manifest(struct manifest *m, struct slice text, struct heap *heap)
{
    struct manifest again;
    struct buf written;
    int rc;

    if (manifest_read(m, heap, text, NULL))
        return false;
    buf_init(&written, heap, 2 * FORMAT_MANIFEST_MAX);
    manifest_write(m, heap, &written);
    rc = manifest_read(&again, heap, buf_slice(&written), NULL);
    assert(rc == 0);
    assert(again.id == m->id && again.lanes == m->lanes && again.rows[0] == m->rows[0] &&
           again.data.dims == m->data.dims && again.data.ones == m->data.ones &&
           again.row_words_max == m->row_words_max);
    buf_release(&written);
    return true;
}

/* The manifest's text ends at the first zero byte; lane tables follow. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    size_t length = end ? (size_t)(end - data) : size;
    struct manifest m;
    struct heap heap;
    struct buf text;

    heap_init(&heap, 256 * MIB);
    check_manifest(&m, slice(data, size), &heap);
    buf_init(&text, &heap, 4 * MIB);
    buf_add(&text, data, length);
    if (length && data[length - 1] != '\n')
        buf_str(&text, "\n");
    buf_printf(&text, "check: %08x\n", crc32c(0, text.data, text.size));
    if (check_manifest(&m, buf_slice(&text), &heap) && end)
        check_lanes(&m, slice(end + 1, size - length - 1), &heap);
    buf_release(&text);
    assert(heap.used_bytes == 0);
    heap_release(&heap);
    return 0;
}
