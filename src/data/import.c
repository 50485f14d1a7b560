/* SPDX-License-Identifier: Apache-2.0 */
/* The two passes of an import, and what is known about the inputs before and after. */
#include "data/import.h"

#include <inttypes.h>

#include "base/crc32c.h"
#include "base/random.h"
#include "data/columns.h"
#include "data/format.h"
#include "data/pieces.h"
#include "data/scan.h"
#include "data/stream.h"

/* Raised when the same inputs and options would give other bytes than before. */
#define IMPORTER_VERSION 1u
#define HOLD_OUT_SALT    0x686f6c64u
#define WEIGHT_SALT      0x77656967u
/* Unless the user says otherwise: a thousandth of the rows, but no more than so many. */
#define BAD_ROWS_USUAL 100u

struct import {
    const struct import_options *o;
    struct heap *heap;
    struct inputs inputs;
    struct transform transform;
    struct statistics statistics;
    struct builder *builder;
    struct pieces pieces;
    unsigned pass;
    uint64_t began_ns, pass_ns;
    uint64_t rows_train, rows_written;
    uint64_t shown; /* bad rows told */
    char first_bad[400];
    int looks_like;   /* what import_detect() says of the first file */
    const char *what; /* in words */
};

void import_options_init(struct import_options *o)
{
    *o = (struct import_options){
        .held_out = 0.1, .format = -1, .bad_rows = IMPORT_BAD_DEFAULT, .threads = 1
    };
}

static uint64_t now(const struct import *im)
{
    return im->o->env ? env_now(im->o->env) : 0;
}

static void tell_progress(const struct import *im)
{
    struct import_progress p = {
        .pass = im->pass,
        .rows = im->pass == 3 ? im->rows_written : im->pieces.rows,
        .rows_total = im->pass == 3 ? im->pieces.rows : 0,
        .bytes = im->pieces.bytes,
        .bytes_total = im->inputs.size_bytes,
        .text_bytes = im->pieces.text_bytes,
        .elapsed_ns = now(im) - im->began_ns,
        .pass_ns = now(im) - im->pass_ns,
        .bad_rows = im->pieces.bad_rows,
    };

    if (im->o->progress)
        im->o->progress(im->o->arg, &p);
}

static int check_stop(const struct import *im, struct error *err)
{
    return im->o->stop && *im->o->stop
               ? fail(err, E_INTERRUPTED, "interrupted; nothing was imported")
               : 0;
}

/* ---- the first pass ---- */

static void note_bad(struct piece *p, uint64_t line, const struct error *e)
{
    if (p->bad_rows < PIECE_BAD_SHOWN) {
        p->bad[p->bad_rows].line = line;
        snprintf(p->bad[p->bad_rows].reason, sizeof(p->bad[0].reason), "%.159s", e->text);
    }
    p->bad_rows++;
}

static struct slice line_slice(struct scan line)
{
    return slice(line.at, (size_t)(line.end - line.at));
}

static void look_at_piece(void *arg UNUSED, struct piece *p)
{
    struct scan text = { p->text, p->text + p->size }, line;
    struct transform_example e = { .words = p->out, .room = (uint32_t)p->out_room };
    uint64_t number = p->first_line;
    struct error err;

    p->rows = p->bad_rows = 0;
    statistics_reset(&p->statistics);
    for (bool header = p->header; scan_line(&text, &line); number++, header = false) {
        if (header || line.at == line.end)
            continue;
        if (transform_row(p->file, line_slice(line), &e, &err)) {
            note_bad(p, number, &err);
        } else if (e.count) {
            statistics_note(&p->statistics, p->file->t, &e);
            p->rows++;
        }
    }
}

static int too_many_bad(const struct import *im, uint64_t allowed, struct error *err)
{
    uint64_t rows = im->pieces.rows + im->pieces.bad_rows;
    bool other =
        im->looks_like != (int)im->transform.format && im->pieces.bad_rows > im->pieces.rows;

    if (other)
        return fail(err, E_FORMAT, "%s; the file looks like %s", im->first_bad, im->what);
    return fail(err, E_FORMAT,
                "%s; %" PRIu64 " of %" PRIu64 " rows cannot be used, and %" PRIu64
                " may be left out (--bad-rows N)",
                im->first_bad, im->pieces.bad_rows, rows, allowed);
}

