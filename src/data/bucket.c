/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets: chunks of memory that become objects when there are too many. */
#include "data/bucket.h"

#include "data/format.h"

#define CHUNK_BYTES_MIN (4 * KIB)
#define CHUNK_BYTES_MAX (256 * KIB)
/* The most that one bucket may hold when it is taken. */
#define BUCKET_BYTES_MAX ((size_t)1 << 36)

/*
 * Examples, each after two words that hold 64 bits: split in bit 0, words in bits 1 to 25, row
 * number above.
 */
struct bucket_chunk {
    struct bucket_chunk *next;
    size_t room, used; /* in words */
    uint32_t words[];
};

#define HEAD_WORDS 2u
#define WORDS_BITS 25

void buckets_init(struct buckets *b, struct objects *objects, const char *prefix, struct heap *heap,
                  uint32_t count, size_t budget_bytes)
{
    size_t share = budget_bytes / count / 2;

    *b = (struct buckets){
        .objects = objects,
        .prefix = prefix,
        .heap = heap,
        .count = count,
        .chunk_bytes = MAX(MIN(share, CHUNK_BYTES_MAX), CHUNK_BYTES_MIN),
        .budget_bytes = budget_bytes,
    };
    b->all = heap_alloc(heap, count * sizeof(*b->all));
}

static void part_name(const struct buckets *b, uint32_t bucket, uint32_t part, char *out)
{
    char object[48];

    snprintf(object, sizeof(object), "aside/%05u-%05u", bucket, part);
    format_object_name(out, b->prefix, object);
}

static void free_chunks(struct buckets *b, struct bucket *k)
{
    for (struct bucket_chunk *c = k->first, *next; c; c = next) {
        next = c->next;
        b->used_bytes -= c->room * sizeof(*c->words);
        heap_free(b->heap, c);
    }
    k->first = k->last = NULL;
}

static void delete_parts(struct buckets *b, uint32_t bucket)
{
    for (uint32_t part = 0; part < b->all[bucket].parts; part++) {
        char name[OBJECTS_NAME_MAX + 1];

        part_name(b, bucket, part, name);
        objects_delete(b->objects, name, NULL);
    }
    b->all[bucket].parts = 0;
}

void buckets_release(struct buckets *b)
{
    if (!b->heap)
        return;
    for (uint32_t i = 0; i < b->count; i++) {
        free_chunks(b, &b->all[i]);
        delete_parts(b, i);
    }
    heap_free(b->heap, b->all);
    *b = (struct buckets){ 0 };
}

static void append_chunks(const struct bucket *k, struct buf *out)
{
    for (struct bucket_chunk *c = k->first; c; c = c->next)
        buf_add(out, c->words, c->used * sizeof(*c->words));
}

/* Turn all that is in memory into objects. */
static int put_aside(struct buckets *b, struct error *err)
{
    struct buf bytes;
    int rc = 0;

    buf_init(&bytes, b->heap, BUCKET_BYTES_MAX);
    for (uint32_t i = 0; !rc && i < b->count; i++) {
        struct bucket *k = &b->all[i];
        char name[OBJECTS_NAME_MAX + 1];

        if (!k->first)
            continue;
        buf_reset(&bytes);
        append_chunks(k, &bytes);
        part_name(b, i, k->parts, name);
        rc = bytes.failed ? fail(err, E_MEMORY, "no memory to put examples aside")
                          : objects_put(b->objects, name, buf_slice(&bytes), err);
        if (!rc) {
            k->parts++;
            free_chunks(b, k);
        }
    }
    buf_release(&bytes);
    return rc;
}

static int add_chunk(struct buckets *b, struct bucket *k, size_t words, struct error *err)
{
    size_t room = MAX(words, b->chunk_bytes / sizeof(uint32_t));
    struct bucket_chunk *c;
    int rc;

    if (b->used_bytes + room * sizeof(*c->words) > b->budget_bytes) {
        rc = put_aside(b, err);
        if (rc)
            return rc;
    }
    c = heap_try_alloc_raw(b->heap, 1, sizeof(*c) + room * sizeof(*c->words));
    if (!c)
        return fail(err, E_MEMORY, "no memory for more examples");
    c->next = NULL;
    c->room = room;
    c->used = 0;
    if (k->last)
        k->last->next = c;
    else
        k->first = c;
    k->last = c;
    b->used_bytes += room * sizeof(*c->words);
    return 0;
}

