/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantities as people write them, in job files and on command lines. Every function takes the
 * whole text (no blanks around it), returns false and leaves OUT alone when it is anything else.
 */
#ifndef GUST_BASE_QUANTITY_H
#define GUST_BASE_QUANTITY_H

#include <stdbool.h>

#include "base/util.h"

/* 6250, 50k, 1.5M, 2G, 1e6: whole in the end, and k, M, G are thousands of one another. */
bool quantity_count(const char *text, uint64_t *out);

/* 90, 90s, 250ms, 15m, 2h30m, 1.5h, 7d: in seconds; a number alone is seconds. */
bool quantity_duration(const char *text, double *out_s);

/*
 * 442MB, 1.5GB, 64 KiB, 1769: in bytes. Memory is counted as function platforms count it: kB,
 * MB and GB are powers of 1024, as KiB, MiB and GiB are. A number alone is in UNIT_BYTES.
 */
bool quantity_size(const char *text, double unit_bytes, double *out_bytes);

/* $0.50, 0.50, 0.50 USD: in dollars. */
bool quantity_money(const char *text, double *out_usd);

/* Room for any text that these write. */
#define QUANTITY_TEXT_MAX 40

/* Write what the readers above read back: "2h30m", "442MB", "$0.50". */
void quantity_write_duration(double seconds, char out[QUANTITY_TEXT_MAX]);
void quantity_write_size(double bytes, char out[QUANTITY_TEXT_MAX]);
void quantity_write_money(double usd, char out[QUANTITY_TEXT_MAX]);

#endif
