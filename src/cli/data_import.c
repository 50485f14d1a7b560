/* SPDX-License-Identifier: Apache-2.0 */
/* gust data import: a data set from people's files. */
#include <signal.h>

#include "cli/data_command.h"
#include "cli/data_progress.h"
#include "platform/local_env.h"

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number UNUSED)
{
    interrupted = 1;
}

struct import_command {
    struct arg_list in, test;
    const char *folder, *scale;
    uint64_t lanes, threads;
    bool force, json, quiet;
    struct import_options o;
};

/* Stop at the next piece, so that what was put aside is cleared away. */
static void catch_interrupts(void)
{
    struct sigaction action = { .sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND };

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static int run(struct import_command *c, struct error *err)
{
    struct import_result result = { 0 };
    struct data_progress progress;
    struct data_folder f;
    int rc = data_folder_open(&f, c->folder, true, err);

    if (!rc) {
        data_progress_init(&progress, c->quiet);
        catch_interrupts();
        c->o.inputs = c->in.items;
        c->o.input_count = c->in.count;
        c->o.tests = c->test.items;
        c->o.test_count = c->test.count;
        c->o.lanes = (uint32_t)c->lanes;
        c->o.threads = c->threads ? (unsigned)c->threads : data_threads();
        c->o.memory_bytes = data_memory();
        c->o.replace = c->force;
        c->o.env = local_env_new(&f.heap);
        c->o.progress = data_progress_tell;
        c->o.bad = data_progress_bad;
        c->o.arg = &progress;
        c->o.stop = &interrupted;
        rc = import_run(f.objects, DATA_PREFIX, &f.heap, &c->o, &result, err);
        data_progress_end(&progress);
        if (!rc)
            data_progress_result(&progress, &result, c->folder);
        local_env_free(c->o.env);
    }
    rc = rc ? rc : data_describe(&f, c->json, false, err);
    data_folder_close(&f);
    return rc;
}

/* Words and texts that stand for choices. */
static int choose(const struct args_command *c, struct import_command *i,
                  const struct args_words *words)
{
    int scale;

    i->o.format = words->count ? transform_format_find(words->items[0]) : -1;
    if (words->count && i->o.format < 0)
        return args_complain(c, 2, "'%s' is no format; use libsvm, movielens, criteo or csv",
                             words->items[0]);
    if (i->in.count == 0)
        return args_complain(c, 2, "say what to import: --in FILE");
    scale = i->scale ? transform_scale_find(i->scale) : 0;
    if (scale < 0)
        return args_complain(c, 2, "--scale is none, minmax or log, not '%s'", i->scale);
    i->o.scale = (enum transform_scale)scale;
    i->o.scale_set = i->scale != NULL;
    return 0;
}

int data_import(int argc, char **argv)
{
    struct import_command i = { 0 };
    const struct arg table[] = {
        { .name = "in",
          .kind = ARG_LIST,
          .out = &i.in,
          .value = "FILE",
          .help = "a file or folder of examples, plain, .gz or .zst; may be repeated" },
        { .name = "test",
          .kind = ARG_LIST,
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
          .out = &i.o.held_out,
          .value = "SHARE",
          .help = "of the examples, to measure quality on (0.1)",
          .min = 0,
          .max = 0.99 },
        { .name = "columns",
          .kind = ARG_TEXT,
          .out = &i.o.columns,
          .value = "ROLES",
          .help = "csv: label=A,numeric=B,C,categorical=D,ignore=E or user=U,item=I" },
        { .name = "scale",
          .kind = ARG_TEXT,
          .out = &i.scale,
          .value = "HOW",
          .help = "numbers: none, minmax (csv) or log (criteo)" },
        { .name = "hash-width",
          .kind = ARG_COUNT,
          .out = &i.o.hash_width,
          .value = "N",
          .help = "numbers that categories are hashed into (100,000)",
          .min = 1,
          .max = 4294967296.0 },
        { .name = "hash-seed",
          .kind = ARG_COUNT,
          .out = &i.o.hash_seed,
          .value = "N",
          .help = "another seed, other collisions (0)" },
        { .name = "labels",
          .kind = ARG_TEXT,
          .out = &i.o.labels,
          .value = "KIND",
          .help = "classes or numbers, where that is not clear from the labels" },
        { .name = "bad-rows",
          .kind = ARG_COUNT,
          .out = &i.o.bad_rows,
          .value = "N",
          .help = "rows that may be left out (0.1 % of them, 100 at most)" },
        { .name = "lanes",
          .kind = ARG_COUNT,
          .out = &i.lanes,
          .value = "N",
          .help = "slices of the data, a power of two (1024 with users, 256 without)",
          .min = 1,
          .max = LANES_MAX },
        { .name = "threads",
          .kind = ARG_COUNT,
          .out = &i.threads,
          .value = "N",
          .help = "to read with (one per core); the result is the same",
          .min = 1,
          .max = 64 },
        { .name = "force", .kind = ARG_FLAG, .out = &i.force, .help = "replace a data set" },
        { .name = "quiet", .kind = ARG_FLAG, .out = &i.quiet, .help = "no progress" },
        { .name = "json", .kind = ARG_FLAG, .out = &i.json, .help = "for programs" },
        { .name = NULL },
    };
    const struct args_command c = {
        .name = "gust data import",
        .summary = "Makes a data set from files of examples.",
        .words = "[libsvm|movielens|criteo|csv]",
        .words_max = 1,
        .table = table,
    };
    struct args_words words = { 0 };
    struct error err = { 0 };
    int status;

    import_options_init(&i.o);
    status = args_parse(&c, argc, argv, &words);
    if (status != ARGS_GO)
        return status;
    status = choose(&c, &i, &words);
    if (status)
        return status;
    return run(&i, &err) ? data_complain(&c, &err) : 0;
}