static void tell_bad(struct import *im, const struct piece *p)
{
    char place[256];

    for (uint64_t i = 0; i < MIN(p->bad_rows, PIECE_BAD_SHOWN); i++, im->shown++) {
        snprintf(place, sizeof(place), "%.230s:%" PRIu64, p->input->path, p->bad[i].line);
        if (im->shown == 0)
            snprintf(im->first_bad, sizeof(im->first_bad), "%.200s:%" PRIu64 ": %.150s",
                     p->input->path, p->bad[i].line, p->bad[i].reason);
        if (im->shown < IMPORT_BAD_SHOWN && im->o->bad)
            im->o->bad(im->o->arg, place, p->bad[i].reason);
    }
}

static int take_statistics(void *arg, struct piece *p, struct error *err)
{
    struct import *im = arg;
    uint64_t allowed = im->o->bad_rows;

    statistics_merge(&im->statistics, &p->statistics);
    if (!p->input->test)
        im->rows_train += p->rows;
    tell_bad(im, p);
    tell_progress(im);
    if (allowed == IMPORT_BAD_DEFAULT)
        allowed = BAD_ROWS_USUAL;
    return im->pieces.bad_rows > allowed ? too_many_bad(im, allowed, err) : check_stop(im, err);
}

/* Once all rows are known, the share of bad ones is. */
static int judge_bad(const struct import *im, struct error *err)
{
    uint64_t allowed = im->o->bad_rows;

    if (allowed == IMPORT_BAD_DEFAULT)
        allowed = MIN((im->pieces.rows + im->pieces.bad_rows) / 1000, BAD_ROWS_USUAL);
    if (im->pieces.bad_rows > allowed)
        return too_many_bad(im, allowed, err);
    if (im->rows_train == 0)
        return fail(err, E_FORMAT, "%s holds no examples", im->inputs.all[0].path);
    return 0;
}

static enum labels_wish labels_wish(const char *labels)
{
    return !labels                          ? LABELS_FIND_OUT
           : strcmp(labels, "classes") == 0 ? LABELS_AS_CLASSES
                                            : LABELS_AS_NUMBERS;
}

static void begin_pass(struct import *im, unsigned pass, bool looking, piece_work_fn work,
                       piece_take_fn take)
{
    im->pass = pass;
    im->pass_ns = now(im);
    im->pieces = (struct pieces){
        .heap = im->heap,
        .env = im->o->env,
        .inputs = &im->inputs,
        .transform = &im->transform,
        .looking = looking,
        .threads = MAX(im->o->threads, 1u),
        .work = work,
        .take = take,
        .arg = im,
    };
}

static int look(struct import *im, uint64_t *hash, struct error *err)
{
    int rc;

    begin_pass(im, 1, true, look_at_piece, take_statistics);
    statistics_init(&im->statistics, &im->transform, im->heap);
    rc = pieces_init(&im->pieces, err);
    rc = rc ? rc : pieces_run(&im->pieces, err);
    rc = rc ? rc : judge_bad(im, err);
    *hash = im->pieces.hash;
    pieces_release(&im->pieces);
    return rc ? rc
              : statistics_finish(&im->statistics, &im->transform, labels_wish(im->o->labels), err);
}

/* ---- the second pass ---- */

/* A row of weight w counts floor(w) times, and once more with the probability of the rest. */
static uint32_t copies_of(float weight, uint32_t line_hash)
{
    uint32_t whole = (uint32_t)weight;
    float rest = weight - (float)whole;

    return whole + (random_unit(random_at(WEIGHT_SALT, line_hash, 0, 0)) < rest);
}

