/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes and passes: every example once per epoch, the same global batch for every fleet. */
#include "base/random.h"
#include "data/lanes.h"
#include "support/test.h"

static void ranks_divide_the_lanes_without_gap_or_overlap(void **state UNUSED)
{
    for (uint32_t lanes = 1; lanes <= 1024; lanes *= 4)
        for (uint32_t n = 1; n <= lanes; n += 1 + n / 3) {
            uint32_t next = 0;

            for (uint32_t r = 0; r < n; r++) {
                uint32_t lo, hi;

                lanes_of_rank(lanes, n, r, &lo, &hi);
                assert_int_equal(lo, next);
                assert_true(hi > lo);
                assert_true(hi - lo <= lanes / n + 1);
                next = hi;
            }
            assert_int_equal(next, lanes);
        }
}

static void check_bijection(uint32_t size, uint64_t seed)
{
    struct heap heap = { 0 };
    struct pass p;
    unsigned char *seen = calloc(size, 1);
    uint32_t *rows = calloc(size, sizeof(*rows));
    uint32_t odd = size / 3;

    pass_init(&p, &heap, 1, &size, seed, 1u << 20);
    for (uint64_t epoch = 0; epoch < seed % 7; epoch++)
        pass_advance(&p);
    assert_int_equal(p.epoch, seed % 7);
    /* In two calls, cut anywhere, as steps cut it. */
    pass_rows(&p, 0, 0, odd, rows);
    pass_rows(&p, 0, odd, size, rows + odd);
    for (uint32_t i = 0; i < size; i++) {
        assert_true(rows[i] < size);
        assert_false(seen[rows[i]]);
        seen[rows[i]] = 1;
    }
    for (uint32_t i = 0; i < size; i += 1 + size / 64)
        assert_int_equal(rows[i], pass_row(&p, 0, i));
    pass_release(&p);
    heap_release(&heap);
    free(rows);
    free(seen);
}

static void order_is_a_permutation_for_every_size(void **state UNUSED)
{
    for (uint32_t size = 1; size <= 2000; size++)
        for (uint64_t seed = 0; seed < 3; seed++)
            check_bijection(size, random_mix(size * 3 + seed));
    for (uint64_t i = 0; i < 12; i++)
        check_bijection(1 + (uint32_t)random_below(random_at(5, i, 0, 0), 500000), i);
}

static void epochs_and_seeds_differ_in_order(void **state UNUSED)
{
    struct heap heap = { 0 };
    struct pass p;
    uint32_t size = 8000, same_epoch = 0, same_seed = 0, same_place = 0;
    uint32_t *a = calloc(size, sizeof(*a)), *b = calloc(size, sizeof(*b)),
             *c = calloc(size, sizeof(*c));

    pass_init(&p, &heap, 1, &size, 1, size);
    pass_rows(&p, 0, 0, size, a);
    pass_advance(&p);
    pass_rows(&p, 0, 0, size, b);
    pass_release(&p);
    pass_init(&p, &heap, 1, &size, 2, size);
    pass_rows(&p, 0, 0, size, c);
    for (uint32_t i = 0; i < size; i++) {
        same_epoch += a[i] == b[i];
        same_seed += a[i] == c[i];
        same_place += a[i] == i;
    }
    /* One in 8000 positions agrees by chance; a multiple chunk may add eight at a time. */
    assert_true(same_epoch < 100);
    assert_true(same_seed < 100);
    assert_true(same_place < 100);
    pass_release(&p);
    heap_release(&heap);
    free(a);
    free(b);
    free(c);
}

struct fixture {
    struct heap heap;
    uint32_t lanes, *sizes;
    uint64_t total, *first;
    unsigned char *seen; /* by lane and row */
};

static void fixture_init(struct fixture *f, uint64_t seed, uint32_t lanes, uint32_t most)
{
    *f = (struct fixture){ .lanes = lanes };
    f->sizes = heap_alloc(&f->heap, lanes * sizeof(*f->sizes));
    f->first = heap_alloc(&f->heap, lanes * sizeof(*f->first));
    for (uint32_t q = 0; q < lanes; q++) {
        f->first[q] = f->total;
        f->sizes[q] = (uint32_t)random_below(random_at(seed, 1, q, 0), most + 1);
        if (q == lanes - 1 && f->total == 0)
            f->sizes[q] = 1;
        f->total += f->sizes[q];
    }
    f->seen = heap_alloc(&f->heap, f->total);
}

/* Mark what a fleet of N takes in this step; returns how much. */
static uint64_t take_step(struct fixture *f, const struct pass *p, uint32_t n)
{
    uint64_t count = 0;

    for (uint32_t r = 0; r < n; r++) {
        uint32_t lo, hi;

        lanes_of_rank(f->lanes, n, r, &lo, &hi);
        for (uint32_t q = lo; q < hi; q++) {
            uint32_t begin, end;

            pass_slice(p, q, &begin, &end);
            assert_true(end <= f->sizes[q]);
            for (uint32_t i = begin; i < end; i++) {
                uint64_t row = f->first[q] + pass_row(p, q, i);

                assert_int_equal(f->seen[row], p->epoch % 250);
                f->seen[row]++;
                count++;
            }
        }
    }
    return count;
}

