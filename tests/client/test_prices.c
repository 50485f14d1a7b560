/* SPDX-License-Identifier: Apache-2.0 */
/* The price book: every list is whole and sourced; lists with mistakes are refused by line. */
#include "support/test.h"

#include <dirent.h>

#include "client/machines.h"
#include "client/prices.h"

#define HEAD "kind: machines\nname: Mine\ndate: 2026-01-31\nsource: my own contract\n"
#define REST "billing_unit_ms: 1000\nboot_seconds: 5\n"

static void the_book_is_the_folder(void **state)
{
    DIR *dir = opendir("prices");
    struct dirent *entry;
    unsigned files = 0;

    (void)state;
    assert_non_null(dir);
    while ((entry = readdir(dir))) {
        size_t size = strlen(entry->d_name);
        unsigned i = 0;

        if (size < 5 || strcmp(entry->d_name + size - 5, ".yaml") != 0)
            continue;
        files++;
        while (i < prices_count() && (strncmp(prices_id(i), entry->d_name, size - 5) != 0 ||
                                      strlen(prices_id(i)) != size - 5))
            i++;
        if (i == prices_count())
            fail_msg("prices/%s is not in the list in src/client/prices.c", entry->d_name);
    }
    closedir(dir);
    assert_int_equal(files, prices_count());
    for (unsigned i = 1; i < prices_count(); i++)
        assert_true(strcmp(prices_id(i - 1), prices_id(i)) < 0);
}

static bool is_sourced(const struct price_list *list, const char *key)
{
    const char *source = price_list_source(list, key), *date = price_list_date(list, key);

    return strlen(source) > 10 && strlen(date) == 10 && date[0] == '2';
}

static void every_figure_has_a_date_and_a_source(void **state)
{
    (void)state;
    for (unsigned i = 0; i < prices_count(); i++) {
        struct error err = { 0 };
        struct price_list list;
        struct heap heap;

        heap_init(&heap, 0);
        if (prices_list_open(&list, prices_id(i), &heap, &err))
            fail_msg("%s", err.text);
        for (unsigned k = 0; k < list.props.count; k++)
            if (!is_sourced(&list, list.props.items[k].key))
                fail_msg("%s: %s has no date or source", list.id, list.props.items[k].key);
        price_list_release(&list);
        assert_int_equal(heap.used_bytes, 0);
        heap_release(&heap);
    }
}

static void every_list_of_functions_opens_with_its_companions(void **state)
{
    unsigned functions = 0;

    (void)state;
    for (unsigned i = 0; i < prices_count(); i++) {
        struct error err = { 0 };
        struct price_list list;
        struct prices prices;
        struct heap heap;

        heap_init(&heap, 0);
        assert_int_equal(prices_list_open(&list, prices_id(i), &heap, &err), 0);
        if (list.kind == PRICE_FUNCTIONS) {
            if (prices_open(&prices, prices_id(i), &heap, &err))
                fail_msg("%s", err.text);
            assert_true(prices.has_store && prices.has_machines);
            assert_string_equal(prices.name, list.name);
            prices_close(&prices);
            functions++;
        } else {
            assert_int_equal(prices_open(&prices, prices_id(i), &heap, &err), E_INVALID);
        }
        price_list_release(&list);
        assert_int_equal(heap.used_bytes, 0);
        heap_release(&heap);
    }
    assert_int_equal(functions, 5);
}

static void a_figure_may_have_its_own_date_and_source(void **state)
{
    static const char text[] = HEAD REST "boot_seconds.source: measured\n"
                                         "machine a.b: 2 vCPU, 4096 MB, 0.5 USD/hour\n"
                                         "machine a.b.date: 2020-02-02\n";
    struct price_list list;
    struct heap heap;

    (void)state;
    heap_init(&heap, 0);
    assert_int_equal(price_list_parse(&list, "x", slice_str(text), &heap, NULL), 0);
    assert_string_equal(price_list_source(&list, "boot_seconds"), "measured");
    assert_string_equal(price_list_date(&list, "boot_seconds"), "2026-01-31");
    assert_string_equal(price_list_date(&list, "machine a.b"), "2020-02-02");
    assert_int_equal(list.machine_count, 1);
    assert_string_equal(list.machines[0].name, "a.b");
    assert_true(list.usable_share == 1 && list.minimum_ms == 0 && list.boot_seconds == 5);
    price_list_release(&list);
    heap_release(&heap);
}