static void convert_piece(void *arg, struct piece *p)
{
    const struct import *im = arg;
    struct scan text = { p->text, p->text + p->size }, line;
    double held_out = im->o->test_count ? 0 : im->o->held_out;

    p->rows = p->bad_rows = p->out_used = 0;
    for (bool header = p->header; scan_line(&text, &line); header = false) {
        struct transform_example e = { .words = p->out + p->out_used + 2,
                                       .room = (uint32_t)(p->out_room - p->out_used - 2) };
        bool test = p->input->test;
        uint32_t hash;

        if (header || line.at == line.end)
            continue;
        /* Bad rows were told in the first pass. */
        if (transform_row(p->file, line_slice(line), &e, NULL)) {
            p->bad_rows++;
            continue;
        }
        if (e.count == 0)
            continue;
        hash = crc32c(0, line.at, (size_t)(line.end - line.at));
        if (held_out > 0)
            test = random_unit64(random_at(HOLD_OUT_SALT, hash, 0, 0)) < held_out;
        p->out[p->out_used] = e.count << 1 | test;
        p->out[p->out_used + 1] = e.weight == 1 ? 1 : copies_of(e.weight, hash);
        p->out_used += 2 + e.count;
        p->rows++;
    }
}

static int take_examples(void *arg, struct piece *p, struct error *err)
{
    struct import *im = arg;
    int rc = 0;

    for (size_t at = 0; !rc && at < p->out_used;) {
        uint32_t count = p->out[at] >> 1, copies = p->out[at + 1];
        enum dataset_split split = p->out[at] & 1 ? DATASET_TEST : DATASET_TRAIN;

        for (uint32_t i = 0; !rc && i < copies; i++)
            rc = builder_add(im->builder, split, p->out + at + 2, count, err);
        at += 2 + count;
    }
    tell_progress(im);
    return rc ? rc : check_stop(im, err);
}

static int convert(struct import *im, uint64_t hash, struct error *err)
{
    int rc;

    begin_pass(im, 2, false, convert_piece, take_examples);
    rc = pieces_init(&im->pieces, err);
    rc = rc ? rc : pieces_run(&im->pieces, err);
    if (!rc && im->pieces.hash != hash)
        rc = fail(err, E_INVALID, "a file changed between the two passes; try again");
    pieces_release(&im->pieces);
    return rc;
}

/* ---- before ---- */

static int check_options(const struct import_options *o, struct error *err)
{
    if (o->input_count == 0)
        return fail(err, E_INVALID, "there is nothing to import");
    if (!(o->held_out >= 0 && o->held_out < 1))
        return fail(err, E_INVALID, "a share of %g cannot be held out", o->held_out);
    if (o->hash_width > (uint64_t)1 << 32)
        return fail(err, E_INVALID, "categories cannot be hashed into more than 2^32 numbers");
    if (o->labels && strcmp(o->labels, "classes") != 0 && strcmp(o->labels, "numbers") != 0)
        return fail(err, E_INVALID, "labels are 'classes' or 'numbers', not '%.32s'", o->labels);
    return 0;
}

static int list_inputs(struct inputs *in, const struct import_options *o, struct error *err)
{
    int rc = 0;

    for (unsigned i = 0; !rc && i < o->input_count; i++)
        rc = inputs_add(in, o->inputs[i], false, err);
    for (unsigned i = 0; !rc && i < o->test_count; i++)
        rc = inputs_add(in, o->tests[i], true, err);
    return rc;
}

/* A key of everything that decides the bytes of the data set. */
static uint64_t key_of(const struct inputs *in, const struct import_options *o, struct heap *heap)
{
    struct buf text;
    uint64_t key;

    buf_init(&text, heap, MIB);
    buf_printf(&text, "%u %d %.17g %d %" PRIu64 " %" PRIu64 " %u %" PRIu64 " %s\n%s\n",
               IMPORTER_VERSION, o->format, o->held_out, o->scale_set ? (int)o->scale : -1,
               o->hash_width, o->hash_seed, o->lanes, o->bad_rows, o->labels ? o->labels : "",
               o->columns ? o->columns : "");
    key = inputs_key(in, buf_slice(&text));
    buf_release(&text);
    return key;
}

/* Whether the data set that is there came from the same inputs and options. */
static bool is_there(struct objects *objects, const char *prefix, struct heap *heap, uint64_t key)
{
    struct dataset d;
    bool same;

    if (dataset_open(&d, objects, prefix, heap, NULL))
        return false;
    same = d.manifest->source_key == key;
    dataset_close(&d);
    return same;
}

