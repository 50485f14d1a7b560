/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The price book: the lists under prices/, read in when the program is built, and files of the
 * user's own. What a job is billed by is a list of functions with the lists that go with it.
 */
#ifndef GUST_CLIENT_PRICES_H
#define GUST_CLIENT_PRICES_H

#include "client/price_list.h"

struct prices {
    const char *name; /* of the list of functions, as date and source; borrowed from it */
    const char *date;
    const char *source;
    struct price_list functions;
    bool has_objects, has_store, has_machines; /* whether there are prices of that kind */
    struct price_list objects;                 /* the object store */
    struct price_list store;    /* machines that would hold the parameter store, as Redis */
    struct price_list machines; /* machines to compare with */
};

/* How many lists are built in, and what they are called, in alphabetical order. */
unsigned prices_count(void);
const char *prices_id(unsigned i);

/*
 * One list: built in ("aws-s3") or, where WHAT holds a '/' or ends in ".yaml", a file.
 * E_NOT_FOUND, and E_FORMAT or E_INVALID as price_list_parse().
 */
int prices_list_open(struct price_list *list, const char *what, struct heap *heap,
                     struct error *err);

/*
 * The list of functions WHAT, as above, and the lists that it names; those may be files as well.
 * E_INVALID when one is of another kind than its place asks for.
 */
int prices_open(struct prices *p, const char *what, struct heap *heap, struct error *err);
/* Accepts zeroed prices. */
void prices_close(struct prices *p);

/* What a function of MEMORY_MB is sold as: its memory, and the vCPUs that come with it. */
void prices_sold(const struct prices *p, uint32_t memory_mb, double *sold_mb, double *vcpus);

/* E_LIMIT when functions of MEMORY_MB are not sold at all. */
int prices_check(const struct prices *p, uint32_t memory_mb, struct error *err);

/* The text of the file PATH appended to OUT. E_NOT_FOUND when it cannot be opened. */
int prices_file_read(const char *path, struct buf *out, struct error *err);

#endif
