/* SPDX-License-Identifier: Apache-2.0 */
#include "client/setting_value.h"

#include "base/props.h"
#include "base/quantity.h"
#include "base/suggest.h"
#include "client/job_columns.h"
#include "model/model.h"

#define CHOICES_MAX 16
#define CHOICE_MAX  32
/* Of what somebody wrote, this much is repeated. */
#define QUOTED_MAX 60

/* What each type is called, with examples of how it is written. */
static const struct {
    const char *name, *example, *placeholder;
} types[] = {
    [SETTING_TEXT] = { "text", NULL, "TEXT" },
    [SETTING_PATH] = { "a path", NULL, "PATH" },
    [SETTING_CHOICE] = { "a choice", NULL, "NAME" },
    [SETTING_SWITCH] = { "yes or no", NULL, "yes|no" },
    [SETTING_COUNT] = { "a whole number", "50000 or 50k", "N" },
    [SETTING_NUMBER] = { "a number", "0.1 or 1e-5", "X" },
    [SETTING_DURATION] = { "a duration", "90s, 15m or 2h30m", "TIME" },
    [SETTING_SIZE] = { "a size", "442MB or 2GB", "SIZE" },
    [SETTING_MONEY] = { "an amount of money", "$0.50", "$X" },
    [SETTING_COLUMNS] = { "names of columns by role", "label=click numeric=age,price", "ROLES" },
};

/* V as it would be written for S. */
static void write_number(const struct setting *s, double v, char out[QUANTITY_TEXT_MAX])
{
    switch (s->type) {
    case SETTING_DURATION:
        quantity_write_duration(v, out);
        break;
    case SETTING_SIZE:
        quantity_write_size(v, out);
        break;
    case SETTING_MONEY:
        quantity_write_money(v, out);
        break;
    default:
        snprintf(out, QUANTITY_TEXT_MAX, "%.12g", v);
    }
}

static bool has_range(const struct setting *s)
{
    return s->min != 0 || s->max != 0;
}

/* A bound in words. A tiny lower one only says that 0 is not allowed. */
static void write_bound(const struct setting *s, bool lower, char *out, size_t size)
{
    char limit[QUANTITY_TEXT_MAX];

    write_number(s, lower ? s->min : s->max, limit);
    if (lower && s->min > 0 && s->min <= 1e-6)
        snprintf(out, size, "above 0");
    else
        snprintf(out, size, "at %s %s", lower ? "least" : "most", limit);
}

static int check_range(const struct setting *s, const char *text, double v, struct error *err)
{
    char bound[QUANTITY_TEXT_MAX + 16];

    if (!has_range(s) || (v >= s->min && v <= s->max))
        return 0;
    write_bound(s, v < s->min, bound, sizeof(bound));
    return fail(err, E_INVALID, "%.*s is too %s; it must be %s", QUOTED_MAX, text,
                v < s->min ? "small" : "large", bound);
}

static int refuse_type(const struct setting *s, const char *text, struct error *err)
{
    const char *example = types[s->type].example;

    return fail(err, E_INVALID, "'%.*s' is not %s%s%s", QUOTED_MAX, text, types[s->type].name,
                example ? ", such as " : "", example ? example : "");
}

/* Cut "a|b|c" into words; how many. */
static unsigned split(const char *list, char words[CHOICES_MAX][CHOICE_MAX])
{
    unsigned count = 0;

    while (*list && count < CHOICES_MAX) {
        size_t size = strcspn(list, "|");

        snprintf(words[count++], CHOICE_MAX, "%.*s", (int)size, list);
        list += size + (list[size] == '|');
    }
    return count;
}

static int read_choice(const struct setting *s, const char *text, struct error *err)
{
    char words[CHOICES_MAX][CHOICE_MAX], list[256] = "";
    unsigned count = split(s->choices, words);
    struct suggest near = { .word = text };

    if (setting_listed(s->choices, text))
        return 0;
    for (unsigned i = 0; i < count; i++) {
        size_t used = strlen(list);

        suggest_offer(&near, words[i]);
        snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", words[i]);
    }
    if (near.best)
        return fail(err, E_INVALID, "there is no '%.*s'; did you mean '%s'? (there are: %s)",
                    QUOTED_MAX, text, near.best, list);
    return fail(err, E_INVALID, "there is no '%.*s' (there are: %s)", QUOTED_MAX, text, list);
}

static int read_switch(const struct setting *s, const char *text, double *out, struct error *err)
{
    if (setting_listed("yes|true|on|Yes|True|On|YES|TRUE|ON", text))
        *out = 1;
    else if (setting_listed("no|false|off|No|False|Off|NO|FALSE|OFF", text))
        *out = 0;
    else
        return refuse_type(s, text, err);
    return 0;
}

static int read_count(const struct setting *s, const char *text, struct setting_value *v,
                      struct error *err)
{
    double number;
    uint64_t n;
    int rc;

