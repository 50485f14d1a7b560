/* SPDX-License-Identifier: Apache-2.0 */
/* A model becomes base 0 of another job: who is known keeps what was learned, whoever reads it. */
#include "support/test.h"

#include "client/model_fixture.h"
#include "client/warm_start.h"

static struct heap heap;
static struct world old, new;
static struct buf model;

/* The old model has users 7, 9, .. 45 and items 1000 .. 1087; the new data set the later half and
 * more. */
static int set_up(void **state)
{
    (void)state;
    world_ratings(&old, &heap, "memory:warm-old", 7, 20, 30);
    world_blueprint(&old, &heap, "factorisation", NULL);
    buf_init(&model, &heap, 16 * MIB);
    world_model(&old, &heap, 3, &model);
    world_ratings(&new, &heap, "memory:warm-new", 27, 25, 40);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    buf_release(&model);
    world_close(&old);
    world_close(&new);
    return 0;
}

static const float *old_row(const struct model_file *m, const char *name, uint32_t column,
                            uint32_t id, uint32_t cols)
{
    for (uint64_t r = 0; r < m->data.key_rows[column]; r++)
        if (model_file_id(m, column, r) == id)
            return (const float *)safetensors_find(&m->file, name)->bytes.data + r * cols;
    return NULL;
}

/* Every row of V against the old model, or against what FRESH was made with. */
static uint64_t compare(const struct model_file *m, const struct replica *r,
                        const struct replica *fresh, uint32_t k)
{
    const char *factors = k ? "item_factors" : "user_factors";
    uint64_t known = 0;
    uint32_t *ids;

    assert_int_equal(dataset_ids(&new.data, k, &ids, NULL), 0);
    for (uint64_t row = r->views[k].first; row < r->views[k].first + r->views[k].count; row++) {
        const float *now = gust_row(&r->views[k], row), *first = gust_row(&fresh->views[k], row);
        const float *then = old_row(m, factors, k, ids[row], FIXTURE_RANK);

        known += then != NULL;
        assert_memory_equal(now, then ? then : first, FIXTURE_RANK * sizeof(float));
        /* Biases, and the constants that they are multiplied with. */
        assert_true(now[FIXTURE_RANK + 1 - k] == (then ? fixture_bias(k, ids[row]) : 0));
        assert_true(now[FIXTURE_RANK + k] == 1);
    }
    heap_free(&heap, ids);
    return known;
}

static void check_state(struct replica *r, const struct model_file *m, bool taken)
{
    float accumulator = (float)r->plan->optimiser.accumulator;
    uint32_t *ids;
    size_t floats;
    float *state = optimiser_state(&r->optimiser, 1, &floats);

    assert_int_equal(dataset_ids(&new.data, 1, &ids, NULL), 0);
    assert_int_equal(floats, r->views[1].count);
    for (size_t i = 0; i < floats; i++) {
        const float *then = taken ? old_row(m, "optimiser.items.0", 1, ids[i], 1) : NULL;

        assert_true(state[i] == (then ? *then : accumulator));
    }
    heap_free(&heap, ids);
}

static void load(struct replica *r, uint32_t ranks, uint32_t rank)
{
    struct base_reader base;
    struct error err = { 0 };
    uint32_t lo, hi;

    lanes_of_rank(new.data.lanes, ranks, rank, &lo, &hi);
    check_rc(replica_init(r, &new.blueprint, &heap, lo, hi, 10, &err), &err);
    check_rc(base_open(&base, new.objects, &heap, 0, new.blueprint.fingerprint, &err), &err);
    check_rc(replica_load(r, &base, &err), &err);
    base_close(&base);
}

