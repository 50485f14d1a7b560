/* SPDX-License-Identifier: Apache-2.0 */
/* What is written reads back; everything that is not exactly right is refused by name. */
#include "support/test.h"

#include "base/wire.h"
#include "client/safetensors.h"

static struct heap heap;

/* A file with HEADER and DATA_BYTES zero bytes behind it. */
static struct slice file_of(struct buf *out, const char *header, size_t data_bytes)
{
    buf_init(out, &heap, MIB);
    wire_put_u64(out, strlen(header));
    buf_str(out, header);
    if (data_bytes)
        memset(buf_extend(out, data_bytes), 0, data_bytes);
    return buf_slice(out);
}

static void what_is_written_reads_back(void **state)
{
    struct safetensor tensors[] = {
        { .name = "ids", .type = SAFETENSOR_I64, .dims = 1, .shape = { 2 } },
        { .name = "w", .type = SAFETENSOR_F32, .dims = 2, .shape = { 3, 2 } },
        { .name = "none", .type = SAFETENSOR_F32, .dims = 1, .shape = { 0 } },
        { .name = "b", .type = SAFETENSOR_F32, .dims = 0 },
        { .name = "text", .type = SAFETENSOR_U8, .dims = 1, .shape = { 5 } },
    };
    struct props metadata;
    struct safetensors s;
    struct buf file;
    float third;

    (void)state;
    props_init(&metadata, &heap);
    props_set(&metadata, "model", "a \"quoted\"\nword");
    buf_init(&file, &heap, MIB);
    assert_int_equal(safetensors_header(tensors, 5, &metadata, &file, NULL), 0);
    assert_int_equal(file.size % 8, 0);
    for (int64_t i = 0; i < 2; i++)
        buf_add(&file, &i, sizeof(i));
    for (unsigned i = 0; i < 7; i++)
        buf_add(&file, &(float){ (float)i / 2 }, sizeof(float));
    buf_str(&file, "hello");

    assert_int_equal(safetensors_open(&s, &heap, buf_slice(&file), NULL), 0);
    assert_int_equal(s.count, 5);
    assert_string_equal(props_find(&s.metadata, "model"), "a \"quoted\"\nword");
    assert_int_equal(safetensors_find(&s, "w")->shape[1], 2);
    memcpy(&third, (const char *)safetensors_find(&s, "w")->bytes.data + 12, sizeof(third));
    assert_true(third == 1.5f);
    assert_int_equal(safetensors_find(&s, "none")->bytes.size, 0);
    assert_memory_equal(safetensors_find(&s, "text")->bytes.data, "hello", 5);
    assert_null(safetensors_find(&s, "x"));
    safetensors_close(&s);
    props_release(&metadata);
    buf_release(&file);
    assert_int_equal(heap.used_bytes, 0);
}

static void refused(const char *header, size_t data_bytes, const char *why)
{
    struct error err = { 0 };
    struct safetensors s;
    struct buf file;

    if (safetensors_open(&s, &heap, file_of(&file, header, data_bytes), &err) == 0)
        fail_msg("accepted: %s", header);
    if (!strstr(err.text, why))
        fail_msg("'%s' instead of '%s' for %s", err.text, why, header);
    buf_release(&file);
    assert_int_equal(heap.used_bytes, 0);
}

#define T(shape, offsets) "{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void places_and_shapes_must_agree(void **state)
{
    (void)state;
    refused("{\"a\":" T("[2]", "[0,12]") "}", 12, "has 12 bytes, and its shape needs 8");
    refused("{\"a\":" T("[2]", "[0,8]") "}", 4, "cut off or garbled");
    refused("{\"a\":" T("[2]", "[8,0]") "}", 8, "cut off or garbled");
    refused("{\"a\":" T("[2]", "[0,8]") "}", 9, "1 bytes follow the last tensor");
    refused("{\"a\":" T("[2]", "[0,8]") ",\"b\":" T("[1]", "[4,8]") "}", 8, "overlaps");
    refused("{\"a\":" T("[1]", "[0,4]") ",\"b\":" T("[1]", "[8,12]") "}", 12, "hole");
    refused("{\"a\":" T("[1]", "[0,4]") ",\"a\":" T("[1]", "[4,8]") "}", 8, "comes twice");
    refused("{\"a\":" T("[4611686018427387904,4]", "[0,0]") "}", 0, "its shape needs");
    refused("{\"a\":" T("[1,1,1]", "[0,4]") "}", 4, "more than 2 dimensions");
    refused("{\"a\":" T("[1]", "[0,4,8]") "}", 4, "two offsets");
    refused("{\"a\":" T("[-1]", "[0,4]") "}", 4, "garbled");
}

static void headers_must_be_whole(void **state)
{
    (void)state;
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "lacks its type, shape or offsets");
    refused("{\"a\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4, "type 'BF16'");
    refused("{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 0, "twice");
    refused("{\"a\":{\"more\":1}}", 0, "beside type, shape");
    refused("{\"a\":", 0, "garbled at byte");
    refused("{} x", 0, "garbled");
    refused("{\"__metadata__\":{\"a\":1}}", 0, "a string is expected");
    refused("{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0, "comes twice");
    refused("[]", 0, "no model");
}

static void metadata_of_other_programs_are_no_obstacle(void **state)
{
    struct safetensors s;
    struct buf file;

    (void)state;
    file_of(&file, "{\"__metadata__\":{\"\":\"\",\"a: b\":\"1\",\"# c\":\"2\",\"format\":\"pt\"}}",
            0);
    assert_int_equal(safetensors_open(&s, &heap, buf_slice(&file), NULL), 0);
    assert_int_equal(s.metadata.count, 1);
    assert_string_equal(props_find(&s.metadata, "format"), "pt");
    safetensors_close(&s);
    buf_release(&file);
}

static void what_is_no_safetensors_file_is_said_to_be_none(void **state)
{
    static const char *const foreign[] = { "", "PK\3\4", "userId,movieId,rating\n1,2,3\n",
                                           "\x80\x02}q\x01(X\x07\0\0\0weights" };
    struct safetensors s;
    struct error err;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(foreign); i++) {
        err = (struct error){ 0 };
        assert_int_equal(safetensors_open(&s, &heap, slice_str(foreign[i]), &err), E_FORMAT);
        assert_non_null(strstr(err.text, "no model"));
    }
}

static void every_cut_is_noticed(void **state)
{
    struct safetensors s;
    struct buf file;

    (void)state;
    file_of(&file, "{\"a\":" T("[2,2]", "[0,16]") ",\"b\":" T("[1]", "[16,20]") "}", 20);
    assert_int_equal(safetensors_open(&s, &heap, buf_slice(&file), NULL), 0);
    safetensors_close(&s);
    for (size_t size = 0; size < file.size; size++) {
        /* A copy of just that size, so that a sanitizer sees reads past the end. */
        char *cut = heap_alloc(&heap, size);

        memcpy(cut, file.data, size);
        assert_int_not_equal(safetensors_open(&s, &heap, slice(cut, size), NULL), 0);
        heap_free(&heap, cut);
    }
    buf_release(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(places_and_shapes_must_agree),
        cmocka_unit_test(headers_must_be_whole),
        cmocka_unit_test(metadata_of_other_programs_are_no_obstacle),
        cmocka_unit_test(what_is_no_safetensors_file_is_said_to_be_none),
        cmocka_unit_test(every_cut_is_noticed),
    };

    heap_init(&heap, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
