/* SPDX-License-Identifier: Apache-2.0 */
#include "base/suggest.h"

#include <limits.h>
#include <stdbool.h>

static char fold(char c)
{
    return c == '-' ? '_' : c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same(char a, char b)
{
    return fold(a) == fold(b);
}

/* Optimal string alignment: three rows of the usual table, for swaps look back two. */
unsigned suggest_distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    unsigned rows[3][SUGGEST_WORD_MAX + 1];

    if (n > SUGGEST_WORD_MAX || m > SUGGEST_WORD_MAX)
        return UINT_MAX;
    for (unsigned j = 0; j <= m; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= n; i++) {
        const unsigned *above = rows[(i - 1) % 3], *over = rows[(i + 1) % 3];
        unsigned *row = rows[i % 3];

        row[0] = i;
        for (unsigned j = 1; j <= m; j++) {
            row[j] = above[j - 1] + !same(a[i - 1], b[j - 1]);
            row[j] = MIN(row[j], MIN(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
                row[j] = MIN(row[j], over[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

void suggest_offer(struct suggest *s, const char *candidate)
{
    unsigned distance = suggest_distance(s->word, candidate);
    unsigned limit = MAX((unsigned)strlen(candidate) / 3, 1u);

    if (distance > limit || (s->best && distance >= s->distance))
        return;
    s->best = candidate;
    s->distance = distance;
}
