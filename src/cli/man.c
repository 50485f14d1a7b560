/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/man.h"

#include "cli/job_reference.h"
#include "client/setting_value.h"

/*
 * TEXT as roff prints it: backslashes and hyphens are escaped, and a dot or quote that begins a
 * line is guarded, for there it would begin a request.
 */
static void plain(struct buf *out, const char *text)
{
    if (*text == '.' || *text == '\'')
        buf_str(out, "\\&");
    for (; *text; text++) {
        if (*text == '\\')
            buf_str(out, "\\e");
        else if (*text == '-')
            buf_str(out, "\\-");
        else
            buf_add(out, text, 1);
    }
}

static void bold(struct buf *out, const char *text)
{
    buf_str(out, "\\fB");
    plain(out, text);
    buf_str(out, "\\fR");
}

/* One paragraph per line of TEXT. */
static void paragraphs(struct buf *out, const char *text)
{
    while (*text) {
        size_t size = strcspn(text, "\n");
        char line[2048];

        snprintf(line, sizeof(line), "%.*s", (int)size, text);
        buf_str(out, ".PP\n");
        plain(out, line);
        buf_str(out, "\n");
        text += size + (text[size] == '\n');
    }
}

/* The first sentence of SUMMARY as indexes of pages have it: small, and without a full stop. */
static void title(struct buf *out, const char *summary)
{
    const char *stop = strstr(summary, ". ");
    size_t size = stop ? (size_t)(stop - summary) : strlen(summary);
    char text[256];

    if (!stop && size && summary[size - 1] == '.')
        size--;
    snprintf(text, sizeof(text), "%.*s", (int)size, summary);
    if (text[0] >= 'A' && text[0] <= 'Z')
        text[0] = (char)(text[0] - 'A' + 'a');
    plain(out, text);
}

/* "gust data import" is the page gust-data-import. */
static void begin(struct buf *out, const char *name, const char *section, const char *summary)
{
    char page[64];

    snprintf(page, sizeof(page), "%s", name);
    for (char *c = page; *c; c++)
        if (*c == ' ')
            *c = '-';
    buf_printf(out, ".\\\" Made by 'gust help --man'; do not edit.\n.TH \"");
    for (const char *c = page; *c; c++)
        buf_printf(out, "%c", *c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    buf_printf(out, "\" %s \"\" \"Gust %s\" \"Gust\"\n.SH NAME\n", section, GUST_VERSION);
    plain(out, page);
    buf_str(out, " \\- ");
    title(out, summary);
    buf_str(out, "\n");
}

static void exit_status(struct buf *out)
{
    static const struct {
        const char *code, *meaning;
    } statuses[] = {
        { "0", "Done." },
        { "2", "Bad usage, job or data; nothing was started." },
        { "3", "The goal was not met; the model is saved." },
        { "4", "The machine, the platform or a store failed." },
        { "130", "Interrupted; the model is saved." },
    };

    buf_str(out, ".SH \"EXIT STATUS\"\n");
    for (size_t i = 0; i < ARRAY_SIZE(statuses); i++)
        buf_printf(out, ".TP\n%s\n%s\n", statuses[i].code, statuses[i].meaning);
}

void man_command(const struct args_command *c, struct buf *out)
{
    begin(out, c->name, "1", c->summary);
    buf_str(out, ".SH SYNOPSIS\n");
    bold(out, c->name);
    if (c->words) {
        buf_str(out, " ");
        plain(out, c->words);
    }
    buf_str(out, " [options]\n.SH DESCRIPTION\n");
    plain(out, c->summary);
    buf_str(out, "\n");
    if (c->notes)
        paragraphs(out, c->notes);
    buf_str(out, ".SH OPTIONS\n");
    for (const struct arg *a = c->table; a->name; a++) {
        char name[64];

        snprintf(name, sizeof(name), "--%s", a->name);
        buf_str(out, ".TP\n");
        bold(out, name);
        if (a->value) {
            buf_str(out, " \\fI");
            plain(out, a->value);
            buf_str(out, "\\fR");
        }
        buf_str(out, "\n");
        plain(out, a->help);
        buf_printf(out, "%s\n", a->required ? " (required)" : "");
    }
    exit_status(out);
    buf_str(out, ".SH \"SEE ALSO\"\n\\fBgust\\fR(1), \\fBgust\\-job\\fR(5)\n");
}

void man_overview(const struct command *list, struct buf *out)
{
    begin(out, "gust", "1", "train machine-learning models on functions");
    buf_str(out, ".SH SYNOPSIS\n\\fBgust\\fR \\fICOMMAND\\fR [options]\n.SH DESCRIPTION\n"
                 "Gust trains models on functions: short\\-lived workers that a platform starts in "
                 "milliseconds and bills by the millisecond.\n.SH COMMANDS\n");
    for (const struct command *c = list; c->name; c++) {
        buf_str(out, ".TP\n");
        bold(out, c->name);
        buf_str(out, "\n");
        plain(out, c->summary);
        buf_str(out, "\n");
    }
    exit_status(out);
    buf_str(out, ".SH \"SEE ALSO\"\n\\fBgust\\-job\\fR(5)");
    for (const struct command *c = list; c->name; c++)
        if (!c->parts)
            buf_printf(out, ", \\fBgust\\-%s\\fR(1)", c->name);
    buf_str(out, "\n");
}

static void setting_entry(struct buf *out, const struct setting *s, struct heap *heap)
{
    struct buf text;

    buf_init(&text, heap, 64 * KIB);
    buf_str(out, ".TP\n");
    bold(out, s->name);
    buf_str(out, "\n");
    reference_sentences(s, &text);
    plain(out, text.data);
    buf_str(out, "\n");
    buf_release(&text);
}

void man_job(struct buf *out)
{
    begin(out, "gust job", "5", "what a job file can say");
    buf_str(out, ".SH DESCRIPTION\n");
    plain(out, reference_intro);
    buf_str(out, "\n.PP\n.nf\n");
    for (const char *at = reference_example; *at;) {
        size_t size = strcspn(at, "\n");
        char line[256];

        snprintf(line, sizeof(line), "%.*s", (int)size, at);
        plain(out, line);
        buf_str(out, "\n");
        at += size + (at[size] == '\n');
    }
    buf_str(out, ".fi\n.PP\n");
    plain(out, reference_values);
    buf_str(out, "\n");
    for (unsigned i = 0; section_at(i); i++) {
        buf_printf(out, ".SH \"SECTION %s\"\n", section_at(i)->name);
        plain(out, section_at(i)->help);
        buf_str(out, "\n");
        for (unsigned k = 0; setting_at(k); k++)
            if (strcmp(setting_at(k)->section, section_at(i)->name) == 0)
                setting_entry(out, setting_at(k), out->heap);
    }
    buf_str(out, ".SH \"SEE ALSO\"\n\\fBgust\\fR(1), \\fBgust\\-train\\fR(1), "
                 "\\fBgust\\-check\\fR(1)\n");
}