static void mistakes_are_refused_by_line(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        { "", "no line 'kind: ...'" },
        { "kind: boats\nname: a\ndate: 2026-01-01\nsource: b\n", "line 1: kind: 'boats'" },
        { "kind: objects\ndate: 2026-01-01\nsource: b\n", "no line 'name: ...'" },
        { "kind: objects\nname: a\nsource: b\n", "no line 'date: ...'" },
        { "kind: objects\nname: a\ndate: 2026-01-01\n", "no line 'source: ...'" },
        { "kind: objects\nname: a\ndate: 2026-01-01\nsource:\n", "no line 'source: ...'" },
        { "kind: objects\nname: a\ndate: 1/2/26\nsource: b\n", "line 3: date: '1/2/26'" },
        { "kind: objects\nname: a\ndate: 2026-13-01\nsource: b\n", "not a date" },
        { "kind: objects\nname: a\ndate: 2026-01-01x\nsource: b\n", "not a date" },
        { "kind: objects\nname: a\ndate: 2026-01-01\nsource: b\nusd_per_gb_month: 1\n",
          "no line 'usd_per_thousand_writes: ...'" },
        { HEAD REST "machin x: 1 vCPU, 1 MB, 1 USD/hour\n",
          "line 7: there is no figure 'machin x'" },
        { HEAD REST "usd_per_gb_second: 1\n", "line 7: there is no figure 'usd_per_gb_second'" },
        { HEAD REST "store: aws-s3\n", "line 7: there is no figure 'store'" },
        { HEAD REST "usd_per_vcpu_hour: cheap\n", "line 7: usd_per_vcpu_hour: 'cheap' is not a n" },
        { HEAD REST "usd_per_vcpu_hour: -1\n", "is not a number from 0 to 1000" },
        { HEAD REST "usd_per_vcpu_hour: nan\n", "is not a number" },
        { HEAD REST "usd_per_vcpu_hour: 1e9\n", "is not a number from 0 to 1000" },
        { HEAD REST "boot_seconds.date: yesterday\n", "line 7: boot_seconds.date: 'yesterday'" },
        { HEAD REST "boot_seconds.source:\n", "line 7: 'boot_seconds.source' names no source" },
        { HEAD REST, "no line 'machine NAME" },
        { HEAD REST "machine m: 2 vCPU\n", "line 7: '2 vCPU' is not of the form" },
        { HEAD REST "machine m: 2 vCPU, 1 MB, 1 USD/hours\n", "is not of the form" },
        { HEAD REST "machine m: 2 vCPU, 1024 MB\n", "is not a machine" },
        { HEAD REST "machine m: 0 vCPU, 1024 MB, 1 USD/hour\n", "is not a machine" },
        { HEAD REST "machine m: nan vCPU, 1024 MB, 1 USD/hour\n", "is not a machine" },
        { HEAD REST "name: again\n", "line 7 gives 'name' again" },
        { "kind machines\n", "line 1 is not of the form 'key: value'" },
    };
    struct heap heap;

    (void)state;
    heap_init(&heap, 0);
    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err = { 0 };
        struct price_list list;

        if (price_list_parse(&list, "mine", slice_str(cases[i].text), &heap, &err) == 0)
            fail_msg("case %u was taken, and should say: %s", i, cases[i].says);
        if (!strstr(err.text, cases[i].says) || !strstr(err.text, "price list 'mine'"))
            fail_msg("case %u says '%s' and not '%s'", i, err.text, cases[i].says);
        assert_int_equal(error_exit_status(err.code), 2);
        assert_int_equal(heap.used_bytes, 0);
    }
    heap_release(&heap);
}

static void sizes_are_rising_numbers(void **state)
{
    static const char head[] = "kind: functions\nname: a\ndate: 2026-01-01\nsource: b\n"
                               "usd_per_gb_second: 1e-5\nusd_per_million_requests: 1\n"
                               "billing_unit_ms: 1\nmb_per_vcpu: 1024\nmemory_max_mb: 4096\n";
    static const char *const bad[] = {
        "2 1", "1 1", "1 x", "0", "1,2", "1 2 nan", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17"
    };
    struct price_list list;
    struct heap heap;
    char text[600];

    (void)state;
    heap_init(&heap, 0);
    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
        struct error err = { 0 };

        snprintf(text, sizeof(text), "%svcpu_sizes: %s\n", head, bad[i]);
        assert_int_equal(price_list_parse(&list, "x", slice_str(text), &heap, &err), E_INVALID);
        assert_non_null(strstr(err.text, "line 10: vcpu_sizes"));
    }
    snprintf(text, sizeof(text), "%svcpu_sizes: 0.5  1\t4\n", head);
    assert_int_equal(price_list_parse(&list, "x", slice_str(text), &heap, NULL), 0);
    assert_int_equal(list.vcpu_sizes.count, 3);
    assert_true(price_size(&list.vcpu_sizes, 0.1) == 0.5);
    assert_true(price_size(&list.vcpu_sizes, 1) == 1);
    assert_true(price_size(&list.vcpu_sizes, 1.001) == 4);
    assert_true(price_size(&list.vcpu_sizes, 9) == 4);
    assert_true(price_size(&list.memory_sizes_mb, 9) == 9);
    price_list_release(&list);
    heap_release(&heap);
}

