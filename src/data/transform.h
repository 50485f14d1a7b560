/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How lines of people's files become examples: which column is what, how numbers are scaled,
 * how categories are hashed, which labels are which class. The importer finds it out in its
 * first pass and leaves it in the data set (object `transform`); it travels on in the
 * model file, so that prediction treats raw lines exactly as training did. One function,
 * transform_row(), serves both.
 *
 * In short, for somebody who has new lines and a transform:
 *
 *     transform_decode(&t, heap, text, err);
 *     transform_relax(&t);                            // lines that training had no example of
 *     transform_file_init(&f, &t, heap, true);        // once per file; true: labels may be missing
 *     transform_first_line(&f, line, &header, err);   // the first line of the file, a header or
 * not for each line (the first too, unless it was a header): transform_row(&f, line, &example,
 * err);     // words as struct gust_batch describes them transform_file_release(&f);
 *     transform_release(&t);
 *
 * Lines come without their line end, from data/stream.h. Nothing here reads files.
 */
#ifndef GUST_DATA_TRANSFORM_H
#define GUST_DATA_TRANSFORM_H

#include "base/buf.h"
#include "gust.h"

#define TRANSFORM_VERSION     1u
#define TRANSFORM_COLUMNS_MAX 1024u
#define TRANSFORM_CLASSES_MAX 1024u
#define TRANSFORM_NAME_MAX    64u /* bytes of a column's name or of a class's, with a final zero */
#define TRANSFORM_WEIGHT_MAX  1000.0
#define TRANSFORM_BYTES_MAX   (512 * KIB)

enum transform_format {
    TRANSFORM_LIBSVM,    /* label index:value ... */
    TRANSFORM_MOVIELENS, /* user, item, rating; "::", tabs, commas or blanks; a header or none */
    TRANSFORM_CRITEO,    /* tabs: label, 13 numbers, 26 categories; no header */
    TRANSFORM_CSV,       /* columns found by their names in a header */
    TRANSFORM_FORMATS
};

enum transform_role {
    ROLE_IGNORE,
    ROLE_LABEL,
    ROLE_WEIGHT,      /* how many times the row counts */
    ROLE_NUMERIC,     /* a dense value, scaled */
    ROLE_CATEGORICAL, /* any text, hashed to an index */
    ROLE_USER,        /* key column 0: a whole number below 2^32 - 1 */
    ROLE_ITEM,        /* key column 1: likewise */
    ROLES
};

/* What numbers become. Missing ones become 0 in any case, and results are clipped to 0 .. 1. */
enum transform_scale {
    SCALE_NONE,   /* themselves, not clipped */
    SCALE_MINMAX, /* (x - min) / (max - min) */
    SCALE_LOG,    /* log(1 + x - min) / log(1 + max - min) */
    SCALES
};

/* What labels are. */
enum transform_labels {
    LABELS_NUMBERS, /* real numbers */
    LABELS_VALUES,  /* class i is the number classes[i].value */
    LABELS_TEXTS,   /* class i is the text classes[i].text */
    LABELS_KINDS
};

struct transform_column {
    char name[TRANSFORM_NAME_MAX]; /* as in the header; made up where there is none */
    enum transform_role role;
    double min, max; /* numeric: of all finite values seen; 0 and 0 when there were none */
};

struct transform_class {
    float value;
    char text[TRANSFORM_NAME_MAX];
};

struct transform {
    struct heap *heap;
    enum transform_format format;
    /*
     * The examples' layout: dense, ones, sparse, dims, keys, classes. Rows and label statistics
     * are 0; key_rows too, since key columns of examples hold original ids.
     */
    struct gust_data data;
    uint32_t index_base; /* libsvm: the first index, 0 or 1 */
    uint64_t hash_seed;  /* categories: index = hash(seed, column's name, text) mod data.dims */
    enum transform_scale scale;
    enum transform_labels labels;
    struct transform_column *columns; /* all but libsvm; in the order of the training file */
    uint32_t column_count;
    struct transform_class *classes; /* data.classes of them; NULL for LABELS_NUMBERS */
};

