/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a data set. Shards and blocks hold powers of two of rows, so that a row's shard, its
 * block and its place are shifts and masks of its number within the split. Shards are mapped, and
 * blocks checked, when one of their rows is first asked for.
 */
#include "data/dataset.h"

#include <inttypes.h>

#include "data/dataset_internal.h"

/* ---- opening ---- */

static struct dataset_shards *new_shards(struct dataset *d, enum dataset_split split)
{
    const struct manifest *m = d->manifest;
    uint64_t blocks = (m->rows[split] >> m->block_shift) + 1;
    struct dataset_shards *s = heap_alloc(d->heap, sizeof(*s));

    s->count = shard_count(m, split);
    s->views = heap_try_alloc(d->heap, s->count, sizeof(*s->views));
    s->shards = heap_try_alloc(d->heap, s->count, sizeof(*s->shards));
    s->checked = heap_try_alloc(d->heap, blocks, 1);
    s->lane_first = heap_alloc(d->heap, (d->lanes + 1) * sizeof(*s->lane_first));
    for (uint32_t q = 0; q < d->lanes; q++)
        s->lane_first[q + 1] = s->lane_first[q] + d->lane_rows[split][q];
    return s;
}

static void free_shards(struct dataset *d, struct dataset_shards *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; s->views && i < s->count; i++)
        if (s->views[i].data)
            objects_unmap(d->objects, s->views[i]);
    heap_free(d->heap, s->views);
    heap_free(d->heap, s->shards);
    heap_free(d->heap, s->checked);
    heap_free(d->heap, s->lane_first);
    heap_free(d->heap, s);
}

static int read_manifest(struct dataset *d, struct error *err)
{
    char name[OBJECTS_NAME_MAX + 1];
    struct buf text;
    int rc;

    buf_init(&text, d->heap, FORMAT_MANIFEST_MAX);
    format_object_name(name, d->prefix, "manifest");
    rc = objects_get_all(d->objects, name, &text, err);
    rc = rc ? rc : manifest_read(d->manifest, d->heap, buf_slice(&text), err);
    buf_release(&text);
    return rc;
}

static int read_lanes(struct dataset *d, struct error *err)
{
    char name[OBJECTS_NAME_MAX + 1];
    struct lane_tables t = { 0 };
    struct slice bytes;
    int rc;

    format_object_name(name, d->place, "lanes");
    rc = objects_map(d->objects, name, &bytes, err);
    if (rc)
        return rc;
    rc = lane_tables_read(&t, d->heap, d->manifest, bytes, err);
    objects_unmap(d->objects, bytes);
    if (rc)
        return rc;
    for (unsigned s = 0; s < DATASET_SPLITS; s++)
        d->lane_rows[s] = t.rows[s];
    d->key_first = t.key_first;
    return 0;
}

static int open_parts(struct dataset *d, struct error *err)
{
    const struct manifest *m = d->manifest;
    int rc = read_manifest(d, err);

    if (rc)
        return rc;
    format_place(d->place, sizeof(d->place), d->prefix, m->generation);
    d->data = m->data;
    d->lanes = m->lanes;
    d->row_words_max = m->row_words_max;
    rc = read_lanes(d, err);
    for (unsigned s = 0; !rc && s < DATASET_SPLITS; s++) {
        d->rows[s] = m->rows[s];
        d->bytes[s] = m->words[s] * sizeof(uint32_t);
        d->nonzeros[s] = m->nonzeros[s];
        d->shards[s] = new_shards(d, s);
        if (!d->shards[s]->views || !d->shards[s]->shards || !d->shards[s]->checked)
            rc = fail(err, E_MEMORY, "no memory for the table of %" PRIu64 " rows", d->rows[s]);
    }
    return rc;
}

int dataset_open(struct dataset *d, struct objects *objects, const char *prefix, struct heap *heap,
                 struct error *err)
{
    struct dataset got = { .objects = objects, .heap = heap };
    struct error inner = { 0 };
    int rc;

    if (strlen(prefix) >= sizeof(got.prefix))
        return fail(err, E_INVALID, "the name '%.40s...' is too long for a data set", prefix);
    snprintf(got.prefix, sizeof(got.prefix), "%s", prefix);
    got.manifest = heap_alloc(heap, sizeof(*got.manifest));
    rc = open_parts(&got, &inner);
    if (rc) {
        dataset_close(&got);
        return fail(err, rc, "cannot open the data set '%s': %s", prefix, inner.text);
    }
    *d = got;
    return 0;
}

