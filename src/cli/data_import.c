/* SPDX-License-Identifier: Apache-2.0 */
/* gust data import: a data set from libsvm files or files of ratings. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/data_command.h"
#include "data/read.h"

typedef int (*read_fn)(const struct builder_options *to, const struct read_options *options,
                       struct error *err);

static const struct {
    const char *name;
    read_fn run;
} readers[] = {
    { "libsvm", read_libsvm },
    { "movielens", read_movielens },
};

static read_fn find_reader(const struct args_words *words)
{
    for (size_t i = 0; words->count && i < ARRAY_SIZE(readers); i++)
        if (strcmp(words->items[0], readers[i].name) == 0)
            return readers[i].run;
    return NULL;
}

/* Map PATH; an empty file becomes an empty text. */
static int map_file(const char *path, struct read_file *out, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
    struct stat st;
    void *at;

    out->name = path;
    if (fd < 0)
        return fail(err, errno == ENOENT ? E_NOT_FOUND : E_IO, "cannot read %s: %s", path,
                    strerror(errno));
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        rc = fail(err, E_INVALID, "%s is not a file", path);
    } else if (st.st_size == 0) {
        out->text = slice("", 0);
    } else {
        at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (at == MAP_FAILED)
            rc = fail(err, E_IO, "cannot map %s: %s", path, strerror(errno));
        else
            out->text = slice(at, (size_t)st.st_size);
    }
    close(fd);
    return rc;
}

static void unmap_file(struct read_file *f)
{
    if (f->text.size)
        munmap((void *)f->text.data, f->text.size);
}

struct import {
    const char *in, *test, *folder;
    uint64_t lanes;
    double held_out;
    bool force, json;
};

static int import(read_fn run, const struct import *i, struct error *err)
{
    struct read_options o = { .held_out = i->held_out };
    struct data_folder f = { 0 };
    int rc = map_file(i->in, &o.train, err);

    if (!rc && i->test)
        rc = map_file(i->test, &o.test, err);
    rc = rc ? rc : data_folder_open(&f, i->folder, true, err);
    if (!rc) {
        struct builder_options to = {
            .objects = f.objects,
            .prefix = DATA_PREFIX,
            .heap = &f.heap,
            .lanes = (uint32_t)i->lanes,
            .replace = i->force,
        };

        rc = run(&to, &o, err);
    }
    rc = rc ? rc : data_describe(&f, i->json, false, err);
    data_folder_close(&f);
    unmap_file(&o.train);
    unmap_file(&o.test);
    return rc;
}

int data_import(int argc, char **argv)
{
    struct import i = { .lanes = 0, .held_out = 0.1 };
    const struct arg table[] = {
        { .name = "in",
          .kind = ARG_TEXT,
          .out = &i.in,
          .value = "FILE",
          .help = "examples to train on",
          .required = true },
        { .name = "test",
          .kind = ARG_TEXT,
          .out = &i.test,
          .value = "FILE",
          .help = "held-out examples, instead of a share of the others" },
        { .name = "out",
          .kind = ARG_TEXT,
          .out = &i.folder,
          .value = "FOLDER",
          .help = "where the data set goes",
          .required = true },
        { .name = "held-out",
          .kind = ARG_NUMBER,
          .out = &i.held_out,
          .value = "SHARE",
          .help = "of the examples, to measure quality on (0.1)",
          .min = 0,
          .max = 0.99 },
        { .name = "lanes",
          .kind = ARG_COUNT,
          .out = &i.lanes,
          .value = "N",
          .help = "slices of the data, a power of two (1024)",
          .min = 1,
          .max = LANES_MAX },
        { .name = "force", .kind = ARG_FLAG, .out = &i.force, .help = "replace a data set" },
        { .name = "json", .kind = ARG_FLAG, .out = &i.json, .help = "for programs" },
        { .name = NULL },
    };
    const struct args_command c = {
        .name = "gust data import",
        .summary = "Makes a data set from a file of examples.",
        .words = "libsvm|movielens",
        .words_max = 1,
        .table = table,
    };
    struct args_words words = { 0 };
    struct error err = { 0 };
    int status = args_parse(&c, argc, argv, &words);
    read_fn run = find_reader(&words);

    if (status != ARGS_GO)
        return status;
    if (!run)
        return args_complain(&c, 2, "say what the file is: libsvm or movielens");
    return import(run, &i, &err) ? data_complain(&c, &err) : 0;
}
