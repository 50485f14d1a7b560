/* SPDX-License-Identifier: Apache-2.0 */
/* How far an import is, on standard error: one changing line on a terminal, else a line now and
 * then. */
#ifndef GUST_CLI_DATA_PROGRESS_H
#define GUST_CLI_DATA_PROGRESS_H

#include "data/import.h"

struct data_progress {
    bool quiet;
    bool terminal;
    bool drawn; /* there is a line to be wiped */
    uint64_t next_ns;
};

void data_progress_init(struct data_progress *p, bool quiet);

/* Wipe the line; before anything else is printed. */
void data_progress_end(struct data_progress *p);

/* For struct import_options, with arg a struct data_progress. */
void data_progress_tell(void *arg, const struct import_progress *now);
void data_progress_bad(void *arg, const char *place, const char *reason);

/* Say what came of it, in one line. WHERE is the data set's folder. */
void data_progress_result(struct data_progress *p, const struct import_result *r,
                          const char *where);

/* Threads to import with: one per core, at most 16. */
unsigned data_threads(void);

/* Memory for examples while importing: an eighth of the machine's, 256 MiB to 1 GiB. */
size_t data_memory(void);

#endif
