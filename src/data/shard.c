/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and checking shards. Nothing here trusts a byte before it was checked. */
#include "data/shard.h"

#include <inttypes.h>

#include "base/crc32c.h"

_Static_assert(sizeof(struct shard_header) == 64, "the shard header is 64 bytes");
_Static_assert(sizeof(struct block_header) == 48, "a block header is 48 bytes");

uint32_t shard_count(const struct manifest *m, enum dataset_split split)
{
    uint64_t mask = ((uint64_t)1 << m->shard_shift) - 1;

    return (uint32_t)((m->rows[split] + mask) >> m->shard_shift);
}

uint32_t shard_rows(const struct manifest *m, enum dataset_split split, uint32_t shard)
{
    uint64_t first = (uint64_t)shard << m->shard_shift;

    return (uint32_t)MIN(m->rows[split] - first, (uint64_t)1 << m->shard_shift);
}

static uint32_t blocks_of(const struct manifest *m, uint32_t rows)
{
    return (uint32_t)(((uint64_t)rows + (1u << m->block_shift) - 1) >> m->block_shift);
}

size_t shard_records_at(const struct manifest *m, uint32_t rows)
{
    size_t size = sizeof(struct shard_header) + blocks_of(m, rows) * sizeof(struct block_header);

    if (!format_row_words(&m->data))
        size += ((size_t)rows + 1) * sizeof(uint32_t);
    return round_up(size, SHARD_PADDING);
}

static int check_blocks(const struct shard *s, const struct manifest *m, uint64_t words,
                        struct error *err)
{
    uint32_t fixed = format_row_words(&m->data);
    uint64_t word = 0;

    for (uint32_t i = 0; i < s->count; i++) {
        const struct block_header *b = &s->blocks[i];
        uint32_t first = i << m->block_shift;
        uint32_t rows = MIN(s->rows - first, 1u << m->block_shift);

        if (b->magic != BLOCK_MAGIC || b->block != i || b->first_row != first || b->rows != rows ||
            b->word != word || b->words > words - word || b->reserved ||
            (fixed && b->words != (uint64_t)rows * fixed))
            return fail(err, E_FORMAT, "the header of block %u is wrong", i);
        word += b->words;
    }
    if (word != words)
        return fail(err, E_FORMAT, "the blocks have %" PRIu64 " words, the header says %" PRIu64,
                    word, words);
    return 0;
}

static bool is_zero(const char *from, const char *to)
{
    char any = 0;

    while (from < to)
        any |= *from++;
    return !any;
}

int shard_open(struct shard *s, const struct manifest *m, enum dataset_split split, uint32_t shard,
               struct slice bytes, struct error *err)
{
    uint32_t rows = shard_rows(m, split, shard), blocks = blocks_of(m, rows);
    size_t records_at = shard_records_at(m, rows);
    bool varies = format_row_words(&m->data) == 0;
    struct shard_header h;
    uint32_t crc;

    if (bytes.size < records_at + SHARD_PADDING)
        return fail(err, E_FORMAT, "it is cut short at %zu bytes", bytes.size);
    memcpy(&h, bytes.data, sizeof(h));
    if (memcmp(h.magic, SHARD_MAGIC, sizeof(h.magic)) != 0)
        return fail(err, E_FORMAT, "it does not begin with %s", SHARD_MAGIC);
    if (h.version != FORMAT_VERSION)
        return fail(err, E_FORMAT, "it has version %u; this program reads version %u", h.version,
                    FORMAT_VERSION);
    if (h.id != m->id || h.split != split || h.shard != shard)
        return fail(err, E_FORMAT,
                    "it is shard %u of %s of data set %016" PRIx64
                    ", not shard %u of %s of %016" PRIx64,
                    h.shard, h.split < DATASET_SPLITS ? format_split_name(h.split) : "?", h.id,
                    shard, format_split_name(split), m->id);
    crc = h.crc;
    h.crc = 0;
    if (h.rows != rows || h.blocks != blocks || h.first_row != (uint64_t)shard << m->shard_shift ||
        h.varies != (uint32_t)varies || h.reserved)
        return fail(err, E_FORMAT, "its header does not fit the manifest");
    if (crc != crc32c(crc32c(0, &h, sizeof(h)), (const char *)bytes.data + sizeof(h),
                      blocks * sizeof(struct block_header)))
        return fail(err, E_FORMAT, "its headers are damaged: the check sum does not fit");
    if (h.words > (bytes.size - records_at - SHARD_PADDING) / 4 ||
        bytes.size != records_at + h.words * 4 + SHARD_PADDING)
        return fail(err, E_FORMAT, "it has %zu bytes, its header says otherwise", bytes.size);
    s->blocks = (const void *)((const char *)bytes.data + sizeof(h));
    s->at = varies ? (const void *)(s->blocks + blocks) : NULL;
    s->records = (const void *)((const char *)bytes.data + records_at);
    s->rows = rows;
    s->count = blocks;
    if (!is_zero(varies ? (const char *)(s->at + rows + 1) : (const char *)(s->blocks + blocks),
                 (const char *)s->records) ||
        !is_zero((const char *)(s->records + h.words), (const char *)bytes.data + bytes.size))
        return fail(err, E_FORMAT, "its padding is not zero");
    return check_blocks(s, m, h.words, err);
}