    if (!quantity_count(text, &n)) {
        /* A negative number is a number all the same. */
        if (has_range(s) && parse_f64(text, &number) && number < s->min)
            return check_range(s, text, number, err);
        return refuse_type(s, text, err);
    }
    rc = check_range(s, text, (double)n, err);
    if (rc)
        return rc;
    v->count = n;
    v->number = (double)n;
    return 0;
}

static int read_number(const struct setting *s, const char *text, double *out, struct error *err)
{
    double v = 0;
    bool ok = false;
    int rc;

    switch (s->type) {
    case SETTING_DURATION:
        ok = quantity_duration(text, &v);
        break;
    case SETTING_SIZE:
        ok = quantity_size(text, (double)MIB, &v);
        break;
    case SETTING_MONEY:
        ok = quantity_money(text, &v);
        break;
    default:
        ok = parse_f64(text, &v);
    }
    if (!ok)
        return refuse_type(s, text, err);
    rc = check_range(s, text, v, err);
    if (!rc)
        *out = v;
    return rc;
}

int setting_value_read(const struct setting *s, const char *text, struct setting_value *v,
                       struct error *err)
{
    if (!text[0])
        return fail(err, E_INVALID, "has no value; give one, or leave the setting out");
    switch (s->type) {
    case SETTING_TEXT:
    case SETTING_PATH:
        for (const char *c = text; *c; c++)
            if ((unsigned char)*c < 32)
                return fail(err, E_INVALID, "'%.*s' holds a control character", QUOTED_MAX, text);
        return 0;
    case SETTING_CHOICE:
        return read_choice(s, text, err);
    case SETTING_SWITCH:
        return read_switch(s, text, &v->number, err);
    case SETTING_COLUMNS:
        return job_columns_check(text, err);
    case SETTING_COUNT:
        return read_count(s, text, v, err);
    default:
        return read_number(s, text, &v->number, err);
    }
}

static void write_choices(const struct setting *s, struct buf *out)
{
    char words[CHOICES_MAX][CHOICE_MAX];
    unsigned count = split(s->choices, words);

    for (unsigned i = 0; i < count; i++)
        buf_printf(out, "%s%s", i ? ", " : count > 1 ? "one of " : "", words[i]);
}

void setting_write_range(const struct setting *s, struct buf *out)
{
    char bound[QUANTITY_TEXT_MAX + 16], min[QUANTITY_TEXT_MAX], max[QUANTITY_TEXT_MAX];
    double unbounded = s->type == SETTING_SIZE ? 1e15 : SETTING_UNBOUNDED;

    if (s->type == SETTING_CHOICE) {
        write_choices(s, out);
        return;
    }
    buf_str(out, types[s->type].name);
    if (!has_range(s))
        return;
    write_bound(s, true, bound, sizeof(bound));
    write_number(s, s->min, min);
    write_number(s, s->max, max);
    if (s->max >= unbounded)
        buf_printf(out, ", %s", bound);
    else
        buf_printf(out, " from %s to %s", min, max);
}

/* "0.28 (factorisation), 0.1 (svm, softmax)": models that agree share an entry. */
static void write_proposals(const struct setting *s, struct buf *out)
{
    const char *written[CHOICES_MAX] = { 0 };
    unsigned count = 0;

    for (unsigned i = 0; model_at(i); i++) {
        const char *value = setting_default(s, model_at(i)->name);
        const char *comma = "";
        bool known = !value;

        for (unsigned k = 0; k < count && !known; k++)
            known = strcmp(written[k], value) == 0;
        if (known || count == CHOICES_MAX)
            continue;
        buf_printf(out, "%s%s (", count ? ", " : "", value);
        written[count++] = value;
        for (unsigned j = i; model_at(j); j++) {
            const char *other = setting_default(s, model_at(j)->name);

            if (other && strcmp(other, value) == 0) {
                buf_printf(out, "%s%s", comma, model_at(j)->name);
                comma = ", ";
            }
        }
        buf_str(out, ")");
    }
}

/* Whether every model has the same default, maybe none. */
static bool models_agree(const struct setting *s)
{
    const char *first = setting_default(s, model_at(0)->name);

    for (unsigned i = 1; model_at(i); i++) {
        const char *other = setting_default(s, model_at(i)->name);

        if ((first == NULL) != (other == NULL) || (first && strcmp(first, other) != 0))
            return false;
    }
    return true;
}

void setting_write_default(const struct setting *s, struct buf *out)
{
    const char *common = models_agree(s) ? setting_default(s, model_at(0)->name) : NULL;
    size_t before = out->size;

    if (common) {
        buf_str(out, common);
        return;
    }
    if (!models_agree(s))
        write_proposals(s, out);
    if (s->otherwise)
        buf_printf(out, "%s%s", out->size > before ? ", " : "", s->otherwise);
}

const char *setting_placeholder(const struct setting *s)
{
    return types[s->type].placeholder;
}
