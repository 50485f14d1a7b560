/* SPDX-License-Identifier: Apache-2.0 */
/* What a job file can say, for people: on a terminal, as Markdown, and the words for both. */
#ifndef GUST_CLI_JOB_REFERENCE_H
#define GUST_CLI_JOB_REFERENCE_H

#include "base/buf.h"
#include "client/settings.h"

extern const char reference_intro[];   /* what a job file is */
extern const char reference_example[]; /* a whole one */
extern const char reference_values[];  /* how values are written */

/* Everything about one setting as sentences: what it does, takes, defaults to and needs. */
void reference_sentences(const struct setting *s, struct buf *out);

/* The whole reference, one section of it (SECTION), or one setting (SETTING), for a terminal. */
void reference_text(const struct section *section, const struct setting *setting, struct buf *out);

/* docs/JOB.md. */
void reference_markdown(struct buf *out);

#endif
