/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.html: a run as one page that needs nothing else, no network and no script. Made from
 * summary.json and events.jsonl alone, so that it can be made again at any time.
 */
#ifndef GUST_CLIENT_REPORT_HTML_H
#define GUST_CLIENT_REPORT_HTML_H

#include "client/history.h"
#include "client/summary.h"

/* VERSION of the program, for the foot of the page. */
void report_html_write(const struct summary *s, const struct history *h, const char *version,
                       struct buf *out);

/* Read both from OBJECTS and put the page there. E_NOT_FOUND without a summary. */
int report_html_make(struct objects *objects, struct heap *heap, const char *version,
                     struct error *err);

#endif
