/* SPDX-License-Identifier: Apache-2.0 */
#include "client/quality.h"

#include <inttypes.h>

int quality_open(struct quality *q, struct heap *heap, const struct predictor *p,
                 const struct quality_options *options, struct error *err)
{
    int rc = 0;

    *q = (struct quality){ .heap = heap, .p = p, .options = *options };
    if (options->top)
        rc = ranking_open(&q->ranking, p, err);
    if (!rc && p->data.classes == 2 && !p->model.trainer->classifies)
        auc_open(&q->auc, heap);
    return rc;
}

void quality_close(struct quality *q)
{
    if (!q->heap)
        return;
    auc_close(&q->auc);
    ranking_close(&q->ranking);
    heap_free(q->heap, q->scores);
    *q = (struct quality){ 0 };
}

static float label_of(const struct gust_batch *b, uint32_t row)
{
    return gust_f32(b->words + gust_at(b, row));
}

static int add_scores(struct quality *q, const struct gust_batch *batch, struct error *err)
{
    if (q->scores_room < batch->rows) {
        heap_free(q->heap, q->scores);
        q->scores = heap_try_alloc_raw(q->heap, batch->rows, sizeof(*q->scores));
        q->scores_room = q->scores ? batch->rows : 0;
        if (!q->scores)
            return fail(err, E_MEMORY, "no memory for %" PRIu32 " scores", batch->rows);
    }
    predictor_predict(q->p, batch, q->scores);
    for (uint32_t r = 0; r < batch->rows; r++)
        auc_add(&q->auc, q->scores[r], label_of(batch, r) > 0.5f);
    return 0;
}

static void add_hits(struct quality *q, const struct gust_batch *batch)
{
    for (uint32_t r = 0; r < batch->rows; r++) {
        const uint32_t *keys = batch->words + gust_at(batch, r) + 1 + batch->data->dense;

        if (label_of(batch, r) < q->options.relevant || keys[1] >= q->p->data.key_rows[1])
            continue;
        q->relevant++;
        q->hits += ranking_has(&q->ranking, keys[0], keys[1], q->options.top);
    }
}

int quality_add(struct quality *q, const struct gust_batch *batch, struct error *err)
{
    int rc = 0;

    q->p->model.trainer->evaluate(q->p->self, batch, q->p->views, q->sums);
    q->rows += batch->rows;
    if (q->auc.heap)
        rc = add_scores(q, batch, err);
    if (!rc && q->options.top)
        add_hits(q, batch);
    return rc;
}

unsigned quality_figures(const struct quality *q, struct quality_figure out[QUALITY_FIGURES_MAX])
{
    const struct gust_trainer *trainer = q->p->model.trainer;
    double values[GUST_SUMS_MAX] = { 0 };
    unsigned n = 0;

    trainer->score(q->p->self, q->sums, values);
    for (; trainer->metrics[n].name && n < GUST_SUMS_MAX; n++) {
        out[n] = (struct quality_figure){ .value = values[n] };
        snprintf(out[n].name, sizeof(out[n].name), "%s", trainer->metrics[n].name);
    }
    if (q->auc.heap) {
        out[n] = (struct quality_figure){ .name = "auc" };
        out[n].value = auc_value(&q->auc, &out[n].error_max);
        n++;
    }
    if (q->options.top && q->relevant) {
        out[n] = (struct quality_figure){ .value = (double)q->hits / (double)q->relevant };
        snprintf(out[n].name, sizeof(out[n].name), "hit-rate@%" PRIu32, q->options.top);
        n++;
    }
    return n;
}
