/* SPDX-License-Identifier: Apache-2.0 */
/* Collecting examples in buckets of lanes, and writing them out in lane order. */
#include "data/builder.h"

#include <inttypes.h>

#include "base/crc32c.h"
#include "base/random.h"
#include "data/bucket.h"
#include "data/format.h"
#include "data/id_map.h"
#include "data/shard.h"
#include "data/writer.h"

#define MEMORY_DEFAULT (256 * MIB)
#define BUCKETS_MAX    256u
#define BLOCK_BYTES    (1 * MIB)
#define BLOCKS_SHIFT   6 /* 64 blocks to a shard */
/* One constant for all data sets: what makes two data sets differ is their rows. */
#define SHUFFLE_SEED 0x67757374ull

struct builder {
    struct objects *objects;
    struct heap *heap;
    char prefix[128];
    char place[144]; /* the prefix of this generation's objects */
    bool replace;
    builder_progress_fn progress;
    void *arg;
    struct manifest m;
    struct gust_data original; /* the schema with room for original ids */
    struct lane_tables lanes;
    double label_sum;
    uint64_t row; /* number of the next example */
    struct buckets buckets;
    unsigned bucket_shift; /* lane >> this is the bucket */
    struct id_map keys[ARRAY_SIZE(((struct gust_data *)0)->key_rows)]; /* [0]: of one lane */
    struct buf ids0; /* original ids of column 0, in order */
    struct buf transform;
    struct writer writers[DATASET_SPLITS];
};

/* ---- opening ---- */

static int delete_object(void *arg, const char *name, const struct objects_stat *stat UNUSED)
{
    return objects_delete(arg, name, NULL);
}

/*
 * Delete what a data set of GENERATION consists of, but for the manifest. What buckets were put
 * aside lies below the same prefix and stays.
 */
static int clear_generation(struct builder *b, uint32_t generation, struct error *err)
{
    static const char *const parts[] = { "lanes", "transform", "ids-", "train/", "test/" };
    char place[sizeof(b->place)];
    int rc = 0;

    format_place(place, sizeof(place), b->prefix, generation);
    for (size_t i = 0; !rc && i < ARRAY_SIZE(parts); i++) {
        char name[OBJECTS_NAME_MAX + 1];

        format_object_name(name, place, parts[i]);
        rc = objects_list(b->objects, name, delete_object, b->objects, err);
    }
    return rc;
}

/* What a builder that was killed had put aside. */
static int clear_aside(struct builder *b, struct error *err)
{
    char name[OBJECTS_NAME_MAX + 1];

    format_object_name(name, b->prefix, "aside/");
    return objects_list(b->objects, name, delete_object, b->objects, err);
}

static int check_free(struct builder *b, struct error *err)
{
    char name[OBJECTS_NAME_MAX + 1];
    struct objects_stat stat;
    struct error inner = { 0 };
    int rc;

    format_object_name(name, b->prefix, "manifest");
    rc = objects_stat(b->objects, name, &stat, &inner);
    if (rc == 0 && !b->replace)
        return fail(err, E_EXISTS, "there is a data set named '%s' already", b->prefix);
    return rc == 0 || rc == E_NOT_FOUND ? 0 : fail(err, rc, "%s", inner.text);
}

/* The generation that the data set at the prefix does not use; one that cannot be read uses none.
 */
static void choose_generation(struct builder *b)
{
    struct manifest old = { .generation = 1 };
    char name[OBJECTS_NAME_MAX + 1];
    struct buf text;

    buf_init(&text, b->heap, FORMAT_MANIFEST_MAX);
    format_object_name(name, b->prefix, "manifest");
    if (objects_get_all(b->objects, name, &text, NULL) == 0)
        manifest_read(&old, b->heap, buf_slice(&text), NULL);
    buf_release(&text);
    b->m.generation = !old.generation;
    format_place(b->place, sizeof(b->place), b->prefix, b->m.generation);
}

