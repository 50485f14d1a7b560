/* SPDX-License-Identifier: Apache-2.0 */
/* The manifest, the lane tables and the id lists of a data set. */
#include "data/format.h"

#include <inttypes.h>

#include "base/crc32c.h"
#include "base/props.h"
#include "base/wire.h"

#define LANES_MAGIC 0x4C545347u /* "GSTL" */
#define IDS_MAGIC   0x49545347u /* "GSTI" */

static const char *const split_names[] = { "train", "test" };

const char *format_split_name(enum dataset_split split)
{
    return split_names[split];
}

void format_shard_name(char *out, const char *prefix, enum dataset_split split, uint32_t shard)
{
    snprintf(out, OBJECTS_NAME_MAX + 1, "%s/%s/%05u", prefix, split_names[split], shard);
}

void format_place(char *out, size_t room, const char *prefix, uint32_t generation)
{
    snprintf(out, room, generation ? "%s/1" : "%s", prefix);
}

void format_object_name(char *out, const char *prefix, const char *object)
{
    snprintf(out, OBJECTS_NAME_MAX + 1, "%s/%s", prefix, object);
}

uint32_t format_row_words(const struct gust_data *data)
{
    return data->ones == GUST_VARIES || data->sparse ? 0 : 1 + data->dense + data->ones;
}

int format_check_schema(const struct gust_data *data, struct error *err)
{
    bool lists = data->ones > 0 || data->sparse;

    if (data->dense >= FORMAT_ROW_WORDS_MAX / 2 ||
        (data->ones != GUST_VARIES && data->ones >= FORMAT_ROW_WORDS_MAX / 2))
        return fail(err, E_INVALID, "%u dense values and %u indices per example are too many",
                    data->dense, data->ones);
    if (lists && (data->dims == 0 || data->dims > (uint64_t)1 << 32))
        return fail(err, E_INVALID, "%" PRIu64 " dimensions: there must be 1 to 2^32", data->dims);
    if (!lists && data->dense == 0)
        return fail(err, E_INVALID, "examples have no values and no indices");
    if (data->classes == 1 || data->classes > 1u << 24)
        return fail(err, E_INVALID, "%u classes: there must be 2 to 2^24, or 0 for real labels",
                    data->classes);
    if (data->keys == 0)
        return 0;
    if (data->keys > ARRAY_SIZE(data->key_rows) || data->ones == GUST_VARIES ||
        data->keys > data->ones)
        return fail(err, E_INVALID, "%u key columns do not fit %u indices per example", data->keys,
                    data->ones);
    for (uint32_t k = 0; k < data->keys; k++)
        if (data->key_rows[k] == 0 || data->key_rows[k] > data->dims)
            return fail(err, E_INVALID, "key column %u names %" PRIu64 " things of %" PRIu64, k,
                        data->key_rows[k], data->dims);
    return 0;
}

/* ---- manifest ---- */

static void write_schema(struct props *p, const struct gust_data *d)
{
    props_setf(p, "dense", "%u", d->dense);
    if (d->ones == GUST_VARIES)
        props_set(p, "ones", "varies");
    else
        props_setf(p, "ones", "%u", d->ones);
    props_set(p, "sparse", d->sparse ? "yes" : "no");
    props_setf(p, "dims", "%" PRIu64, d->dims);
    props_setf(p, "keys", "%u", d->keys);
    for (uint32_t k = 0; k < d->keys; k++) {
        char key[32];

        snprintf(key, sizeof(key), "key_rows_%u", k);
        props_setf(p, key, "%" PRIu64, d->key_rows[k]);
    }
    props_setf(p, "classes", "%u", d->classes);
    props_setf(p, "label_mean", "%.17g", d->label_mean);
    props_setf(p, "label_min", "%.17g", d->label_min);
    props_setf(p, "label_max", "%.17g", d->label_max);
}

