/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The meter: what a run has used so far, and what that costs by the price book. Use is counted
 * in whole numbers, rounded as the platform rounds it, so that a bill is exact to the
 * function-millisecond whatever the order of the calls.
 */
#ifndef GUST_CLIENT_METER_H
#define GUST_CLIENT_METER_H

#include "client/bill.h"
#include "objects/objects.h"

struct meter {
    const struct prices *prices; /* outlives the meter */
    uint64_t invocations;
    uint64_t billed_ms;                   /* of all ended invocations */
    double gb_seconds;                    /* of the same: mb_ms in other units */
    uint64_t mb_ms;                       /* memory as sold x billed time */
    uint64_t mcpu_ms;                     /* thousandths of vCPUs as sold x billed time */
    uint64_t object_writes, object_reads; /* requests */
    uint64_t object_kb_ms;                /* what was kept, in 1024 bytes x how long */
    uint64_t store_bytes;                 /* largest parameter store */
    uint64_t store_ms;                    /* how long there was one */
};

void meter_init(struct meter *m, const struct prices *prices);

/* An invocation of MEMORY_MB ended after BILLED_MS, which is rounded as the platform does. */
void meter_function(struct meter *m, uint32_t memory_mb, uint64_t billed_ms);

/* Requests to the object store; deleting is free. */
void meter_requests(struct meter *m, const struct objects_counts *counts);

/* BYTES were kept in the object store for MS. */
void meter_kept(struct meter *m, uint64_t bytes, uint64_t ms);

/* There was a parameter store of BYTES for MS. */
void meter_store(struct meter *m, uint64_t bytes, uint64_t ms);

/* What has been used so far. Only what was counted is on it: without a store, no store. */
struct bill meter_bill(const struct meter *m);

/*
 * The total so far when besides what has ended RUNNING functions of MEMORY_MB have been running
 * for MS, and a parameter store of STORE_BYTES with them: what a live display shows.
 */
double meter_so_far_usd(const struct meter *m, uint32_t running, uint32_t memory_mb, uint64_t ms,
                        uint64_t store_bytes);

#endif
