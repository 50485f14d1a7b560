/* SPDX-License-Identifier: Apache-2.0 */
#include "client/ranking.h"

#include <float.h>

#define ROW_WORDS 3u /* rating, user, item */

int ranking_open(struct ranking *r, const struct predictor *p, struct error *err)
{
    const struct gust_trainer *trainer = p->model.trainer;
    int rc;

    *r = (struct ranking){ .p = p, .data = p->data };
    if (p->data.keys != 2 || p->data.ones != 2 || p->data.dense != 0 || p->data.sparse)
        return fail(err, E_UNSUPPORTED,
                    "recommendations need a model of users and items; this one is '%s'",
                    trainer->name);
    r->data.label_min = -(double)FLT_MAX;
    r->data.label_max = (double)FLT_MAX;
    host_init(&r->host, &p->model.settings, p->heap, p->model.seed);
    rc = host_open(&r->host, trainer, &r->data, &r->self, err);
    if (!rc)
        r->words = heap_alloc(p->heap, (RANKING_CHUNK * ROW_WORDS + 16) * sizeof(*r->words));
    return rc;
}

void ranking_close(struct ranking *r)
{
    if (r->self)
        host_close(r->p->model.trainer, r->self);
    if (r->words)
        heap_free(r->p->heap, r->words);
    *r = (struct ranking){ 0 };
}

/* Scores of items first .. first+count-1 for USER, in r->scores. */
static void score(struct ranking *r, uint32_t user, uint32_t first, uint32_t count)
{
    struct gust_batch batch = {
        .data = &r->data, .words = r->words, .row_words = ROW_WORDS, .rows = count
    };

    for (uint32_t i = 0; i < count; i++) {
        r->words[i * ROW_WORDS + 1] = user;
        r->words[i * ROW_WORDS + 2] = first + i;
    }
    r->p->model.trainer->predict(r->self, &batch, r->p->views, r->scores);
}

/* Put ITEM in its place among the COUNT best, of which K are kept. */
static uint32_t insert(struct ranked *best, uint32_t count, uint32_t k, struct ranked item)
{
    uint32_t at;

    if (count == k && item.score <= best[k - 1].score)
        return count;
    at = count < k ? count : k - 1;
    for (; at > 0 && best[at - 1].score < item.score; at--)
        best[at] = best[at - 1];
    best[at] = item;
    return MIN(count + 1, k);
}

uint32_t ranking_top(struct ranking *r, uint32_t user, uint32_t k, const uint8_t *skip,
                     struct ranked *out)
{
    uint32_t items = (uint32_t)r->data.key_rows[1], count = 0;

    for (uint32_t first = 0; k && first < items; first += RANKING_CHUNK) {
        uint32_t n = MIN(RANKING_CHUNK, items - first);

        score(r, user, first, n);
        for (uint32_t i = 0; i < n; i++)
            if (!skip || !skip[first + i])
                count = insert(out, count, k, (struct ranked){ first + i, r->scores[i] });
    }
    return count;
}

bool ranking_has(struct ranking *r, uint32_t user, uint32_t item, uint32_t k)
{
    uint32_t items = (uint32_t)r->data.key_rows[1], ahead = 0;
    float own;

    if (item >= items)
        return false;
    score(r, user, item, 1);
    own = r->scores[0];
    /* The items with most ratings come first: whoever is not among the best is soon seen not to be.
     */
    for (uint32_t first = 0; first < items && ahead < k; first += RANKING_CHUNK) {
        uint32_t n = MIN(RANKING_CHUNK, items - first);

        score(r, user, first, n);
        for (uint32_t i = 0; i < n; i++)
            ahead += r->scores[i] > own || (r->scores[i] == own && first + i < item);
    }
    return ahead < k;
}
