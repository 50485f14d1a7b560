/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one table of what a job can say. It drives reading and checking job files, the options of
 * `gust train`, `--set section.name=value`, `gust help job`, docs/JOB.md and the manual page.
 *
 * To add a setting, add a row to the table in settings.c; if it belongs to a worker, give the
 * name by which workers know it, and it reaches them without another line of code.
 */
#ifndef GUST_CLIENT_SETTINGS_H
#define GUST_CLIENT_SETTINGS_H

#include "base/buf.h"

/* Most rows that the table may have. */
#define SETTINGS_MAX 96

enum setting_type {
    SETTING_TEXT,
    SETTING_PATH,
    SETTING_CHOICE,   /* one of `choices` */
    SETTING_SWITCH,   /* yes or no */
    SETTING_COUNT,    /* a whole number */
    SETTING_NUMBER,   /* a real number */
    SETTING_DURATION, /* min and max in seconds */
    SETTING_SIZE,     /* min and max in bytes; a number alone is in MB */
    SETTING_MONEY,    /* min and max in dollars */
    SETTING_COLUMNS,  /* columns by role: client/job_columns.h */
};

/* A section of the job file. */
struct section {
    const char *name;
    const char *main; /* the setting that "section: value" sets; NULL: there is none */
    const char *help; /* one sentence */
};

struct setting {
    const char *section, *name;
    enum setting_type type;
    double min, max;     /* both 0: any; a max from SETTING_UNBOUNDED on is not mentioned */
    const char *choices; /* "a|b|c" */
    const char
        *fallback; /* what holds when nothing is given, as a person would write it; NULL: none */
    const char *otherwise; /* in words, what happens without it, where there is no fallback */
    const char *unit;      /* of a number: "examples", "epochs"; NULL: none */
    const char *option;    /* of `gust train`, without dashes; NULL: by --set only */
    const char *prop;      /* the name by which workers know it; NULL: the client's own */
    const char *when, *is; /* counts only when setting WHEN is one of IS ("a|b"); NULL: always */
    const char *help;      /* what it does: a sentence without a full stop, or several with */
};

#define SETTING_UNBOUNDED 1e6

/* The I-th section or setting, or NULL after the last. Settings lie in the order of their sections.
 */
const struct section *section_at(unsigned i);
const struct setting *setting_at(unsigned i);
unsigned setting_index(const struct setting *s);

/* The section called NAME, or NULL. In all names '-' and '_' are the same. */
const struct section *section_find(const char *name);

/* Setting "section.name", or NULL. */
const struct setting *setting_find(const char *path);
/* Setting NAME of SECTION, or NULL. */
const struct setting *setting_in(const char *section, const char *name);

/*
 * As people abbreviate on a command line: a path, a section that has a main setting, or a name
 * that only one section has. NULL when there is none or more than one.
 */
const struct setting *setting_resolve(const char *name);

/*
 * For an unknown NAME in SECTION (NULL: at the top): what may have been meant, as the end of a
 * sentence: "; did you mean 'workers'?", or the names there are. Never empty.
 */
void setting_suggest(const char *section, const char *name, char *out, size_t size);

/* Whether WORD is one of LIST ("a|b|c"). */
bool setting_listed(const char *list, const char *word);

/*
 * What holds for MODEL when the job does not give S: the model's own proposal, or the table's.
 * NULL: nothing in particular; s->otherwise says what happens. MODEL may be NULL.
 */
const char *setting_default(const struct setting *s, const char *model);

#endif