void manifest_write(const struct manifest *m, struct heap *heap, struct buf *out)
{
    struct props p;
    size_t begin = out->size;

    props_init(&p, heap);
    props_setf(&p, "gust-data", "%u", FORMAT_VERSION);
    props_set(&p, "kind", m->kind);
    props_setf(&p, "id", "%" PRIu64, m->id);
    props_setf(&p, "lanes", "%u", m->lanes);
    write_schema(&p, &m->data);
    props_setf(&p, "row_words_max", "%u", m->row_words_max);
    props_setf(&p, "block_shift", "%u", m->block_shift);
    props_setf(&p, "shard_shift", "%u", m->shard_shift);
    for (unsigned s = 0; s < DATASET_SPLITS; s++) {
        char key[32];

        snprintf(key, sizeof(key), "%s_rows", split_names[s]);
        props_setf(&p, key, "%" PRIu64, m->rows[s]);
        snprintf(key, sizeof(key), "%s_words", split_names[s]);
        props_setf(&p, key, "%" PRIu64, m->words[s]);
        snprintf(key, sizeof(key), "%s_nonzeros", split_names[s]);
        props_setf(&p, key, "%" PRIu64, m->nonzeros[s]);
    }
    props_setf(&p, "generation", "%u", m->generation);
    if (m->source_key) {
        props_setf(&p, "source_key", "%" PRIu64, m->source_key);
        props_setf(&p, "source_hash", "%" PRIu64, m->source_hash);
    }
    if (m->oracle_name[0]) {
        props_set(&p, "oracle_name", m->oracle_name);
        props_setf(&p, "oracle", "%.17g", m->oracle);
    }
    props_write(&p, out);
    buf_printf(out, "check: %08x\n", crc32c(0, out->data + begin, out->size - begin));
    props_release(&p);
}

/* The last line holds the CRC of everything before it. */
static int check_text(struct slice text, struct error *err)
{
    static const char label[] = "check: ";
    const size_t tail = sizeof(label) - 1 + 8 + 1;
    const char *line;
    char expected[9];

    if (text.size > FORMAT_MANIFEST_MAX)
        return fail(err, E_FORMAT, "the manifest has %zu bytes, more than any manifest", text.size);
    line = text.size < tail ? NULL : (const char *)text.data + text.size - tail;
    if (!line || memcmp(line, label, sizeof(label) - 1) != 0)
        return fail(err, E_FORMAT, "the manifest is cut short: its last line is not a check sum");
    snprintf(expected, sizeof(expected), "%08x", crc32c(0, text.data, text.size - tail));
    if (memcmp(line + sizeof(label) - 1, expected, 8) != 0)
        return fail(err, E_FORMAT, "the manifest is damaged: its check sum does not fit");
    return 0;
}

/* A whole number that must be there. */
static int need_u64(const struct props *p, const char *key, uint64_t min, uint64_t max,
                    uint64_t *out, struct error *err)
{
    struct error inner = { 0 };

    if (!props_find(p, key))
        return fail(err, E_FORMAT, "the manifest does not say '%s'", key);
    if (props_u64(p, key, 0, min, max, out, &inner))
        return fail(err, E_FORMAT, "the manifest's %s", inner.text);
    return 0;
}

static int need_u32(const struct props *p, const char *key, uint32_t min, uint32_t max,
                    uint32_t *out, struct error *err)
{
    uint64_t v = 0;
    int rc = need_u64(p, key, min, max, &v, err);

    if (!rc)
        *out = (uint32_t)v;
    return rc;
}

static int need_f64(const struct props *p, const char *key, double *out, struct error *err)
{
    const char *text = props_find(p, key);

    if (!text || !parse_f64(text, out))
        return fail(err, E_FORMAT, "the manifest's %s is not a finite number", key);
    return 0;
}

