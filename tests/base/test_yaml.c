/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "base/yaml.h"

struct fixture {
    struct heap heap;
    struct problems problems;
    struct yaml y;
};

static int set_up(void **state)
{
    static struct fixture f;

    f = (struct fixture){ 0 };
    heap_init(&f.heap, 0);
    problems_init(&f.problems, &f.heap);
    *state = &f;
    return 0;
}

/* Releasing must leave nothing behind. */
static int tear_down(void **state)
{
    struct fixture *f = *state;

    yaml_release(&f->y);
    problems_release(&f->problems);
    return f->heap.blocks != NULL || f->y.heap.blocks != NULL;
}

static int read(struct fixture *f, struct slice text)
{
    yaml_release(&f->y);
    problems_release(&f->problems);
    return yaml_read(&f->y, text, "x.yaml", &f->problems);
}

/* TEXT has exactly one problem, in LINE, that says WORDS. */
static void refuse(struct fixture *f, struct slice text, unsigned line, const char *words)
{
    assert_int_equal(read(f, text), E_FORMAT);
    if (f->problems.count != 1 || f->problems.items[0].line != line ||
        !strstr(f->problems.items[0].text, words))
        fail_msg("%u problems, the first in line %u: %s (expected '%s' in line %u)",
                 f->problems.count, f->problems.items[0].line, f->problems.items[0].text, words,
                 line);
}

static void a_file_becomes_a_tree_with_lines(void **state)
{
    static const char text[] = "# job\n"
                               "model: factorisation\n"
                               "fleet:\n"
                               "  workers: 8     # many\n"
                               "  \"memory\": '442MB'\n"
                               "list: [a, b,\n"
                               "       c]\n"
                               "empty:\n";
    struct fixture *f = *state;
    const struct yaml_node *node, *fleet;

    assert_int_equal(read(f, slice_str(text)), 0);
    assert_int_equal(f->y.root->kind, YAML_NODE_MAPPING);
    assert_int_equal(f->y.root->count, 4);
    node = f->y.root->first;
    assert_string_equal(node->key, "model");
    assert_string_equal(node->text, "factorisation");
    assert_int_equal(node->line, 2);
    assert_int_equal(node->column, 1);
    fleet = yaml_find(f->y.root, "fleet");
    assert_int_equal(fleet->kind, YAML_NODE_MAPPING);
    node = yaml_find(fleet, "memory");
    assert_string_equal(node->text, "442MB");
    assert_int_equal(node->line, 5);
    assert_int_equal(node->column, 3);
    assert_true(node->quoted);
    assert_false(yaml_find(fleet, "workers")->quoted);
    assert_null(yaml_find(fleet, "threads"));
    node = yaml_find(f->y.root, "list");
    assert_int_equal(node->kind, YAML_NODE_SEQUENCE);
    assert_int_equal(node->count, 3);
    assert_int_equal(node->first->next->next->line, 7);
    assert_null(node->first->key);
    assert_true(yaml_is_null(yaml_find(f->y.root, "empty")));
}

static void line_ends_and_a_byte_order_mark_do_not_matter(void **state)
{
    static const char *const same[] = { "a: 1\nb: 2\n", "a: 1\r\nb: 2\r\n", "a: 1\rb: 2",
                                        "\357\273\277a: 1\r\nb: 2\n" };
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
        assert_int_equal(read(f, slice_str(same[i])), 0);
        assert_string_equal(yaml_find(f->y.root, "a")->text, "1");
        assert_string_equal(yaml_find(f->y.root, "b")->text, "2");
        assert_int_equal(yaml_find(f->y.root, "b")->line, 2);
    }
}

static void core_tags_are_allowed(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read(f, slice_str("a: !!str 12\nb: !!int 3\nc: !!seq [1]\n")), 0);
    assert_string_equal(yaml_find(f->y.root, "a")->text, "12");
}

