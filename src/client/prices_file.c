/* SPDX-License-Identifier: Apache-2.0 */
/* A price list from a file of the user's: the one place of the price book that touches files. */
#include "client/prices.h"

#include <errno.h>

int prices_file_read(const char *path, struct buf *out, struct error *err)
{
    FILE *file = fopen(path, "rb");
    char block[4096];
    size_t got;
    int rc = 0;

    if (!file)
        return fail(err, E_NOT_FOUND, "cannot open the price list '%s': %s", path, strerror(errno));
    while ((got = fread(block, 1, sizeof(block), file)) > 0)
        buf_add(out, block, got);
    if (ferror(file))
        rc = fail(err, E_INVALID, "cannot read the price list '%s': %s", path, strerror(errno));
    else if (out->failed)
        rc = fail(err, E_FORMAT, "'%s' is longer than the %zu bytes that a price list may have",
                  path, out->max_bytes);
    fclose(file);
    return rc;
}
