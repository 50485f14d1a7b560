/* SPDX-License-Identifier: Apache-2.0 */
/* Files as pieces of whole lines, plain and compressed. */
#include <zlib.h>
#include <zstd.h>

#include "data/stream.h"
#include "support/test.h"
#include "import_fixture.h"

static void write_gzip(const char *path, struct slice text)
{
    gzFile g = gzopen(path, "ab");

    assert_non_null(g);
    assert_int_equal(gzwrite(g, text.data, (unsigned)text.size), text.size);
    assert_int_equal(gzclose(g), Z_OK);
}

static void write_zstd(const char *path, struct slice text)
{
    size_t room = ZSTD_compressBound(text.size), size;
    char *packed = malloc(room);

    size = ZSTD_compress(packed, room, text.data, text.size, 3);
    assert_false(ZSTD_isError(size));
    write_bytes(path, packed, size);
    free(packed);
}

/* Every piece with its first line's number, as text; the return code of the last read. */
static int read_pieces(struct import_fixture *f, const char *path, size_t room, struct buf *out)
{
    char *piece = malloc(room);
    struct stream *s = NULL;
    int rc = stream_open(&s, path, &f->heap, &f->err);
    size_t size = 1;

    buf_reset(out);
    while (!rc && size) {
        buf_printf(out, "[%llu]", (unsigned long long)stream_line(s));
        rc = stream_read(s, piece, room, &size, &f->err);
        if (!rc)
            buf_add(out, piece, size);
    }
    stream_close(s);
    free(piece);
    return rc;
}

static void pieces_are_whole_lines(void **state)
{
    struct import_fixture *f = *state;
    struct buf out;

    buf_init(&out, &f->heap, MIB);
    write_text("a", "\xef\xbb\xbf"
                    "one\ntwo\r\nthree\n\nfive");
    assert_int_equal(read_pieces(f, "a", 10, &out), 0);
    assert_string_equal(out.data, "[1]one\ntwo\r\n[3]three\n\n[5]five[5]");
    assert_int_equal(read_pieces(f, "a", 100, &out), 0);
    assert_string_equal(out.data, "[1]one\ntwo\r\nthree\n\nfive[5]");
    write_text("a", "");
    assert_int_equal(read_pieces(f, "a", 10, &out), 0);
    assert_string_equal(out.data, "[1]");
    write_text("a", "one\nfourteen\n");
    assert_int_equal(read_pieces(f, "a", 8, &out), E_LIMIT);
    expect_words(f, "a:2: the line is longer than 8 bytes");
    buf_release(&out);
}

static void pieces_do_not_depend_on_the_packing(void **state)
{
    struct import_fixture *f = *state;
    struct buf text, plain, packed;

    buf_init(&text, &f->heap, 16 * MIB);
    buf_init(&plain, &f->heap, 16 * MIB);
    buf_init(&packed, &f->heap, 16 * MIB);
    for (unsigned i = 0; i < 100000; i++)
        buf_printf(&text, "%u %u\n", i, i * 2654435761u);
    write_bytes("t", text.data, text.size);
    /* Two members, one after the other. */
    write_gzip("t.gz", slice(text.data, 777777));
    write_gzip("t.gz", slice(text.data + 777777, text.size - 777777));
    write_zstd("t.zst", buf_slice(&text));
    for (size_t room = 64; room < 8 * MIB; room *= 37) {
        assert_int_equal(read_pieces(f, "t", room, &plain), 0);
        assert_int_equal(read_pieces(f, "t.gz", room, &packed), 0);
        assert_true(slice_equal(buf_slice(&plain), buf_slice(&packed)));
        assert_int_equal(read_pieces(f, "t.zst", room, &packed), 0);
        assert_true(slice_equal(buf_slice(&plain), buf_slice(&packed)));
    }
    buf_release(&text);
    buf_release(&plain);
    buf_release(&packed);
}

static void damaged_and_cut_files_are_refused(void **state)
{
    static const char *const names[] = { "t.gz", "t.zst" };
    struct import_fixture *f = *state;
    struct buf text, out;

    buf_init(&text, &f->heap, 16 * MIB);
    buf_init(&out, &f->heap, 16 * MIB);
    for (unsigned i = 0; i < 20000; i++)
        buf_printf(&text, "%u\n", i * 2654435761u);
    write_gzip("t.gz", buf_slice(&text));
    write_zstd("t.zst", buf_slice(&text));
    for (unsigned i = 0; i < 2; i++) {
        struct stat st;
        FILE *file;

        assert_int_equal(stat(names[i], &st), 0);
        assert_int_equal(truncate(names[i], st.st_size - 100), 0);
        assert_int_equal(read_pieces(f, names[i], MIB, &out), E_FORMAT);
        expect_words(f, "cut short");
        file = fopen(names[i], "r+");
        fseek(file, st.st_size / 2, SEEK_SET);
        fwrite("damage damage damage damage", 1, 27, file);
        fclose(file);
        assert_int_equal(read_pieces(f, names[i], MIB, &out), E_FORMAT);
        expect_words(f, "the compressed data are");
    }
    buf_release(&text);
    buf_release(&out);
}

static void a_file_that_grows_or_shrinks_meanwhile_is_noticed(void **state)
{
    struct import_fixture *f = *state;
    char piece[64];
    struct stream *s;
    size_t size;

    write_text("a", "one\ntwo\n");
    assert_int_equal(stream_open(&s, "a", &f->heap, &f->err), 0);
    write_text("a", "one\ntwo\nthree\n");
    assert_int_equal(stream_read(s, piece, sizeof(piece), &size, &f->err), E_INVALID);
    expect_words(f, "a changed while it was read");
    stream_close(s);
    assert_int_equal(stream_open(&s, ".", &f->heap, &f->err), E_INVALID);
    expect_words(f, ". is not a file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pieces_are_whole_lines),
        TEST(pieces_do_not_depend_on_the_packing),
        TEST(damaged_and_cut_files_are_refused),
        TEST(a_file_that_grows_or_shrinks_meanwhile_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