/* ---- contents ---- */

static bool is_finite_word(uint32_t w)
{
    return (w & 0x7F800000u) != 0x7F800000u;
}

static bool is_label(uint32_t w, uint32_t classes)
{
    float label = gust_f32(&w);

    if (!is_finite_word(w))
        return false;
    return classes == 0 ||
           (label >= 0 && label < (float)classes && label == (float)(uint32_t)label);
}

/* Walks through one example, never past its end. */
struct cursor {
    const uint32_t *at, *end;
};

static bool take(struct cursor *c, uint32_t *out)
{
    if (c->at == c->end)
        return false;
    *out = *c->at++;
    return true;
}

/* The index list of an example; returns what is wrong, or NULL. */
static const char *check_ones(struct cursor *c, const struct gust_data *d, const uint64_t key[2],
                              uint64_t *nonzeros)
{
    uint32_t count = d->ones;

    if (count == GUST_VARIES && !take(c, &count))
        return "ends before its index list";
    if (count > (size_t)(c->end - c->at))
        return "ends within its index list";
    *nonzeros += count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = *c->at++;

        if (index >= d->dims || (i < d->keys && index >= d->key_rows[i]))
            return "has an index out of range";
        if (i == 0 && d->keys && (index < key[0] || index >= key[1]))
            return "has a key that belongs to another lane";
    }
    return NULL;
}

static const char *check_pairs(struct cursor *c, const struct gust_data *d, uint64_t *nonzeros)
{
    uint32_t count;

    if (!take(c, &count))
        return "ends before its sparse values";
    if (count > (size_t)(c->end - c->at) / 2)
        return "ends within its sparse values";
    *nonzeros += count;
    for (uint32_t i = 0; i < count; i++, c->at += 2) {
        if (c->at[0] >= d->dims)
            return "has an index out of range";
        if (!is_finite_word(c->at[1]))
            return "has a value that is not finite";
    }
    return NULL;
}

const char *shard_check_example(const uint32_t *at, const uint32_t *end, const struct gust_data *d,
                                const uint64_t key[2], uint64_t *nonzeros)
{
    struct cursor c = { at, end };
    const char *wrong = NULL;
    uint32_t label;

    if (!take(&c, &label) || !is_label(label, d->classes))
        return "has a label that is not finite or no class";
    if ((size_t)(c.end - c.at) < d->dense)
        return "ends within its dense values";
    for (uint32_t i = 0; i < d->dense; i++)
        if (!is_finite_word(*c.at++))
            return "has a value that is not finite";
    wrong = check_ones(&c, d, key, nonzeros);
    if (!wrong && d->sparse)
        wrong = check_pairs(&c, d, nonzeros);
    if (!wrong && c.at != c.end)
        wrong = "is longer than its contents";
    return wrong;
}

/*
 * The same judgement without saying why, for ROWS examples of equal length in one lane: no branch
 * depends on the data, so that the first pass over a data set costs little more than its CRC.
 */
static inline __attribute__((always_inline)) bool are_sound_as(const uint32_t *at, uint32_t rows,
                                                               const struct gust_data *d,
                                                               const uint64_t key[2],
                                                               uint32_t dense, uint32_t ones,
                                                               uint32_t keys)
{
    uint32_t lane_first = (uint32_t)key[0], lane_keys = (uint32_t)(key[1] - key[0]), bad = 0;
    uint32_t last[ARRAY_SIZE(d->key_rows)], last_dim = (uint32_t)(d->dims - 1);

    for (uint32_t k = 0; k < keys; k++)
        last[k] = (uint32_t)(d->key_rows[k] - 1);
    for (uint32_t r = 0; r < rows; r++, at += 1 + dense + ones) {
        const uint32_t *index = at + 1 + dense;

        bad |= !is_label(at[0], d->classes);
        for (uint32_t i = 0; i < dense; i++)
            bad |= !is_finite_word(at[1 + i]);
        for (uint32_t i = 0; i < keys; i++)
            bad |= index[i] > last[i];
        for (uint32_t i = keys; i < ones; i++)
            bad |= index[i] > last_dim;
        if (keys)
            bad |= index[0] - lane_first >= lane_keys;
    }
    return !bad;
}

