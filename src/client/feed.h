/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Examples for a predictor, batch by batch in bounded memory: from files of raw lines, treated as
 * the model's training data was, or from a data set. Users and items come as rows of the model.
 */
#ifndef GUST_CLIENT_FEED_H
#define GUST_CLIENT_FEED_H

#include "client/predictor.h"
#include "data/dataset.h"
#include "data/stream.h"

/* Most examples of a batch. */
#define FEED_ROWS 4096u

/* What is wanted of raw files. */
enum feed_labels {
    FEED_LABELS_OPTIONAL, /* rows without a label are fine */
    FEED_LABELS_NEEDED,
};

struct feed {
    struct predictor *p; /* borrowed */
    struct heap *heap;

    /* Examples of the current batch. */
    struct gust_batch batch;
    uint64_t lines[FEED_ROWS];  /* where they came from, from 1 */
    uint8_t unknown[FEED_ROWS]; /* bit k: what key column k names is unknown to the model */
    uint64_t rows;              /* examples so far */
    uint64_t rows_unknown;      /* of which with an unknown user or item */
    uint32_t *words, *at;
    size_t words_room;

    /* Raw lines. */
    const char *path;
    struct stream *stream;
    struct transform_file file;
    char *piece;
    size_t piece_size, piece_at, piece_next; /* the line being looked at lies between the two */
    uint64_t line;                           /* number of the next one */
    bool started;                            /* the first line was looked at */

    /* A data set. */
    struct dataset *set; /* borrowed */
    enum dataset_split split;
    struct minibatch minibatch;
    uint32_t *rows_of[MODEL_KEYS_MAX]; /* row of the model by row of the data set */
    uint64_t set_at;
};

/* PATH outlives the feed. E_UNSUPPORTED when the model knows nothing about raw lines. */
int feed_open_file(struct feed *f, struct predictor *p, const char *path, enum feed_labels labels,
                   struct error *err);
/* Examples of SPLIT of D. E_MISMATCH when they were not made as those of the model's training. */
int feed_open_set(struct feed *f, struct predictor *p, struct dataset *d, enum dataset_split split,
                  struct error *err);
/* Accepts a zeroed feed. */
void feed_close(struct feed *f);

/*
 * The next batch, in f->batch; no rows at the end. E_FORMAT names file and line of what is no
 * example.
 */
int feed_next(struct feed *f, struct error *err);

#endif
