/* SPDX-License-Identifier: Apache-2.0 */
/* gust data: generate data sets; importing, exporting and describing are in their own files. */
#include "cli/commands.h"
#include "cli/data_command.h"
#include "data/generate.h"

int data_folder_open(struct data_folder *f, const char *path, bool create, struct error *err)
{
    struct objects_open open = { .heap = &f->heap, .existing = !create };
    char url[4096];

    heap_init(&f->heap, 0);
    f->objects = NULL;
    if (snprintf(url, sizeof(url), "file:%s", path) >= (int)sizeof(url))
        return fail(err, E_INVALID, "the name of the folder is too long");
    return objects_open(url, &open, &f->objects, err);
}

void data_folder_close(struct data_folder *f)
{
    objects_close(f->objects);
    heap_release(&f->heap);
}

int data_complain(const struct args_command *c, const struct error *err)
{
    if (err->code == E_EXISTS)
        return args_complain(c, error_exit_status(err->code), "%s; --force replaces it", err->text);
    return args_complain(c, error_exit_status(err->code), "%s", err->text);
}

/* ---- generate ---- */

typedef int (*generate_fn)(const struct builder_options *to, const struct generate_options *o,
                           struct error *err);

static const struct {
    const char *name;
    generate_fn run;
} generators[] = {
    { "movielens", generate_movielens },
    { "criteo", generate_criteo },
};

static generate_fn find_generator(const struct args_words *words)
{
    for (size_t i = 0; words->count && i < ARRAY_SIZE(generators); i++)
        if (strcmp(words->items[0], generators[i].name) == 0)
            return generators[i].run;
    return NULL;
}

static int run_generator(generate_fn run, const char *folder, uint64_t lanes, bool force, bool json,
                         const struct generate_options *o, struct error *err)
{
    struct data_folder f;
    int rc = data_folder_open(&f, folder, true, err);
    struct builder_options to = {
        .objects = f.objects,
        .prefix = DATA_PREFIX,
        .heap = &f.heap,
        .lanes = (uint32_t)lanes,
        .replace = force,
    };

    rc = rc ? rc : run(&to, o, err);
    rc = rc ? rc : data_describe(&f, json, false, err);
    data_folder_close(&f);
    return rc;
}

static int generate(int argc, char **argv)
{
    struct generate_options o = { .seed = 1, .held_out = 0.1 };
    const char *folder = NULL;
    uint64_t lanes = 0;
    bool force = false, json = false;
    const struct arg table[] = {
        { .name = "out",
          .kind = ARG_TEXT,
          .out = &folder,
          .value = "FOLDER",
          .help = "where the data set goes",
          .required = true },
        { .name = "rows",
          .kind = ARG_COUNT,
          .out = &o.rows,
          .value = "N",
          .help = "examples in all (10M ratings, 1M clicks)",
          .min = 1,
          .max = 1e11 },
        { .name = "users",
          .kind = ARG_COUNT,
          .out = &o.users,
          .value = "N",
          .help = "movielens: users (71,567 per 10M ratings)",
          .min = 1,
          .max = 2e9 },
        { .name = "items",
          .kind = ARG_COUNT,
          .out = &o.items,
          .value = "N",
          .help = "movielens: items (10,681 at 10M ratings)",
          .min = 1,
          .max = 2e9 },
        { .name = "dims",
          .kind = ARG_COUNT,
          .out = &o.dims,
          .value = "N",
          .help = "criteo: dimensions to hash into (100,000)",
          .min = 1,
          .max = 4e9 },
        { .name = "seed",
          .kind = ARG_COUNT,
          .out = &o.seed,
          .value = "N",
          .help = "the same seed gives the same bytes (1)" },
        { .name = "lanes",
          .kind = ARG_COUNT,
          .out = &lanes,
          .value = "N",
          .help = "slices of the data, a power of two (1024 with users, 256 without)",
          .min = 1,
          .max = LANES_MAX },
        { .name = "held-out",
          .kind = ARG_NUMBER,
          .out = &o.held_out,
          .value = "SHARE",
          .help = "of the examples, to measure quality on (0.1)",
          .min = 0,
          .max = 0.99 },
        { .name = "force", .kind = ARG_FLAG, .out = &force, .help = "replace a data set" },
        { .name = "json", .kind = ARG_FLAG, .out = &json, .help = "for programs" },
        { .name = NULL },
    };
    const struct args_command c = {
        .name = "gust data generate",
        .summary = "Makes a data set with a model planted in it.",
        .words = "movielens|criteo",
        .words_max = 1,
        .table = table,
    };
    struct args_words words = { 0 };
    struct error err = { 0 };
    int status = args_parse(&c, argc, argv, &words);
    generate_fn run = find_generator(&words);

    if (status != ARGS_GO)
        return status;
    if (!run)
        return args_complain(&c, 2, "say what to generate: movielens or criteo");
    if (run_generator(run, folder, lanes, force, json, &o, &err))
        return data_complain(&c, &err);
    return 0;
}

/* ---- the command ---- */

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} parts[] = {
    { "generate", generate, "make a data set with a planted model" },
    { "import", data_import, "make a data set from files" },
    { "export", data_export, "write a data set as files for other programs" },
    { "info", data_info, "say what a data set holds" },
};

int cmd_data(int argc, char **argv)
{
    bool help = argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
    FILE *to = help ? stdout : stderr;

    for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(parts); i++)
        if (strcmp(argv[1], parts[i].name) == 0)
            return parts[i].run(argc - 1, argv + 1);
    if (argc > 1 && !help)
        fprintf(stderr, "gust data: there is no '%s'\n", argv[1]);
    fprintf(to, "usage: gust data COMMAND [options]\n\n");
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        fprintf(to, "  %-9s %s\n", parts[i].name, parts[i].summary);
    return help ? 0 : 2;
}
