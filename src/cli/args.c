/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/args.h"

#include <inttypes.h>
#include <stdarg.h>

#include "base/props.h"

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

static void print_help(const struct args_command *c)
{
    printf("usage: %s%s%s [options]\n\n%s\n\n", c->name, c->words ? " " : "",
           c->words ? c->words : "", c->summary);
    for (const struct arg *a = c->table; a->name; a++) {
        char left[64];

        snprintf(left, sizeof(left), "--%s%s%s", a->name, a->value ? " " : "",
                 a->value ? a->value : "");
        printf("  %-24s %s%s\n", left, a->help, a->required ? " (required)" : "");
    }
}

/* A whole number, with k, M or G for thousands. */
static bool parse_count(const char *text, uint64_t *out)
{
    char digits[32];
    size_t size = strlen(text);
    uint64_t unit = 1;

    if (size == 0 || size >= sizeof(digits))
        return false;
    memcpy(digits, text, size + 1);
    switch (digits[size - 1]) {
    case 'k':
        unit = 1000;
        break;
    case 'M':
        unit = 1000000;
        break;
    case 'G':
        unit = 1000000000;
        break;
    }
    if (unit > 1)
        digits[size - 1] = 0;
    return parse_u64(digits, out) && !__builtin_mul_overflow(*out, unit, out);
}

static bool in_range(const struct arg *a, double v)
{
    return (a->min == 0 && a->max == 0) || (v >= a->min && v <= a->max);
}

static bool store_count(const struct arg *a, const char *text)
{
    uint64_t v;

    if (!parse_count(text, &v) || !in_range(a, (double)v))
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

/* One option at argv[*at]; advances *at past a separate value. */
static int parse_option(const struct args_command *c, int argc, char **argv, int *at,
                        bool seen[], const struct arg **out)
{
    const char *name = argv[*at] + 2, *equals = strchr(name, '='), *text = NULL;
    size_t size = equals ? (size_t)(equals - name) : strlen(name);
    const struct arg *a = find(c, name, size);

    if (!a)
        return args_complain(c, 2, "there is no option --%.*s; '%s --help' lists them", (int)size,
                             name, c->name);
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

        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_help(c);
            return 0;
        }
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
