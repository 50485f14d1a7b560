/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gust data export: the rows of a data set as files for other programs, so that comparisons run
 * on the same rows. Rows come in storage order, lane by lane: who wants them shuffled shuffles.
 *
 *   text   PREFIX.train.txt   `user item rating` per line, original ids
 *   bin    PREFIX.train.bin   ratings as (int32 user, int32 item, float32 rating)
 *          or, for features: PREFIX.train.{data.f32,indices.i32,indptr.i64,y.f32}.bin, a
 *          compressed-row matrix in little-endian arrays; dense values are columns 0 .. dense-1
 *          where they are not 0, index i is column dense + i, equal columns are added up
 *   svm    PREFIX.train.svm   libsvm: the same columns, counted from 1
 *
 * and likewise PREFIX.test.*.
 */
#include <errno.h>
#include <inttypes.h>

#include "cli/data_command.h"
#include "data/format.h"

#define ROWS_AT_ONCE 65536u
#define FILES_MAX    4

/* Entries of one row in order, equal columns added up. */
struct entry {
    uint32_t column;
    float value;
};

struct export
{
    struct dataset *d;
    struct heap *heap;
    uint32_t *ids[2]; /* original ids of users and items; NULL without keys */
    FILE *files[FILES_MAX];
    struct buf row;  /* struct entry */
    int64_t entries; /* so far */
};

typedef void (*row_fn)(struct export *x, const uint32_t *example, const struct entry *row,
                       size_t count);

struct format {
    const char *name;
    bool keyed;                   /* for ratings, or for features */
    const char *files[FILES_MAX]; /* endings; NULL: no more */
    void (*begin)(struct export *x);
    row_fn write;
};

/* ---- rows ---- */

static void add_entry(struct buf *row, uint32_t column, float value)
{
    struct entry e = { column, value };

    buf_add(row, &e, sizeof(e));
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    return x->column < y->column ? -1 : x->column > y->column;
}

/* The columns of an example, in x->row; returns how many. */
static size_t collect(struct export *x, const uint32_t *example)
{
    const struct gust_data *g = &x->d->data;
    const uint32_t *at = example + 1;
    uint32_t count = g->ones;
    struct entry *e;
    size_t n, kept = 0;

    buf_reset(&x->row);
    for (uint32_t i = 0; i < g->dense; i++, at++)
        if (gust_f32(at) != 0)
            add_entry(&x->row, i, gust_f32(at));
    if (count == GUST_VARIES)
        count = *at++;
    for (uint32_t i = 0; i < count; i++)
        add_entry(&x->row, g->dense + *at++, 1);
    if (g->sparse)
        for (uint32_t i = 0, pairs = *at++; i < pairs; i++, at += 2)
            add_entry(&x->row, g->dense + at[0], gust_f32(at + 1));
    n = x->row.size / sizeof(*e);
    e = (struct entry *)(void *)x->row.data;
    if (n)
        qsort(e, n, sizeof(*e), compare_entries);
    for (size_t i = 0; i < n; i++) {
        if (kept && e[kept - 1].column == e[i].column)
            e[kept - 1].value += e[i].value;
        else
            e[kept++] = e[i];
    }
    return kept;
}

/* ---- formats ---- */

static void rating_text(struct export *x, const uint32_t *example, const struct entry *row UNUSED,
                        size_t count UNUSED)
{
    fprintf(x->files[0], "%" PRIu32 " %" PRIu32 " %.9g\n", x->ids[0][example[1]],
            x->ids[1][example[2]], (double)gust_f32(example));
}

static void rating_binary(struct export *x, const uint32_t *example, const struct entry *row UNUSED,
                          size_t count UNUSED)
{
    uint32_t out[3] = { x->ids[0][example[1]], x->ids[1][example[2]], example[0] };

    fwrite(out, sizeof(out), 1, x->files[0]);
}

static void svm_row(struct export *x, const uint32_t *example, const struct entry *row,
                    size_t count)
{
    double label = gust_f32(example);

    if (x->d->data.classes == 2)
        fputs(label > 0 ? "+1" : "-1", x->files[0]);
    else
        fprintf(x->files[0], "%.9g", label);
    for (size_t i = 0; i < count; i++)
        fprintf(x->files[0], " %" PRIu32 ":%.9g", row[i].column + 1, (double)row[i].value);
    fputc('\n', x->files[0]);
}

static void csr_begin(struct export *x)
{
    x->entries = 0;
    fwrite(&x->entries, sizeof(x->entries), 1, x->files[2]);
}

static void csr_row(struct export *x, const uint32_t *example, const struct entry *row,
                    size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fwrite(&row[i].value, sizeof(row[i].value), 1, x->files[0]);
        fwrite(&row[i].column, sizeof(row[i].column), 1, x->files[1]);
    }
    x->entries += (int64_t)count;
    fwrite(&x->entries, sizeof(x->entries), 1, x->files[2]);
    fwrite(example, sizeof(*example), 1, x->files[3]);
}

