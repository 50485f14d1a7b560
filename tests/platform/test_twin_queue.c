/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "base/random.h"
#include "platform/twin_queue.h"

#define EVENTS 500u

static struct twin_event *take(struct twin_queue *q)
{
    struct twin_event *e = twin_queue_first(q);

    if (e)
        twin_queue_remove(q, e);
    return e;
}

static void equal_times_come_in_the_order_of_adding(void **state UNUSED)
{
    struct twin_event events[EVENTS] = { { 0 } };
    struct twin_queue q;
    struct heap h;

    heap_init(&h, 0);
    twin_queue_init(&q, &h);
    for (unsigned i = 0; i < EVENTS; i++)
        twin_queue_add(&q, &events[i], 7);
    twin_queue_add(&q, &events[3], 7); /* moved: now the last */
    twin_queue_add(&q, &events[4], 6); /* moved: now the first */
    assert_ptr_equal(take(&q), &events[4]);
    for (unsigned i = 0; i < EVENTS; i++)
        if (i != 3 && i != 4)
            assert_ptr_equal(take(&q), &events[i]);
    assert_ptr_equal(take(&q), &events[3]);
    assert_null(take(&q));
    twin_queue_release(&q);
    assert_null(h.blocks);
}

/* The slow way to the next event. */
static struct twin_event *next_by_search(struct twin_event *events)
{
    struct twin_event *best = NULL;

    for (unsigned i = 0; i < EVENTS; i++) {
        struct twin_event *e = &events[i];

        if (e->place && (!best || e->time < best->time ||
                         (e->time == best->time && e->sequence < best->sequence)))
            best = e;
    }
    return best;
}

static void any_mix_of_adding_moving_and_removing_keeps_the_order(void **state UNUSED)
{
    struct twin_event events[EVENTS] = { { 0 } };
    struct twin_queue q;
    struct heap h;

    heap_init(&h, 0);
    twin_queue_init(&q, &h);
    for (uint64_t turn = 0; turn < 20000; turn++) {
        uint64_t bits = random_at(1, turn, 0, 0);
        struct twin_event *e = &events[random_below(random_mix(bits), EVENTS)];

        if (bits % 8 < 4)
            twin_queue_add(&q, e, bits >> 32 & 255);
        else if (bits % 8 < 6)
            twin_queue_remove(&q, e);
        else if ((e = next_by_search(events)) != NULL)
            assert_ptr_equal(take(&q), e);
        else
            assert_null(take(&q));
    }
    twin_queue_release(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_times_come_in_the_order_of_adding),
        cmocka_unit_test(any_mix_of_adding_moving_and_removing_keeps_the_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
