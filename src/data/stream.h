/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading people's text files, plain or compressed (gzip, zstd; known by their first bytes), as
 * pieces of whole lines. Memory is bounded by the caller's piece size: a longer line is refused.
 * A byte-order mark at the start is skipped. The only file that knows zlib and zstd; `gust`
 * links it, functions do not.
 */
#ifndef GUST_DATA_STREAM_H
#define GUST_DATA_STREAM_H

#include "base/buf.h"

struct stream;

/* What a file was when it was opened; enough to notice that it changed. */
struct stream_stat {
    uint64_t size_bytes; /* on disk */
    uint64_t changed_ns;
};

/*
 * PATH is a file; folders are E_INVALID. E_NOT_FOUND, E_IO, E_FORMAT for what is packed otherwise
 * (xz, zip, bzip2, lz4) or UTF-16, each with a sentence.
 */
int stream_open(struct stream **out, const char *path, struct heap *heap, struct error *err);
/* S may be NULL. */
void stream_close(struct stream *s);

/* As it was when opened. */
struct stream_stat stream_stat(const struct stream *s);
/* How many bytes of the file have been read: for progress. */
uint64_t stream_position(const struct stream *s);
/* A hash of the file's bytes read so far, before decompression. */
uint64_t stream_hash(const struct stream *s);

/*
 * Fill INTO with whole lines, at most ROOM bytes; *SIZE is 0 at the end of the file. The last line
 * of a file may lack its newline. The pieces depend on the text and ROOM only, not on how it
 * is compressed. E_LIMIT: a line, whose number is said, does not fit in ROOM; E_FORMAT: damaged compressed data; E_IO; E_INVALID: the file was
 * cut or changed while it was read.
 */
int stream_read(struct stream *s, char *into, size_t room, size_t *size, struct error *err);

/* Number of the first line of the next piece, from 1. */
uint64_t stream_line(const struct stream *s);

#endif
