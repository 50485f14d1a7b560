/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run on the terminal: a permanent line per evaluation, and below them one status line that
 * changes. Where standard output is not a terminal, plain lines: the evaluations, and the status
 * when nothing else was said for a while.
 */
#ifndef GUST_CLI_PROGRESS_H
#define GUST_CLI_PROGRESS_H

#include "client/scheduler.h"

/* Wider terminals are not filled. */
#define DISPLAY_WIDTH_MAX 160u

struct display {
    struct env *env;
    const struct gust_metric *metrics; /* borrowed */
    uint32_t patience;                 /* as of struct job */
    bool silent, terminal, dim;
    bool drawn;                         /* there is a status line to be wiped */
    uint64_t next;                      /* env time of the next status */
    double quality;                     /* of the last evaluation; NaN before */
    double best;                        /* so far */
    unsigned waiting;                   /* evaluations since */
    bool stopping;                      /* the status line is the last word */
    char status[DISPLAY_WIDTH_MAX + 1]; /* as last drawn */
};

/* SILENT prints nothing at all. */
void display_open(struct display *d, struct env *env, const struct gust_metric *metrics,
                  uint32_t patience, bool silent);
/* The titles of what follows, and that functions are being started. */
void display_begin(struct display *d, uint32_t workers);
void display_progress(struct display *d, const struct progress *p);
void display_evaluation(struct display *d, const struct evaluation *e);
/* The run comes to its end; interrupted: by a person. */
void display_stopping(struct display *d, enum run_end why);
/* Wipe the status line; before anything else is printed. */
void display_end(struct display *d);

/* What a status line is made of, beside the progress. */
struct status_line {
    const struct progress *progress;
    const char *metric; /* NULL: nothing was evaluated yet */
    double quality;
};

/*
 * The status in at most WIDTH columns: as many of its parts as fit, the most telling first kept.
 * WIDTH is below SIZE.
 */
void status_write(const struct status_line *l, unsigned width, char *out, size_t size);

/* Columns of the terminal on standard output; 80 where that is not known. */
unsigned terminal_width(void);

#endif
