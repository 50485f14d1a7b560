/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bill.h"

#include <assert.h>
#include <inttypes.h>

void bill_add(struct bill *b, const struct bill_item *item)
{
    assert(b->count < BILL_ITEMS_MAX);
    b->items[b->count++] = *item;
    b->total_usd += item->amount_usd;
}

static double fleet_vcpus(const struct prices *p, uint32_t workers, uint32_t memory_mb)
{
    double sold_mb, vcpus;

    prices_sold(p, memory_mb, &sold_mb, &vcpus);
    return workers * vcpus;
}

void bill_compare(struct bill *b, uint32_t workers, uint32_t memory_mb, uint64_t ms)
{
    if (!b->prices->has_machines)
        return;
    b->machines =
        machines_cheapest(&b->prices->machines, fleet_vcpus(b->prices, workers, memory_mb),
                          (double)workers * memory_mb, ms);
    b->has_machines = true;
}

double bill_comparable_usd(const struct bill *b)
{
    return b->total_usd - b->objects_usd;
}

/* ---- for people --------------------------------------------------------------------------- */

/* USD without an exponent: as many digits as it has, but cents at least. */
static void usd_text(double usd, char *out, size_t size)
{
    size_t end = (size_t)snprintf(out, size, "%.10f", usd);

    while (out[end - 1] == '0' && out[end - 3] != '.')
        end--;
    out[end] = 0;
}

static void write_item(const struct bill_item *item, struct buf *out)
{
    bool whole = item->quantity == floor(item->quantity);
    char quantity[48], usd[48], price[96];

    snprintf(quantity, sizeof(quantity), whole ? "%.0f%s%s" : "%.4g%s%s", item->quantity,
             item->unit[0] ? " " : "", item->unit);
    usd_text(item->price_usd, usd, sizeof(usd));
    snprintf(price, sizeof(price), "x $%s per %s", usd, item->per);
    buf_printf(out, "  %-21s %18s %-26s %10.6f\n", item->name, quantity, price, item->amount_usd);
    if (item->note[0])
        buf_printf(out, "    (%s)\n", item->note);
}

static void write_missing(const struct bill *b, struct buf *out)
{
    if (!b->prices->has_store)
        buf_str(out, "  (no prices for a parameter store in this list)\n");
    if (!b->prices->has_objects)
        buf_str(out, "  (no prices for an object store in this list)\n");
}

static void write_machines(const struct bill *b, struct buf *out)
{
    const struct machines *m = &b->machines;
    double ours = bill_comparable_usd(b), ratio = ours > 0 ? m->usd / ours : INFINITY;

    buf_printf(out,
               "The same on virtual machines: %" PRIu64 " x %s for %.0f s (%.0f s to boot)\n"
               "costs $%.6f; ",
               m->count, m->machine->name, (double)m->billed_ms / 1000, m->list->boot_seconds,
               m->usd);
    if (ratio >= 1)
        buf_printf(out, "functions save %.0f %%.\n", 100 * (1 - 1 / ratio));
    else
        buf_printf(out, "functions cost %.1f times as much.\n", 1 / ratio);
}

void bill_write(const struct bill *b, bool local, struct buf *out)
{
    buf_printf(out, "Bill%s %s, prices of %s, USD\n", local ? " as if on" : ":", b->prices->name,
               b->prices->date);
    for (unsigned i = 0; i < b->count; i++)
        write_item(&b->items[i], out);
    write_missing(b, out);
    buf_printf(out, "  %-67s %10.6f\n", "total", b->total_usd);
    if (b->has_machines)
        write_machines(b, out);
}

bool bill_crowded(const struct prices *p, uint32_t workers, uint32_t memory_mb, unsigned cores,
                  struct buf *out)
{
    double vcpus = fleet_vcpus(p, workers, memory_mb);

    if (cores == 0 || vcpus <= cores + 0.05)
        return false;
    buf_printf(out,
               "%" PRIu32 " functions of %" PRIu32
               " MB have %.1f vCPUs and this machine has %u core%s: times, and so the bill, are "
               "longer than %s would give",
               workers, memory_mb, vcpus, cores, cores == 1 ? "" : "s", p->name);
    return true;
}

/* ---- for programs ------------------------------------------------------------------------- */

static void json_items(const struct bill *b, struct json *w)
{
    json_open(w, "items", '[');
    for (unsigned i = 0; i < b->count; i++) {
        const struct bill_item *item = &b->items[i];

        json_open(w, NULL, '{');
        json_str(w, "name", item->name);
        json_f64(w, "quantity", item->quantity);
        json_str(w, "unit", item->unit);
        json_f64(w, "price_usd", item->price_usd);
        json_str(w, "per", item->per);
        json_f64(w, "amount_usd", item->amount_usd);
        if (item->note[0])
            json_str(w, "note", item->note);
        json_close(w);
    }
    json_close(w);
}

static void json_machines(const struct bill *b, struct json *w)
{
    const struct machines *m = &b->machines;

    json_open(w, "machines", '{');
    json_str(w, "list", m->list->id);
    json_str(w, "machine", m->machine->name);
    json_u64(w, "count", m->count);
    json_f64(w, "seconds", (double)m->billed_ms / 1000);
    json_f64(w, "boot_seconds", m->list->boot_seconds);
    json_f64(w, "amount_usd", m->usd);
    json_f64(w, "saving_usd", m->usd - bill_comparable_usd(b));
    json_close(w);
}

void bill_json(const struct bill *b, bool local, const char *key, struct json *w)
{
    json_open(w, key, '{');
    json_str(w, "prices", b->prices->functions.id);
    json_str(w, "name", b->prices->name);
    json_str(w, "date", b->prices->date);
    json_str(w, "source", b->prices->source);
    json_bool(w, "as_if", local);
    json_items(b, w);
    json_f64(w, "total_usd", b->total_usd);
    if (b->has_machines)
        json_machines(b, w);
    json_close(w);
}
