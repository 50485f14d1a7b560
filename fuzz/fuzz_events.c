/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as events and as a summary: refused with a sentence, or a page can be made of them. */
#include "client/report_html.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = { 0 };
    struct summary summary;
    struct history history;
    struct heap heap;
    struct buf page;

    heap_init(&heap, 0);
    buf_init(&page, &heap, 64 * MIB);
    if (history_read(&history, &heap, slice(data, size), &err) && !err.text[0])
        abort();
    err = (struct error){ 0 };
    if (summary_read(&summary, slice(data, size), &err)) {
        if (!err.text[0])
            abort();
        /* Events alone: a summary that says nothing. */
        summary_release(&summary);
        if (summary_read(&summary, slice_str("{\"gust_summary\":1}"), &err))
            abort();
    }
    report_html_write(&summary, &history, "0", &page);
    summary_release(&summary);
    history_release(&history);
    buf_release(&page);
    if (heap.used_bytes)
        abort();
    heap_release(&heap);
    return 0;
}
