/* SPDX-License-Identifier: Apache-2.0 */
/* The value of a setting: from what somebody wrote to something checked, and back into words. */
#ifndef GUST_CLIENT_SETTING_VALUE_H
#define GUST_CLIENT_SETTING_VALUE_H

#include "client/settings.h"

struct setting_value {
    bool given;         /* somebody gave it */
    bool bad;           /* and it was refused */
    const char *text;   /* as written; on the owner's heap */
    const char *source; /* the job file's name, "--workers" or "--set" */
    unsigned line;      /* in the job file; 0: from the command line */
    double number;      /* every kind of number: seconds, bytes, dollars; switches: 0 or 1 */
    uint64_t count;     /* counts */
};

/*
 * Check TEXT against type and range of S and put number or count into V. E_INVALID with a
 * sentence that says what is wrong and what would do; it does not name the setting.
 */
int setting_value_read(const struct setting *s, const char *text, struct setting_value *v,
                       struct error *err);

/* What S takes: "a whole number from 1 to 2048", "one of sum, mean". */
void setting_write_range(const struct setting *s, struct buf *out);

/* What holds when nothing is given, by model where they differ: "2", "0.14 (logistic), ...". */
void setting_write_default(const struct setting *s, struct buf *out);

/* What to call its value in a line of help: "N", "SIZE", "FOLDER". */
const char *setting_placeholder(const struct setting *s);

#endif
