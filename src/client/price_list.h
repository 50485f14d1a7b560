/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One price list: what a service costs, every figure with its date and source. A list is flat
 * text (base/props.h), of one of three kinds:
 *
 *   functions   by memory x time, vCPUs x time and invocations; names the lists that go with it
 *   objects     an object store, by requests and by what is kept
 *   machines    by the hour: virtual machines, containers, Redis nodes
 *
 * `date` and `source` hold for every figure of the file, unless `FIGURE.date` or `FIGURE.source`
 * says otherwise. Which figures a kind has is one table, price_figures(), which also drives
 * checking and printing; docs/PRICES.md explains them.
 */
#ifndef GUST_CLIENT_PRICE_LIST_H
#define GUST_CLIENT_PRICE_LIST_H

#include "base/props.h"

enum price_kind { PRICE_FUNCTIONS, PRICE_OBJECTS, PRICE_MACHINES, PRICE_KINDS };

/* Sizes that a service sells, rising. None: any size. */
#define PRICE_SIZES_MAX 16

struct price_sizes {
    double values[PRICE_SIZES_MAX];
    unsigned count;
};

/* One kind of machine. */
struct price_machine {
    const char *name;
    double vcpus, memory_mb;
    double usd_per_hour;
};

struct price_list {
    char id[128]; /* "aws-lambda-x86", or the path of a file */
    enum price_kind kind;
    const char *name;         /* for people; borrowed from `props`, as all texts here */
    const char *date;         /* of the figures, 2024-11-01 */
    const char *source;       /* of the figures */
    double billing_unit_ms;   /* functions, machines: time is rounded up to this */
    double minimum_ms;        /* and billed at least so long */
    double usd_per_gb_second; /* functions */
    double usd_per_vcpu_second;
    double usd_per_million_requests;
    double mb_per_vcpu;   /* functions: memory that comes with one vCPU */
    double memory_max_mb; /* functions: of the largest one */
    double time_limit_s;  /* functions: of one invocation; 0: none */
    struct price_sizes memory_sizes_mb;
    struct price_sizes vcpu_sizes;
    double usd_per_thousand_writes; /* objects; listing counts as writing */
    double usd_per_thousand_reads;
    double usd_per_gb_month;
    double usd_per_vcpu_hour; /* machines that do not say their own price */
    double usd_per_gb_hour;
    double boot_seconds; /* machines: from the order to the first use; billed */
    double usable_share; /* machines: of the memory, for what Redis keeps */
    struct price_machine *machines;
    unsigned machine_count;
    struct props props;
};

/* A figure that a list may have. */
struct price_figure {
    const char *key;
    unsigned kinds;   /* bit per enum price_kind */
    const char *unit; /* "USD per GB-second" */
    bool sizes;       /* a struct price_sizes, otherwise a double */
    bool required;
    double fallback; /* where it is not */
    double min, max;
    size_t offset; /* in struct price_list */
};

/* The table, ended by an entry without a key. */
const struct price_figure *price_figures(void);

const char *price_kind_name(enum price_kind kind);

/*
 * Read TEXT as the list called ID. E_FORMAT or E_INVALID, naming list, line, value and what is
 * allowed, for anything unknown, missing, out of range, or without date and source.
 */
int price_list_parse(struct price_list *list, const char *id, struct slice text, struct heap *heap,
                     struct error *err);
/* Accepts a zeroed list. */
void price_list_release(struct price_list *list);

/* Date and source of the figure (or "machine NAME") KEY: its own or the list's. */
const char *price_list_date(const struct price_list *list, const char *key);
const char *price_list_source(const struct price_list *list, const char *key);

/* The smallest of SIZES that is at least WANTED; the largest if none is; WANTED if there are none.
 */
double price_size(const struct price_sizes *sizes, double wanted);

/* MS rounded up to the list's billing unit, and at least its minimum. */
uint64_t price_billed_ms(const struct price_list *list, uint64_t ms);

#endif
