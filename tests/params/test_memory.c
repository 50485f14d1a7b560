/* SPDX-License-Identifier: Apache-2.0 */
/* What is particular to the memory store: its addresses, the order of waking, and forgetting the
 * killed. */
#include <unistd.h>

#include "params/memory.h"
#include "support/test.h"
#include "support/thread_env.h"

static const struct params_layout layout = {
    .ranks = 4,
    .spares = 0,
    .shards = 1,
    .sums_kept = 2,
    .part_bytes = 64,
    .sum_bytes = 64,
    .general_bytes = 64 * KIB,
};

#define PART(t, r) ((struct params_key){ .kind = PARAMS_PART, .step = (t), .rank = (r) })

/* An environment that never sleeps: parking does something else instead, as a coroutine would. */
struct fake_env {
    struct env base;
    void (*parked)(struct fake_env *e); /* may publish, or end the wait by moving the clock */
    uint64_t now;
    unsigned unparks;
    unsigned *order, *next; /* where the order of waking is written */
    unsigned number;
};

static uint64_t fake_now(struct env *e)
{
    return container_of(e, struct fake_env, base)->now;
}

static bool fake_park(struct env *e, uint64_t until)
{
    struct fake_env *f = container_of(e, struct fake_env, base);
    unsigned before = f->unparks;

    f->parked(f);
    if (f->unparks != before)
        return true;
    f->now = until;
    return false;
}

static void fake_unpark(struct env *e)
{
    struct fake_env *f = container_of(e, struct fake_env, base);

    f->unparks++;
    if (f->order)
        f->order[(*f->next)++] = f->number;
}

static const struct env_ops fake_ops = { .now = fake_now,
                                         .park = fake_park,
                                         .unpark = fake_unpark };

static int wait_for(struct params *p, struct params_key key, uint64_t seen, uint64_t until)
{
    struct slice view;
    struct params_wait w = {
        .keys = &key, .count = 1, .views = &view, .seen_version = seen, .until = until
    };

    return params_wait(p, &w, NULL);
}

static void open_as(struct fake_env *e, struct heap *heap, struct params *creator,
                    struct params **out)
{
    struct params_address address;

    heap_init(heap, 0);
    assert_int_equal(params_address(creator, &address, NULL), 0);
    assert_int_equal(params_open(address.url, -1,
                                 &(struct params_open){ .env = &e->base, .heap = heap }, out, NULL),
                     0);
}

static void a_store_is_found_by_its_address_while_it_is_open(void **state)
{
    struct fake_env e = { .base = { &fake_ops } };
    struct params_open open;
    struct params_address address;
    struct params *p, *q;
    struct heap heap;

    (void)state;
    heap_init(&heap, 0);
    open = (struct params_open){ .env = &e.base, .heap = &heap };
    assert_int_equal(params_create("memory:", &layout, &open, &p, NULL), 0);
    assert_int_equal(params_address(p, &address, NULL), 0);
    assert_int_equal(address.fd, -1);
    assert_int_equal(params_open(address.url, -1, &open, &q, NULL), 0);
    params_close(p);
    assert_int_equal(params_open(address.url, -1, &open, &p, NULL), E_NOT_FOUND);
    params_close(q);
    assert_int_equal(params_open("memory:", -1, &open, &p, NULL), E_INVALID);
    assert_int_equal(params_open("memory:x", -1, &open, &p, NULL), E_INVALID);
    assert_int_equal(params_open("floppy:1", -1, &open, &p, NULL), E_INVALID);
    assert_int_equal(params_create("memory", &layout, &open, &p, NULL), E_INVALID);
    assert_int_equal(heap.used_bytes, 0);
}

/*
 * Four functions wait inside one another, as coroutines would: the innermost publishes, and all
 * of them are woken in the order in which they began.
 */
static struct fake_env nested[4];
static struct params *nested_p[4];
static unsigned order[8], orders;

