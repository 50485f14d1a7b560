/* SPDX-License-Identifier: Apache-2.0 */
#include "client/machines.h"

#include <assert.h>

#define MS_PER_HOUR 3600000.0

struct machines machines_cost(const struct price_list *list, const struct price_machine *machine,
                              uint64_t count, uint64_t ms)
{
    uint64_t boot_ms = (uint64_t)(list->boot_seconds * 1000 + 0.5);
    struct machines m = { .list = list, .machine = machine, .count = count };

    m.billed_ms = price_billed_ms(list, boot_ms + ms);
    m.hours = (double)(count * m.billed_ms) / MS_PER_HOUR;
    m.usd = m.hours * machine->usd_per_hour;
    return m;
}

/* Prices are decimal fractions: sets that cost the same differ in the last bits. */
static bool is_better(const struct machines *a, const struct machines *b)
{
    if (fabs(a->usd - b->usd) > 1e-9 * b->usd)
        return a->usd < b->usd;
    return a->count < b->count;
}

struct machines machines_cheapest(const struct price_list *list, double vcpus, double memory_mb,
                                  uint64_t ms)
{
    struct machines best = { 0 };

    assert(list->machine_count > 0);
    for (unsigned i = 0; i < list->machine_count; i++) {
        const struct price_machine *type = &list->machines[i];
        double count = MAX(ceil(vcpus / type->vcpus), ceil(memory_mb / type->memory_mb));
        struct machines m = machines_cost(list, type, (uint64_t)MAX(count, 1.0), ms);

        if (!best.machine || is_better(&m, &best))
            best = m;
    }
    return best;
}

const struct price_machine *machines_find(const struct price_list *list, const char *name)
{
    for (unsigned i = 0; i < list->machine_count; i++)
        if (strcmp(list->machines[i].name, name) == 0)
            return &list->machines[i];
    return NULL;
}
