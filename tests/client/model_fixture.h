/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small data sets in memory and models made of them without any training: first values, with
 * biases that tell users and items apart.
 */
#ifndef GUST_TESTS_CLIENT_MODEL_FIXTURE_H
#define GUST_TESTS_CLIENT_MODEL_FIXTURE_H

#include "base/random.h"
#include "client/model_file.h"
#include "data/builder.h"
#include "worker/replica.h"

#define FIXTURE_RANK 6u

struct world {
    struct objects *objects;
    struct dataset data;
    struct blueprint blueprint;
};

static inline void check_rc(int rc, const struct error *err)
{
    if (rc)
        fail_msg("%s", err->text);
}

/* Ratings of USERS users from id FIRST on, every other id, for items 1000, 1003, .. */
static inline void world_ratings(struct world *w, struct heap *heap, const char *url,
                                 uint32_t first, uint32_t users, uint32_t items)
{
    struct objects_open open = { .heap = heap };
    struct builder_options options = { .prefix = "data",
                                       .heap = heap,
                                       .kind = "movielens",
                                       .schema = { .ones = 2, .keys = 2 },
                                       .lanes = 16,
                                       .replace = true };
    struct error err = { 0 };
    struct builder *b;

    check_rc(objects_open(url, &open, &w->objects, &err), &err);
    options.objects = w->objects;
    check_rc(builder_open(&b, &options, &err), &err);
    for (uint32_t u = 0; u < users; u++)
        for (uint32_t i = 0; i < items; i++) {
            uint64_t bits = random_at(first, u, i, 0);
            float rating = (float)(1 + bits % 5);
            uint32_t words[3] = { 0, first + 2 * u, 1000 + 3 * i };

            memcpy(words, &rating, sizeof(rating));
            /* Every user and item is in the training split at least once. */
            if (u == i || (bits >> 8) % 3)
                check_rc(builder_add(b, DATASET_TRAIN, words, 3, &err), &err);
            else
                check_rc(builder_add(b, DATASET_TEST, words, 3, &err), &err);
        }
    check_rc(builder_finish(b, &err), &err);
    builder_close(b);
    check_rc(dataset_open(&w->data, w->objects, "data", heap, &err), &err);
}

static inline void world_blueprint(struct world *w, struct heap *heap, const char *model,
                                   const char *extra)
{
    struct error err = { 0 };
    struct props settings;

    props_init(&settings, heap);
    props_set(&settings, "model", model);
    props_setf(&settings, "rank", "%u", FIXTURE_RANK);
    if (extra)
        check_rc(props_assign(&settings, extra, &err), &err);
    check_rc(blueprint_open(&w->blueprint, heap, &settings, &w->data, &err), &err);
    props_release(&settings);
}

static inline void world_close(struct world *w)
{
    blueprint_close(&w->blueprint);
    dataset_close(&w->data);
    objects_close(w->objects);
}

/* What tells the rows of a user or an item apart. */
static inline float fixture_bias(uint32_t column, uint32_t id)
{
    return (float)(column ? -1.0 : 1.0) * (float)id / 1024;
}

/* Factorisation: column `rank` of an item and `rank` + 1 of a user are their biases. */
static inline void set_biases(struct world *w, struct replica *r, struct heap *heap)
{
    for (uint32_t k = 0; k < 2; k++) {
        struct error err = { 0 };
        uint32_t *ids;

        check_rc(dataset_ids(&w->data, k, &ids, &err), &err);
        for (uint64_t row = r->views[k].first; row < r->views[k].first + r->views[k].count; row++)
            gust_row(&r->views[k], row)[FIXTURE_RANK + 1 - k] = fixture_bias(k, ids[row]);
        heap_free(heap, ids);
    }
}

/* The model of step 5 as RANKS functions would have left it; its bytes are appended to OUT. */
static inline void world_model(struct world *w, struct heap *heap, uint32_t ranks, struct buf *out)
{
    struct error err = { 0 };

    for (uint32_t rank = 0; rank < ranks; rank++) {
        struct replica r;
        uint32_t lo, hi;

        lanes_of_rank(w->data.lanes, ranks, rank, &lo, &hi);
        check_rc(replica_init(&r, &w->blueprint, heap, lo, hi, 10, &err), &err);
        if (w->data.data.keys) {
            size_t floats;
            float *state = optimiser_state(&r.optimiser, 1, &floats);

            set_biases(w, &r, heap);
            for (size_t i = 0; i < floats; i++)
                state[i] = (float)(100 + i);
        }
        check_rc(replica_save(&r, w->objects, 5, rank, &err), &err);
        replica_release(&r);
    }
    check_rc(base_seal(w->objects, heap, 5, ranks, w->blueprint.fingerprint, &err), &err);
    check_rc(model_file_save(&w->blueprint, w->objects, 5, "model", &err), &err);
    check_rc(objects_get_all(w->objects, "model", out, &err), &err);
}

#endif
