/* SPDX-License-Identifier: Apache-2.0 */
#include "client/meter.h"

#include <inttypes.h>

#define HOURS_PER_MONTH 730.0

void meter_init(struct meter *m, const struct prices *prices)
{
    *m = (struct meter){ .prices = prices };
}

static void add_functions(struct meter *m, uint64_t count, uint32_t memory_mb, uint64_t ms)
{
    uint64_t billed = price_billed_ms(&m->prices->functions, ms);
    double sold_mb, vcpus;

    prices_sold(m->prices, memory_mb, &sold_mb, &vcpus);
    m->invocations += count;
    m->billed_ms += count * billed;
    m->mb_ms += count * (uint64_t)sold_mb * billed;
    m->mcpu_ms += count * (uint64_t)(vcpus * 1000 + 0.5) * billed;
    m->gb_seconds = (double)m->mb_ms / 1024 / 1000;
}

void meter_function(struct meter *m, uint32_t memory_mb, uint64_t billed_ms)
{
    add_functions(m, 1, memory_mb, billed_ms);
}

void meter_requests(struct meter *m, const struct objects_counts *counts)
{
    m->object_writes += counts->puts + counts->lists;
    m->object_reads += counts->gets;
}

void meter_kept(struct meter *m, uint64_t bytes, uint64_t ms)
{
    m->object_kb_ms += (bytes + 1023) / 1024 * ms;
}

void meter_store(struct meter *m, uint64_t bytes, uint64_t ms)
{
    m->store_bytes = MAX(m->store_bytes, bytes);
    m->store_ms += ms;
}

static void bill_functions(const struct meter *m, struct bill *b)
{
    const struct price_list *f = &m->prices->functions;
    double vcpu_seconds = (double)m->mcpu_ms / 1000 / 1000;
    double memory_usd = m->gb_seconds * f->usd_per_gb_second;
    double vcpu_usd = vcpu_seconds * f->usd_per_vcpu_second;

    bill_add(b, "functions, memory", m->gb_seconds, "GB-s", f->usd_per_gb_second, "GB-s",
             memory_usd);
    if (f->usd_per_vcpu_second > 0)
        bill_add(b, "functions, vCPUs", vcpu_seconds, "vCPU-s", f->usd_per_vcpu_second, "vCPU-s",
                 vcpu_usd);
    b->functions_usd = memory_usd + vcpu_usd;
    b->requests_usd = (double)m->invocations * f->usd_per_million_requests / 1e6;
    bill_add(b, "invocations", (double)m->invocations, "", f->usd_per_million_requests, "million",
             b->requests_usd);
}

/* What the store would be as Redis: the cheapest machines that hold its bytes. */
static void bill_store(const struct meter *m, struct bill *b)
{
    const struct price_list *list = &m->prices->store;
    struct bill_item *item;
    struct machines redis;

    if (m->store_ms == 0 || !m->prices->has_store)
        return;
    redis = machines_cheapest(list, 1, (double)m->store_bytes / (double)MIB / list->usable_share,
                              m->store_ms);
    item = bill_add(b, "parameter store", redis.hours, "h", redis.machine->usd_per_hour, "hour",
                    redis.usd);
    b->store_usd = redis.usd;
    snprintf(item->note, sizeof(item->note), "as Redis on %" PRIu64 " x %s", redis.count,
             redis.machine->name);
}

static void bill_objects(const struct meter *m, struct bill *b)
{
    const struct price_list *list = &m->prices->objects;
    double writes_usd = (double)m->object_writes * list->usd_per_thousand_writes / 1000;
    double reads_usd = (double)m->object_reads * list->usd_per_thousand_reads / 1000;
    double gb_months = (double)m->object_kb_ms / (double)MIB / (HOURS_PER_MONTH * 3600e3);
    double kept_usd = gb_months * list->usd_per_gb_month;

    if (!m->prices->has_objects)
        return;
    if (m->object_writes)
        bill_add(b, "object store, writes", (double)m->object_writes, "",
                 list->usd_per_thousand_writes, "1,000", writes_usd);
    if (m->object_reads)
        bill_add(b, "object store, reads", (double)m->object_reads, "",
                 list->usd_per_thousand_reads, "1,000", reads_usd);
    if (m->object_kb_ms)
        bill_add(b, "object store, kept", gb_months, "GB-month", list->usd_per_gb_month,
                 "GB-month", kept_usd);
    b->objects_usd = writes_usd + reads_usd + kept_usd;
}

struct bill meter_bill(const struct meter *m)
{
    struct bill b = { .prices = m->prices };

    bill_functions(m, &b);
    bill_store(m, &b);
    bill_objects(m, &b);
    return b;
}

double meter_so_far_usd(const struct meter *m, uint32_t running, uint32_t memory_mb, uint64_t ms,
                        uint64_t store_bytes)
{
    struct meter now = *m;

    add_functions(&now, running, memory_mb, ms);
    if (store_bytes)
        meter_store(&now, store_bytes, ms);
    return meter_bill(&now).total_usd;
}
