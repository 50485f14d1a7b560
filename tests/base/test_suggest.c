/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include <limits.h>

#include "base/suggest.h"

static void distance_counts_letters_and_swaps(void **state)
{
    char lengthy[SUGGEST_WORD_MAX + 2];

    (void)state;
    assert_int_equal(suggest_distance("workers", "workers"), 0);
    assert_int_equal(suggest_distance("wrokers", "workers"), 1);
    assert_int_equal(suggest_distance("worker", "workers"), 1);
    assert_int_equal(suggest_distance("woorkers", "workers"), 1);
    assert_int_equal(suggest_distance("warkers", "workers"), 1);
    assert_int_equal(suggest_distance("", "abc"), 3);
    assert_int_equal(suggest_distance("abc", ""), 3);
    assert_int_equal(suggest_distance("kitten", "sitting"), 3);
    assert_int_equal(suggest_distance("Batch-Per-Worker", "batch_per_worker"), 0);
    memset(lengthy, 'a', sizeof(lengthy) - 1);
    lengthy[sizeof(lengthy) - 1] = 0;
    assert_true(suggest_distance(lengthy, "a") == UINT_MAX);
    assert_true(suggest_distance("a", lengthy) == UINT_MAX);
    assert_int_equal(suggest_distance(lengthy + 1, lengthy + 1), 0);
}

static void the_nearest_is_suggested_and_nothing_far(void **state)
{
    struct suggest s = { .word = "epcohs" };

    (void)state;
    suggest_offer(&s, "steps");
    assert_null(s.best);
    suggest_offer(&s, "epochs");
    suggest_offer(&s, "epoch");
    assert_string_equal(s.best, "epochs");
    s = (struct suggest){ .word = "forest" };
    suggest_offer(&s, "softmax");
    suggest_offer(&s, "svm");
    assert_null(s.best);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distance_counts_letters_and_swaps),
        cmocka_unit_test(the_nearest_is_suggested_and_nothing_far),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
