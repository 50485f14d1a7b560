/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C (Castagnoli), as used by iSCSI and ext4: what every block and message is checked with. */
#ifndef GUST_BASE_CRC32C_H
#define GUST_BASE_CRC32C_H

#include "base/util.h"

/* Continue CRC (0 at the start) over SIZE bytes. Uses the CPU's instruction where there is one. */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);

/* The portable version: the reference that the fast one is tested against. */
uint32_t crc32c_portable(uint32_t crc, const void *data, size_t size);

#endif
