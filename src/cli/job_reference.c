/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/job_reference.h"

#include "cli/wrap.h"
#include "client/setting_value.h"

#define INDENT 22

const char reference_intro[] =
    "A job file says in YAML what to train, on what, with how many functions and until when. Only "
    "the data must be given; everything else has a default. 'gust check JOB' says what would be "
    "run, or all that is wrong; 'gust train JOB' runs it. The options of 'gust train' override the "
    "file, and '--set section.name=value' reaches every setting.";

const char reference_example[] =
    "model: factorisation     # short for model: { kind: factorisation }\n"
    "data: ratings            # short for data: { path: ratings }\n"
    "fleet:\n"
    "  workers: 8\n"
    "  memory: 442MB\n"
    "stop:\n"
    "  epochs: 20\n"
    "  target: 0.75           # RMSE on held-out ratings\n"
    "out: out/ratings\n";

const char reference_values[] =
    "Counts may be written as 50000 or 50k, also with M and G for millions and thousand millions; "
    "durations as 90s, 15m or 2h30m (a number alone is seconds); sizes as 442MB or 2GB (a number "
    "alone is MB; MB and GB are powers of 1024, as platforms count them); switches as yes or no. "
    "Aliases, anchors and repeated keys are refused.";

/* What a setting takes, with its unit: "a whole number from 1 to 2048 (functions)". */
static void write_type(const struct setting *s, struct buf *out)
{
    setting_write_range(s, out);
    if (s->unit)
        buf_printf(out, " (%s)", s->unit);
}

/* "model.kind is svm or softmax" */
static void write_condition(const struct setting *s, struct buf *out)
{
    buf_printf(out, "%s is ", s->when);
    for (const char *c = s->is; *c; c++)
        if (*c == '|')
            buf_str(out, strchr(c + 1, '|') ? ", " : " or ");
        else
            buf_add(out, c, 1);
}

void reference_sentences(const struct setting *s, struct buf *out)
{
    size_t before;

    buf_printf(out, "%c%s. Takes ", s->help[0] - 'a' + 'A', s->help + 1);
    write_type(s, out);
    buf_str(out, ". Default: ");
    before = out->size;
    setting_write_default(s, out);
    if (out->size == before)
        buf_str(out, "none");
    buf_str(out, ".");
    if (s->when) {
        buf_str(out, " Only when ");
        write_condition(s, out);
        buf_str(out, ".");
    }
    if (s->option)
        buf_printf(out, " Option: --%s.", s->option);
}

/* ---- terminal ---- */

static void text_setting(const struct setting *s, struct buf *out)
{
    struct buf text;

    buf_init(&text, out->heap, 64 * KIB);
    reference_sentences(s, &text);
    wrap_entry(out, s->name, text.data, INDENT);
    buf_release(&text);
}

static void text_section(const struct section *section, struct buf *out)
{
    char head[256];

    snprintf(head, sizeof(head), "%s: %s", section->name, section->help);
    wrap(out, head, 0, 0);
    if (section->main)
        buf_printf(out, "  '%s: VALUE' is short for its setting '%s'.\n", section->name,
                   section->main);
    buf_str(out, "\n");
    for (unsigned i = 0; setting_at(i); i++)
        if (strcmp(setting_at(i)->section, section->name) == 0)
            text_setting(setting_at(i), out);
}

/* One line of the page about one setting. */
static void text_line(struct buf *out, const char *left, struct buf *text)
{
    if (text->size)
        wrap_entry(out, left, text->data, 12);
    buf_reset(text);
}

static void text_one(const struct setting *s, struct buf *out)
{
    struct buf text;

    buf_init(&text, out->heap, 64 * KIB);
    buf_printf(out, "%s.%s\n\n", s->section, s->name);
    buf_str(&text, s->help);
    text_line(out, "does", &text);
    write_type(s, &text);
    text_line(out, "takes", &text);
    setting_write_default(s, &text);
    text_line(out, "default", &text);
    if (s->when)
        write_condition(s, &text);
    text_line(out, "only when", &text);
    buf_printf(&text, "%s: { %s: %s }", s->section, s->name, setting_placeholder(s));
    text_line(out, "file", &text);
    if (s->option)
        buf_printf(&text, "--%s %s, or ", s->option, setting_placeholder(s));
    buf_printf(&text, "--set %s.%s=%s", s->section, s->name, setting_placeholder(s));
    text_line(out, "option", &text);
    buf_release(&text);
}

void reference_text(const struct section *section, const struct setting *setting, struct buf *out)
{
    if (setting) {
        text_one(setting, out);
        return;
    }
    if (section) {
        text_section(section, out);
        return;
    }
    wrap(out, reference_intro, 0, 0);
    buf_str(out, "\n");
    for (const char *at = reference_example; *at; at += strcspn(at, "\n") + 1)
        buf_printf(out, "    %.*s\n", (int)strcspn(at, "\n"), at);
    buf_str(out, "\n");
    wrap(out, reference_values, 0, 0);
    for (unsigned i = 0; section_at(i); i++) {
        buf_str(out, "\n");
        text_section(section_at(i), out);
    }
}

/* ---- Markdown ---- */

/* A cell of a table, in which '|' would end it. */
static void cell(struct buf *out, const struct buf *text)
{
    for (size_t i = 0; i < text->size; i++)
        if (text->data[i] == '|')
            buf_str(out, "\\|");
        else
            buf_add(out, text->data + i, 1);
    buf_str(out, text->size ? " | " : "| ");
}

static void markdown_setting(const struct setting *s, struct buf *out)
{
    struct buf text;

    buf_init(&text, out->heap, 64 * KIB);
    buf_printf(out, "| `%s` | ", s->name);
    write_type(s, &text);
    cell(out, &text);
    buf_reset(&text);
    setting_write_default(s, &text);
    cell(out, &text);
    buf_reset(&text);
    if (s->option)
        buf_printf(&text, "`--%s`", s->option);
    cell(out, &text);
    buf_reset(&text);
    buf_str(&text, s->help);
    if (s->when) {
        buf_str(&text, ". Only when ");
        write_condition(s, &text);
    }
    cell(out, &text);
    out->size--; /* the blank after the last bar */
    buf_str(out, "\n");
    buf_release(&text);
}

void reference_markdown(struct buf *out)
{
    buf_printf(out,
               "<!-- Made by 'gust help job --markdown' from the table in src/client/settings.c; "
               "do not edit. -->\n# Job files\n\n%s\n\n```yaml\n%s```\n\n%s\n",
               reference_intro, reference_example, reference_values);
    for (unsigned i = 0; section_at(i); i++) {
        const struct section *section = section_at(i);

        buf_printf(out, "\n## %s\n\n%s", section->name, section->help);
        if (section->main)
            buf_printf(out, " `%s: VALUE` is short for its setting `%s`.", section->name,
                       section->main);
        buf_str(out, "\n\n| setting | takes | default | option | what it does |\n"
                     "|---|---|---|---|---|\n");
        for (unsigned k = 0; setting_at(k); k++)
            if (strcmp(setting_at(k)->section, section->name) == 0)
                markdown_setting(setting_at(k), out);
    }
}
