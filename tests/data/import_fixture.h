/* SPDX-License-Identifier: Apache-2.0 */
/* A store in memory and a folder of files, for the tests of importing. */
#ifndef GUST_TESTS_IMPORT_FIXTURE_H
#define GUST_TESTS_IMPORT_FIXTURE_H

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/format.h"
#include "data/import.h"

struct import_fixture {
    struct heap heap;
    struct objects *objects;
    struct error err;
    struct import_result result;
    struct import_options o; /* of the next import; in.txt is imported unless it says otherwise */
    char told[1024];         /* bad rows, as they were told */
    char folder[256];
};

static inline void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static inline void write_text(const char *path, const char *text)
{
    write_bytes(path, text, strlen(text));
}

static void tell_bad(void *arg, const char *place, const char *reason)
{
    struct import_fixture *f = arg;
    size_t used = strlen(f->told);

    snprintf(f->told + used, sizeof(f->told) - used, "%s: %s\n", place, reason);
}

/* What no test changes. */
static inline void fixture_reset(struct import_fixture *f)
{
    static const char *const in[] = { "in.txt" };

    f->o = (struct import_options){ .inputs = in,
                                    .input_count = 1,
                                    .format = -1,
                                    .bad_rows = IMPORT_BAD_DEFAULT,
                                    .lanes = 16,
                                    .threads = 2,
                                    .replace = true,
                                    .bad = tell_bad,
                                    .arg = f };
    f->told[0] = 0;
}

static int delete_object(void *arg, const char *name, const struct objects_stat *st UNUSED)
{
    return objects_delete(arg, name, NULL);
}

static inline int run_import(struct import_fixture *f)
{
    f->told[0] = 0;
    return import_run(f->objects, "data", &f->heap, &f->o, &f->result, &f->err);
}

/* TEXT as in.txt, into an empty store. */
static inline int import_text(struct import_fixture *f, const char *text)
{
    write_text("in.txt", text);
    objects_list(f->objects, "", delete_object, f->objects, NULL);
    return run_import(f);
}

static inline void expect_words(const struct import_fixture *f, const char *words)
{
    if (!strstr(f->err.text, words))
        print_error("'%s' does not say '%s'\n", f->err.text, words);
    assert_non_null(strstr(f->err.text, words));
}

static inline void open_data(struct import_fixture *f, struct dataset *d)
{
    assert_int_equal(dataset_open(d, f->objects, "data", &f->heap, &f->err), 0);
    assert_int_equal(dataset_verify(d, &f->err), 0);
}

/* Training row R in storage order. */
static inline const uint32_t *row_at(struct dataset *d, struct minibatch *m, uint64_t r)
{
    assert_int_equal(dataset_range(d, DATASET_TRAIN, r, r + 1, m, NULL), 0);
    return m->batch.words + gust_at(&m->batch, 0);
}

static int fixture_set_up(void **state)
{
    struct import_fixture *f = calloc(1, sizeof(*f));
    struct objects_open open = { .heap = &f->heap };
    const char *tmp = getenv("TMPDIR");

    *state = f;
    fixture_reset(f);
    snprintf(f->folder, sizeof(f->folder), "%s/import-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(f->folder) || chdir(f->folder))
        return -1;
    return objects_open("memory:import", &open, &f->objects, NULL);
}

static int remove_one(const char *path, const struct stat *st UNUSED, int kind UNUSED,
                      struct FTW *ftw UNUSED)
{
    return remove(path);
}

static int fixture_tear_down(void **state)
{
    struct import_fixture *f = *state;

    objects_close(f->objects);
    assert_int_equal(chdir("/"), 0);
    nftw(f->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    /* Whatever failed in between: nothing may be left behind. */
    assert_int_equal(f->heap.used_bytes, 0);
    heap_release(&f->heap);
    free(f);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

#endif
