/* SPDX-License-Identifier: Apache-2.0 */
/* The files that an import reads: named ones and those in folders, and a key of them all. */
#ifndef GUST_DATA_INPUTS_H
#define GUST_DATA_INPUTS_H

#include <stdbool.h>

#include "base/buf.h"

struct input {
    char *path; /* as it was named, or the folder's name and its own */
    uint64_t size_bytes, changed_ns;
    bool test; /* all of its rows are held out */
};

struct inputs {
    struct heap *heap;
    struct input *all; /* in the order in which they are read */
    unsigned count, room;
    uint64_t size_bytes; /* of all */
};

void inputs_init(struct inputs *in, struct heap *heap);
/* Accepts zeroed inputs. */
void inputs_release(struct inputs *in);

/*
 * Add a file, or the files in a folder and its folders in the order of their names, but for those
 * whose names begin with a dot or an underscore. E_NOT_FOUND, E_INVALID, E_LIMIT.
 */
int inputs_add(struct inputs *in, const char *path, bool test, struct error *err);

/* A hash of absolute paths, sizes and times, and of OPTIONS; never 0. */
uint64_t inputs_key(const struct inputs *in, struct slice options);

/* Whether there is a file FOLDER/NAME. */
bool inputs_holds(const char *folder, const char *name);

#endif
