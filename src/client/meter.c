/* SPDX-License-Identifier: Apache-2.0 */
#include "client/meter.h"

void meter_init(struct meter *m, const struct prices *prices)
{
    *m = (struct meter){ .prices = prices };
}

void meter_function(struct meter *m, uint32_t memory_mb, uint64_t billed_ms)
{
    uint64_t unit = MAX((uint64_t)m->prices->billing_unit_ms, 1u);
    uint64_t ms = (billed_ms + unit - 1) / unit * unit;

    m->invocations++;
    m->billed_ms += ms;
    m->gb_seconds += (double)memory_mb / 1024.0 * (double)ms / 1000.0;
}

struct bill meter_bill(const struct meter *m)
{
    struct bill b = { .functions_usd = m->gb_seconds * m->prices->usd_per_gb_second,
                      .requests_usd =
                          (double)m->invocations * m->prices->usd_per_million_requests / 1e6 };

    b.total_usd = b.functions_usd + b.requests_usd;
    return b;
}
