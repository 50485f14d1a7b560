/* SPDX-License-Identifier: Apache-2.0 */
#include "client/feed.h"

#include <inttypes.h>

#include "client/model_match.h"
#include "data/format.h"
#include "data/scan.h"

/* Bytes of lines held at once; a longer line is refused. */
#define PIECE_BYTES (4 * MIB)
/* Kernels may read whole vectors. */
#define PAD_WORDS 16u

static int open_buffers(struct feed *f, size_t words, struct error *err)
{
    f->words_room = words;
    f->words = heap_try_alloc(f->heap, words + PAD_WORDS, sizeof(*f->words));
    f->at = heap_try_alloc(f->heap, FEED_ROWS, sizeof(*f->at));
    return f->words && f->at ? 0 : fail(err, E_MEMORY, "no memory for %zu words", words);
}

/* Original ids, or numbers of a data set, become rows of the model. */
static void note_keys(struct feed *f, uint32_t row, uint32_t *keys)
{
    f->unknown[row] = 0;
    for (uint32_t k = 0; k < f->p->data.keys; k++) {
        keys[k] = f->set ? f->rows_of[k][keys[k]] : predictor_row(f->p, k, keys[k]);
        if (keys[k] == f->p->data.key_rows[k])
            f->unknown[row] |= (uint8_t)(1u << k);
    }
    f->rows_unknown += f->unknown[row] != 0;
}

/* ---- raw lines ------------------------------------------------------------------------------- */

int feed_open_file(struct feed *f, struct predictor *p, const char *path, enum feed_labels labels,
                   struct error *err)
{
    size_t words;
    int rc;

    *f = (struct feed){ .p = p, .heap = p->heap, .path = path, .line = 1 };
    if (!p->transform.heap)
        return fail(
            err, E_UNSUPPORTED,
            "this model was trained on generated data and knows nothing about files; give a "
            "data set");
    words = MAX(transform_room(&p->transform, PIECE_BYTES),
                (size_t)FEED_ROWS * transform_room(&p->transform, 64));
    rc = open_buffers(f, words, err);
    if (!rc)
        rc = stream_open(&f->stream, path, f->heap, err);
    if (rc) {
        feed_close(f);
        return rc;
    }
    f->piece = heap_alloc(f->heap, PIECE_BYTES);
    transform_file_init(&f->file, &p->transform, f->heap, labels == FEED_LABELS_OPTIONAL);
    return 0;
}

/* The next line of the file, until take_line(); *LINE has data NULL at the end. */
static int next_line(struct feed *f, struct slice *line, struct error *err)
{
    struct scan text, found;
    int rc;

    *line = slice(NULL, 0);
    if (f->piece_at == f->piece_size) {
        f->piece_at = 0;
        f->line = stream_line(f->stream);
        rc = stream_read(f->stream, f->piece, PIECE_BYTES, &f->piece_size, err);
        if (rc || !f->piece_size)
            return rc;
    }
    text = (struct scan){ f->piece + f->piece_at, f->piece + f->piece_size };
    scan_line(&text, &found);
    f->piece_next = (size_t)(text.at - f->piece);
    *line = slice(found.at, (size_t)(found.end - found.at));
    return 0;
}

static void take_line(struct feed *f)
{
    f->piece_at = f->piece_next;
    f->line++;
}

/* Look at the first line; a header is taken. */
static int start_file(struct feed *f, struct error *err)
{
    struct slice line;
    bool header = false;
    int rc = next_line(f, &line, err);

    f->started = true;
    if (rc || !line.data)
        return rc;
    rc = transform_first_line(&f->file, line, &header, err);
    if (rc)
        return fail(err, rc, "%s:1: %s", f->path, err ? err->text : "");
    if (header)
        take_line(f);
    return 0;
}

/* Add LINE's example behind the USED words of the batch. */
static int add_line(struct feed *f, struct slice line, size_t *used, struct error *err)
{
    struct transform_example e = { .words = f->words + *used,
                                   .room = (uint32_t)(f->words_room - *used) };
    uint32_t row = f->batch.rows;
    int rc = transform_row(&f->file, line, &e, err);

    if (rc)
        return fail(err, rc, "%s:%" PRIu64 ": %s", f->path, f->line, err ? err->text : "");
    if (e.count == 0)
        return 0;
    if (!f->file.labels_optional && !e.has_label)
        return fail(err, E_FORMAT, "%s:%" PRIu64 ": the line has no label", f->path, f->line);
    f->at[row] = (uint32_t)*used;
    f->lines[row] = f->line;
    note_keys(f, row, e.words + 1 + f->p->data.dense);
    *used += e.count;
    f->batch.rows++;
    return 0;
}

