/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bases: complete states at a step, in the object store. A base is a set of objects under
 * base/STEP/, each straight from the memory it lives in, without a header of its own:
 *
 *   shared-G          rows of shared group G          (rank 0)
 *   state-G           its optimiser's state           (rank 0)
 *   pass              where the job is in the data    (rank 0)
 *   private-G-LO-HI   rows of private group G of lanes LO .. HI-1   (their owner)
 *   part-R            what rank R wrote: names, sizes and checksums, written after them
 *   manifest          which parts make it up; written last, by the client
 *
 * Without a manifest there is no base.
 */
#ifndef GUST_WORKER_BASE_H
#define GUST_WORKER_BASE_H

#include "base/props.h"
#include "objects/objects.h"

/* A base being written by one rank. */
struct base_writer {
    struct objects *objects;
    struct heap *heap;
    uint64_t step;
    uint32_t rank;
    struct props index; /* object name: size and checksum */
};

void base_begin(struct base_writer *w, struct objects *objects, struct heap *heap, uint64_t step,
                uint32_t rank);
/* Write one object of the base. */
int base_add(struct base_writer *w, const char *name, struct slice bytes, struct error *err);
/* Write the part's index. Releases W either way. */
int base_end(struct base_writer *w, struct error *err);

/* Declare base STEP complete: RANKS parts exist. */
int base_seal(struct objects *objects, struct heap *heap, uint64_t step, uint32_t ranks,
              const char *fingerprint, struct error *err);

/* A base being read. */
struct base_reader {
    struct objects *objects;
    struct heap *heap;
    uint64_t step;
    uint32_t ranks;
    struct props index; /* of all parts */
};

/*
 * Open base STEP, checking the manifest and every part's index. E_NOT_FOUND when it is not
 * sealed; E_MISMATCH when FINGERPRINT is not the one it was sealed with (another model or
 * data set).
 */
int base_open(struct base_reader *r, struct objects *objects, struct heap *heap, uint64_t step,
              const char *fingerprint, struct error *err);
void base_close(struct base_reader *r);

/* Read object NAME into INTO, which must have exactly its size; checks the checksum. */
int base_read(struct base_reader *r, const char *name, void *into, size_t size, struct error *err);

/* Whether the base holds an object NAME; *SIZE, which may be NULL, becomes its size in bytes. */
bool base_has(const struct base_reader *r, const char *name, size_t *size);

/* Private rows that somebody wants. */
struct base_private {
    unsigned group;
    uint32_t lo, hi;           /* of these lanes */
    const uint64_t *key_first; /* which rows are whose: see struct dataset */
    uint32_t stride;           /* floats of a row */
};

/*
 * Read them into INTO, the first row of lane LO first, whichever lanes their writers had. Checks
 * the checksum of every object that it looks into.
 */
int base_read_private(struct base_reader *r, const struct base_private *p, float *into,
                      struct error *err);

/* Delete every object of base STEP, the manifest first. */
int base_delete(struct objects *objects, struct heap *heap, uint64_t step, struct error *err);

/* Delete all bases of the job, complete or not. */
int base_delete_all(struct objects *objects, struct heap *heap, struct error *err);

/* "base/00000000000000000042/NAME" */
void base_name(char *out, size_t size, uint64_t step, const char *name);

#endif