void transform_init(struct transform *t, struct heap *heap, enum transform_format format);
/* Accepts a zeroed transform. */
void transform_release(struct transform *t);

/* As text, `key: value` lines (base/props.h) with a version and a check sum. */
void transform_encode(const struct transform *t, struct buf *out);
/* Checks everything: E_FORMAT with a sentence. T need not be initialised; untouched on failure. */
int transform_decode(struct transform *t, struct heap *heap, struct slice text, struct error *err);

/* "libsvm", "movielens", "criteo", "csv"; and back, -1 for any other word. Likewise below. */
const char *transform_format_name(enum transform_format format);
int transform_format_find(const char *name);
const char *transform_role_name(enum transform_role role);
int transform_role_find(const char *name);
const char *transform_scale_name(enum transform_scale scale);
int transform_scale_find(const char *name);

/*
 * Make T fit for lines that training had no example of: libsvm lines of any length and with any
 * values. t->data changes (to pairs of index and value), and so do the examples made from then on:
 * use t->data, not the data set's, to read them.
 */
void transform_relax(struct transform *t);

/* The name of class CLASS for a person: "-1", "yes". Static storage is not used: OUT has room. */
void transform_class_name(const struct transform *t, uint32_t class, char out[TRANSFORM_NAME_MAX]);

/* How one file fits a transform: its separator, and what its fields are. */
struct transform_field;
struct transform_file {
    const struct transform *t; /* borrowed */
    struct heap *heap;
    bool labels_optional; /* lines without a label are fine: example.has_label says */
    bool has_label;       /* this file has a column for it */
    char separator[3];    /* "," and so on; "" for libsvm */
    uint8_t separator_size;
    struct transform_field *fields; /* in the order of the file's columns */
    uint32_t field_count;           /* lines must have at least so many; CSV and Criteo: exactly */
    bool exact;
    float *low, *range; /* by dense value, padded to whole vectors: how it is scaled */
    /*
     * The importer's first pass, when T is not complete: numbers come out as they are, missing
     * ones as NaN, categories as 0, and example.label_text is set where labels are texts.
     */
    bool looking;
};

void transform_file_init(struct transform_file *f, const struct transform *t, struct heap *heap,
                         bool labels_optional);
/* Accepts a zeroed file. */
void transform_file_release(struct transform_file *f);

/*
 * Look at the first line of a file (of an empty file: an empty line) and find out how its columns
 * are separated and ordered. *HEADER says whether it is a header, which is no example. E_FORMAT
 * when the file is something else, saying what is missing. Only then may transform_row() be called.
 */
int transform_first_line(struct transform_file *f, struct slice line, bool *header,
                         struct error *err);

/* An example made from a line. */
struct transform_example {
    uint32_t *words; /* the caller's memory, transform_room() words */
    uint32_t room;
    uint32_t count;          /* words used */
    bool has_label;          /* otherwise the label's word is 0 */
    float weight;            /* 1 where there is no such column */
    struct slice label_text; /* see transform_file.looking; lives as long as the line */
};

/* How many words an example from a line of LINE_BYTES can have at most. */
uint32_t transform_room(const struct transform *t, size_t line_bytes);

/* The index of a category, as transform_row() has it. */
uint32_t transform_hash(uint64_t salt, struct slice text, uint64_t dims);

/*
 * Split a header or line into cells without their quotes: at most MAX of them go to CELLS. E_FORMAT
 * when a quote is not closed.
 */
int transform_cells(struct slice line, const char *separator, struct slice *cells, uint32_t max,
                    uint32_t *count, struct error *err);

/*
 * Turn a line into an example. Key columns hold the original ids. Empty lines (for libsvm also
 * comments) give count 0. E_FORMAT, saying what was expected and what was found but not where
 * (the caller knows file and line); E_LIMIT when EXAMPLE has too little room. Pure: any
 * thread may call it.
 */
int transform_row(const struct transform_file *f, struct slice line,
                  struct transform_example *example, struct error *err);

#endif
