/* SPDX-License-Identifier: Apache-2.0 */
/* Paragraphs on a terminal. */
#ifndef GUST_CLI_WRAP_H
#define GUST_CLI_WRAP_H

#include "base/buf.h"

#define WRAP_WIDTH 80

/*
 * Append TEXT in lines of at most WRAP_WIDTH columns, of which COLUMN are taken on the first and
 * INDENT are blank on the others, and end the last one. A longer word has a line of its own.
 */
void wrap(struct buf *out, const char *text, unsigned column, unsigned indent);

/* One entry of a list: "  LEFT    TEXT", with TEXT wrapped at column INDENT, or below a long LEFT.
 */
void wrap_entry(struct buf *out, const char *left, const char *text, unsigned indent);

#endif
