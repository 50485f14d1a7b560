/* SPDX-License-Identifier: Apache-2.0 */
/* The meter: what a run has cost so far, by the price book. */
#ifndef GUST_CLIENT_METER_H
#define GUST_CLIENT_METER_H

#include "client/prices.h"

struct meter {
    const struct prices *prices; /* outlives the meter */
    uint64_t invocations;
    uint64_t billed_ms;     /* of all ended invocations */
    double gb_seconds;
};

void meter_init(struct meter *m, const struct prices *prices);

/* An invocation of MEMORY_MB ended after BILLED_MS, which is rounded up to the billing unit. */
void meter_function(struct meter *m, uint32_t memory_mb, uint64_t billed_ms);

struct bill {
    double functions_usd; /* memory x time */
    double requests_usd;
    double total_usd;
};

struct bill meter_bill(const struct meter *m);

#endif
