/* SPDX-License-Identifier: Apache-2.0 */
/* gust prices: the price book, one list of it with its sources, and what a run would cost. */
#include <inttypes.h>

#include "base/quantity.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/text.h"
#include "client/meter.h"

struct prices_command {
    bool compare, json;
    const char *memory, *store, *duration; /* as written */
    uint64_t workers, memory_mb, store_mb;
    double seconds;
    struct args_words words;
    struct heap heap;
    struct buf text;
    struct json json_writer;
};

/* ---- all lists ---------------------------------------------------------------------------- */

static int show_book(struct prices_command *c, struct error *err)
{
    struct json *w = &c->json_writer;

    json_open(w, NULL, '[');
    if (!c->json)
        printf("%-22s %-10s %-11s %s\n", "list", "kind", "date", "name");
    for (unsigned i = 0; i < prices_count(); i++) {
        struct price_list list;
        int rc = prices_list_open(&list, prices_id(i), &c->heap, err);

        if (rc)
            return rc;
        if (!c->json)
            printf("%-22s %-10s %-11s %s\n", list.id, price_kind_name(list.kind), list.date,
                   list.name);
        json_open(w, NULL, '{');
        json_str(w, "list", list.id);
        json_str(w, "kind", price_kind_name(list.kind));
        json_str(w, "date", list.date);
        json_str(w, "name", list.name);
        json_str(w, "source", list.source);
        json_close(w);
        price_list_release(&list);
    }
    json_close(w);
    if (!c->json)
        printf("\n'gust prices LIST' shows one with its sources, 'gust prices --compare' what a "
               "run would\ncost. A file of your own, named *.yaml, may stand for a list.\n");
    return 0;
}

/* ---- one list ----------------------------------------------------------------------------- */

static void show_line(struct prices_command *c, const struct price_list *list,
                      const struct props_item *item, const char *unit)
{
    const char *date = price_list_date(list, item->key);
    const char *source = price_list_source(list, item->key);
    struct json *w = &c->json_writer;

    json_open(w, NULL, '{');
    json_str(w, "figure", item->key);
    json_str(w, "value", item->value);
    json_str(w, "unit", unit);
    json_str(w, "date", date);
    json_str(w, "source", source);
    json_close(w);
    if (!c->json)
        printf("%-24s %s%s%s\n%-24s   %s, %s\n", item->key, item->value, unit[0] ? " " : "", unit,
               "", date, source);
}

static bool is_machine(const struct price_list *list, const char *key)
{
    for (unsigned i = 0; i < list->machine_count; i++)
        if (strncmp(key, "machine ", 8) == 0 && strcmp(list->machines[i].name, key + 8) == 0)
            return true;
    return false;
}

static const struct price_figure *find_figure(const char *key)
{
    const struct price_figure *f = price_figures();

    while (f->key && strcmp(f->key, key) != 0)
        f++;
    return f->key ? f : NULL;
}

static int show_list(struct prices_command *c, const char *what, struct error *err)
{
    struct json *w = &c->json_writer;
    struct price_list list;
    int rc = prices_list_open(&list, what, &c->heap, err);

    if (rc)
        return rc;
    if (!c->json)
        printf("%s: %s (%s)\n\n", list.id, list.name, price_kind_name(list.kind));
    json_open(w, NULL, '{');
    json_str(w, "list", list.id);
    json_str(w, "kind", price_kind_name(list.kind));
    json_str(w, "name", list.name);
    json_open(w, "figures", '[');
    for (unsigned i = 0; i < list.props.count; i++) {
        const struct props_item *item = &list.props.items[i];
        const struct price_figure *figure = find_figure(item->key);

        if (figure || is_machine(&list, item->key))
            show_line(c, &list, item, figure ? figure->unit : "");
    }
    json_close(w);
    json_close(w);
    price_list_release(&list);
    return 0;
}

/* ---- what a run would cost ---------------------------------------------------------------- */

/* All functions run for the whole time; each as often as the platform's time limit asks for. */
static void use_functions(const struct prices_command *c, struct meter *m)
{
    uint64_t ms = (uint64_t)ceil(c->seconds * 1000);
    uint64_t limit = (uint64_t)(m->prices->functions.time_limit_s * 1000);

    for (uint64_t w = 0; w < c->workers; w++) {
        uint64_t left = ms;

        while (limit && left > limit) {
            meter_function(m, (uint32_t)c->memory_mb, limit);
            left -= limit;
        }
        meter_function(m, (uint32_t)c->memory_mb, left);
    }
    meter_store(m, c->store_mb * MIB, ms);
}

/* With one list, item by item. */
static void show_items(struct prices_command *c, const struct bill *b)
{
    struct buf table;

    buf_init(&table, &c->heap, MIB);
    bill_write(b, true, &table);
    printf("%s", table.data);
    buf_release(&table);
}

/* With several, a line for each. */
static void show_sums(const struct bill *b)
{
    const struct machines *m = &b->machines;

    printf("%-22s %10.6f %10.6f %10.6f   ", b->prices->functions.id,
           b->functions_usd + b->requests_usd, b->store_usd, b->total_usd);
    if (b->has_machines)
        printf("%10.6f  %" PRIu64 " x %s\n", m->usd, m->count, m->machine->name);
    else
        printf("no prices\n");
}

static void show_bill(struct prices_command *c, const struct bill *b)
{
    bill_json(b, true, NULL, &c->json_writer);
    if (c->json)
        return;
    if (c->words.count == 1)
        show_items(c, b);
    else
        show_sums(b);
}

