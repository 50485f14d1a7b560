/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Object stores: cheap, durable, and the truth. Names are paths like "data/train/shard-00001"
 * (letters, digits, '.', '-', '_' and '/', no empty, "." or ".." component, at most
 * OBJECTS_NAME_MAX bytes). An object appears whole or not at all, even when its writer is killed.
 * A name is an object or the folder of others, never both: putting "a" beside "a/b" is E_INVALID.
 *
 * A struct objects is one function's own handle, used by one thread at a time; different
 * handles on one store may be used by different processes, threads or coroutines at once.
 */
#ifndef GUST_OBJECTS_OBJECTS_H
#define GUST_OBJECTS_OBJECTS_H

#include "base/buf.h"
#include "base/env.h"

#define OBJECTS_NAME_MAX 255

struct objects_stat {
    uint64_t size_bytes;
    uint64_t changed_ns; /* when it was written, by the store's clock */
};

/* Called for each name; may use the store. A non-zero return ends the listing and is returned. */
typedef int (*objects_list_fn)(void *arg, const char *name, const struct objects_stat *stat);

struct objects;
struct objects_open;

struct objects_ops {
    const char *name; /* URL scheme and log label */

    /* A handle on the store at WHERE, the URL without its scheme. NULL: not opened by URL
     * (decorators). */
    int (*open)(const char *where, const struct objects_open *open, struct objects **out,
                struct error *err);

    /* Write an object, replacing what was there. Atomic. E_FULL when the disk is. */
    int (*put)(struct objects *o, const char *name, struct slice value, struct error *err);

    /* As put(), but E_EXISTS (nothing changed) when there is one; of two racing, one wins. */
    int (*create)(struct objects *o, const char *name, struct slice value, struct error *err);

    /*
     * Read SIZE bytes at OFFSET into INTO; *GOT says how many there were before the object's
     * end. E_NOT_FOUND.
     */
    int (*get)(struct objects *o, const char *name, uint64_t offset, size_t size, void *into,
               size_t *got, struct error *err);

    /*
     * Optional. Borrow an object's bytes without copying them, until unmap(). NULL: the
     * wrapper reads the object into the heap.
     */
    int (*map)(struct objects *o, const char *name, struct slice *out, struct error *err);
    void (*unmap)(struct objects *o, struct slice view);

    /* Every object whose name begins with PREFIX, in the order of strcmp(). */
    int (*list)(struct objects *o, const char *prefix, objects_list_fn each, void *arg,
                struct error *err);

    /* E_NOT_FOUND. */
    int (*stat)(struct objects *o, const char *name, struct objects_stat *out, struct error *err);

    /* Absent is no error. */
    int (*delete)(struct objects *o, const char *name, struct error *err);

    /* Close the handle and free it; what is stored stays (`memory`: with the last handle it goes).
     */
    void (*close)(struct objects *o);
};

struct objects_counts {
    uint64_t puts, gets, lists, deletes; /* requests, as a cloud would bill them */
    uint64_t bytes_in, bytes_out;
};

struct objects {
    const struct objects_ops *ops;
    struct env *env;
    struct heap *heap;
    struct objects_counts counts; /* kept by the wrappers */
};

/* What a handle is made with. */
struct objects_open {
    struct env *env;   /* for decorators that wait or tell the time; may be NULL otherwise */
    struct heap *heap; /* the handle, and copies made by objects_map() where there is no map */
    bool existing;     /* refuse a folder that is not there, instead of making it */
};

/*
 * URL is "file:PATH" (created if absent, with its parents) or "memory:NAME" (one store per NAME and
 * process).
 */
int objects_open(const char *url, const struct objects_open *open, struct objects **out,
                 struct error *err);

/* Whether NAME may be an object's. */
bool objects_name_ok(const char *name);

/* The wrappers: they check names, count requests, and are the only callers of ops. */
int objects_put(struct objects *o, const char *name, struct slice value, struct error *err);
int objects_create(struct objects *o, const char *name, struct slice value, struct error *err);
int objects_get(struct objects *o, const char *name, uint64_t offset, size_t size, void *into,
                size_t *got, struct error *err);
/* The whole object appended to OUT; E_LIMIT when it is longer than OUT may grow. */
int objects_get_all(struct objects *o, const char *name, struct buf *out, struct error *err);
int objects_map(struct objects *o, const char *name, struct slice *out, struct error *err);
void objects_unmap(struct objects *o, struct slice view);
int objects_list(struct objects *o, const char *prefix, objects_list_fn each, void *arg,
                 struct error *err);
int objects_stat(struct objects *o, const char *name, struct objects_stat *out, struct error *err);
int objects_delete(struct objects *o, const char *name, struct error *err);
/* O may be NULL. */
void objects_close(struct objects *o);

extern const struct objects_ops objects_memory;
extern const struct objects_ops objects_file;

#endif