void dataset_close(struct dataset *d)
{
    if (!d->heap)
        return;
    for (unsigned s = 0; s < DATASET_SPLITS; s++) {
        free_shards(d, d->shards[s]);
        heap_free(d->heap, d->lane_rows[s]);
    }
    heap_free(d->heap, d->key_first);
    heap_free(d->heap, d->manifest);
    *d = (struct dataset){ 0 };
}

/* ---- first reads ---- */

static int map_shard(struct dataset *d, enum dataset_split split, uint32_t shard, struct error *err)
{
    struct dataset_shards *s = d->shards[split];
    struct error inner = { 0 };
    char name[OBJECTS_NAME_MAX + 1];
    struct slice bytes;
    int rc;

    format_shard_name(name, d->place, split, shard);
    rc = objects_map(d->objects, name, &bytes, err);
    if (rc)
        return rc;
    rc = shard_open(&s->shards[shard], d->manifest, split, shard, bytes, &inner);
    if (rc) {
        objects_unmap(d->objects, bytes);
        return fail(err, rc, "cannot use shard '%s': %s", name, inner.text);
    }
    s->views[shard] = bytes;
    return 0;
}

int dataset_first_read(struct dataset *d, enum dataset_split split, uint64_t row, struct error *err)
{
    const struct manifest *m = d->manifest;
    struct dataset_shards *s = d->shards[split];
    uint32_t shard = (uint32_t)(row >> m->shard_shift);
    uint64_t shard_first = (uint64_t)shard << m->shard_shift;
    uint32_t block = (uint32_t)((row - shard_first) >> m->block_shift);
    struct block_rules rules = { m, s->lane_first, d->key_first, shard_first };
    struct error inner = { 0 };
    char name[OBJECTS_NAME_MAX + 1];
    int rc;

    if (!s->views[shard].data) {
        rc = map_shard(d, split, shard, err);
        if (rc)
            return rc;
    }
    rc = shard_check_block(&s->shards[shard], block, &rules, &inner);
    if (rc) {
        format_shard_name(name, d->place, split, shard);
        return fail(err, rc, "cannot use block %u of shard '%s': %s", block, name, inner.text);
    }
    s->checked[row >> m->block_shift] = 1;
    return 0;
}

int dataset_check_range(struct dataset *d, enum dataset_split split, uint64_t from, uint64_t to,
                        struct error *err)
{
    unsigned shift = d->manifest->block_shift;
    int rc = 0;

    for (uint64_t b = from >> shift; !rc && from < to && b <= (to - 1) >> shift; b++)
        if (!d->shards[split]->checked[b])
            rc = dataset_first_read(d, split, b << shift, err);
    return rc;
}

int dataset_verify(struct dataset *d, struct error *err)
{
    int rc = 0;

    for (unsigned s = 0; !rc && s < DATASET_SPLITS; s++)
        rc = dataset_check_range(d, s, 0, d->rows[s], err);
    return rc;
}

/* ---- original ids ---- */

int dataset_ids(struct dataset *d, uint32_t column, uint32_t **out, struct error *err)
{
    uint64_t count = column < d->data.keys ? d->data.key_rows[column] : 0;
    char name[OBJECTS_NAME_MAX + 1], object[16];
    const uint32_t *ids;
    struct slice bytes;
    uint32_t *copy;
    int rc;

    if (!count)
        return fail(err, E_INVALID, "the data set '%s' has no key column %u", d->prefix, column);
    snprintf(object, sizeof(object), "ids-%u", column);
    format_object_name(name, d->place, object);
    rc = objects_map(d->objects, name, &bytes, err);
    if (rc)
        return rc;
    rc = ids_read(bytes, count, column, d->manifest->id, &ids, err);
    copy = rc ? NULL : heap_try_alloc_raw(d->heap, count, sizeof(*copy));
    if (!rc && !copy)
        rc = fail(err, E_MEMORY, "no memory for %" PRIu64 " ids", count);
    if (!rc)
        memcpy(copy, ids, count * sizeof(*copy));
    objects_unmap(d->objects, bytes);
    if (!rc)
        *out = copy;
    return rc;
}

int dataset_transform(struct dataset *d, struct buf *out, struct error *err)
{
    char name[OBJECTS_NAME_MAX + 1];

    format_object_name(name, d->place, "transform");
    return objects_get_all(d->objects, name, out, err);
}
