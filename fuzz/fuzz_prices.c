/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a price list: refused with a sentence, or complete, and then bills can be made by
 * it. */
#include "client/meter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Functions: the same list with a store and machines from the book beside it. */
static void make_bill(const struct price_list *list, struct heap *heap)
{
    struct prices prices = { .name = list->name, .date = list->date, .source = list->source };
    struct meter meter;
    struct bill bill;

    prices.functions = *list;
    if (prices_list_open(&prices.machines, "aws-ec2-x86", heap, NULL))
        abort();
    prices.has_machines = true;
    meter_init(&meter, &prices);
    meter_function(&meter, 1769, 12345);
    bill = meter_bill(&meter);
    bill_compare(&bill, 8, 1769, 12345);
    if (!(bill.total_usd >= 0) || !(bill.machines.usd > 0))
        abort();
    price_list_release(&prices.machines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct price_list list;
    struct error err = { 0 };
    struct heap heap;

    heap_init(&heap, 0);
    if (price_list_parse(&list, "fuzz", slice(data, size), &heap, &err)) {
        if (error_exit_status(err.code) != 2 || !err.text[0])
            abort();
    } else {
        if (!list.name[0] || !list.date[0] || !list.source[0])
            abort();
        if (list.kind == PRICE_MACHINES && !(machines_cheapest(&list, 8, 16384, 1000).usd > 0))
            abort();
        if (list.kind == PRICE_FUNCTIONS)
            make_bill(&list, &heap);
        price_list_release(&list);
    }
    if (heap.blocks)
        abort();
    heap_release(&heap);
    return 0;
}