static void known_users_and_items_keep_what_was_learned(void **state)
{
    struct error err = { 0 };
    struct warm_start found;
    struct model_file m;

    (void)state;
    world_blueprint(&new, &heap, "factorisation", NULL);
    check_rc(warm_start_write(&new.blueprint, buf_slice(&model), new.objects, &found, &err), &err);
    /* Users 27 .. 45 of 27 .. 75, items 1000 .. 1087 of 1000 .. 1117. */
    assert_int_equal(found.rows, 25 + 40);
    assert_int_equal(found.rows_known, 10 + 30);
    assert_true(found.state);
    check_rc(model_file_open(&m, &heap, buf_slice(&model), &err), &err);
    for (uint32_t ranks = 1; ranks <= 5; ranks += 2) {
        uint64_t users = 0;

        for (uint32_t rank = 0; rank < ranks; rank++) {
            struct replica r, fresh;

            load(&r, ranks, rank);
            check_rc(replica_init(&fresh, &new.blueprint, &heap, r.lane_lo, r.lane_hi, 10, &err),
                     &err);
            users += compare(&m, &r, &fresh, 0);
            assert_int_equal(compare(&m, &r, &fresh, 1), 30);
            check_state(&r, &m, true);
            replica_release(&r);
            replica_release(&fresh);
        }
        assert_int_equal(users, 10);
    }
    model_file_close(&m);
    blueprint_close(&new.blueprint);
}

static void another_optimiser_begins_its_sums_anew(void **state)
{
    struct error err = { 0 };
    struct warm_start found;
    struct replica r;

    (void)state;
    world_blueprint(&new, &heap, "factorisation", "optimiser=sgd");
    check_rc(warm_start_write(&new.blueprint, buf_slice(&model), new.objects, &found, &err), &err);
    assert_false(found.state);
    load(&r, 2, 1);
    replica_release(&r);
    blueprint_close(&new.blueprint);
}

static void a_base_is_read_by_any_fleet_and_goes_on_where_it_was(void **state)
{
    struct error err = { 0 };
    struct base_reader base;
    struct replica r, whole;
    uint32_t lo, hi;

    (void)state;
    world_blueprint(&new, &heap, "factorisation", NULL);
    for (uint32_t rank = 0; rank < 4; rank++) {
        lanes_of_rank(new.data.lanes, 4, rank, &lo, &hi);
        check_rc(replica_init(&r, &new.blueprint, &heap, lo, hi, 10, &err), &err);
        set_biases(&new, &r, &heap);
        for (int i = 0; i < 7; i++)
            pass_advance(&r.pass);
        check_rc(replica_save(&r, new.objects, 7, rank, &err), &err);
        replica_release(&r);
    }
    check_rc(base_seal(new.objects, &heap, 7, 4, new.blueprint.fingerprint, &err), &err);
    check_rc(base_open(&base, new.objects, &heap, 7, new.blueprint.fingerprint, &err), &err);
    check_rc(replica_init(&whole, &new.blueprint, &heap, 0, 16, 10, &err), &err);
    set_biases(&new, &whole, &heap);
    for (uint32_t rank = 0; rank < 3; rank++) {
        lanes_of_rank(new.data.lanes, 3, rank, &lo, &hi);
        check_rc(replica_init(&r, &new.blueprint, &heap, lo, hi, 10, &err), &err);
        check_rc(replica_load(&r, &base, &err), &err);
        assert_int_equal(r.pass.at, 7);
        assert_int_equal(r.optimiser.steps, 7);
        assert_memory_equal(r.views[0].rows, gust_row(&whole.views[0], r.views[0].first),
                            r.views[0].count * r.views[0].stride * sizeof(float));
        assert_memory_equal(r.views[1].rows, whole.views[1].rows,
                            r.views[1].count * r.views[1].stride * sizeof(float));
        replica_release(&r);
    }
    replica_release(&whole);
    base_close(&base);
    blueprint_close(&new.blueprint);
}

static void models_that_do_not_fit_are_refused(void **state)
{
    struct error err = { 0 };

    (void)state;
    world_blueprint(&new, &heap, "factorisation", "rank=7");
    assert_int_equal(error_exit_status(warm_start_write(&new.blueprint, buf_slice(&model),
                                                        new.objects, NULL, &err)),
                     2);
    assert_non_null(strstr(err.text, "'user_factors' has the shape"));
    blueprint_close(&new.blueprint);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_users_and_items_keep_what_was_learned),
        cmocka_unit_test(another_optimiser_begins_its_sums_anew),
        cmocka_unit_test(a_base_is_read_by_any_fleet_and_goes_on_where_it_was),
        cmocka_unit_test(models_that_do_not_fit_are_refused),
    };
    int rc;

    heap_init(&heap, 0);
    rc = cmocka_run_group_tests(tests, set_up, tear_down);
    heap_release(&heap);
    return rc;
}