static int read_ones(const struct props *p, struct gust_data *d, struct error *err)
{
    const char *sparse = props_str(p, "sparse", "");

    d->sparse = strcmp(sparse, "yes") == 0;
    if (!d->sparse && strcmp(sparse, "no") != 0)
        return fail(err, E_FORMAT, "the manifest's sparse is neither yes nor no");
    if (strcmp(props_str(p, "ones", ""), "varies") == 0) {
        d->ones = GUST_VARIES;
        return 0;
    }
    return need_u32(p, "ones", 0, FORMAT_ROW_WORDS_MAX, &d->ones, err);
}

static int read_schema(const struct props *p, struct gust_data *d, struct error *err)
{
    struct error inner = { 0 };
    int rc = read_ones(p, d, err);

    rc = rc ? rc : need_u32(p, "dense", 0, FORMAT_ROW_WORDS_MAX, &d->dense, err);
    rc = rc ? rc : need_u64(p, "dims", 0, (uint64_t)1 << 32, &d->dims, err);
    rc = rc ? rc : need_u32(p, "keys", 0, ARRAY_SIZE(d->key_rows), &d->keys, err);
    for (uint32_t k = 0; !rc && k < d->keys; k++) {
        char key[32];

        snprintf(key, sizeof(key), "key_rows_%u", k);
        rc = need_u64(p, key, 1, d->dims, &d->key_rows[k], err);
    }
    rc = rc ? rc : need_u32(p, "classes", 0, 1u << 24, &d->classes, err);
    rc = rc ? rc : need_f64(p, "label_mean", &d->label_mean, err);
    rc = rc ? rc : need_f64(p, "label_min", &d->label_min, err);
    rc = rc ? rc : need_f64(p, "label_max", &d->label_max, err);
    if (!rc && format_check_schema(d, &inner))
        rc = fail(err, E_FORMAT, "the manifest makes no sense: %s", inner.text);
    return rc;
}

static int read_split(const struct props *p, struct manifest *m, unsigned s, struct error *err)
{
    char key[32];
    int rc;

    snprintf(key, sizeof(key), "%s_rows", split_names[s]);
    rc = need_u64(p, key, s == DATASET_TRAIN, FORMAT_ROWS_MAX, &m->rows[s], err);
    snprintf(key, sizeof(key), "%s_words", split_names[s]);
    rc = rc ? rc : need_u64(p, key, m->rows[s], UINT64_MAX / 8, &m->words[s], err);
    snprintf(key, sizeof(key), "%s_nonzeros", split_names[s]);
    rc = rc ? rc : need_u64(p, key, 0, m->words[s], &m->nonzeros[s], err);
    if (!rc && m->rows[s] >> m->block_shift >= FORMAT_BLOCKS_MAX)
        rc = fail(err, E_FORMAT, "the manifest has more blocks than any data set");
    return rc;
}

static int read_layout(const struct props *p, struct manifest *m, struct error *err)
{
    uint32_t block_shift = 0, shard_shift = 0, fixed = format_row_words(&m->data);
    int rc = need_u32(p, "lanes", 1, LANES_MAX, &m->lanes, err);

    if (!rc && (m->lanes & (m->lanes - 1)))
        rc = fail(err, E_FORMAT, "the manifest's lanes: %u is not a power of two", m->lanes);
    rc = rc ? rc : need_u32(p, "row_words_max", 1, FORMAT_ROW_WORDS_MAX, &m->row_words_max, err);
    rc = rc ? rc : need_u32(p, "block_shift", 0, 24, &block_shift, err);
    rc = rc ? rc : need_u32(p, "shard_shift", block_shift, 31, &shard_shift, err);
    m->block_shift = block_shift;
    m->shard_shift = shard_shift;
    for (unsigned s = 0; !rc && s < DATASET_SPLITS; s++)
        rc = read_split(p, m, s, err);
    for (unsigned s = 0; !rc && fixed && s < DATASET_SPLITS; s++)
        if (m->row_words_max != fixed || m->words[s] != m->rows[s] * fixed)
            rc =
                fail(err, E_FORMAT, "the manifest's counts do not fit examples of %u words", fixed);
    return rc;
}