static int check_options(const struct builder_options *o, uint32_t lanes, struct error *err)
{
    struct gust_data schema = o->schema;

    if (lanes == 0 || lanes > LANES_MAX || (lanes & (lanes - 1)))
        return fail(err, E_INVALID, "%u lanes: there must be a power of two, %u at most", lanes,
                    LANES_MAX);
    if (strlen(o->prefix) >= sizeof(((struct builder *)0)->prefix) || !objects_name_ok(o->prefix))
        return fail(err, E_INVALID, "'%.80s' cannot be the name of a data set", o->prefix);
    if (schema.keys && schema.ones != schema.keys)
        return fail(err, E_UNSUPPORTED, "key columns beside further indices are not supported");
    if (schema.keys) {
        schema.dims = (uint64_t)1 << 32;
        for (uint32_t k = 0; k < schema.keys && k < ARRAY_SIZE(schema.key_rows); k++)
            schema.key_rows[k] = schema.dims;
    }
    return format_check_schema(&schema, err);
}

int builder_open(struct builder **out, const struct builder_options *o, struct error *err)
{
    uint32_t usual = o->schema.keys ? LANES_KEYED : LANES_PLAIN;
    uint32_t lanes = o->lanes ? o->lanes : usual, buckets = MIN(lanes, BUCKETS_MAX);
    struct builder *b;
    int rc = check_options(o, lanes, err);

    if (rc)
        return rc;
    b = heap_alloc(o->heap, sizeof(*b));
    b->objects = o->objects;
    b->heap = o->heap;
    b->replace = o->replace;
    b->progress = o->progress;
    b->arg = o->arg;
    snprintf(b->prefix, sizeof(b->prefix), "%s", o->prefix);
    snprintf(b->m.kind, sizeof(b->m.kind), "%s", o->kind);
    b->m.data = b->original = o->schema;
    if (o->schema.keys)
        b->original.dims = (uint64_t)1 << 32;
    for (uint32_t k = 0; k < o->schema.keys; k++) {
        b->original.key_rows[k] = (uint64_t)1 << 32;
        id_map_init(&b->keys[k], o->heap);
    }
    b->m.lanes = lanes;
    b->m.data.label_min = INFINITY;
    b->m.data.label_max = -INFINITY;
    lane_tables_init(&b->lanes, o->heap, lanes, o->schema.keys > 0);
    b->bucket_shift = (unsigned)(__builtin_ctz(lanes) - __builtin_ctz(buckets));
    buckets_init(&b->buckets, b->objects, b->prefix, b->heap, buckets,
                 o->memory_bytes ? o->memory_bytes : MEMORY_DEFAULT);
    buf_init(&b->ids0, b->heap, (size_t)1 << 34);
    buf_init(&b->transform, b->heap, MIB);
    rc = check_free(b, err);
    rc = rc ? rc : clear_aside(b, err);
    if (rc)
        builder_close(b);
    else
        *out = b;
    return rc;
}

void builder_close(struct builder *b)
{
    if (!b)
        return;
    buckets_release(&b->buckets);
    for (unsigned s = 0; s < DATASET_SPLITS; s++)
        writer_release(&b->writers[s]);
    for (uint32_t k = 0; k < ARRAY_SIZE(b->keys); k++)
        id_map_release(&b->keys[k]);
    lane_tables_release(&b->lanes);
    buf_release(&b->ids0);
    buf_release(&b->transform);
    heap_free(b->heap, b);
}

/* ---- adding ---- */

static void count_label(struct builder *b, float label)
{
    struct gust_data *d = &b->m.data;

    b->label_sum += label;
    d->label_min = fmin(d->label_min, label);
    d->label_max = fmax(d->label_max, label);
}

static int count_keys(struct builder *b, enum dataset_split split, const uint32_t *keys,
                      struct error *err)
{
    for (uint32_t k = 1; k < b->m.data.keys; k++) {
        uint64_t *count = id_map_at(&b->keys[k], keys[k]);

        if (!count)
            return fail(err, E_MEMORY, "no memory for the ids of column %u", k);
        *count += split == DATASET_TRAIN;
    }
    return 0;
}

static uint64_t row_hash(uint64_t row)
{
    return random_mix(row * 0x9E3779B97F4A7C15ull + SHUFFLE_SEED);
}

