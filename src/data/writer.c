/* SPDX-License-Identifier: Apache-2.0 */
/* Writing shards; data/shard.h describes the bytes. */
#include "data/writer.h"

#include <assert.h>

#include "base/crc32c.h"

/* Offsets count words in 32 bits. */
#define SHARD_BYTES_MAX ((size_t)UINT32_MAX * 4)

void writer_init(struct writer *w, struct objects *objects, const char *prefix,
                 const struct manifest *m, enum dataset_split split, struct heap *heap)
{
    *w = (struct writer){ .objects = objects, .prefix = prefix, .m = m, .split = split };
    buf_init(&w->bytes, heap, SHARD_BYTES_MAX);
    w->nonzeros = heap_alloc(heap, sizeof(*w->nonzeros) << (m->shard_shift - m->block_shift));
}

void writer_release(struct writer *w)
{
    if (w->bytes.heap)
        heap_free(w->bytes.heap, w->nonzeros);
    buf_release(&w->bytes);
    *w = (struct writer){ 0 };
}

static struct block_header *block_headers(struct writer *w)
{
    return (void *)(w->bytes.data + sizeof(struct shard_header));
}

static uint32_t block_count(const struct writer *w)
{
    return (w->rows + (1u << w->m->block_shift) - 1) >> w->m->block_shift;
}

static uint32_t *offsets(struct writer *w)
{
    return (void *)(block_headers(w) + block_count(w));
}

static bool begin_shard(struct writer *w)
{
    size_t size;
    void *head;

    w->row = 0;
    w->rows = shard_rows(w->m, w->split, w->shard);
    buf_reset(&w->bytes);
    size = shard_records_at(w->m, w->rows);
    head = buf_extend(&w->bytes, size);
    if (head)
        memset(head, 0, size);
    memset(w->nonzeros, 0, sizeof(*w->nonzeros) << (w->m->shard_shift - w->m->block_shift));
    return head != NULL;
}

/* The header of block I, whose records are complete. */
static void fill_block(struct writer *w, uint32_t i, struct block_header *b)
{
    const char *records = w->bytes.data + shard_records_at(w->m, w->rows);
    uint32_t fixed = format_row_words(&w->m->data), *at = fixed ? NULL : offsets(w);
    uint32_t first = i << w->m->block_shift, rows = MIN(w->rows - first, 1u << w->m->block_shift);
    uint64_t word = at ? at[first] : (uint64_t)first * fixed;
    uint64_t end = at ? at[first + rows] : (uint64_t)(first + rows) * fixed;

    *b = (struct block_header){
        .magic = BLOCK_MAGIC,
        .block = i,
        .first_row = first,
        .rows = rows,
        .word = word,
        .words = end - word,
        .nonzeros = w->nonzeros[i],
    };
    if (at)
        b->crc = crc32c(0, at + first, ((size_t)rows + 1) * sizeof(*at));
    b->crc = crc32c(b->crc, records + word * 4, b->words * 4);
}

static int end_shard(struct writer *w, struct error *err)
{
    struct shard_header *h = (void *)w->bytes.data;
    size_t records_at = shard_records_at(w->m, w->rows);
    char name[OBJECTS_NAME_MAX + 1];
    int rc;

    *h = (struct shard_header){
        .magic = SHARD_MAGIC,
        .version = FORMAT_VERSION,
        .split = w->split,
        .id = w->m->id,
        .shard = w->shard,
        .blocks = block_count(w),
        .first_row = (uint64_t)w->shard << w->m->shard_shift,
        .rows = w->rows,
        .varies = format_row_words(&w->m->data) == 0,
        .words = (w->bytes.size - records_at - SHARD_PADDING) / 4,
    };
    if (h->varies)
        offsets(w)[w->rows] = (uint32_t)h->words;
    for (uint32_t i = 0; i < h->blocks; i++)
        fill_block(w, i, &block_headers(w)[i]);
    h->crc = crc32c(0, h, sizeof(*h) + h->blocks * sizeof(struct block_header));
    format_shard_name(name, w->prefix, w->split, w->shard);
    rc = objects_put(w->objects, name, buf_slice(&w->bytes), err);
    w->shard++;
    w->row = 0;
    return rc;
}

int writer_add(struct writer *w, const uint32_t *example, uint32_t words, uint64_t nonzeros,
               struct error *err)
{
    bool varies = format_row_words(&w->m->data) == 0;
    void *to;

    if (w->row == 0 && !begin_shard(w))
        return fail(err, E_MEMORY, "no memory for shard %u", w->shard);
    assert(w->row < w->rows);
    if (varies)
        offsets(w)[w->row] =
            (uint32_t)((w->bytes.size - shard_records_at(w->m, w->rows)) / sizeof(*example));
    to = buf_extend(&w->bytes, words * sizeof(*example));
    if (!to)
        return fail(err, E_MEMORY, "no memory for shard %u, or it is longer than 16 GiB", w->shard);
    memcpy(to, example, words * sizeof(*example));
    w->nonzeros[w->row >> w->m->block_shift] += nonzeros;
    if (++w->row < w->rows)
        return 0;
    to = buf_extend(&w->bytes, SHARD_PADDING);
    if (!to)
        return fail(err, E_MEMORY, "no memory for shard %u", w->shard);
    memset(to, 0, SHARD_PADDING);
    return end_shard(w, err);
}
