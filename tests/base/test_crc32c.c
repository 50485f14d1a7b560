/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "base/crc32c.h"
#include "base/random.h"

/* RFC 3720, appendix B.4, and the check value of the CRC catalogues. */
static void known_vectors(void **state UNUSED)
{
    unsigned char zeros[32] = { 0 }, ones[32], up[32], down[32];
    static uint32_t (*const versions[])(uint32_t, const void *, size_t) = { crc32c,
                                                                            crc32c_portable };

    for (unsigned i = 0; i < 32; i++) {
        ones[i] = 0xFF;
        up[i] = (unsigned char)i;
        down[i] = (unsigned char)(31 - i);
    }
    for (unsigned v = 0; v < ARRAY_SIZE(versions); v++) {
        assert_int_equal(versions[v](0, "", 0), 0);
        assert_int_equal(versions[v](0, "123456789", 9), 0xE3069283);
        assert_int_equal(versions[v](0, zeros, 32), 0x8A9136AA);
        assert_int_equal(versions[v](0, ones, 32), 0x62A8AB43);
        assert_int_equal(versions[v](0, up, 32), 0x46DD794E);
        assert_int_equal(versions[v](0, down, 32), 0x113FDB5C);
    }
}

static void fast_equals_portable_for_all_lengths_and_alignments(void **state UNUSED)
{
    unsigned char bytes[600];

    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)random_at(1, i, 0, 0);
    for (unsigned from = 0; from < 9; from++)
        for (unsigned size = 0; size + from <= sizeof(bytes); size++)
            assert_int_equal(crc32c(size, bytes + from, size),
                             crc32c_portable(size, bytes + from, size));
}

/* Long runs are read in three stripes at once. */
static void fast_equals_portable_for_long_runs(void **state UNUSED)
{
    static const size_t sizes[] = { 24575, 24576, 24577, 49152, 49160, 100003 };
    unsigned char *bytes = malloc(100010);

    for (unsigned i = 0; i < 100010; i++)
        bytes[i] = (unsigned char)random_at(2, i, 0, 0);
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
        assert_int_equal(crc32c((uint32_t)i, bytes + i, sizes[i]),
                         crc32c_portable((uint32_t)i, bytes + i, sizes[i]));
    free(bytes);
}

static void a_checksum_can_be_continued(void **state UNUSED)
{
    const char *text = "continued at any byte, the sum is that of the whole";
    size_t size = strlen(text);
    uint32_t whole = crc32c(0, text, size);

    for (size_t cut = 0; cut <= size; cut++)
        assert_int_equal(crc32c(crc32c(0, text, cut), text + cut, size - cut), whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_vectors),
        cmocka_unit_test(fast_equals_portable_for_all_lengths_and_alignments),
        cmocka_unit_test(fast_equals_portable_for_long_runs),
        cmocka_unit_test(a_checksum_can_be_continued),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