/* Look at the first lines of the first file that has any, and find format and columns. */
static int find_columns(struct import *im, struct slice head, const char *path, struct error *err)
{
    const struct import_options *o = im->o;
    int format;
    struct columns_options c = {
        .columns = o->columns,
        .hash_width = o->hash_width ? o->hash_width : IMPORT_HASH_WIDTH,
        .hash_seed = o->hash_seed,
    };
    struct error inner = { 0 };

    im->looks_like = import_detect(head, &im->what);
    format = o->format >= 0 ? o->format : im->looks_like;
    /* Columns are said of CSV only, even where a table has numbers alone. */
    if (o->format < 0 && o->columns && im->looks_like != TRANSFORM_LIBSVM)
        format = TRANSFORM_CSV;
    if (im->looks_like == IMPORT_EMPTY)
        return fail(err, E_FORMAT, "%s holds no examples", path);
    if (format < 0 || im->looks_like == IMPORT_NOT_TEXT)
        return fail(err, E_FORMAT,
                    "%s looks like %s; libsvm, ratings, Criteo's clicks and CSV with "
                    "a header can be imported",
                    path, im->what);
    transform_init(&im->transform, im->heap, (enum transform_format)format);
    c.scale = o->scale_set                 ? o->scale
              : format == TRANSFORM_CRITEO ? SCALE_LOG
              : format == TRANSFORM_CSV    ? SCALE_MINMAX
                                           : SCALE_NONE;
    if (columns_find(&im->transform, head, &c, &inner) == 0)
        return 0;
    if (im->looks_like == format)
        return fail(err, inner.code, "%s: %s", path, inner.text);
    return fail(err, inner.code, "%s: %s; the file looks like %s", path, inner.text, im->what);
}

static int look_at_head(struct import *im, struct error *err)
{
    char *head = heap_try_alloc_raw(im->heap, 1, PIECE_BYTES);
    int rc = head ? 0 : fail(err, E_MEMORY, "no memory to read with");
    size_t size = 0;
    unsigned i;

    for (i = 0; !rc && size == 0 && i < im->inputs.count; i++) {
        struct stream *s = NULL;

        rc = stream_open(&s, im->inputs.all[i].path, im->heap, err);
        rc = rc ? rc : stream_read(s, head, PIECE_BYTES, &size, err);
        stream_close(s);
    }
    if (!rc && size == 0)
        rc = fail(err, E_FORMAT, "%s holds no examples: it is empty", im->inputs.all[0].path);
    rc = rc ? rc : find_columns(im, slice(head, size), im->inputs.all[i - 1].path, err);
    heap_free(im->heap, head);
    return rc;
}

/* ---- all of it ---- */

static int tell_written(void *arg, uint64_t rows, struct error *err)
{
    struct import *im = arg;

    im->rows_written = rows;
    tell_progress(im);
    return check_stop(im, err);
}

static int open_builder(struct import *im, struct objects *objects, const char *prefix,
                        struct error *err)
{
    struct builder_options bo = {
        .objects = objects,
        .prefix = prefix,
        .heap = im->heap,
        .kind = transform_format_name(im->transform.format),
        .schema = im->transform.data,
        .lanes = im->o->lanes,
        .memory_bytes = im->o->memory_bytes,
        .replace = im->o->replace,
        .progress = tell_written,
        .arg = im,
    };

    return builder_open(&im->builder, &bo, err);
}

static int finish(struct import *im, uint64_t key, uint64_t hash, struct error *err)
{
    struct buf text;
    int rc;

    im->pass = 3;
    im->pass_ns = now(im);
    tell_progress(im);
    buf_init(&text, im->heap, TRANSFORM_BYTES_MAX);
    transform_encode(&im->transform, &text);
    builder_set_transform(im->builder, buf_slice(&text));
    builder_set_source(im->builder, key, hash);
    rc = text.failed ? fail(err, E_LIMIT, "the description of the columns is too long")
                     : builder_finish(im->builder, err);
    buf_release(&text);
    return rc;
}