static void every_example_comes_once_per_epoch_under_random_schedules(void **state UNUSED)
{
    for (uint64_t seed = 0; seed < 60; seed++) {
        uint32_t lanes = 1u << random_below(random_at(seed, 2, 0, 0), 9);
        uint32_t most = seed % 4 == 0 ? 3 : 200;
        struct fixture f;
        struct pass p;
        uint64_t draws = 0;

        fixture_init(&f, seed, lanes, most);
        pass_init(&p, &f.heap, lanes, f.sizes, seed,
                  1 + random_below(random_at(seed, 3, 0, 0), f.total));
        while (p.epoch < 3) {
            uint64_t bits = random_at(seed, 4, draws++, 0);
            uint32_t n = 1 + (uint32_t)random_below(bits, lanes);
            uint64_t most_now = pass_most(&p, 0, lanes);
            uint64_t count = take_step(&f, &p, n);

            assert_int_equal(count, pass_count(&p, 0, lanes));
            assert_true(count > 0 && count <= most_now);
            pass_advance(&p);
            if (bits % 5 == 0)
                pass_set_batch(&p, 1 + random_below(random_mix(bits), f.total));
        }
        for (uint64_t i = 0; i < f.total; i++)
            assert_int_equal(f.seen[i], 3);
        pass_release(&p);
        heap_release(&f.heap);
    }
}

static void global_batches_stay_near_the_nominal_size(void **state UNUSED)
{
    struct fixture f;
    struct pass p;

    fixture_init(&f, 77, 1024, 2000);
    pass_init(&p, &f.heap, 1024, f.sizes, 1, 6250);
    for (uint64_t k = 0; k < p.steps; k++) {
        double count = (double)pass_count(&p, 0, 1024);

        assert_true(count > 0.97 * 6250 && count < 1.03 * 6250);
        p.at++;
    }
    p.at = 0;
    pass_release(&p);
    heap_release(&f.heap);
}

static void changing_the_batch_twice_at_one_step_equals_changing_it_once(void **state UNUSED)
{
    struct fixture f;
    struct pass a, b;

    fixture_init(&f, 9, 64, 100);
    pass_init(&a, &f.heap, 64, f.sizes, 1, 100);
    pass_init(&b, &f.heap, 64, f.sizes, 1, 100);
    for (int i = 0; i < 7; i++) {
        pass_advance(&a);
        pass_advance(&b);
    }
    pass_set_batch(&a, 333);
    pass_set_batch(&a, 50);
    pass_set_batch(&b, 50);
    for (uint32_t q = 0; q < 64; q++) {
        uint32_t begin[2], end[2];

        pass_slice(&a, q, &begin[0], &end[0]);
        pass_slice(&b, q, &begin[1], &end[1]);
        assert_int_equal(begin[0], begin[1]);
        assert_int_equal(end[0], end[1]);
    }
    pass_release(&a);
    pass_release(&b);
    heap_release(&f.heap);
}

static void a_pass_survives_encoding(void **state UNUSED)
{
    struct fixture f;
    struct pass a, b;
    struct buf buf;

    fixture_init(&f, 3, 128, 500);
    buf_init(&buf, &f.heap, MIB);
    pass_init(&a, &f.heap, 128, f.sizes, 42, 1000);
    for (int i = 0; i < 11; i++)
        pass_advance(&a);
    pass_set_batch(&a, 700);
    pass_advance(&a);
    pass_encode(&a, &buf);
    assert_int_equal(pass_decode(&b, &f.heap, 128, f.sizes, buf_slice(&buf), NULL), 0);
    for (int i = 0; i < 300; i++) {
        assert_int_equal(a.epoch, b.epoch);
        for (uint32_t q = 0; q < 128; q++) {
            uint32_t x[2], y[2];

            pass_slice(&a, q, &x[0], &x[1]);
            pass_slice(&b, q, &y[0], &y[1]);
            assert_memory_equal(x, y, sizeof(x));
            if (x[0] < x[1])
                assert_int_equal(pass_row(&a, q, x[0]), pass_row(&b, q, x[0]));
        }
        pass_advance(&a);
        pass_advance(&b);
    }
    pass_release(&a);
    pass_release(&b);
    heap_release(&f.heap);
}

static void a_damaged_pass_is_refused(void **state UNUSED)
{
    struct fixture f;
    struct pass a, b = { 0 };
    struct buf buf;
    struct error err;

    fixture_init(&f, 3, 16, 50);
    buf_init(&buf, &f.heap, MIB);
    pass_init(&a, &f.heap, 16, f.sizes, 42, 10);
    pass_encode(&a, &buf);
    for (size_t cut = 0; cut < buf.size; cut++)
        assert_int_equal(pass_decode(&b, &f.heap, 16, f.sizes, slice(buf.data, cut), &err),
                         E_FORMAT);
    assert_int_equal(pass_decode(&b, &f.heap, 32, f.sizes, buf_slice(&buf), &err), E_FORMAT);
    memset(buf.data + buf.size - 4, 0xff, 4);
    assert_int_equal(pass_decode(&b, &f.heap, 16, f.sizes, buf_slice(&buf), &err), E_FORMAT);
    assert_null(b.taken);
    pass_release(&a);
    heap_release(&f.heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_divide_the_lanes_without_gap_or_overlap),
        cmocka_unit_test(order_is_a_permutation_for_every_size),
        cmocka_unit_test(epochs_and_seeds_differ_in_order),
        cmocka_unit_test(every_example_comes_once_per_epoch_under_random_schedules),
        cmocka_unit_test(global_batches_stay_near_the_nominal_size),
        cmocka_unit_test(changing_the_batch_twice_at_one_step_equals_changing_it_once),
        cmocka_unit_test(a_pass_survives_encoding),
        cmocka_unit_test(a_damaged_pass_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