static int compare_one(struct prices_command *c, const char *what, struct error *err)
{
    struct error limit = { 0 };
    struct prices prices;
    struct meter meter;
    int rc = prices_open(&prices, what, &c->heap, err);

    if (rc)
        return rc;
    if (prices_check(&prices, (uint32_t)c->memory_mb, &limit)) {
        json_open(&c->json_writer, NULL, '{');
        json_str(&c->json_writer, "prices", prices.functions.id);
        json_str(&c->json_writer, "error", limit.text);
        json_close(&c->json_writer);
        if (!c->json)
            printf("%-22s %s\n", prices.functions.id, limit.text);
    } else {
        struct bill bill;

        meter_init(&meter, &prices);
        use_functions(c, &meter);
        bill = meter_bill(&meter);
        bill_compare(&bill, (uint32_t)c->workers, (uint32_t)c->memory_mb,
                     (uint64_t)ceil(c->seconds * 1000));
        show_bill(c, &bill);
    }
    prices_close(&prices);
    return 0;
}

/* Whether every list named on the command line can be used: asked before anything is printed. */
static int check_words(struct prices_command *c, struct error *err)
{
    int rc = 0;

    for (unsigned i = 0; !rc && i < c->words.count; i++) {
        struct prices prices;

        rc = prices_open(&prices, c->words.items[i], &c->heap, err);
        prices_close(&prices);
    }
    return rc;
}

/* The lists named on the command line, or every list of functions in the book. */
static int compare(struct prices_command *c, struct error *err)
{
    int rc = check_words(c, err);

    if (rc)
        return rc;
    if (!c->json)
        printf("%" PRIu64 " functions of %" PRIu64 " MB for %g s, parameter store of %" PRIu64
               " MB, USD\n\n",
               c->workers, c->memory_mb, c->seconds, c->store_mb);
    if (!c->json && c->words.count != 1)
        printf("%-22s %10s %10s %10s   %s\n", "list", "functions", "store", "total",
               "virtual machines");
    json_open(&c->json_writer, NULL, '[');
    for (unsigned i = 0; !rc && i < c->words.count; i++)
        rc = compare_one(c, c->words.items[i], err);
    for (unsigned i = 0; !rc && c->words.count == 0 && i < prices_count(); i++) {
        struct price_list list;

        rc = prices_list_open(&list, prices_id(i), &c->heap, err);
        if (rc)
            break;
        if (list.kind == PRICE_FUNCTIONS)
            rc = compare_one(c, list.id, err);
        price_list_release(&list);
    }
    json_close(&c->json_writer);
    return rc;
}

static int run(struct prices_command *c, struct error *err)
{
    int rc;

    buf_init(&c->text, &c->heap, MIB);
    json_init(&c->json_writer, &c->text);
    rc = c->compare            ? compare(c, err)
         : c->words.count == 0 ? show_book(c, err)
                               : show_list(c, c->words.items[0], err);
    if (!rc && c->json)
        printf("%s\n", c->text.data);
    buf_release(&c->text);
    return rc;
}

/* Sizes and times are written as in job files. */
static int read_quantities(const struct args_command *command, struct prices_command *c)
{
    double memory, store;

    if (!quantity_size(c->memory, (double)MIB, &memory) || memory < MIB || memory > 1e6 * MIB)
        return args_complain(command, 2, "--memory: '%s' is not a size from 1MB to 1000000MB",
                             c->memory);
    if (!quantity_size(c->store, (double)MIB, &store) || store < MIB || store > 1e6 * MIB)
        return args_complain(command, 2, "--store: '%s' is not a size from 1MB to 1000000MB",
                             c->store);
    if (!quantity_duration(c->duration, &c->seconds) || c->seconds < 0.001 || c->seconds > 1e7)
        return args_complain(command, 2, "--seconds: '%s' is not a duration from 1ms to 10000000s",
                             c->duration);
    c->memory_mb = (uint64_t)ceil(memory / (double)MIB);
    c->store_mb = (uint64_t)ceil(store / (double)MIB);
    return ARGS_GO;
}

int cmd_prices(int argc, char **argv)
{
    struct prices_command c = {
        .workers = 8, .memory = "1769MB", .store = "256MB", .duration = "60s"
    };
    const struct arg table[] = {
        { "compare", ARG_FLAG, &c.compare, NULL, "what a run would cost by each list" },
        { "workers", ARG_COUNT, &c.workers, "N", "with --compare: functions [8]", 1, 100000 },
        { "memory", ARG_TEXT, &c.memory, "SIZE", "with --compare: of each function [1769MB]" },
        { "seconds", ARG_TEXT, &c.duration, "TIME", "with --compare: how long they run [60s]" },
        { "store", ARG_TEXT, &c.store, "SIZE", "with --compare: parameter store [256MB]" },
        { "json", ARG_FLAG, &c.json, NULL, "print JSON" },
        { NULL }
    };
    const struct args_command command = {
        .name = "gust prices",
        .summary = "Show the price book: all lists, one list with date and source of every "
                   "figure, or what a run would cost.",
        .words = "[LIST|FILE.yaml]",
        .words_max = ARGS_WORDS_MAX,
        .table = table,
        .notes = "With --compare, several lists may be named; without any, all lists of functions "
                 "are compared. One alone is shown item by item. docs/PRICES.md says how bills "
                 "are made and how to write a list of your own."
    };
    struct error err = { 0 };
    int rc = args_parse(&command, argc, argv, &c.words);

    if (rc == ARGS_GO)
        rc = read_quantities(&command, &c);
    if (rc != ARGS_GO)
        return rc;
    if (!c.compare && c.words.count > 1)
        return args_complain(&command, 2, "'%s' is one list too many; several go with --compare",
                             c.words.items[1]);
    heap_init(&c.heap, 0);
    rc = run(&c, &err);
    heap_release(&c.heap);
    return rc ? args_complain(&command, error_exit_status(rc), "%s", err.text) : 0;
}
