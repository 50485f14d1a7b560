/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/job_args.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/yaml.h"

/* Room for "--" and the longest name of an option. */
#define OPTION_MAX 32

static void setting_option(struct job_args *a, const struct setting *s, struct arg *out)
{
    struct buf help;

    buf_init(&help, &a->heap, 64 * KIB);
    buf_str(&help, s->help);
    buf_str(&help, " [");
    setting_write_default(s, &help);
    buf_str(&help, "]");
    *out = (struct arg){ .name = s->option,
                         .kind = ARG_TEXT,
                         .out = &a->given[setting_index(s)],
                         .value = setting_placeholder(s),
                         .help = help.data };
}

void job_args_init(struct job_args *a, const struct arg *own)
{
    struct arg *at = a->table;

    *a = (struct job_args){ 0 };
    heap_init(&a->heap, 0);
    for (unsigned i = 0; setting_at(i); i++)
        if (setting_at(i)->option)
            setting_option(a, setting_at(i), at++);
    *at++ = (struct arg){ "set", ARG_LIST, &a->set, "KEY=VALUE",
                          "any setting of a job file, as in fleet.workers=4; 'gust help job' lists "
                          "them" };
    while (own->name && at < a->table + ARRAY_SIZE(a->table) - 1)
        *at++ = *own++;
    *at = (struct arg){ 0 };
}

void job_args_release(struct job_args *a)
{
    heap_release(&a->heap);
}

/* The file's bytes, up to one more than are ever read. */
static int read_file(const char *path, struct buf *out, const char **why)
{
    bool in = strcmp(path, "-") == 0;
    FILE *file = in ? stdin : fopen(path, "re");
    struct stat st;
    size_t got = 0;
    char *at;

    if (!file) {
        *why = strerror(errno);
        return E_IO;
    }
    if (fstat(fileno(file), &st) == 0 && S_ISDIR(st.st_mode)) {
        *why = "it is a folder; a job is a file, a data set is given by --data";
    } else {
        at = buf_extend(out, YAML_MAX_BYTES + 1);
        got = at ? fread(at, 1, YAML_MAX_BYTES + 1, file) : 0;
        out->size = got;
        *why = ferror(file) ? strerror(errno) : NULL;
    }
    if (!in)
        fclose(file);
    return *why ? E_IO : 0;
}

static void load_file(const char *path, struct job_file *f)
{
    const char *source = strcmp(path, "-") == 0 ? "standard input" : path;
    const char *why = NULL;
    struct buf text;

    buf_init(&text, f->heap, 2 * YAML_MAX_BYTES);
    if (read_file(path, &text, &why))
        problems_add(&f->problems, source, 0, "cannot read this job file: %s", why);
    else if (text.size > YAML_MAX_BYTES)
        problems_add(&f->problems, source, 0,
                     "this is too large for a job file (more than %zu bytes); data is given by "
                     "--data",
                     YAML_MAX_BYTES);
    else
        job_file_read(f, buf_slice(&text), source);
    buf_release(&text);
}

int job_args_load(const struct job_args *a, const char *path, struct job_file *f)
{
    if (path)
        load_file(path, f);
    /* Without the file, all that it would have said would be missing. */
    if (path && !f->source)
        return E_INVALID;
    for (unsigned i = 0; setting_at(i); i++) {
        char *source;

        if (!a->given[i])
            continue;
        source = heap_alloc(f->heap, OPTION_MAX);
        snprintf(source, OPTION_MAX, "--%s", setting_at(i)->option);
        job_file_set(f, setting_at(i), a->given[i], source);
    }
    for (unsigned i = 0; i < a->set.count; i++)
        job_file_assign(f, a->set.items[i]);
    return job_file_check(f);
}

int job_args_complain(const struct args_command *c, const struct job_file *f)
{
    const struct problems *p = &f->problems;

    for (unsigned i = 0; i < p->kept; i++) {
        const struct problem *it = &p->items[i];

        if (it->line)
            fprintf(stderr, "%s:%u: %s\n", it->source, it->line, it->text);
        else
            fprintf(stderr, "%s: %s: %s\n", c->name, it->source, it->text);
    }
    if (p->count > p->kept)
        fprintf(stderr, "%s: and %u more\n", c->name, p->count - p->kept);
    if (p->count > 1)
        fprintf(stderr, "%s: %u mistakes; nothing was started\n", c->name, p->count);
    return 2;
}