/* The lane of an example: by its first key, or by its number where there are none. */
static uint32_t lane_of(const struct builder *b, const uint32_t *example, uint64_t row)
{
    const struct gust_data *d = &b->m.data;
    uint64_t what = d->keys ? example[1 + d->dense] : row;

    return lanes_of_hash(b->m.lanes, random_at(SHUFFLE_SEED, what, d->keys, 0));
}

int builder_add(struct builder *b, enum dataset_split split, const uint32_t *example,
                uint32_t words, struct error *err)
{
    const uint64_t any[2] = { 0, (uint64_t)1 << 32 };
    uint64_t nonzeros = 0;
    const char *wrong;
    uint32_t lane;
    int rc;

    wrong = words > FORMAT_ROW_WORDS_MAX
                ? "is too long"
                : shard_check_example(example, example + words, &b->original, any, &nonzeros);
    if (wrong)
        return fail(err, E_INVALID, "example %" PRIu64 " %s", b->row + 1, wrong);
    lane = lane_of(b, example, b->row);
    if (b->lanes.rows[split][lane] == LANE_ROWS_MAX || b->row + 1 == BUCKETS_ROWS_MAX)
        return fail(err, E_LIMIT, "too many examples in %u lanes; use more lanes", b->m.lanes);
    rc = count_keys(b, split, example + 1 + b->m.data.dense, err);
    rc = rc ? rc
            : buckets_add(&b->buckets, lane >> b->bucket_shift, split, b->row, example, words, err);
    if (rc)
        return rc;
    if (split == DATASET_TRAIN)
        count_label(b, gust_f32(example));
    b->lanes.rows[split][lane]++;
    b->m.rows[split]++;
    b->m.words[split] += words;
    b->m.nonzeros[split] += nonzeros;
    b->m.row_words_max = MAX(b->m.row_words_max, words);
    b->m.id += random_mix((uint64_t)crc32c((uint32_t)b->row, example, words * 4) << 1 | split);
    b->row++;
    return 0;
}

void builder_set_oracle(struct builder *b, const char *name, double value)
{
    snprintf(b->m.oracle_name, sizeof(b->m.oracle_name), "%s", name);
    b->m.oracle = value;
}

void builder_set_source(struct builder *b, uint64_t key, uint64_t hash)
{
    b->m.source_key = key;
    b->m.source_hash = hash;
}

void builder_set_transform(struct builder *b, struct slice text)
{
    buf_reset(&b->transform);
    buf_add(&b->transform, text.data, text.size);
}

uint64_t builder_rows(const struct builder *b, enum dataset_split split)
{
    return b->m.rows[split];
}

/* ---- finishing ---- */

struct ranked {
    uint64_t count;
    uint32_t id;
};

struct ranking {
    struct ranked *all;
    uint64_t count;
};

static void collect_ranked(void *arg, uint32_t id, uint64_t *value)
{
    struct ranking *r = arg;

    r->all[r->count++] = (struct ranked){ *value, id };
}

/* Falling by count, then rising by id. */
static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int put_ids(struct builder *b, uint32_t column, const uint32_t *ids, uint64_t count,
                   struct error *err)
{
    char name[OBJECTS_NAME_MAX + 1], object[16];
    struct buf bytes;
    int rc;

    buf_init(&bytes, b->heap, (size_t)1 << 35);
    ids_write(ids, count, column, b->m.id, &bytes);
    snprintf(object, sizeof(object), "ids-%u", column);
    format_object_name(name, b->place, object);
    rc = bytes.failed ? fail(err, E_MEMORY, "no memory for the ids of column %u", column)
                      : objects_put(b->objects, name, buf_slice(&bytes), err);
    buf_release(&bytes);
    return rc;
}

