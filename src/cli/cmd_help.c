/* SPDX-License-Identifier: Apache-2.0 */
/* gust help: about the commands, and about job files; also makes their documents. */
#include "base/suggest.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/job_reference.h"
#include "cli/man.h"

struct help {
    const struct args_command *command;
    bool man, markdown, pages;
    struct heap heap;
    struct buf out;
};

/* What was written, or a complaint of exit status 2. */
static int print(struct help *h)
{
    fwrite(h->out.data, 1, h->out.size, stdout);
    return 0;
}

/* "help job [fleet | fleet.workers | workers]" */
static int help_job(struct help *h, const struct args_words *words)
{
    const char *name = words->count > 1 ? words->items[1] : NULL;
    const struct section *section = name ? section_find(name) : NULL;
    const struct setting *setting = name && !section ? setting_resolve(name) : NULL;

    if (name && !section && !setting) {
        const char *dot = strchr(name, '.');
        char near[512];

        setting_suggest(NULL, dot ? dot + 1 : name, near, sizeof(near));
        return args_complain(h->command, 2, "there is no setting '%s'%s", name, near);
    }
    if (h->man)
        man_job(&h->out);
    else if (h->markdown)
        reference_markdown(&h->out);
    else
        reference_text(section, setting, &h->out);
    return print(h);
}

/* "help data import" runs "data import --help". */
static int help_command(struct help *h, const struct args_words *words)
{
    char *argv[ARGS_WORDS_MAX + 2];
    struct suggest near = { .word = words->items[0] };
    int argc = 0;

    for (const struct command *c = commands; c->name; c++) {
        suggest_offer(&near, c->name);
        if (strcmp(c->name, words->items[0]) != 0)
            continue;
        for (unsigned i = 0; i < words->count; i++)
            argv[argc++] = (char *)words->items[i];
        argv[argc++] = (char *)(h->man ? ARGS_MANUAL : "--help");
        argv[argc] = NULL;
        return c->run(argc, argv);
    }
    return args_complain(h->command, 2, "there is no command '%s'%s%s%s", words->items[0],
                         near.best ? "; did you mean '" : "; 'gust --help' lists them",
                         near.best ? near.best : "", near.best ? "'?" : "");
}

/* The words after 'help --man' for each page, one page per line. */
static int list_pages(struct help *h)
{
    for (const struct command *c = commands; c->name; c++) {
        const char *part = c->parts;

        if (!part)
            buf_printf(&h->out, "%s\n", c->name);
        while (part && *part) {
            size_t size = strcspn(part, " ");

            buf_printf(&h->out, "%s %.*s\n", c->name, (int)size, part);
            part += size + (part[size] == ' ');
        }
    }
    return print(h);
}

static int help(struct help *h, const struct args_words *words)
{
    if (h->pages)
        return list_pages(h);
    if (words->count && strcmp(words->items[0], "job") == 0)
        return help_job(h, words);
    if (h->markdown)
        return args_complain(h->command, 2, "--markdown is for 'gust help job'");
    if (words->count)
        return help_command(h, words);
    if (!h->man) {
        commands_usage(stdout);
        return 0;
    }
    man_overview(commands, &h->out);
    return print(h);
}

int cmd_help(int argc, char **argv)
{
    struct help h = { 0 };
    const struct arg table[] = {
        { "man", ARG_FLAG, &h.man, NULL, "as a manual page (roff)" },
        { "markdown", ARG_FLAG, &h.markdown, NULL, "as Markdown (job)" },
        { "pages", ARG_FLAG, &h.pages, NULL, "list the commands that have a manual page" },
        { NULL },
    };
    const struct args_command command = {
        .name = "gust help",
        .summary = "Says how a command is used, and what a job file can say.",
        .words = "[COMMAND | job [SECTION | SETTING]]",
        .words_max = 3,
        .table = table,
        .notes = "'gust help job' lists every setting, 'gust help job fleet' one section, 'gust "
                 "help job fleet.workers' one setting.",
    };
    struct args_words words = { 0 };
    int rc;

    h.command = &command;
    rc = args_parse(&command, argc, argv, &words);
    if (rc != ARGS_GO)
        return rc;
    heap_init(&h.heap, 0);
    buf_init(&h.out, &h.heap, MIB);
    rc = help(&h, &words);
    heap_release(&h.heap);
    return rc;
}
