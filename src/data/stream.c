/* SPDX-License-Identifier: Apache-2.0 */
/* Files as pieces of whole lines. The rest of a line that did not fit waits for the next piece. */
#include "data/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/crc32c.h"
#include "base/random.h"

#define INPUT_BYTES (256 * KIB)

enum packing { PLAIN, GZIP, ZSTD };

struct stream {
    struct heap *heap;
    char *path;
    int fd;
    struct stream_stat stat;
    enum packing packing;
    z_stream gzip;
    ZSTD_DStream *zstd;
    bool between;         /* compressed: at the end of a member or frame */
    unsigned char *input; /* bytes of the file that were not decompressed yet */
    size_t input_at, input_size;
    uint64_t position;
    uint32_t crc;
    char *rest; /* of a line */
    size_t rest_size, rest_room;
    bool started; /* the first piece was read */
    bool ended;   /* the text is at its end */
    uint64_t line;
};

/* ---- opening ---- */

static int no_file(const char *path, struct error *err)
{
    int code = errno == ENOENT || errno == ENOTDIR ? E_NOT_FOUND : E_IO;

    /* What a person may have mistyped or not be allowed to read is bad input, not a broken disk. */
    if (errno == EACCES || errno == EPERM)
        code = E_INVALID;
    return fail(err, code, "cannot read %s: %s", path, strerror(errno));
}

static int look_at(struct stream *s, struct error *err)
{
    struct stat st;

    if (fstat(s->fd, &st) < 0)
        return no_file(s->path, err);
    if (!S_ISREG(st.st_mode))
        return fail(err, E_INVALID, "%s is not a file", s->path);
    s->stat.size_bytes = (uint64_t)st.st_size;
    s->stat.changed_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec;
    return 0;
}

/* The next bytes of the file at INTO; *GOT is 0 at its end. */
static int read_file(struct stream *s, void *into, size_t room, size_t *got, struct error *err)
{
    ssize_t n;

    do
        n = read(s->fd, into, room);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return no_file(s->path, err);
    s->position += (uint64_t)n;
    s->crc = crc32c(s->crc, into, (size_t)n);
    *got = (size_t)n;
    return 0;
}

static int refill(struct stream *s, struct error *err)
{
    s->input_at = 0;
    return read_file(s, s->input, INPUT_BYTES, &s->input_size, err);
}

static bool begins(const struct stream *s, const char *magic, size_t size)
{
    return s->input_size >= size && memcmp(s->input, magic, size) == 0;
}

