/* SPDX-License-Identifier: Apache-2.0 */
/* The table of settings is sound, and says the same as the code that it speaks for. */
#include "support/test.h"

#include "client/setting_value.h"
#include "math/kernels.h"
#include "model/model.h"
#include "model/optimiser_rules.h"

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static void every_row_is_complete(void **state)
{
    (void)state;
    for (unsigned i = 0; setting_at(i); i++) {
        const struct setting *s = setting_at(i);
        char path[64];

        assert_non_null(section_find(s->section));
        snprintf(path, sizeof(path), "%s.%s", s->section, s->name);
        assert_ptr_equal(setting_find(path), s);
        /* Sentences are made of it. */
        assert_true(is_lower(s->help[0]) && s->help[strlen(s->help) - 1] != '.');
        assert_true(s->min <= s->max);
        assert_true((s->type == SETTING_CHOICE) == (s->choices != NULL));
        assert_true((s->when == NULL) == (s->is == NULL));
    }
    for (unsigned i = 0; section_at(i); i++)
        if (section_at(i)->main)
            assert_non_null(setting_in(section_at(i)->name, section_at(i)->main));
}

static void names_options_and_workers_names_are_unique(void **state)
{
    (void)state;
    for (unsigned i = 0; setting_at(i); i++) {
        const struct setting *a = setting_at(i);

        for (unsigned k = 0; k < i; k++) {
            const struct setting *b = setting_at(k);

            assert_false(a->option && b->option && strcmp(a->option, b->option) == 0);
            assert_false(a->prop && b->prop && strcmp(a->prop, b->prop) == 0);
        }
    }
}

static void every_default_is_allowed(void **state)
{
    (void)state;
    for (unsigned i = 0; setting_at(i); i++) {
        const struct setting *s = setting_at(i);
        struct setting_value v = { 0 };
        struct error err = { 0 };

        if (s->fallback && setting_value_read(s, s->fallback, &v, &err))
            fail_msg("%s.%s: %s", s->section, s->name, err.text);
        for (unsigned m = 0; model_at(m); m++) {
            const char *text = setting_default(s, model_at(m)->name);

            if (text && setting_value_read(s, text, &v, &err))
                fail_msg("%s.%s of %s: %s", s->section, s->name, model_at(m)->name, err.text);
        }
    }
}

/* What a trainer proposes, a person can change. */
static void every_proposal_of_a_model_is_a_setting(void **state)
{
    (void)state;
    for (unsigned m = 0; model_at(m); m++)
        for (const struct gust_default *d = model_at(m)->defaults; d && d->name; d++) {
            bool found = false;

            for (unsigned i = 0; setting_at(i); i++)
                found |= setting_at(i)->prop && strcmp(setting_at(i)->prop, d->name) == 0;
            if (!found)
                fail_msg("%s proposes '%s', which is not in the table", model_at(m)->name, d->name);
        }
}

static void conditions_name_choices(void **state)
{
    (void)state;
    for (unsigned i = 0; setting_at(i); i++) {
        const struct setting *s = setting_at(i), *ruler;

        if (!s->when)
            continue;
        ruler = setting_find(s->when);
        assert_non_null(ruler);
        for (const char *at = s->is; *at;) {
            size_t size = strcspn(at, "|");
            char word[32];

            snprintf(word, sizeof(word), "%.*s", (int)size, at);
            assert_true(setting_listed(ruler->choices, word));
            at += size + (at[size] == '|');
        }
    }
}

/* Every word of the table's list is one that FIND knows. */
static void check_choices(const char *path, const void *(*find)(const char *name))
{
    for (const char *at = setting_find(path)->choices; *at;) {
        size_t size = strcspn(at, "|");
        char word[32];

        snprintf(word, sizeof(word), "%.*s", (int)size, at);
        if (!find(word))
            fail_msg("%s: there is no '%s'", path, word);
        at += size + (at[size] == '|');
    }
}

static const void *find_model(const char *name)
{
    return model_find(name);
}

static const void *find_rule(const char *name)
{
    return optimiser_rule_find(name);
}

static void choices_are_what_there_is(void **state)
{
    (void)state;
    check_choices("model.kind", find_model);
    check_choices("optimiser.kind", find_rule);
    for (unsigned m = 0; model_at(m); m++)
        assert_true(setting_listed(setting_find("model.kind")->choices, model_at(m)->name));
    for (unsigned k = 0; kernels_at(k); k++)
        assert_true(setting_listed(setting_find("training.kernels")->choices, kernels_at(k)->name));
}