static const struct format formats[] = {
    { "text", true, { "txt" }, NULL, rating_text },
    { "bin", true, { "bin" }, NULL, rating_binary },
    { "svm", false, { "svm" }, NULL, svm_row },
    { "bin",
      false,
      { "data.f32.bin", "indices.i32.bin", "indptr.i64.bin", "y.f32.bin" },
      csr_begin,
      csr_row },
};

static const struct format *find_format(const char *name, bool keyed)
{
    for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
        if (formats[i].keyed == keyed && strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

/* ---- files ---- */

static int open_files(struct export *x, const struct format *f, const char *prefix,
                      enum dataset_split split, struct error *err)
{
    for (int i = 0; i < FILES_MAX && f->files[i]; i++) {
        char path[4096];

        snprintf(path, sizeof(path), "%s.%s.%s", prefix, format_split_name(split), f->files[i]);
        x->files[i] = fopen(path, "wx");
        if (!x->files[i])
            return fail(err, errno == EEXIST ? E_INVALID : E_IO, "cannot write %s: %s", path,
                        strerror(errno));
    }
    return 0;
}

static int close_files(struct export *x, struct error *err)
{
    int rc = 0;

    for (int i = 0; i < FILES_MAX; i++) {
        FILE *file = x->files[i];
        bool failed = file && ferror(file);

        x->files[i] = NULL;
        if (file && (fclose(file) || failed) && !rc)
            rc = fail(err, errno == ENOSPC ? E_FULL : E_IO, "cannot write the exported rows: %s",
                      strerror(errno));
    }
    return rc;
}

static int write_rows(struct export *x, const struct format *f, enum dataset_split split,
                      struct error *err)
{
    struct minibatch m;
    int rc = 0;

    minibatch_init(&m, x->heap);
    for (uint64_t from = 0; !rc && from < x->d->rows[split]; from += ROWS_AT_ONCE) {
        rc = dataset_range(x->d, split, from, MIN(from + ROWS_AT_ONCE, x->d->rows[split]), &m, err);
        for (uint32_t r = 0; !rc && r < m.batch.rows; r++) {
            const uint32_t *example = m.batch.words + gust_at(&m.batch, r);
            size_t count = f->keyed ? 0 : collect(x, example);

            f->write(x, example, (const struct entry *)(const void *)x->row.data, count);
        }
    }
    minibatch_release(&m);
    return rc;
}

static int export_split(struct export *x, const struct format *f, const char *prefix,
                        enum dataset_split split, struct error *err)
{
    int rc = open_files(x, f, prefix, split, err), closed;

    if (!rc && f->begin)
        f->begin(x);
    rc = rc ? rc : write_rows(x, f, split, err);
    closed = close_files(x, rc ? NULL : err);
    return rc ? rc : closed;
}

static int export_all(struct data_folder *folder, const char *prefix, const char *format,
                      struct error *err)
{
    struct dataset d = { 0 };
    struct export x = { .d = &d, .heap = &folder->heap };
    const struct format *f = NULL;
    int rc = dataset_open(&d, folder->objects, DATA_PREFIX, &folder->heap, err);

    buf_init(&x.row, &folder->heap, (size_t)FORMAT_ROW_WORDS_MAX * sizeof(struct entry));
    if (!rc) {
        f = find_format(format, d.data.keys == 2);
        if (!f)
            rc = fail(err, E_INVALID, "this data set cannot be written as '%s'; use %s", format,
                      d.data.keys == 2 ? "text or bin" : "svm or bin");
    }
    for (uint32_t k = 0; !rc && k < 2 && d.data.keys == 2; k++)
        rc = dataset_ids(&d, k, &x.ids[k], err);
    for (unsigned s = 0; !rc && s < DATASET_SPLITS; s++)
        rc = export_split(&x, f, prefix, s, err);
    dataset_close(&d);
    return rc;
}

int data_export(int argc, char **argv)
{
    const char *folder = NULL, *prefix = NULL, *format = NULL;
    const struct arg table[] = {
        { .name = "data",
          .kind = ARG_TEXT,
          .out = &folder,
          .value = "FOLDER",
          .help = "the data set",
          .required = true },
        { .name = "out",
          .kind = ARG_TEXT,
          .out = &prefix,
          .value = "PREFIX",
          .help = "files become PREFIX.train.* and PREFIX.test.*",
          .required = true },
        { .name = "format",
          .kind = ARG_TEXT,
          .out = &format,
          .value = "FORMAT",
          .help = "ratings: text, bin; features: svm, bin",
          .required = true },
        { .name = NULL },
    };
    const struct args_command c = {
        .name = "gust data export",
        .summary = "Writes a data set as files for other programs.",
        .table = table,
    };
    struct data_folder f;
    struct error err = { 0 };
    int status = args_parse(&c, argc, argv, NULL);

    if (status != ARGS_GO)
        return status;
    status = data_folder_open(&f, folder, false, &err) || export_all(&f, prefix, format, &err)
                 ? data_complain(&c, &err)
                 : 0;
    data_folder_close(&f);
    return status;
}