int buckets_add(struct buckets *b, uint32_t bucket, enum dataset_split split, uint64_t row,
                const uint32_t *example, uint32_t words, struct error *err)
{
    uint64_t head = row << (WORDS_BITS + 1) | (uint64_t)words << 1 | split;
    struct bucket *k = &b->all[bucket];
    uint32_t *to;

    if (!k->last || k->last->room - k->last->used < HEAD_WORDS + words) {
        int rc = add_chunk(b, k, HEAD_WORDS + words, err);

        if (rc)
            return rc;
    }
    to = k->last->words + k->last->used;
    memcpy(to, &head, sizeof(head));
    memcpy(to + HEAD_WORDS, example, words * sizeof(*example));
    k->last->used += HEAD_WORDS + words;
    k->rows++;
    return 0;
}

/* ---- taking ---- */

static int fetch_parts(struct buckets *b, uint32_t bucket, struct buf *out, struct error *err)
{
    int rc = 0;

    for (uint32_t part = 0; !rc && part < b->all[bucket].parts; part++) {
        char name[OBJECTS_NAME_MAX + 1];

        part_name(b, bucket, part, name);
        rc = objects_get_all(b->objects, name, out, err);
    }
    return rc;
}

/* Point ROWS at the examples in its bytes, which may have been damaged outside. */
static int index_rows(struct bucket_rows *rows, struct error *err)
{
    uint32_t *at = (uint32_t *)(void *)rows->bytes.data;
    uint32_t *end = rows->count ? at + rows->bytes.size / sizeof(*at) : at;

    for (size_t i = 0; i < rows->count; i++) {
        struct bucket_row *r = &rows->rows[i];
        uint64_t head;

        if (end - at < (ptrdiff_t)HEAD_WORDS)
            return fail(err, E_FORMAT, "examples that were put aside are damaged");
        memcpy(&head, at, sizeof(head));
        r->split = head & 1;
        r->words = (uint32_t)(head >> 1) & ((1u << WORDS_BITS) - 1);
        r->row = head >> (WORDS_BITS + 1);
        r->example = at + HEAD_WORDS;
        if ((size_t)(end - r->example) < r->words)
            return fail(err, E_FORMAT, "examples that were put aside are damaged");
        at = r->example + r->words;
    }
    return 0;
}

int buckets_take(struct buckets *b, uint32_t bucket, struct bucket_rows *rows, struct error *err)
{
    struct bucket *k = &b->all[bucket];
    int rc;

    *rows = (struct bucket_rows){ .heap = b->heap, .count = k->rows };
    buf_init(&rows->bytes, b->heap, BUCKET_BYTES_MAX);
    rc = fetch_parts(b, bucket, &rows->bytes, err);
    if (rc)
        return rc;
    append_chunks(k, &rows->bytes);
    rows->rows = heap_try_alloc_raw(b->heap, k->rows, sizeof(*rows->rows));
    if (rows->bytes.failed || !rows->rows)
        return fail(err, E_MEMORY, "no memory for the %llu examples of a bucket",
                    (unsigned long long)k->rows);
    rc = index_rows(rows, err);
    if (!rc) {
        free_chunks(b, k);
        delete_parts(b, bucket);
        k->rows = 0;
    }
    return rc;
}

void bucket_rows_release(struct bucket_rows *rows)
{
    if (!rows->heap)
        return;
    heap_free(rows->heap, rows->rows);
    buf_release(&rows->bytes);
    *rows = (struct bucket_rows){ 0 };
}

/* One pass of a radix sort by byte number BYTE of the keys. */
static void sort_pass(const struct bucket_row *from, struct bucket_row *to, size_t count,
                      unsigned byte)
{
    size_t place[256] = { 0 }, sum = 0;

    for (size_t i = 0; i < count; i++)
        place[from[i].key >> (8 * byte) & 255]++;
    for (unsigned v = 0; v < 256; v++) {
        size_t n = place[v];

        place[v] = sum;
        sum += n;
    }
    for (size_t i = 0; i < count; i++)
        to[place[from[i].key >> (8 * byte) & 255]++] = from[i];
}

int bucket_rows_sort(struct bucket_rows *rows, struct error *err)
{
    struct bucket_row *other = heap_try_alloc_raw(rows->heap, rows->count, sizeof(*other));

    if (!other)
        return fail(err, E_MEMORY, "no memory to sort %zu examples", rows->count);
    /* An even number of passes: the result ends up where it began. */
    for (unsigned byte = 0; byte < 6; byte += 2) {
        sort_pass(rows->rows, other, rows->count, byte);
        sort_pass(other, rows->rows, rows->count, byte + 1);
    }
    heap_free(rows->heap, other);
    return 0;
}