/* The common shapes get loops of their own, unrolled by the compiler. */
static bool are_sound(const uint32_t *at, uint32_t rows, const struct gust_data *d,
                      const uint64_t key[2])
{
    if (d->dense == 0 && d->ones == 2 && d->keys == 2)
        return are_sound_as(at, rows, d, key, 0, 2, 2);
    if (d->dense == 13 && d->ones == 26 && d->keys == 0)
        return are_sound_as(at, rows, d, key, 13, 26, 0);
    return are_sound_as(at, rows, d, key, d->dense, d->ones, d->keys);
}

static int bad_example(uint64_t row, const char *wrong, struct error *err)
{
    return fail(err, E_FORMAT, "row %" PRIu64 " %s", row, wrong);
}

/* Rows FROM .. TO-1 of the shard, all of one lane. */
static int check_rows(const struct shard *s, uint32_t from, uint32_t to, const uint64_t key[2],
                      const struct block_rules *rules, uint64_t *nonzeros, struct error *err)
{
    const struct gust_data *d = &rules->manifest->data;
    uint32_t fixed = format_row_words(d);

    if (fixed && are_sound(s->records + (size_t)from * fixed, to - from, d, key)) {
        *nonzeros += (uint64_t)(to - from) * d->ones;
        return 0;
    }
    for (uint32_t r = from; r < to; r++) {
        size_t at = fixed ? (size_t)r * fixed : s->at[r];
        size_t end = fixed ? at + fixed : s->at[r + 1];
        const char *wrong;

        if (end < at || end - at > rules->manifest->row_words_max)
            return bad_example(rules->shard_first + r, "is longer than the longest", err);
        wrong = shard_check_example(s->records + at, s->records + end, d, key, nonzeros);
        if (wrong)
            return bad_example(rules->shard_first + r, wrong, err);
    }
    return 0;
}

/* The lane of ROW: the last one that begins at or before it and is not empty. */
static uint32_t lane_of(const struct block_rules *rules, uint64_t row)
{
    uint32_t from = 0, to = rules->manifest->lanes;

    while (to - from > 1) {
        uint32_t middle = from + (to - from) / 2;

        if (rules->lane_first[middle] <= row)
            from = middle;
        else
            to = middle;
    }
    return from;
}

/* Offsets begin and end with the block and never go back: every example then lies inside it. */
static int check_offsets(const struct shard *s, const struct block_header *b, struct error *err)
{
    const uint32_t *at = s->at + b->first_row;
    bool bad = at[0] != b->word || at[b->rows] != b->word + b->words;

    for (uint32_t r = 0; r < b->rows; r++)
        bad |= at[r + 1] < at[r];
    return bad ? fail(err, E_FORMAT, "the offsets of its examples are wrong") : 0;
}

int shard_check_block(const struct shard *s, uint32_t block, const struct block_rules *rules,
                      struct error *err)
{
    const struct block_header *b = &s->blocks[block];
    uint64_t nonzeros = 0;
    uint32_t crc = 0;
    int rc = 0;

    if (s->at)
        crc = crc32c(crc, s->at + b->first_row, ((size_t)b->rows + 1) * sizeof(*s->at));
    crc = crc32c(crc, s->records + b->word, b->words * sizeof(*s->records));
    if (crc != b->crc)
        return fail(err, E_FORMAT, "it is damaged: the check sum does not fit");
    if (s->at)
        rc = check_offsets(s, b, err);
    for (uint32_t r = b->first_row, end = r + b->rows; !rc && r < end;) {
        uint32_t lane = lane_of(rules, rules->shard_first + r);
        uint64_t until = MIN(rules->lane_first[lane + 1] - rules->shard_first, (uint64_t)end);
        uint64_t key[2] = { 0, 0 };

        if (rules->key_first) {
            key[0] = rules->key_first[lane];
            key[1] = rules->key_first[lane + 1];
        }
        rc = check_rows(s, r, (uint32_t)until, key, rules, &nonzeros, err);
        r = (uint32_t)until;
    }
    if (!rc && nonzeros != b->nonzeros)
        rc = fail(err, E_FORMAT, "it holds %" PRIu64 " indices, its header says %" PRIu64, nonzeros,
                  b->nonzeros);
    return rc;
}