static void links_must_be_of_the_right_kind(void **state)
{
    static const char text[] = "kind: functions\nname: a\ndate: 2026-01-01\nsource: b\n"
                               "usd_per_gb_second: 1e-5\nusd_per_million_requests: 1\n"
                               "billing_unit_ms: 1\nmb_per_vcpu: 1024\nmemory_max_mb: 4096\n";
    static const struct {
        const char *line, *says;
    } cases[] = {
        { "objects: aws-ec2-x86\n", "objects: 'aws-ec2-x86' is a list of machines" },
        { "store: aws-s3\n", "store: 'aws-s3' is a list of objects" },
        { "machines: ./nowhere.yaml\n", "cannot open the price list './nowhere.yaml'" },
        { "machines: aws-ec3\n", "there is no price list 'aws-ec3'" },
    };
    char path[] = "/tmp/gust-prices-XXXXXX.yaml";
    int fd = mkstemps(path, 5);
    struct heap heap;

    (void)state;
    assert_true(fd >= 0);
    heap_init(&heap, 0);
    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err = { 0 };
        struct prices prices;
        FILE *file = fopen(path, "w");

        fprintf(file, "%s%s", text, cases[i].line);
        fclose(file);
        assert_int_not_equal(prices_open(&prices, path, &heap, &err), 0);
        if (!strstr(err.text, cases[i].says))
            fail_msg("'%s' does not say '%s'", err.text, cases[i].says);
        assert_int_equal(error_exit_status(err.code), 2);
        assert_int_equal(heap.used_bytes, 0);
    }
    remove(path);
    heap_release(&heap);
}

static void the_cheapest_machines_are_enough_and_few(void **state)
{
    static const char text[] = HEAD "billing_unit_ms: 1000\nminimum_ms: 60000\nboot_seconds: 5\n"
                                    "machine small: 2 vCPU, 4096 MB, 0.10 USD/hour\n"
                                    "machine large: 8 vCPU, 16384 MB, 0.40 USD/hour\n"
                                    "machine roomy: 2 vCPU, 65536 MB, 0.35 USD/hour\n";
    struct machines m;
    struct price_list list;
    struct heap heap;

    (void)state;
    heap_init(&heap, 0);
    assert_int_equal(price_list_parse(&list, "x", slice_str(text), &heap, NULL), 0);
    /* One large costs what four small ones do: fewer wins. */
    m = machines_cheapest(&list, 8, 1000, 1000);
    assert_string_equal(m.machine->name, "large");
    assert_int_equal(m.count, 1);
    assert_int_equal(m.billed_ms, 60000);
    /* Nine vCPUs: five small ones are cheaper than two large ones. */
    m = machines_cheapest(&list, 9, 1000, 100001);
    assert_string_equal(m.machine->name, "small");
    assert_int_equal(m.count, 5);
    assert_int_equal(m.billed_ms, 106000);
    assert_true(fabs(m.usd - 5 * 106.0 / 3600 * 0.10) < 1e-12);
    /* Memory decides. */
    m = machines_cheapest(&list, 1, 40000, 0);
    assert_string_equal(m.machine->name, "roomy");
    assert_null(machines_find(&list, "medium"));
    assert_ptr_equal(machines_find(&list, "roomy"), m.machine);
    price_list_release(&list);
    heap_release(&heap);
}

/* Errors send people to that page. */
static void the_page_names_every_figure(void **state)
{
    struct heap heap;
    struct buf page;
    char quoted[64];

    (void)state;
    heap_init(&heap, 0);
    buf_init(&page, &heap, MIB);
    assert_int_equal(prices_file_read("docs/PRICES.md", &page, NULL), 0);
    for (const struct price_figure *f = price_figures(); f->key; f++) {
        snprintf(quoted, sizeof(quoted), "`%s`", f->key);
        if (!strstr(page.data, quoted))
            fail_msg("docs/PRICES.md does not name %s", f->key);
    }
    heap_release(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_book_is_the_folder),
        cmocka_unit_test(every_figure_has_a_date_and_a_source),
        cmocka_unit_test(every_list_of_functions_opens_with_its_companions),
        cmocka_unit_test(a_figure_may_have_its_own_date_and_source),
        cmocka_unit_test(mistakes_are_refused_by_line),
        cmocka_unit_test(sizes_are_rising_numbers),
        cmocka_unit_test(links_must_be_of_the_right_kind),
        cmocka_unit_test(the_cheapest_machines_are_enough_and_few),
        cmocka_unit_test(the_page_names_every_figure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
