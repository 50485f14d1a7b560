/* SPDX-License-Identifier: Apache-2.0 */
#include "client/meter.h"

#include <inttypes.h>

#define MS_PER_MONTH (730 * 3600e3)

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

/* Add ITEM, whose price is for UNITS of its quantity, and return its amount. */
static double charge(struct bill *b, struct bill_item item, double units)
{
    item.amount_usd = item.quantity / units * item.price_usd;
    bill_add(b, &item);
    return item.amount_usd;
}

static void bill_functions(const struct meter *m, struct bill *b)
{
    const struct price_list *f = &m->prices->functions;
    const struct bill_item memory = { .name = "functions, memory",
                                      .quantity = m->gb_seconds,
                                      .unit = "GB-s",
                                      .price_usd = f->usd_per_gb_second,
                                      .per = "GB-s" };
    const struct bill_item vcpus = { .name = "functions, vCPUs",
                                     .quantity = (double)m->mcpu_ms / 1000 / 1000,
                                     .unit = "vCPU-s",
                                     .price_usd = f->usd_per_vcpu_second,
                                     .per = "vCPU-s" };
    const struct bill_item invocations = { .name = "invocations",
                                           .quantity = (double)m->invocations,
                                           .unit = "",
                                           .price_usd = f->usd_per_million_requests,
                                           .per = "million" };

    b->functions_usd = charge(b, memory, 1);
    if (f->usd_per_vcpu_second > 0)
        b->functions_usd += charge(b, vcpus, 1);
    b->requests_usd = charge(b, invocations, 1e6);
}

/* What the store would be as Redis: the cheapest machines that hold its bytes. */
static void bill_store(const struct meter *m, struct bill *b)
{
    const struct price_list *list = &m->prices->store;
    struct bill_item item = { .name = "parameter store", .unit = "h", .per = "hour" };
    struct machines redis;

    if (m->store_ms == 0 || !m->prices->has_store)
        return;
    redis = machines_cheapest(list, 1, (double)m->store_bytes / (double)MIB / list->usable_share,
                              m->store_ms);
    item.quantity = redis.hours;
    item.price_usd = redis.machine->usd_per_hour;
    snprintf(item.note, sizeof(item.note), "as Redis on %" PRIu64 " x %s", redis.count,
             redis.machine->name);
    b->store_usd = charge(b, item, 1);
}

static void bill_objects(const struct meter *m, struct bill *b)
{
    const struct price_list *list = &m->prices->objects;
    const struct bill_item writes = { .name = "object store, writes",
                                      .quantity = (double)m->object_writes,
                                      .unit = "",
                                      .price_usd = list->usd_per_thousand_writes,
                                      .per = "1,000" };
    const struct bill_item reads = { .name = "object store, reads",
                                     .quantity = (double)m->object_reads,
                                     .unit = "",
                                     .price_usd = list->usd_per_thousand_reads,
                                     .per = "1,000" };
    const struct bill_item kept = { .name = "object store, kept",
                                    .quantity =
                                        (double)m->object_kb_ms / (double)MIB / MS_PER_MONTH,
                                    .unit = "GB-month",
                                    .price_usd = list->usd_per_gb_month,
                                    .per = "GB-month" };

    if (!m->prices->has_objects)
        return;
    if (m->object_writes)
        b->objects_usd += charge(b, writes, 1000);
    if (m->object_reads)
        b->objects_usd += charge(b, reads, 1000);
    if (m->object_kb_ms)
        b->objects_usd += charge(b, kept, 1);
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
