/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/wrap.h"

void wrap(struct buf *out, const char *text, unsigned column, unsigned indent)
{
    bool first = true;

    for (;;) {
        size_t size;

        text += strspn(text, " ");
        size = strcspn(text, " ");
        if (size == 0)
            break;
        if (!first && column + 1 + size > WRAP_WIDTH) {
            buf_printf(out, "\n%*s", (int)indent, "");
            column = indent;
            first = true;
        }
        if (!first)
            buf_str(out, " ");
        buf_add(out, text, size);
        column += (unsigned)size + !first;
        first = false;
        text += size;
    }
    buf_str(out, "\n");
}

void wrap_entry(struct buf *out, const char *left, const char *text, unsigned indent)
{
    unsigned column = (unsigned)strlen(left) + 2;

    buf_printf(out, "  %s", left);
    if (column + 1 > indent) {
        buf_str(out, "\n");
        column = 0;
    }
    buf_printf(out, "%*s", (int)(indent - column), "");
    wrap(out, text, indent, indent);
}
