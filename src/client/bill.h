/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bill: what a run costs, by item, and how it is shown. Made by the meter (client/meter.h);
 * read by the terminal, summary.json and the report.
 */
#ifndef GUST_CLIENT_BILL_H
#define GUST_CLIENT_BILL_H

#include "base/json.h"
#include "client/machines.h"
#include "client/prices.h"

#define BILL_ITEMS_MAX 8

struct bill_item {
    const char *name; /* "functions, memory"; static storage */
    double quantity;
    const char *unit; /* "GB-s"; static storage */
    double price_usd; /* of `per` */
    const char *per;  /* "GB-s", "million requests"; static storage */
    double amount_usd;
    char note[96]; /* "as Redis on 1 x c6a.large"; may be empty */
};

struct bill {
    const struct prices *prices; /* outlives the bill */
    struct bill_item items[BILL_ITEMS_MAX];
    unsigned count;
    double functions_usd; /* memory and vCPUs x time */
    double requests_usd;  /* invocations */
    double store_usd;     /* the parameter store */
    double objects_usd;   /* the object store */
    double total_usd;
    bool has_machines; /* the same work on virtual machines: */
    struct machines machines;
};

/* Add ITEM, and its amount to the total. At most BILL_ITEMS_MAX. */
void bill_add(struct bill *b, const struct bill_item *item);

/*
 * Put beside the bill what WORKERS functions of MEMORY_MB that ran together for MS would have
 * cost as virtual machines: the cheapest with their vCPUs and memory. Nothing where the price
 * list names no machines.
 */
void bill_compare(struct bill *b, uint32_t workers, uint32_t memory_mb, uint64_t ms);

/* The bill without the object store, which virtual machines would use as well. */
double bill_comparable_usd(const struct bill *b);

/*
 * A table for people, lines of at most 80 columns where names are not long. LOCAL says that nothing
 * was paid: the bill is "as if on" the platform of the list.
 */
void bill_write(const struct bill *b, bool local, struct buf *out);

/* The same as an object under KEY. */
void bill_json(const struct bill *b, bool local, const char *key, struct json *w);

/*
 * Whether WORKERS functions of MEMORY_MB have more vCPUs than a machine of CORES has cores, so
 * that times and bill are not what the platform of the list would give; then a sentence that
 * says so is put into OUT.
 */
bool bill_crowded(const struct prices *p, uint32_t workers, uint32_t memory_mb, unsigned cores,
                  struct buf *out);

#endif