int manifest_read(struct manifest *m, struct heap *heap, struct slice text, struct error *err)
{
    struct manifest got = { .id = 0 };
    uint32_t version = 0;
    struct props p;
    int rc = check_text(text, err);

    if (rc)
        return rc;
    props_init(&p, heap);
    rc = props_parse(&p, text, err);
    rc = rc ? rc : need_u32(&p, "gust-data", 1, UINT32_MAX, &version, err);
    if (!rc && version != FORMAT_VERSION)
        rc = fail(err, E_FORMAT, "the data set has version %u; this program reads version %u",
                  version, FORMAT_VERSION);
    rc = rc ? rc : need_u64(&p, "id", 0, UINT64_MAX, &got.id, err);
    rc = rc ? rc : read_schema(&p, &got.data, err);
    rc = rc ? rc : read_layout(&p, &got, err);
    rc = rc ? rc : need_u32(&p, "generation", 0, 1, &got.generation, err);
    if (!rc && props_find(&p, "source_key")) {
        rc = need_u64(&p, "source_key", 1, UINT64_MAX, &got.source_key, err);
        rc = rc ? rc : need_u64(&p, "source_hash", 0, UINT64_MAX, &got.source_hash, err);
    }
    if (!rc && props_find(&p, "oracle_name"))
        rc = need_f64(&p, "oracle", &got.oracle, err);
    if (!rc) {
        snprintf(got.kind, sizeof(got.kind), "%s", props_str(&p, "kind", ""));
        snprintf(got.oracle_name, sizeof(got.oracle_name), "%s", props_str(&p, "oracle_name", ""));
        got.data.rows = got.rows[DATASET_TRAIN];
        *m = got;
    }
    props_release(&p);
    return rc;
}

/* ---- lane tables ---- */

void lane_tables_init(struct lane_tables *t, struct heap *heap, uint32_t lanes, bool keys)
{
    *t = (struct lane_tables){ .heap = heap, .lanes = lanes };
    for (unsigned s = 0; s < DATASET_SPLITS; s++)
        t->rows[s] = heap_alloc(heap, lanes * sizeof(*t->rows[s]));
    if (keys)
        t->key_first = heap_alloc(heap, (lanes + 1) * sizeof(*t->key_first));
}

void lane_tables_release(struct lane_tables *t)
{
    if (!t->heap)
        return;
    for (unsigned s = 0; s < DATASET_SPLITS; s++)
        heap_free(t->heap, t->rows[s]);
    heap_free(t->heap, t->key_first);
    *t = (struct lane_tables){ 0 };
}

void lane_tables_write(const struct lane_tables *t, uint64_t id, struct buf *out)
{
    size_t begin = out->size;

    wire_put_u32(out, LANES_MAGIC);
    wire_put_u32(out, FORMAT_VERSION);
    wire_put_u64(out, id);
    wire_put_u32(out, t->lanes);
    wire_put_u32(out, t->key_first != NULL);
    for (unsigned s = 0; s < DATASET_SPLITS; s++)
        for (uint32_t q = 0; q < t->lanes; q++)
            wire_put_u32(out, t->rows[s][q]);
    for (uint32_t q = 0; t->key_first && q <= t->lanes; q++)
        wire_put_u64(out, t->key_first[q]);
    if (!out->failed)
        wire_put_u32(out, crc32c(0, out->data + begin, out->size - begin));
}

/* Whether the last four bytes are the CRC of those before. */
static bool ends_with_crc(struct slice bytes)
{
    struct wire_reader r;

    if (bytes.size < 4)
        return false;
    wire_read(&r, slice((const char *)bytes.data + bytes.size - 4, 4));
    return wire_u32(&r) == crc32c(0, bytes.data, bytes.size - 4);
}

