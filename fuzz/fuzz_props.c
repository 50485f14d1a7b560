/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes: settings are read or refused, and what was read is written and read back alike. */
#include "base/props.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct props first, second;
    struct error err;
    struct heap heap;
    struct buf text;

    heap_init(&heap, 0);
    props_init(&first, &heap);
    props_init(&second, &heap);
    buf_init(&text, &heap, 8 * PROPS_MAX_BYTES);
    if (props_parse(&first, slice(data, size), &err)) {
        if (err.code != E_FORMAT || first.count != 0)
            abort();
    } else {
        props_write(&first, &text);
        if (text.failed || props_parse(&second, buf_slice(&text), &err))
            abort();
        if (first.count != second.count)
            abort();
        for (unsigned i = 0; i < first.count; i++)
            if (strcmp(first.items[i].key, second.items[i].key) ||
                strcmp(first.items[i].value, second.items[i].value))
                abort();
    }
    props_release(&first);
    props_release(&second);
    buf_release(&text);
    if (heap.blocks)
        abort();
    return 0;
}