static void names_are_found_as_people_abbreviate_them(void **state)
{
    (void)state;
    assert_ptr_equal(setting_resolve("fleet.workers"), setting_find("fleet.workers"));
    assert_ptr_equal(setting_resolve("workers"), setting_find("fleet.workers"));
    assert_ptr_equal(setting_resolve("model"), setting_find("model.kind"));
    assert_ptr_equal(setting_resolve("decay-every"), setting_find("optimiser.decay_every"));
    assert_null(setting_resolve("kind"));
    assert_null(setting_resolve("fleet"));
    assert_null(setting_resolve("fleet.rate"));
    assert_null(setting_find("workers"));
    assert_null(setting_find("fleet."));
    assert_null(setting_find("."));
}

static void suggestions_name_the_place(void **state)
{
    char text[512];

    (void)state;
    setting_suggest("fleet", "wrokers", text, sizeof(text));
    assert_string_equal(text, "; did you mean 'workers'?");
    setting_suggest("fleet", "rate", text, sizeof(text));
    assert_string_equal(text, "; did you mean 'optimiser.rate'?");
    setting_suggest(NULL, "workers", text, sizeof(text));
    assert_string_equal(text, "; did you mean 'fleet.workers'?");
    setting_suggest(NULL, "modle", text, sizeof(text));
    assert_string_equal(text, "; did you mean 'model'?");
    setting_suggest("fleet", "xyzzy", text, sizeof(text));
    assert_memory_equal(text, "; there are workers, memory, ", 29);
    setting_suggest(NULL, "xyzzy", text, 24);
    assert_int_equal(strlen(text), 23);
}

static void values_out_of_range_are_refused_with_the_bound(void **state)
{
    static const struct {
        const char *path, *text, *words;
    } cases[] = {
        { "fleet.workers", "0", "0 is too small; it must be at least 1" },
        { "fleet.workers", "2049", "2049 is too large; it must be at most 2048" },
        { "fleet.workers", "-3", "-3 is too small; it must be at least 1" },
        { "fleet.workers", "2.5", "'2.5' is not a whole number" },
        { "fleet.memory", "64MB", "64MB is too small; it must be at least 128MB" },
        { "fleet.memory", "lots", "'lots' is not a size, such as 442MB or 2GB" },
        { "fleet.time_limit", "25h", "25h is too large; it must be at most 24h" },
        { "fleet.time_limit", "soon", "'soon' is not a duration, such as 90s, 15m or 2h30m" },
        { "stop.epochs", "0", "0 is too small; it must be above 0" },
        { "optimiser.rate", "nan", "'nan' is not a number" },
        { "optimiser.rate", "fast", "'fast' is not a number" },
        { "optimiser.kind", "adma", "there is no 'adma'; did you mean 'adam'?" },
        { "model.kind", "forest", "there is no 'forest' (there are: factorisation, logistic" },
        { "data.path", "", "has no value" },
        { "data.path", "a\nb", "holds a control character" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct setting_value v = { .number = 7, .count = 7 };
        struct error err = { 0 };

        assert_int_equal(setting_value_read(setting_find(cases[i].path), cases[i].text, &v, &err),
                         E_INVALID);
        if (!strstr(err.text, cases[i].words))
            fail_msg("%s: %s", cases[i].path, err.text);
        assert_true(v.number == 7 && v.count == 7);
    }
}

static void defaults_are_told_by_model(void **state)
{
    struct heap heap;
    struct buf text;

    (void)state;
    heap_init(&heap, 0);
    buf_init(&text, &heap, KIB);
    setting_write_default(setting_find("optimiser.kind"), &text);
    assert_string_equal(text.data, "adagrad (logistic, svm, softmax), adagrad-row (factorisation)");
    buf_reset(&text);
    setting_write_default(setting_find("fleet.workers"), &text);
    assert_string_equal(text.data, "2");
    buf_reset(&text);
    setting_write_default(setting_find("training.shards"), &text);
    assert_string_equal(text.data, "as many as workers");
    heap_release(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_complete),
        cmocka_unit_test(names_options_and_workers_names_are_unique),
        cmocka_unit_test(every_default_is_allowed),
        cmocka_unit_test(every_proposal_of_a_model_is_a_setting),
        cmocka_unit_test(conditions_name_choices),
        cmocka_unit_test(choices_are_what_there_is),
        cmocka_unit_test(names_are_found_as_people_abbreviate_them),
        cmocka_unit_test(suggestions_name_the_place),
        cmocka_unit_test(values_out_of_range_are_refused_with_the_bound),
        cmocka_unit_test(defaults_are_told_by_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
