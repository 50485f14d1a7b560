/* SPDX-License-Identifier: Apache-2.0 */
/* Reading in turn, working in parallel, handing back in turn. */
#include "data/pieces.h"

#include <inttypes.h>

#include "base/random.h"
#include "data/import.h"
#include "data/scan.h"
#include "data/stream.h"

/*
 * A line of n bytes with its end becomes an example of at most n + 1 words, plus two before it,
 * and has at least two bytes.
 */
#define OUT_WORDS (PIECE_BYTES / 2 * 5 + 64)

int pieces_init(struct pieces *p, struct error *err)
{
    p->all = heap_alloc(p->heap, p->threads * sizeof(*p->all));
    for (unsigned i = 0; i < p->threads; i++) {
        struct piece *k = &p->all[i];

        k->text = heap_try_alloc_raw(p->heap, 1, PIECE_BYTES);
        k->out = heap_try_alloc_raw(p->heap, OUT_WORDS, sizeof(*k->out));
        k->out_room = OUT_WORDS;
        if (!k->text || !k->out)
            return fail(err, E_MEMORY, "no memory to read with %u threads", p->threads);
        if (p->looking)
            statistics_init(&k->statistics, p->transform, p->heap);
    }
    return 0;
}

void pieces_release(struct pieces *p)
{
    for (unsigned i = 0; p->all && i < p->threads; i++) {
        heap_free(p->heap, p->all[i].text);
        heap_free(p->heap, p->all[i].out);
        statistics_release(&p->all[i].statistics);
    }
    if (p->heap)
        heap_free(p->heap, p->all);
    p->all = NULL;
}

static void run_task(void *arg, unsigned index)
{
    struct pieces *p = arg;

    p->work(p->arg, &p->all[index]);
}

static int work_and_take(struct pieces *p, unsigned count, struct error *err)
{
    int rc = 0;

    if (p->env && count > 1)
        env_parallel(p->env, count, run_task, p);
    for (unsigned i = 0; !rc && i < count; i++) {
        struct piece *k = &p->all[i];

        if (!p->env || count == 1)
            run_task(p, i);
        p->rows += k->rows;
        p->bad_rows += k->bad_rows;
        p->text_bytes += k->size;
        rc = p->take(p->arg, k, err);
    }
    return rc;
}

/* The first line of a file says how it fits the transform. */
static int begin_file(struct transform_file *file, struct piece *k, struct error *err)
{
    struct scan text = { k->text, k->text + k->size }, line = text;
    struct error inner = { 0 };
    const char *what;

    scan_line(&text, &line);
    if (transform_first_line(file, slice(line.at, (size_t)(line.end - line.at)), &k->header,
                             &inner) == 0)
        return 0;
    if (import_detect(slice(k->text, k->size), &what) == (int)file->t->format)
        return fail(err, inner.code, "%s:1: %s", k->input->path, inner.text);
    return fail(err, inner.code, "%s:1: %s; the file looks like %s", k->input->path, inner.text,
                what);
}

/* Fill as many pieces as there are threads from S. */
static int read_pieces(struct pieces *p, struct stream *s, const struct input *input,
                       struct transform_file *file, unsigned *count, struct error *err)
{
    int rc = 0;

    for (*count = 0; !rc && *count < p->threads; ++*count) {
        struct piece *k = &p->all[*count];

        k->input = input;
        k->file = file;
        k->first_line = stream_line(s);
        k->header = false;
        rc = stream_read(s, k->text, PIECE_BYTES, &k->size, err);
        if (rc || k->size == 0)
            break;
        if (k->first_line == 1)
            rc = begin_file(file, k, err);
    }
    return rc;
}

static int run_file(struct pieces *p, const struct input *input, struct error *err)
{
    struct transform_file file;
    struct stream *s = NULL;
    uint64_t before = p->bytes;
    unsigned count = 0;
    int rc = stream_open(&s, input->path, p->heap, err);

    transform_file_init(&file, p->transform, p->heap, false);
    file.looking = p->looking;
    do {
        rc = rc ? rc : read_pieces(p, s, input, &file, &count, err);
        if (s)
            p->bytes = before + stream_position(s);
        rc = rc ? rc : work_and_take(p, count, err);
    } while (!rc && count == p->threads);
    if (!rc)
        p->hash = random_at(p->hash, stream_hash(s), input->test, 0);
    transform_file_release(&file);
    stream_close(s);
    return rc;
}

int pieces_run(struct pieces *p, struct error *err)
{
    int rc = 0;

    p->rows = p->bad_rows = p->bytes = p->text_bytes = p->hash = 0;
    for (unsigned i = 0; !rc && i < p->inputs->count; i++)
        rc = run_file(p, &p->inputs->all[i], err);
    return rc;
}
