/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing machines from a price list: the cheapest set that is large enough, for some time. */
#ifndef GUST_CLIENT_MACHINES_H
#define GUST_CLIENT_MACHINES_H

#include "client/price_list.h"

/* COUNT equal machines, all for the same time. */
struct machines {
    const struct price_list *list; /* borrowed, as the machine */
    const struct price_machine *machine;
    uint64_t count;
    uint64_t billed_ms; /* of each: boot and use, rounded up */
    double hours;       /* of all together */
    double usd;
};

/* What COUNT of MACHINE cost when they are used for MS. */
struct machines machines_cost(const struct price_list *list, const struct price_machine *machine,
                              uint64_t count, uint64_t ms);

/*
 * The cheapest set of equal machines of LIST with at least VCPUS and MEMORY_MB in all, used for
 * MS; of two that cost the same, the one with fewer machines.
 */
struct machines machines_cheapest(const struct price_list *list, double vcpus, double memory_mb,
                                  uint64_t ms);

/* The machine called NAME, or NULL. */
const struct price_machine *machines_find(const struct price_list *list, const char *name);

#endif
