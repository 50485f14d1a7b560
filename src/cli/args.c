/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/args.h"

#include <inttypes.h>
#include <stdarg.h>

#include "base/props.h"
#include "base/quantity.h"
#include "base/suggest.h"
#include "cli/man.h"
#include "cli/wrap.h"

int args_complain(const struct args_command *c, int status, const char *format, ...)
{
    va_list args;

    fprintf(stderr, "%s: ", c->name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return status;
}

/* Where the second column of a list of options begins. */
#define HELP_INDENT 27

static void write_notes(struct buf *out, const char *notes)
{
    while (notes && *notes) {
        size_t size = strcspn(notes, "\n");
        char line[1024];

        snprintf(line, sizeof(line), "%.*s", (int)size, notes);
        buf_str(out, "\n");
        wrap(out, line, 0, 0);
        notes += size + (notes[size] == '\n');
    }
}

static void write_help(const struct args_command *c, struct buf *out)
{
    buf_printf(out, "usage: %s%s%s [options]\n\n", c->name, c->words ? " " : "",
               c->words ? c->words : "");
    wrap(out, c->summary, 0, 0);
    buf_str(out, "\n");
    for (const struct arg *a = c->table; a->name; a++) {
        char left[64], text[1024];

        snprintf(left, sizeof(left), "--%s%s%s", a->name, a->value ? " " : "",
                 a->value ? a->value : "");
        snprintf(text, sizeof(text), "%s%s", a->help, a->required ? " (required)" : "");
        wrap_entry(out, left, text, HELP_INDENT);
    }
    write_notes(out, c->notes);
}

static int print(const struct args_command *c,
                 void (*write)(const struct args_command *c, struct buf *out))
{
    struct heap heap;
    struct buf out;

    heap_init(&heap, 0);
    buf_init(&out, &heap, MIB);
    write(c, &out);
    fwrite(out.data, 1, out.size, stdout);
    heap_release(&heap);
    return 0;
}

static bool in_range(const struct arg *a, double v)
{
    return (a->min == 0 && a->max == 0) || (v >= a->min && v <= a->max);
}

static bool store_count(const struct arg *a, const char *text)
{
    uint64_t v;

    if (!quantity_count(text, &v) || !in_range(a, (double)v))
        return false;
    *(uint64_t *)a->out = v;
    return true;
}

static bool store_number(const struct arg *a, const char *text)
{
    double v;

    if (!parse_f64(text, &v) || !in_range(a, v))
        return false;
    *(double *)a->out = v;
    return true;
}

static bool store(const struct arg *a, const char *text)
{
    struct arg_list *list = a->out;

    switch (a->kind) {
    case ARG_FLAG:
        *(bool *)a->out = true;
        return true;
    case ARG_TEXT:
        *(const char **)a->out = text;
        return true;
    case ARG_COUNT:
        return store_count(a, text);
    case ARG_NUMBER:
        return store_number(a, text);
    case ARG_LIST:
        if (list->count == ARG_LIST_MAX)
            return false;
        list->items[list->count++] = text;
        return true;
    }
    return false;
}

static int complain_value(const struct args_command *c, const struct arg *a, const char *text)
{
    const char *what = a->kind == ARG_COUNT ? "a whole number" : "a number";

    if (a->min == 0 && a->max == 0)
        return args_complain(c, 2, "--%s: '%s' is not %s", a->name, text, what);
    return args_complain(c, 2, "--%s: '%s' is not %s from %.12g to %.12g", a->name, text, what,
                         a->min, a->max);
}

static const struct arg *find(const struct args_command *c, const char *name, size_t size)
{
    for (const struct arg *a = c->table; a->name; a++)
        if (strlen(a->name) == size && memcmp(a->name, name, size) == 0)
            return a;
    return NULL;
}

static int complain_unknown(const struct args_command *c, const char *name, size_t size)
{
    char word[SUGGEST_WORD_MAX + 2];
    struct suggest near = { .word = word };

    snprintf(word, sizeof(word), "%.*s", (int)MIN(size, sizeof(word)), name);
    for (const struct arg *a = c->table; a->name; a++)
        suggest_offer(&near, a->name);
    if (near.best)
        return args_complain(c, 2, "there is no option --%.*s; did you mean --%s?", (int)size, name,
                             near.best);
    return args_complain(c, 2, "there is no option --%.*s; '%s --help' lists them", (int)size, name,
                         c->name);
}

/* One option at argv[*at]; advances *at past a separate value. */
static int parse_option(const struct args_command *c, int argc, char **argv, int *at, bool seen[],
                        const struct arg **out)
{
    const char *name = argv[*at] + 2, *equals = strchr(name, '='), *text = NULL;
    size_t size = equals ? (size_t)(equals - name) : strlen(name);
    const struct arg *a = find(c, name, size);

    if (!a)
        return complain_unknown(c, name, size);
    if (a->kind == ARG_FLAG && equals)
        return args_complain(c, 2, "--%s takes no value", a->name);
    if (a->kind != ARG_FLAG) {
        text = equals ? equals + 1 : *at + 1 < argc ? argv[++*at] : NULL;
        if (!text)
            return args_complain(c, 2, "--%s needs a value (%s)", a->name, a->value);
    }
    if (seen[a - c->table] && a->kind != ARG_LIST)
        return args_complain(c, 2, "--%s is given twice", a->name);
    seen[a - c->table] = true;
    if (!store(a, text))
        return complain_value(c, a, text);
    *out = a;
    return ARGS_GO;
}

int args_parse(const struct args_command *c, int argc, char **argv, struct args_words *words)
{
    bool seen[64] = { false };
    const struct arg *a;

    if (words)
        words->count = 0;
    for (int i = 1; i < argc; i++) {
        int rc;

        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return print(c, write_help);
        if (strcmp(argv[i], ARGS_MANUAL) == 0)
            return print(c, man_command);
        if (strncmp(argv[i], "--", 2) == 0) {
            rc = parse_option(c, argc, argv, &i, seen, &a);
            if (rc != ARGS_GO)
                return rc;
            continue;
        }
        if (!words || words->count == MIN(c->words_max, (unsigned)ARGS_WORDS_MAX))
            return args_complain(c, 2, "'%s' is one word too many; '%s --help' says what it takes",
                                 argv[i], c->name);
        words->items[words->count++] = argv[i];
    }
    for (a = c->table; a->name; a++)
        if (a->required && !seen[a - c->table])
            return args_complain(c, 2, "--%s %s is missing: %s", a->name, a->value ? a->value : "",
                                 a->help);
    return ARGS_GO;
}
