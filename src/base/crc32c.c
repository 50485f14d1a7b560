/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crc32c.h"

/* The table for one nibble: 64 bytes, no start-up cost, and good enough where no CPU helps. */
static const uint32_t nibble[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t crc32c_portable(uint32_t crc, const void *data, size_t size)
{
    const unsigned char *p = data;

    crc = ~crc;
    for (size_t i = 0; i < size; i++) {
        crc ^= p[i];
        crc = nibble[crc & 15] ^ (crc >> 4);
        crc = nibble[crc & 15] ^ (crc >> 4);
    }
    return ~crc;
}

#if defined(__x86_64__)

__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const void *data,
                                                               size_t size)
{
    const unsigned char *p = data;
    uint64_t wide = ~crc;

    for (; size >= 8; size -= 8, p += 8) {
        uint64_t word;

        memcpy(&word, p, 8);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    for (; size > 0; size--, p++)
        wide = __builtin_ia32_crc32qi((uint32_t)wide, *p);
    return ~(uint32_t)wide;
}

uint32_t crc32c(uint32_t crc, const void *data, size_t size)
{
    if (__builtin_cpu_supports("sse4.2"))
        return crc32c_sse42(crc, data, size);
    return crc32c_portable(crc, data, size);
}

#else

uint32_t crc32c(uint32_t crc, const void *data, size_t size)
{
    return crc32c_portable(crc, data, size);
}

#endif
