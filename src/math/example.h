/* SPDX-License-Identifier: Apache-2.0 */
/* Reading one example of a batch: the layout that gust.h describes, as pointers and counts. */
#ifndef GUST_MATH_EXAMPLE_H
#define GUST_MATH_EXAMPLE_H

#include "gust.h"

/* Dense values and labels are floats: their words are read through gust_f32(). */
struct example {
    float label;
    const uint32_t *dense; /* data->dense words */
    const uint32_t *ones;  /* ones_count indices */
    const uint32_t *pairs; /* pair_count times (index, value) */
    uint32_t ones_count, pair_count;
};

static inline __attribute__((always_inline)) struct example example_at(const struct gust_batch *b,
                                                                       uint32_t row)
{
    const struct gust_data *d = b->data;
    const uint32_t *at = b->words + gust_at(b, row);
    struct example e = { .label = gust_f32(at), .dense = at + 1 };

    at = e.dense + d->dense;
    e.ones_count = d->ones == GUST_VARIES ? *at++ : d->ones;
    e.ones = at;
    at += e.ones_count;
    if (d->sparse) {
        e.pair_count = *at++;
        e.pairs = at;
    }
    return e;
}

#endif
