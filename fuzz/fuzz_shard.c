/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shards: any bytes are refused or hold only sound examples. Headers and check sums are made
 * right around the input, or nothing would get past them; what is left to the input are the
 * offsets, the records, and (with the first bit) everything.
 */
#include <assert.h>

#include "base/crc32c.h"
#include "data/shard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LANES 2u

static const struct gust_data shapes[] = {
    { .ones = 2, .keys = 2, .dims = 9, .key_rows = { 9, 5 } },
    { .dense = 2, .ones = 3, .dims = 7, .classes = 2 },
    { .ones = GUST_VARIES, .dims = 7 },
    { .dense = 1, .sparse = true, .dims = 7, .classes = 3 },
};

/* Read every word of a checked shard, so that the sanitizer sees where they are. */
static void touch(const struct shard *s, uint32_t fixed)
{
    volatile uint32_t sum = 0;

    for (uint32_t r = 0; r < s->rows; r++) {
        size_t at = fixed ? (size_t)r * fixed : s->at[r];
        size_t end = fixed ? at + fixed : s->at[r + 1];

        while (at < end)
            sum = sum + s->records[at++];
    }
}

static void check_shard(const struct manifest *m, struct slice bytes)
{
    uint64_t lane_first[LANES + 1] = { 0, m->rows[0] / 2, m->rows[0] };
    uint64_t key_first[LANES + 1] = { 0, 4, 9 };
    struct block_rules rules = { m, lane_first, m->data.keys ? key_first : NULL, 0 };
    struct shard s;

    if (shard_open(&s, m, DATASET_TRAIN, 0, bytes, NULL))
        return;
    for (uint32_t b = 0; b < s.count; b++)
        if (shard_check_block(&s, b, &rules, NULL))
            return;
    touch(&s, format_row_words(&m->data));
}

/* Headers that fit BYTES, as far as its offsets make sense. */
static void seal(const struct manifest *m, char *bytes, uint32_t rows, uint64_t words)
{
    uint32_t fixed = format_row_words(&m->data), blocks;
    struct shard_header *h = (void *)bytes;
    struct block_header *b = (void *)(bytes + sizeof(*h));
    const char *records = bytes + shard_records_at(m, rows);
    uint32_t *at;

    blocks = (rows + (1u << m->block_shift) - 1) >> m->block_shift;
    at = (void *)(b + blocks);
    *h = (struct shard_header){ .magic = SHARD_MAGIC,
                                .version = FORMAT_VERSION,
                                .id = m->id,
                                .blocks = blocks,
                                .rows = rows,
                                .varies = !fixed,
                                .words = words };
    for (uint32_t i = 0, first = 0; i < blocks; i++, first += 1u << m->block_shift) {
        uint32_t n = MIN(rows - first, 1u << m->block_shift);
        uint64_t word = fixed ? (uint64_t)first * fixed : at[first];
        uint64_t end = fixed ? (uint64_t)(first + n) * fixed : at[first + n];
        uint64_t nonzeros = b[i].nonzeros % 64;

        b[i] = (struct block_header){ .magic = BLOCK_MAGIC,
                                      .block = i,
                                      .first_row = first,
                                      .rows = n,
                                      .word = word,
                                      .words = end - word,
                                      .nonzeros = fixed ? (uint64_t)n * m->data.ones : nonzeros };
        if (end < word || end > words)
            continue;
        b[i].crc = fixed ? 0 : crc32c(0, at + first, ((size_t)n + 1) * 4);
        b[i].crc = crc32c(b[i].crc, records + word * 4, b[i].words * 4);
    }
    h->crc = crc32c(0, h, sizeof(*h) + blocks * sizeof(*b));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct manifest m = { .id = 42, .lanes = LANES, .row_words_max = 64, .shard_shift = 8 };
    size_t head, total;
    struct heap heap;
    char *bytes;
    uint32_t rows;

    if (size < 2)
        return 0;
    m.data = shapes[data[0] >> 1 & 3];
    m.block_shift = data[0] >> 3 & 7;
    rows = 1 + data[1] % 64;
    m.rows[0] = rows;
    heap_init(&heap, 0);
    head = sizeof(struct shard_header);
    total = data[0] & 1 ? size - 2 : head + ((size - 2) & ~(size_t)3);
    bytes = heap_alloc(&heap, total);
    if (data[0] & 1) {
        memcpy(bytes, data + 2, size - 2);
    } else {
        size_t records_at = shard_records_at(&m, rows);

        memcpy(bytes + head, data + 2, total - head);
        if (total >= records_at + SHARD_PADDING) {
            memset(bytes + total - SHARD_PADDING, 0, SHARD_PADDING);
            seal(&m, bytes, rows, (total - SHARD_PADDING - records_at) / 4);
        }
    }
    check_shard(&m, slice(bytes, total));
    heap_release(&heap);
    return 0;
}