/* What the first bytes say the file is. */
static int find_packing(struct stream *s, struct error *err)
{
    static const struct {
        const char *magic;
        size_t size;
        const char *what, *remedy;
    } others[] = {
        { "\xfd\x37zXZ", 5, "xz", "unpack it first" },
        { "BZh", 3, "bzip2", "unpack it first" },
        { "PK\3\4", 4, "zip", "unpack it first" },
        { "\x04\x22\x4d\x18", 4, "lz4", "unpack it first" },
        { "\xff\xfe", 2, "UTF-16 text", "convert it to UTF-8" },
        { "\xfe\xff", 2, "UTF-16 text", "convert it to UTF-8" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        if (begins(s, others[i].magic, others[i].size))
            return fail(err, E_FORMAT, "%s is %s; %s", s->path, others[i].what, others[i].remedy);
    if (begins(s, "\x1f\x8b", 2)) {
        s->packing = GZIP;
        if (inflateInit2(&s->gzip, 15 + 16) != Z_OK)
            return fail(err, E_MEMORY, "no memory to unpack %s", s->path);
    } else if (begins(s, "\x28\xb5\x2f\xfd", 4)) {
        s->packing = ZSTD;
        s->zstd = ZSTD_createDStream();
        if (!s->zstd)
            return fail(err, E_MEMORY, "no memory to unpack %s", s->path);
    } else if (begins(s, "\xef\xbb\xbf", 3)) {
        s->input_at = 3;
    }
    return 0;
}

int stream_open(struct stream **out, const char *path, struct heap *heap, struct error *err)
{
    struct stream *s = heap_alloc(heap, sizeof(*s));
    int rc;

    s->heap = heap;
    s->path = heap_strdup(heap, path);
    s->input = heap_alloc(heap, INPUT_BYTES);
    s->line = 1;
    s->fd = open(path, O_RDONLY | O_CLOEXEC);
    rc = s->fd < 0 ? no_file(path, err) : look_at(s, err);
    rc = rc ? rc : refill(s, err);
    rc = rc ? rc : find_packing(s, err);
    if (rc)
        stream_close(s);
    else
        *out = s;
    return rc;
}

void stream_close(struct stream *s)
{
    if (!s)
        return;
    if (s->fd >= 0)
        close(s->fd);
    if (s->packing == GZIP)
        inflateEnd(&s->gzip);
    ZSTD_freeDStream(s->zstd);
    heap_free(s->heap, s->rest);
    heap_free(s->heap, s->input);
    heap_free(s->heap, s->path);
    heap_free(s->heap, s);
}

struct stream_stat stream_stat(const struct stream *s)
{
    return s->stat;
}

uint64_t stream_position(const struct stream *s)
{
    return s->position;
}

uint64_t stream_hash(const struct stream *s)
{
    return random_at(s->crc, s->position, 0, 0);
}

uint64_t stream_line(const struct stream *s)
{
    return s->line;
}

/* ---- text ---- */

static int damaged(const struct stream *s, const char *what, struct error *err)
{
    return fail(err, E_FORMAT, "%s: the compressed data are %s", s->path, what);
}

static int inflate_some(struct stream *s, char *into, size_t room, size_t *got, struct error *err)
{
    size_t input = s->input_size - s->input_at;
    int rc;

    /* A file may be several packed ones, one after the other. */
    if (s->between && inflateReset(&s->gzip) != Z_OK)
        return damaged(s, "damaged", err);
    s->gzip.next_in = s->input + s->input_at;
    s->gzip.avail_in = (unsigned)input;
    s->gzip.next_out = (unsigned char *)into;
    s->gzip.avail_out = (unsigned)MIN(room, (size_t)1 << 30);
    rc = inflate(&s->gzip, Z_NO_FLUSH);
    if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
        return damaged(s, "damaged", err);
    s->between = rc == Z_STREAM_END;
    s->input_at += input - s->gzip.avail_in;
    *got = (size_t)((char *)s->gzip.next_out - into);
    return 0;
}

static int zstd_some(struct stream *s, char *into, size_t room, size_t *got, struct error *err)
{
    ZSTD_inBuffer in = { s->input, s->input_size, s->input_at };
    ZSTD_outBuffer out = { into, room, 0 };
    size_t rc = ZSTD_decompressStream(s->zstd, &out, &in);

    if (ZSTD_isError(rc))
        return damaged(s, "damaged", err);
    s->between = rc == 0;
    s->input_at = in.pos;
    *got = out.pos;
    return 0;
}

/* The next bytes of text; *GOT is 0 at the end only. */
static int read_text(struct stream *s, char *into, size_t room, size_t *got, struct error *err)
{
    int rc = 0;

    *got = 0;
    if (s->packing == PLAIN) {
        if (s->input_at == s->input_size)
            return read_file(s, into, room, got, err);
        *got = MIN(room, s->input_size - s->input_at);
        memcpy(into, s->input + s->input_at, *got);
        s->input_at += *got;
        return 0;
    }
    while (!rc && *got == 0) {
        bool dry = false;

        if (s->input_at == s->input_size) {
            rc = refill(s, err);
            dry = s->input_size == 0;
        }
        if (rc || (dry && s->between))
            break;
        /* At the file's end the decompressor may still hold text. */
        rc = s->packing == GZIP ? inflate_some(s, into, room, got, err)
                                : zstd_some(s, into, room, got, err);
        if (!rc && dry && *got == 0)
            rc = damaged(s, "cut short", err);
    }
    return rc;
}

static int check_unchanged(struct stream *s, struct error *err)
{
    struct stream_stat before = s->stat;
    int rc = look_at(s, err);

    if (!rc && (s->stat.size_bytes != before.size_bytes || s->position != before.size_bytes ||
                s->stat.changed_ns != before.changed_ns))
        rc = fail(err, E_INVALID, "%s changed while it was read; try again", s->path);
    s->stat = before;
    return rc;
}

/* Keep what lies behind the last line end for the next piece. */
static int keep_rest(struct stream *s, const char *from, size_t size, size_t room,
                     struct error *err)
{
    if (size > s->rest_room) {
        heap_free(s->heap, s->rest);
        s->rest_room = 0;
        s->rest = heap_try_alloc_raw(s->heap, 1, room);
        if (!s->rest)
            return fail(err, E_MEMORY, "no memory for a line of %s", s->path);
        s->rest_room = room;
    }
    if (size)
        memcpy(s->rest, from, size);
    s->rest_size = size;
    return 0;
}

static uint64_t count_lines(const char *text, size_t size)
{
    uint64_t lines = 0;

    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    return lines;
}

/* A packed file's byte-order mark comes out of the decompressor. */
static size_t skip_mark(struct stream *s, char *text, size_t size)
{
    bool mark =
        !s->started && s->packing != PLAIN && size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0;

    s->started = true;
    if (mark)
        memmove(text, text + 3, size - 3);
    return mark ? size - 3 : size;
}

int stream_read(struct stream *s, char *into, size_t room, size_t *size, struct error *err)
{
    size_t used = MIN(s->rest_size, room), whole, got = 1;
    const char *last;
    int rc = 0;

    *size = 0;
    if (used)
        memcpy(into, s->rest, used);
    s->rest_size = 0;
    while (!rc && used < room && !s->ended) {
        rc = read_text(s, into + used, room - used, &got, err);
        s->ended = !rc && got == 0;
        used += rc ? 0 : got;
    }
    rc = rc || !s->ended ? rc : check_unchanged(s, err);
    if (rc || used == 0)
        return rc;
    used = skip_mark(s, into, used);
    last = memrchr(into, '\n', used);
    whole = s->ended ? used : last ? (size_t)(last + 1 - into) : 0;
    if (whole == 0 && used)
        return fail(err, E_LIMIT, "%s:%" PRIu64 ": the line is longer than %zu bytes", s->path,
                    s->line, room);
    rc = keep_rest(s, into + whole, used - whole, room, err);
    if (rc)
        return rc;
    s->line += count_lines(into, whole);
    *size = whole;
    return 0;
}
