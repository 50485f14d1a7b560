/* SPDX-License-Identifier: Apache-2.0 */
#include "client/auc.h"

#include <math.h>
#include <string.h>

#define BIN_BITS 20u
#define BINS     ((size_t)1 << BIN_BITS)

void auc_open(struct auc *a, struct heap *heap)
{
    a->heap = heap;
    a->bins = heap_alloc(heap, BINS * sizeof(*a->bins));
}

void auc_close(struct auc *a)
{
    if (a->heap)
        heap_free(a->heap, a->bins);
    *a = (struct auc){ 0 };
}

/* Floats read as whole numbers have their own order once negative ones are turned round. */
static size_t bin_of(float score)
{
    uint32_t bits;

    score += 0.0f; /* -0 and 0 are one number */
    memcpy(&bits, &score, sizeof(bits));
    bits ^= bits >> 31 ? UINT32_MAX : (uint32_t)1 << 31;
    return bits >> (32 - BIN_BITS);
}

void auc_add(struct auc *a, float score, bool positive)
{
    a->bins[bin_of(score)][positive]++;
}

double auc_value(const struct auc *a, double *error_max)
{
    double negatives = 0, positives = 0, below = 0, within = 0;

    for (size_t i = 0; i < BINS; i++) {
        double n = (double)a->bins[i][0], p = (double)a->bins[i][1];

        below += p * negatives;
        within += p * n;
        negatives += n;
        positives += p;
    }
    if (negatives == 0 || positives == 0) {
        *error_max = 0;
        return NAN;
    }
    *error_max = within / 2 / (negatives * positives);
    return (below + within / 2) / (negatives * positives);
}
