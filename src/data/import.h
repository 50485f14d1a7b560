/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Importing: people's files become a data set. Two passes over the text in pieces of whole lines,
 * each piece on its own thread (env_parallel): the first collects what the transform needs to
 * know (data/transform.h), the second makes examples, which go to the builder in the order of the
 * text. The result depends on the files and the options only, not on the number of threads.
 *
 * The manifest records a key made of the inputs' paths, sizes and times and of the options: the
 * same import again finds it and does nothing. It is written last: an import that was
 * interrupted leaves nothing that opens, and the next one starts afresh.
 */
#ifndef GUST_DATA_IMPORT_H
#define GUST_DATA_IMPORT_H

#include <signal.h>

#include "data/builder.h"
#include "data/transform.h"

/* Where a data set lies in its folder's store. */
#define IMPORT_PREFIX      "data"
#define IMPORT_BAD_SHOWN   5u
#define IMPORT_HASH_WIDTH  100000u /* default */
#define IMPORT_BAD_DEFAULT UINT64_MAX

/* How far an import is; handed to the callback now and then. */
struct import_progress {
    unsigned pass;                /* 1: looking, 2: converting, 3: writing */
    uint64_t rows;                /* of this pass */
    uint64_t rows_total;          /* in the third pass; 0 before */
    uint64_t bytes, bytes_total;  /* of the files, as they are on disk, in this pass */
    uint64_t text_bytes;          /* of text, in this pass */
    uint64_t elapsed_ns, pass_ns; /* since the import, and this pass, began */
    uint64_t bad_rows;
};

typedef void (*import_progress_fn)(void *arg, const struct import_progress *p);
/* A row that was left out: file:line and reason. The first IMPORT_BAD_SHOWN of them are told. */
typedef void (*import_bad_fn)(void *arg, const char *place, const char *reason);

struct import_options {
    const char *const *inputs; /* files and folders (their files, sorted by name); as given */
    unsigned input_count;
    const char *const *tests; /* held-out files and folders; 0 of them: a share of the rows */
    unsigned test_count;
    double held_out;     /* share, by a hash of the line; 0 .. below 1 */
    int format;          /* enum transform_format; -1: find out */
    const char *columns; /* CSV: "label=click numeric=a,b categorical=c"; NULL: by the names */
    enum transform_scale scale;
    bool scale_set;      /* otherwise: log for criteo, minmax for csv */
    uint64_t hash_width; /* 0: IMPORT_HASH_WIDTH */
    uint64_t hash_seed;
    const char *labels;  /* "classes", "numbers"; NULL: find out */
    uint64_t bad_rows;   /* rows that may be left out; IMPORT_BAD_DEFAULT: a thousandth of them, 100
                            at   most */
    uint32_t lanes;      /* 0: the builder's default */
    size_t memory_bytes; /* for examples kept in memory; 0: the builder's default */
    unsigned threads;    /* at least 1 */
    bool replace;        /* a data set from other inputs: replace it */
    struct env *env;     /* for time and threads; NULL: neither */
    import_progress_fn progress; /* may be NULL */
    import_bad_fn bad;           /* may be NULL */
    void *arg;
    const volatile sig_atomic_t *stop; /* NULL, or not 0 once interrupted: E_INTERRUPTED */
};

/* What most imports want: a tenth held out, everything else found out, one thread. */
void import_options_init(struct import_options *o);

struct import_result {
    bool reused; /* the data set was there already, made from the same inputs and options */
    enum transform_format format;
    uint64_t rows, bad_rows, text_bytes;
    double seconds;
};

/*
 * Import into OBJECTS under PREFIX. E_EXISTS when there is a data set made from something else that
 * may not be replaced; E_FORMAT, E_INVALID, E_NOT_FOUND, E_IO, each with a sentence.
 */
int import_run(struct objects *objects, const char *prefix, struct heap *heap,
               const struct import_options *options, struct import_result *result,
               struct error *err);

/*
 * For commands that take raw files where a data set is expected. PATH is a data set's folder: OUT
 * becomes PATH. Otherwise it is a file or folder of raw text: it is imported into the folder
 * CACHE/NAME-KEY (unless that is there already, RESULT->reused) and OUT becomes that folder.
 * OPTIONS->inputs are ignored; OUT has ROOM bytes.
 */
int import_auto(const char *path, const char *cache, const struct import_options *options,
                struct heap *heap, char *out, size_t room, struct import_result *result,
                struct error *err);

/* What a file may look like beside the formats. */
enum { IMPORT_UNKNOWN = -1, IMPORT_NOT_TEXT = -2, IMPORT_EMPTY = -3 };

/* What the first lines of a file look like, a format or one of these; *WHAT says it for people. */
int import_detect(struct slice text, const char **what);

#endif