static int next_from_file(struct feed *f, struct error *err)
{
    size_t used = 0;
    int rc = f->started ? 0 : start_file(f, err);

    f->batch = (struct gust_batch){ .data = &f->p->data, .words = f->words, .at = f->at };
    while (!rc && f->batch.rows < FEED_ROWS) {
        struct slice line;

        rc = next_line(f, &line, err);
        if (rc || !line.data)
            break;
        if (used + transform_room(&f->p->transform, line.size) > f->words_room)
            break;
        rc = add_line(f, line, &used, err);
        if (!rc)
            take_line(f);
    }
    memset(f->words + used, 0, PAD_WORDS * sizeof(*f->words));
    return rc;
}

/* ---- data sets ------------------------------------------------------------------------------- */

static int check_set(struct feed *f, struct error *err)
{
    const struct gust_data *d = &f->set->data, *m = &f->p->data;

    if (d->dense != m->dense || d->keys != m->keys || d->classes != m->classes)
        return fail(err, E_INVALID,
                    "the data set is not of the model's kind: %" PRIu32 " dense values, %" PRIu32
                    " key columns and %" PRIu32 " classes instead of %" PRIu32 ", %" PRIu32
                    " and %" PRIu32,
                    d->dense, d->keys, d->classes, m->dense, m->keys, m->classes);
    if (d->keys == 0 && d->dims > m->dims)
        return fail(err, E_INVALID,
                    "the data set has %" PRIu64 " dimensions, the model %" PRIu64
                    "; evaluate the raw file instead",
                    d->dims, m->dims);
    return model_match(&f->p->model, f->set, err);
}

static int map_keys(struct feed *f, uint32_t column, struct error *err)
{
    uint64_t count = f->set->data.key_rows[column];
    uint32_t *ids;
    int rc = dataset_ids(f->set, column, &ids, err);

    if (rc)
        return rc;
    for (uint64_t i = 0; i < count; i++)
        ids[i] = predictor_row(f->p, column, ids[i]);
    f->rows_of[column] = ids;
    return 0;
}

int feed_open_set(struct feed *f, struct predictor *p, struct dataset *d, enum dataset_split split,
                  struct error *err)
{
    int rc;

    *f = (struct feed){ .p = p, .heap = p->heap, .set = d, .split = split };
    minibatch_init(&f->minibatch, p->heap);
    rc = check_set(f, err);
    if (!rc)
        rc = open_buffers(f, (size_t)FEED_ROWS * format_row_words(&d->data), err);
    for (uint32_t k = 0; !rc && k < d->data.keys; k++)
        rc = map_keys(f, k, err);
    if (rc)
        feed_close(f);
    return rc;
}

static int next_from_set(struct feed *f, struct error *err)
{
    uint64_t end = MIN(f->set->rows[f->split], f->set_at + FEED_ROWS);
    const struct gust_data *d = &f->set->data;
    int rc;

    f->batch = (struct gust_batch){ .data = d };
    if (f->set_at == end)
        return 0;
    rc = dataset_range(f->set, f->split, f->set_at, end, &f->minibatch, err);
    if (rc)
        return rc;
    f->batch = f->minibatch.batch;
    for (uint32_t r = 0; r < f->batch.rows; r++)
        f->lines[r] = f->set_at + r + 1;
    f->set_at = end;
    if (d->keys == 0)
        return 0;
    /* Keyed examples are all of one length. */
    memcpy(f->words, f->batch.words, (size_t)f->batch.rows * f->batch.row_words * sizeof(uint32_t));
    f->batch.words = f->words;
    for (uint32_t r = 0; r < f->batch.rows; r++)
        note_keys(f, r, f->words + (size_t)r * f->batch.row_words + 1 + d->dense);
    return 0;
}

int feed_next(struct feed *f, struct error *err)
{
    int rc = f->set ? next_from_set(f, err) : next_from_file(f, err);

    if (!rc)
        f->rows += f->batch.rows;
    return rc;
}

void feed_close(struct feed *f)
{
    if (!f->heap)
        return;
    for (uint32_t k = 0; k < MODEL_KEYS_MAX; k++)
        if (f->rows_of[k])
            heap_free(f->set->heap, f->rows_of[k]);
    if (f->set)
        minibatch_release(&f->minibatch);
    stream_close(f->stream);
    transform_file_release(&f->file);
    heap_free(f->heap, f->piece);
    heap_free(f->heap, f->words);
    heap_free(f->heap, f->at);
    *f = (struct feed){ 0 };
}
