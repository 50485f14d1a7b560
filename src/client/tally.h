/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports of one kind that belong together: one per rank for a step. Complete when every rank
 * has reported; folded in rank order, so that the outcome does not depend on who was first.
 */
#ifndef GUST_CLIENT_TALLY_H
#define GUST_CLIENT_TALLY_H

#include "worker/report.h"

/*
 * Steps that may be waiting for some rank at once. Each rank's log is read to its end before the
 * next one's, so after a stall of the client that can be many; the size of the logs bounds it.
 */
#define TALLY_OPEN_MAX (1u << 20)

struct tally_entry {
    uint64_t step;
    uint32_t count;         /* ranks that have reported; 0: free */
    bool *seen;             /* [ranks] */
    double (*sums)[GUST_SUMS_MAX]; /* [ranks] */
    uint64_t *hashes;       /* [ranks] */
    uint64_t *clocks;       /* [ranks] */
    double note;            /* the caller's */
};

struct tally {
    struct heap *heap;
    uint32_t ranks;
    struct tally_entry *entries; /* grows */
    unsigned room;
};

void tally_init(struct tally *t, struct heap *heap, uint32_t ranks);
void tally_release(struct tally *t);

/*
 * Take a report in and store its entry through ENTRY, which is the caller's to look at until
 * the next call. E_FULL when too many steps are open.
 */
int tally_add(struct tally *t, const struct report *r, struct tally_entry **entry,
              struct error *err);

/* Whether every rank has reported; such an entry is to be given back. */
bool tally_complete(const struct tally *t, const struct tally_entry *e);
void tally_free_entry(struct tally_entry *e);

/* Sum of the ranks' sums, in rank order. */
void tally_sums(const struct tally *t, const struct tally_entry *e, double *out);
/* The smallest training clock. */
uint64_t tally_clock(const struct tally *t, const struct tally_entry *e);
/* The first rank whose hash is not rank 0's, or RANKS. */
uint32_t tally_odd_one(const struct tally *t, const struct tally_entry *e);

#endif
