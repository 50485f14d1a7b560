/* SPDX-License-Identifier: Apache-2.0 */
/* The price book: figures with date and source, read from prices/ when the program is built. */
#ifndef GUST_CLIENT_PRICES_H
#define GUST_CLIENT_PRICES_H

#include "base/props.h"

struct prices {
    const char *name; /* borrowed from `props` */
    const char *date;
    const char *source;
    double usd_per_gb_second;
    double usd_per_million_requests;
    double billing_unit_ms;
    double mb_per_vcpu;
    struct props props;
};

/* The list called NAME ("aws-lambda-x86"). E_NOT_FOUND, E_INVALID. */
int prices_open(struct prices *p, const char *name, struct heap *heap, struct error *err);
void prices_close(struct prices *p);

#endif
