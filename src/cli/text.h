/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for people. */
#ifndef GUST_CLI_TEXT_H
#define GUST_CLI_TEXT_H

#include "base/util.h"

/* Room for any of these; returned by value so that several fit into one printf. */
struct text {
    char s[32];
};

/* 9,000,000 */
struct text text_count(uint64_t n);
/* 29.1 M, 850 k, 12 */
struct text text_short(double n);
/* 8.1 MB, 640 kB */
struct text text_bytes(double bytes);
/* 1.62 s, 35 ms, 41 us */
struct text text_seconds(double seconds);
/* $0.000312, $1.25 */
struct text text_usd(double usd);

#endif