static void park_next(struct fake_env *e)
{
    unsigned i = e->number;
    struct params_key key = PART(1, 0);

    if (i < 3) {
        assert_int_equal(wait_for(nested_p[i + 1], key, PARAMS_UNWATCHED, 1000), 0);
        return;
    }
    assert_int_equal(params_put_new(nested_p[3], &key, slice_str("x"), NULL), 0);
}

static void waiters_are_woken_in_the_order_in_which_they_began_to_wait(void **state)
{
    struct heap heaps[4];

    (void)state;
    heap_init(&heaps[3], 0);
    for (unsigned i = 0; i < 4; i++)
        nested[i] = (struct fake_env){
            .base = { &fake_ops }, .parked = park_next, .order = order, .next = &orders, .number = i
        };
    orders = 0;
    assert_int_equal(params_create("memory:", &layout,
                                   &(struct params_open){ &nested[3].base, &heaps[3] },
                                   &nested_p[3], NULL),
                     0);
    /* Opened in another order than they will wait in. */
    open_as(&nested[2], &heaps[2], nested_p[3], &nested_p[2]);
    open_as(&nested[0], &heaps[0], nested_p[3], &nested_p[0]);
    open_as(&nested[1], &heaps[1], nested_p[3], &nested_p[1]);
    assert_int_equal(wait_for(nested_p[0], PART(1, 0), PARAMS_UNWATCHED, 1000), 0);
    assert_int_equal(orders, 4);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(order[i], i);
    for (unsigned i = 0; i < 4; i++) {
        params_close(nested_p[i]);
        heap_release(&heaps[i]);
    }
}

/* While it waits, the function is killed: its heap goes, and its stack is never returned to. */
static struct params *survivor;
static struct heap doomed_heap;
static jmp_buf after_the_kill;

static void killed_in_park(struct fake_env *e)
{
    struct params_key key = PART(1, 0), other = PART(2, 1);
    struct params_key value = { .kind = PARAMS_VALUE };

    params_memory_forget(&e->base);
    heap_release(&doomed_heap);
    /* What it waited for comes, and nobody thinks of it. */
    assert_int_equal(params_put_new(survivor, &key, slice_str("x"), NULL), 0);
    assert_int_equal(e->unparks, 0);
    /* Its seat and what it had reserved are free. */
    for (uint32_t r = 1; r < 4; r++) {
        other.rank = r;
        assert_int_equal(params_put_new(survivor, &other, slice_str("x"), NULL), 0);
    }
    assert_int_equal(
        params_reserve(survivor, &value, &layout.general_bytes, 1, &(void *){ 0 }, NULL), 0);
    longjmp(after_the_kill, 1);
}

static void a_killed_function_is_forgotten(void **state)
{
    struct fake_env alive = { .base = { &fake_ops } };
    struct fake_env *doomed = calloc(1, sizeof(*doomed));
    struct params_key value = { .kind = PARAMS_VALUE, .step = 1 }, mine = PART(1, 3);
    struct params *p;
    struct heap heap;
    void *room;

    (void)state;
    heap_init(&heap, 0);
    *doomed = (struct fake_env){ .base = { &fake_ops }, .parked = killed_in_park };
    assert_int_equal(params_create("memory:", &layout, &(struct params_open){ &alive.base, &heap },
                                   &survivor, NULL),
                     0);
    open_as(doomed, &doomed_heap, survivor, &p);
    assert_int_equal(params_reserve(p, &value, &layout.general_bytes, 1, &room, NULL), 0);
    assert_int_equal(params_put_new(p, &mine, slice_str("x"), NULL), 0);
    if (setjmp(after_the_kill) == 0)
        wait_for(p, PART(1, 0), 0, 1000);
    free(doomed);
    params_close(survivor);
    heap_release(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_is_found_by_its_address_while_it_is_open),
        cmocka_unit_test(waiters_are_woken_in_the_order_in_which_they_began_to_wait),
        cmocka_unit_test(a_killed_function_is_forgotten),
    };

    alarm(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
