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

/*
 * The instruction takes a word every three cycles but can begin one every cycle. So three
 * stripes of STRIPE bytes are read side by side, and the first two results moved on over the
 * stripes behind them: over STRIPE zero bytes, which is linear. behind[i] is where bit i goes.
 */
#define STRIPE 8192

static const uint32_t behind[32] = {
    0xe040e0ac, 0xc56db7a9, 0x8f3719a3, 0x1b8245b7, 0x37048b6e, 0x6e0916dc, 0xdc122db8, 0xbdc82d81,
    0x7e7c2df3, 0xfcf85be6, 0xfc1cc13d, 0xfdd5f48b, 0xfe479fe7, 0xf963493f, 0xf72ae48f, 0xebb9bfef,
    0xd29f092f, 0xa0d264af, 0x4448bfaf, 0x88917f5e, 0x14ce884d, 0x299d109a, 0x533a2134, 0xa6744268,
    0x4904f221, 0x9209e442, 0x21ffbe75, 0x43ff7cea, 0x87fef9d4, 0x0a118559, 0x14230ab2, 0x28461564,
};

static uint32_t move_on(uint32_t crc)
{
    uint32_t moved = 0;

    for (unsigned i = 0; i < 32; i++)
        moved ^= behind[i] & -(crc >> i & 1);
    return moved;
}

__attribute__((target("sse4.2"))) static uint64_t three_stripes(uint64_t crc,
                                                                const unsigned char *p)
{
    uint64_t second = 0, third = 0;

    for (size_t i = 0; i < STRIPE; i += 8) {
        uint64_t a, b, c;

        memcpy(&a, p + i, 8);
        memcpy(&b, p + STRIPE + i, 8);
        memcpy(&c, p + 2 * STRIPE + i, 8);
        crc = __builtin_ia32_crc32di(crc, a);
        second = __builtin_ia32_crc32di(second, b);
        third = __builtin_ia32_crc32di(third, c);
    }
    return move_on(move_on((uint32_t)crc) ^ (uint32_t)second) ^ (uint32_t)third;
}

__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const void *data,
                                                               size_t size)
{
    const unsigned char *p = data;
    uint64_t wide = ~crc;

    for (; size >= 3 * STRIPE; size -= 3 * STRIPE, p += 3 * STRIPE)
        wide = three_stripes(wide, p);
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