static int import_all(struct import *im, struct objects *objects, const char *prefix, uint64_t key,
                      struct error *err)
{
    uint64_t hash = 0;
    int rc = look_at_head(im, err);

    rc = rc ? rc : look(im, &hash, err);
    rc = rc ? rc : open_builder(im, objects, prefix, err);
    rc = rc ? rc : convert(im, hash, err);
    return rc ? rc : finish(im, key, hash, err);
}

static int check_place(struct objects *objects, const char *prefix, bool replace, struct error *err)
{
    char name[OBJECTS_NAME_MAX + 1];
    struct objects_stat stat;

    format_object_name(name, prefix, "manifest");
    if (!replace && objects_stat(objects, name, &stat, NULL) == 0)
        return fail(err, E_EXISTS, "there is a data set already, made from something else");
    return 0;
}

int import_run(struct objects *objects, const char *prefix, struct heap *heap,
               const struct import_options *o, struct import_result *result, struct error *err)
{
    struct import im = { .o = o, .heap = heap, .looks_like = IMPORT_UNKNOWN };
    uint64_t key;
    int rc = check_options(o, err);

    if (rc)
        return rc;
    im.began_ns = now(&im);
    *result = (struct import_result){ 0 };
    inputs_init(&im.inputs, heap);
    rc = list_inputs(&im.inputs, o, err);
    if (!rc) {
        key = key_of(&im.inputs, o, heap);
        result->reused = is_there(objects, prefix, heap, key);
        if (!result->reused) {
            rc = check_place(objects, prefix, o->replace, err);
            rc = rc ? rc : import_all(&im, objects, prefix, key, err);
        }
    }
    result->format = im.transform.format;
    result->rows = im.pieces.rows;
    result->bad_rows = im.pieces.bad_rows;
    result->text_bytes = im.pieces.text_bytes;
    result->seconds = (double)(now(&im) - im.began_ns) * 1e-9;
    builder_close(im.builder);
    statistics_release(&im.statistics);
    transform_release(&im.transform);
    inputs_release(&im.inputs);
    return rc;
}

/* The file's name without what cannot be in a folder's. */
static void tame_name(const char *path, char *out, size_t room)
{
    size_t end = strlen(path), from, n = 0;

    while (end > 1 && path[end - 1] == '/')
        end--;
    for (from = end; from > 0 && path[from - 1] != '/'; from--)
        ;
    for (; from < end && n + 1 < room; from++) {
        char c = path[from];
        bool tame = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '-' || c == '_' || (c == '.' && n > 0);

        out[n++] = tame ? c : '_';
    }
    out[n] = 0;
}

int import_auto(const char *path, const char *cache, const struct import_options *options,
                struct heap *heap, char *out, size_t room, struct import_result *result,
                struct error *err)
{
    struct import_options o = *options;
    struct objects *objects = NULL;
    char name[64], url[4096];
    struct inputs inputs;
    int rc;

    *result = (struct import_result){ .reused = true };
    if (inputs_holds(path, IMPORT_PREFIX "/manifest"))
        return snprintf(out, room, "%s", path) < (int)room
                   ? 0
                   : fail(err, E_LIMIT, "the path %.60s... is too long", path);
    o.inputs = &path;
    o.input_count = 1;
    inputs_init(&inputs, heap);
    rc = check_options(&o, err);
    rc = rc ? rc : list_inputs(&inputs, &o, err);
    if (!rc) {
        tame_name(path, name, sizeof(name));
        if (snprintf(out, room, "%s/%s-%016" PRIx64, cache, name, key_of(&inputs, &o, heap)) >=
                (int)room ||
            snprintf(url, sizeof(url), "file:%s", out) >= (int)sizeof(url))
            rc = fail(err, E_LIMIT, "the path %.60s... is too long", cache);
    }
    inputs_release(&inputs);
    rc = rc ? rc : objects_open(url, &(struct objects_open){ .heap = heap }, &objects, err);
    rc = rc ? rc : import_run(objects, IMPORT_PREFIX, heap, &o, result, err);
    objects_close(objects);
    return rc;
}
