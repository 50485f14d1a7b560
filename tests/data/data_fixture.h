/* SPDX-License-Identifier: Apache-2.0 */
/* A memory store with room for one data set, for the tests of data/. */
#ifndef GUST_TESTS_DATA_FIXTURE_H
#define GUST_TESTS_DATA_FIXTURE_H

#include "data/builder.h"
#include "data/format.h"
#include "data/shard.h"

struct data_fixture {
    struct heap heap;
    struct objects *objects;
    struct error err;
};

static inline struct builder_options fixture_options(struct data_fixture *f)
{
    return (struct builder_options){
        .objects = f->objects, .prefix = "data", .heap = &f->heap, .kind = "test", .lanes = 16
    };
}

static int fixture_delete(void *arg, const char *name, const struct objects_stat *st UNUSED)
{
    return objects_delete(arg, name, NULL);
}

/* Nothing in the store: a data set built now lies where one lies that replaces nothing. */
static inline void fixture_clear(struct data_fixture *f)
{
    objects_list(f->objects, "", fixture_delete, f->objects, NULL);
}

static int fixture_set_up(void **state)
{
    struct data_fixture *f = calloc(1, sizeof(*f));
    struct objects_open open = { .heap = &f->heap };

    *state = f;
    return objects_open("memory:data", &open, &f->objects, NULL);
}

static int fixture_tear_down(void **state)
{
    struct data_fixture *f = *state;

    objects_close(f->objects);
    /* Whatever failed in between: nothing may be left behind. */
    assert_int_equal(f->heap.used_bytes, 0);
    heap_release(&f->heap);
    free(f);
    return 0;
}

#endif