static void what_is_not_plain_data_is_refused_with_its_line(void **state)
{
    static const struct {
        const char *text;
        unsigned line;
        const char *words;
    } cases[] = {
        { "a: 1\nb: 2\na: 3\n", 3, "'a' is given again (first in line 1)" },
        { "a:\n  b: 1\n  b: 2\n", 3, "'b' is given again (first in line 2)" },
        { "a: &x 1\n", 1, "the anchor '&x' is not allowed" },
        { "a:\n  &y b: 1\n", 2, "the anchor '&y' is not allowed" },
        { "a: 1\nb: !python/object 3\n", 2, "the tag '!python/object' is not allowed" },
        { "a: 1\n---\nb: 2\n", 2, "a second document" },
        { "? [a, b]\n: 1\n", 1, "a key must be plain text" },
        { "a: \"x\\0y\"\n", 1, "a zero byte" },
        { "a: 1\nb: [1, 2\nc: 3\n", 3, "this is not YAML" },
        { "a: 1\n\tb: 2\n", 2, "this is not YAML" },
        { "a: 'open\n", 2, "this is not YAML" },
        { "a: *nowhere\n", 1, "the alias '*nowhere' is not allowed" },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        refuse(f, slice_str(cases[i].text), cases[i].line, cases[i].words);
}

static void several_problems_come_together_in_the_order_of_lines(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read(f, slice_str("a: &x 1\nb: *x\na: 2\nc: !t 3\n")), E_FORMAT);
    assert_int_equal(f->problems.count, 4);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(f->problems.items[i].line, i + 1);
    /* What could be read is there all the same. */
    assert_string_equal(yaml_find(f->y.root, "a")->text, "1");
    assert_string_equal(yaml_find(f->y.root, "c")->text, "3");
}

static void bytes_that_are_not_text_are_refused(void **state)
{
    struct fixture *f = *state;

    refuse(f, slice("a: 1\nb: \x00\x01", 10), 2, "not text in UTF-8");
    refuse(f,
           slice("\x7f"
                 "ELF\x02\x01\x01",
                 7),
           1, "not text in UTF-8");
    refuse(f, slice_str("a: 1\nb: caf\xe9 au lait\n"), 2, "not text in UTF-8");
}

static void control_characters_do_not_reach_the_terminal(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read(f, slice_str("\"a\\e[31m\": 1\n\"a\\e[31m\": 2\n")), E_FORMAT);
    assert_null(strchr(f->problems.items[0].text, '\033'));
}

static void sizes_are_bounded(void **state)
{
    struct fixture *f = *state;
    char *text = heap_alloc(&f->heap, YAML_MAX_BYTES + 1);

    memset(text, '#', YAML_MAX_BYTES + 1);
    refuse(f, slice(text, YAML_MAX_BYTES + 1), 0, "more than the");
    assert_int_equal(read(f, slice(text, YAML_MAX_BYTES)), 0);
    assert_null(f->y.root);
    memset(text, '[', YAML_MAX_BYTES);
    refuse(f, slice(text, YAML_MAX_BYTES), 1, "nested more than");
    for (size_t i = 0; i < YAML_MAX_BYTES; i += 2)
        memcpy(text + i, i ? ",1" : "[1", 2);
    refuse(f, slice(text, YAML_MAX_BYTES), 1, "there are more than 4096 values");
    heap_free(&f->heap, text);
}

static void more_problems_than_anyone_reads_are_counted(void **state)
{
    struct fixture *f = *state;
    struct buf text;

    buf_init(&text, &f->heap, MIB);
    for (int i = 0; i < 200; i++)
        buf_printf(&text, "a: %d\n", i);
    assert_int_equal(read(f, buf_slice(&text)), E_FORMAT);
    assert_int_equal(f->problems.count, 199);
    assert_int_equal(f->problems.kept, PROBLEMS_MAX);
    buf_release(&text);
}

static void nothing_is_no_tree(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read(f, slice(NULL, 0)), 0);
    assert_null(f->y.root);
    assert_int_equal(read(f, slice_str("# only a comment\n")), 0);
    assert_null(f->y.root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_becomes_a_tree_with_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(line_ends_and_a_byte_order_mark_do_not_matter, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(core_tags_are_allowed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_plain_data_is_refused_with_its_line, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(several_problems_come_together_in_the_order_of_lines,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(bytes_that_are_not_text_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(control_characters_do_not_reach_the_terminal, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(sizes_are_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(more_problems_than_anyone_reads_are_counted, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_no_tree, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