static int check_lane_tables(const struct lane_tables *t, const struct manifest *m,
                             struct error *err)
{
    for (unsigned s = 0; s < DATASET_SPLITS; s++) {
        uint64_t total = 0;

        for (uint32_t q = 0; q < t->lanes; q++) {
            total += t->rows[s][q];
            if (t->rows[s][q] > LANE_ROWS_MAX)
                return fail(err, E_FORMAT, "lane %u holds %u rows, more than any lane", q,
                            t->rows[s][q]);
        }
        if (total != m->rows[s])
            return fail(err, E_FORMAT,
                        "the lanes hold %" PRIu64 " %s rows, the manifest says %" PRIu64, total,
                        split_names[s], m->rows[s]);
    }
    if (!t->key_first)
        return 0;
    for (uint32_t q = 0; q < t->lanes; q++)
        if (t->key_first[q] > t->key_first[q + 1])
            return fail(err, E_FORMAT, "the keys of lane %u end before they begin", q);
    if (t->key_first[0] != 0 || t->key_first[t->lanes] != m->data.key_rows[0])
        return fail(err, E_FORMAT, "the lanes hold %" PRIu64 " keys, the manifest says %" PRIu64,
                    t->key_first[t->lanes], m->data.key_rows[0]);
    return 0;
}

int lane_tables_read(struct lane_tables *t, struct heap *heap, const struct manifest *m,
                     struct slice bytes, struct error *err)
{
    bool keys = m->data.keys > 0;
    size_t size = 24 + (size_t)m->lanes * 8 + (keys ? ((size_t)m->lanes + 1) * 8 : 0) + 4;
    struct wire_reader r;
    int rc;

    if (bytes.size != size || !ends_with_crc(bytes))
        return fail(err, E_FORMAT, "the lane tables are damaged: wrong length or check sum");
    wire_read(&r, bytes);
    if (wire_u32(&r) != LANES_MAGIC || wire_u32(&r) != FORMAT_VERSION || wire_u64(&r) != m->id ||
        wire_u32(&r) != m->lanes || wire_u32(&r) != (uint32_t)keys)
        return fail(err, E_FORMAT, "the lane tables belong to another data set");
    lane_tables_init(t, heap, m->lanes, keys);
    for (unsigned s = 0; s < DATASET_SPLITS; s++)
        for (uint32_t q = 0; q < t->lanes; q++)
            t->rows[s][q] = wire_u32(&r);
    for (uint32_t q = 0; keys && q <= t->lanes; q++)
        t->key_first[q] = wire_u64(&r);
    rc = check_lane_tables(t, m, err);
    if (rc)
        lane_tables_release(t);
    return rc;
}

/* ---- original ids ---- */

void ids_write(const uint32_t *ids, uint64_t count, uint32_t column, uint64_t id, struct buf *out)
{
    size_t begin = out->size;

    wire_put_u32(out, IDS_MAGIC);
    wire_put_u32(out, FORMAT_VERSION);
    wire_put_u64(out, id);
    wire_put_u32(out, column);
    wire_put_u32(out, 0);
    wire_put_u64(out, count);
    buf_add(out, ids, count * sizeof(*ids));
    if (!out->failed)
        wire_put_u32(out, crc32c(0, out->data + begin, out->size - begin));
}

int ids_read(struct slice bytes, uint64_t count, uint32_t column, uint64_t id, const uint32_t **out,
             struct error *err)
{
    struct wire_reader r;

    if (bytes.size != 32 + count * 4 + 4 || !ends_with_crc(bytes))
        return fail(err, E_FORMAT, "the ids of column %u are damaged: wrong length or check sum",
                    column);
    wire_read(&r, bytes);
    if (wire_u32(&r) != IDS_MAGIC || wire_u32(&r) != FORMAT_VERSION || wire_u64(&r) != id ||
        wire_u32(&r) != column || wire_u32(&r) != 0 || wire_u64(&r) != count)
        return fail(err, E_FORMAT, "the ids of column %u belong to another data set", column);
    *out = (const uint32_t *)(const void *)r.at;
    return 0;
}
