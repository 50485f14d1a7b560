/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Little-endian, fixed-size fields one after the other: how control records, reports and
 * base manifests cross a boundary. A reader never reads past its end: a short message sets
 * `failed`, every later field reads as zero, and the caller checks once.
 */
#ifndef GUST_BASE_WIRE_H
#define GUST_BASE_WIRE_H

#include "base/buf.h"

void wire_put_u32(struct buf *b, uint32_t v);
void wire_put_u64(struct buf *b, uint64_t v);
void wire_put_f64(struct buf *b, double v);
/* Length as u32, then the bytes; b->failed when they are 4 GiB or more. */
void wire_put_bytes(struct buf *b, struct slice s);

struct wire_reader {
    const unsigned char *at, *end;
    bool failed;
};

void wire_read(struct wire_reader *r, struct slice message);
uint32_t wire_u32(struct wire_reader *r);
uint64_t wire_u64(struct wire_reader *r);
double wire_f64(struct wire_reader *r);
/* Borrowed from the message; empty on failure or when longer than MAX. */
struct slice wire_bytes(struct wire_reader *r, size_t max);
/* All fields were there and nothing is left over. */
bool wire_done(const struct wire_reader *r);

#endif