/* Give the ids of COLUMN their new numbers and write the list of original ones. */
static int rank_ids(struct builder *b, uint32_t column, struct error *err)
{
    struct id_map *map = &b->keys[column];
    struct ranking r = { heap_try_alloc_raw(b->heap, map->count, sizeof(*r.all)), 0 };
    uint32_t *ids = heap_try_alloc_raw(b->heap, map->count, sizeof(*ids));
    int rc;

    if (!r.all || !ids) {
        rc = fail(err, E_MEMORY, "no memory for the ids of column %u", column);
        goto out;
    }
    id_map_each(map, collect_ranked, &r);
    qsort(r.all, r.count, sizeof(*r.all), compare_ranked);
    for (uint64_t i = 0; i < r.count; i++) {
        ids[i] = r.all[i].id;
        *id_map_at(map, ids[i]) = i;
    }
    b->m.data.key_rows[column] = r.count;
    rc = put_ids(b, column, ids, r.count, err);
out:
    heap_free(b->heap, r.all);
    heap_free(b->heap, ids);
    return rc;
}

static void collect_id(void *arg, uint32_t id, uint64_t *value UNUSED)
{
    buf_add(arg, &id, sizeof(id));
}

static int compare_ids(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* Number the first keys of one lane's examples, after those of the lanes before. */
static int number_lane_keys(struct builder *b, const struct bucket_row *rows, size_t count,
                            struct error *err)
{
    struct id_map *map = &b->keys[0];
    size_t before = b->ids0.size / sizeof(uint32_t);
    uint32_t *ids;

    if (count == 0)
        return 0;
    id_map_reset(map);
    for (size_t i = 0; i < count; i++)
        if (!id_map_at(map, rows[i].example[1 + b->m.data.dense]))
            return fail(err, E_MEMORY, "no memory for the ids of a lane");
    id_map_each(map, collect_id, &b->ids0);
    if (b->ids0.failed)
        return fail(err, E_MEMORY, "no memory for the ids of column 0");
    ids = (uint32_t *)(void *)b->ids0.data + before;
    qsort(ids, map->count, sizeof(*ids), compare_ids);
    for (uint32_t i = 0; i < map->count; i++)
        *id_map_at(map, ids[i]) = before + i;
    return 0;
}

static int write_row(struct builder *b, const struct bucket_row *row, struct error *err)
{
    const struct gust_data *d = &b->m.data;
    uint32_t *keys = row->example + 1 + d->dense;
    const uint64_t any[2] = { 0, (uint64_t)1 << 32 };
    uint64_t nonzeros = d->ones;

    for (uint32_t k = 0; k < d->keys; k++)
        keys[k] = (uint32_t)*id_map_at(&b->keys[k], keys[k]);
    if (!format_row_words(d)) {
        nonzeros = 0;
        shard_check_example(row->example, row->example + row->words, &b->original, any, &nonzeros);
    }
    return writer_add(&b->writers[row->split], row->example, row->words, nonzeros, err);
}

/* All examples of one lane, in their final order. */
static int write_lane(struct builder *b, uint32_t lane, const struct bucket_row *rows, size_t count,
                      struct error *err)
{
    int rc = 0;

    if (b->m.data.keys) {
        b->lanes.key_first[lane] = b->ids0.size / sizeof(uint32_t);
        rc = number_lane_keys(b, rows, count, err);
    }
    for (size_t i = 0; !rc && i < count; i++) {
        /* The examples lie all over the bucket. */
        if (i + 8 < count)
            __builtin_prefetch(rows[i + 8].example);
        rc = write_row(b, &rows[i], err);
    }
    return rc;
}

static int write_bucket(struct builder *b, uint32_t bucket, struct error *err)
{
    uint32_t lane = bucket << b->bucket_shift, end = (bucket + 1) << b->bucket_shift;
    struct bucket_rows rows = { 0 };
    int rc = buckets_take(&b->buckets, bucket, &rows, err);

    for (size_t i = 0; !rc && i < rows.count; i++) {
        struct bucket_row *r = &rows.rows[i];

        r->key = (uint64_t)(lane_of(b, r->example, r->row) - lane) << 32 | row_hash(r->row) >> 32;
    }
    if (!rc)
        rc = bucket_rows_sort(&rows, err);
    for (size_t from = 0; !rc && lane < end; lane++) {
        size_t to = from + b->lanes.rows[DATASET_TRAIN][lane] + b->lanes.rows[DATASET_TEST][lane];

        rc = write_lane(b, lane, rows.rows + from, to - from, err);
        from = to;
    }
    bucket_rows_release(&rows);
    return rc;
}

/* Blocks of about a megabyte, a power of two of rows. */
static unsigned choose_block_shift(const struct manifest *m)
{
    uint64_t rows = m->rows[0] + m->rows[1], bytes = (m->words[0] + m->words[1]) * 4;
    unsigned shift = 0;

    while (shift < 18 && (bytes << (shift + 1)) / rows <= BLOCK_BYTES)
        shift++;
    return shift;
}

static void fix_layout(struct builder *b)
{
    struct gust_data *d = &b->m.data;

    d->rows = b->m.rows[DATASET_TRAIN];
    d->label_mean = b->label_sum / (double)d->rows;
    b->m.id = random_at(b->m.id, b->m.lanes, d->dims ^ (uint64_t)d->ones << 32, d->dense);
    b->m.block_shift = choose_block_shift(&b->m);
    b->m.shard_shift = b->m.block_shift + BLOCKS_SHIFT;
    for (unsigned s = 0; s < DATASET_SPLITS; s++)
        writer_init(&b->writers[s], b->objects, b->place, &b->m, s, b->heap);
}

static int put_lanes(struct builder *b, struct error *err)
{
    char name[OBJECTS_NAME_MAX + 1];
    struct buf bytes;
    int rc;

    buf_init(&bytes, b->heap, 64 * MIB);
    lane_tables_write(&b->lanes, b->m.id, &bytes);
    format_object_name(name, b->place, "lanes");
    rc = objects_put(b->objects, name, buf_slice(&bytes), err);
    buf_release(&bytes);
    return rc;
}

static int put_transform(struct builder *b, struct error *err)
{
    char name[OBJECTS_NAME_MAX + 1];

    if (b->transform.size == 0)
        return 0;
    if (b->transform.failed)
        return fail(err, E_MEMORY, "no memory for the description of the columns");
    format_object_name(name, b->place, "transform");
    return objects_put(b->objects, name, buf_slice(&b->transform), err);
}

static int put_manifest(struct builder *b, struct error *err)
{
    char name[OBJECTS_NAME_MAX + 1];
    struct buf text;
    int rc;

    buf_init(&text, b->heap, FORMAT_MANIFEST_MAX);
    manifest_write(&b->m, b->heap, &text);
    format_object_name(name, b->prefix, "manifest");
    rc = objects_put(b->objects, name, buf_slice(&text), err);
    buf_release(&text);
    return rc;
}

static int write_all(struct builder *b, struct error *err)
{
    struct gust_data *d = &b->m.data;
    uint64_t rows = 0;
    int rc = 0;

    for (uint32_t k = 1; !rc && k < d->keys; k++)
        rc = rank_ids(b, k, err);
    for (uint32_t i = 0; !rc && i < b->buckets.count; i++) {
        rows += b->buckets.all[i].rows;
        rc = write_bucket(b, i, err);
        if (!rc && b->progress)
            rc = b->progress(b->arg, rows, err);
    }
    if (!rc && d->keys) {
        d->key_rows[0] = b->ids0.size / sizeof(uint32_t);
        b->lanes.key_first[b->m.lanes] = d->key_rows[0];
        d->dims = 0;
        for (uint32_t k = 0; k < d->keys; k++)
            d->dims = MAX(d->dims, d->key_rows[k]);
        rc = put_ids(b, 0, (const uint32_t *)(const void *)b->ids0.data, d->key_rows[0], err);
    }
    rc = rc ? rc : put_lanes(b, err);
    rc = rc ? rc : put_transform(b, err);
    return rc ? rc : put_manifest(b, err);
}

int builder_finish(struct builder *b, struct error *err)
{
    int rc;

    if (b->m.rows[DATASET_TRAIN] == 0)
        return fail(err, E_INVALID, "there are no examples to train on");
    choose_generation(b);
    rc = clear_generation(b, b->m.generation, err);
    if (rc)
        return rc;
    fix_layout(b);
    rc = write_all(b, err);
    /* What the manifest does not name goes: the new objects after a failure, the old otherwise. */
    clear_generation(b, rc ? b->m.generation : !b->m.generation, NULL);
    return rc;
}
