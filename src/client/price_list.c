/* SPDX-License-Identifier: Apache-2.0 */
#include "client/price_list.h"

#define FUNCTIONS  (1u << PRICE_FUNCTIONS)
#define OBJECTS    (1u << PRICE_OBJECTS)
#define MACHINES   (1u << PRICE_MACHINES)
#define AT(member) offsetof(struct price_list, member)

#define MACHINE "machine "

/* Prices stay under a thousand dollars a unit: a larger one is a slip of the decimal point. */
static const struct price_figure table[] = {
    { "usd_per_gb_second", FUNCTIONS, "USD per GB-second", .required = true, .max = 1,
      .offset = AT(usd_per_gb_second) },
    { "usd_per_vcpu_second", FUNCTIONS, "USD per vCPU-second", .max = 1,
      .offset = AT(usd_per_vcpu_second) },
    { "usd_per_million_requests", FUNCTIONS, "USD per million requests", .required = true,
      .max = 1000, .offset = AT(usd_per_million_requests) },
    { "billing_unit_ms", FUNCTIONS | MACHINES, "ms", .required = true, .min = 1, .max = 86400000,
      .offset = AT(billing_unit_ms) },
    { "minimum_ms", FUNCTIONS | MACHINES, "ms", .max = 86400000, .offset = AT(minimum_ms) },
    { "mb_per_vcpu", FUNCTIONS, "MB", .required = true, .min = 1, .max = 1e6,
      .offset = AT(mb_per_vcpu) },
    { "vcpu_sizes", FUNCTIONS, "vCPUs", .sizes = true, .min = 0.001, .max = 1024,
      .offset = AT(vcpu_sizes) },
    { "memory_sizes_mb", FUNCTIONS, "MB", .sizes = true, .min = 1, .max = 1e7,
      .offset = AT(memory_sizes_mb) },
    { "memory_max_mb", FUNCTIONS, "MB", .required = true, .min = 1, .max = 1e7,
      .offset = AT(memory_max_mb) },
    { "time_limit_s", FUNCTIONS, "seconds", .min = 1, .max = 1e7, .offset = AT(time_limit_s) },
    { "usd_per_thousand_writes", OBJECTS, "USD per 1,000 writes", .required = true, .max = 1000,
      .offset = AT(usd_per_thousand_writes) },
    { "usd_per_thousand_reads", OBJECTS, "USD per 1,000 reads", .required = true, .max = 1000,
      .offset = AT(usd_per_thousand_reads) },
    { "usd_per_gb_month", OBJECTS, "USD per GB-month", .required = true, .max = 1000,
      .offset = AT(usd_per_gb_month) },
    { "usd_per_vcpu_hour", MACHINES, "USD per vCPU-hour", .max = 1000,
      .offset = AT(usd_per_vcpu_hour) },
    { "usd_per_gb_hour", MACHINES, "USD per GB-hour", .max = 1000, .offset = AT(usd_per_gb_hour) },
    { "boot_seconds", MACHINES, "seconds", .required = true, .max = 86400,
      .offset = AT(boot_seconds) },
    { "usable_share", MACHINES, "of the memory", .fallback = 1, .min = 0.01, .max = 1,
      .offset = AT(usable_share) },
    { NULL },
};

static const char *const kind_names[PRICE_KINDS] = {
    [PRICE_FUNCTIONS] = "functions",
    [PRICE_OBJECTS] = "objects",
    [PRICE_MACHINES] = "machines",
};

const struct price_figure *price_figures(void)
{
    return table;
}

const char *price_kind_name(enum price_kind kind)
{
    return kind_names[kind];
}

static bool has_kind(const struct price_figure *f, enum price_kind kind)
{
    return f->kinds & (1u << kind);
}

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool has_suffix(const char *text, const char *suffix)
{
    size_t size = strlen(text), end = strlen(suffix);

    return size >= end && strcmp(text + size - end, suffix) == 0;
}

static const struct props_item *find(const struct price_list *list, const char *key)
{
    for (unsigned i = 0; i < list->props.count; i++)
        if (strcmp(list->props.items[i].key, key) == 0)
            return &list->props.items[i];
    return NULL;
}

static const struct price_figure *find_figure(enum price_kind kind, const char *key, size_t size)
{
    for (const struct price_figure *f = table; f->key; f++)
        if (has_kind(f, kind) && strlen(f->key) == size && memcmp(f->key, key, size) == 0)
            return f;
    return NULL;
}

/* 2024-11-01 */
static bool is_date(const char *text)
{
    unsigned year, month, day;
    int end = 0;

    return strlen(text) == 10 && sscanf(text, "%4u-%2u-%2u%n", &year, &month, &day, &end) == 3 &&
           end == 10 && month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

static int check_date(const struct props_item *item, struct error *err)
{
    if (is_date(item->value))
        return 0;
    return fail(err, E_INVALID, "line %u: %s: '%s' is not a date like 2024-11-01", item->line,
                item->key, item->value);
}

/* ---- head --------------------------------------------------------------------------------- */

static int need_text(const struct price_list *list, const char *key, const char **out,
                     struct error *err)
{
    const struct props_item *item = find(list, key);

    if (!item || !item->value[0])
        return fail(err, E_INVALID, "there is no line '%s: ...', which every list must have", key);
    *out = item->value;
    return 0;
}

static int read_head(struct price_list *list, struct error *err)
{
    const char *kind = NULL;
    int rc = need_text(list, "kind", &kind, err);

    if (!rc)
        rc = need_text(list, "name", &list->name, err);
    if (!rc)
        rc = need_text(list, "date", &list->date, err);
    if (!rc)
        rc = need_text(list, "source", &list->source, err);
    if (!rc)
        rc = check_date(find(list, "date"), err);
    if (rc)
        return rc;
    for (unsigned k = 0; k < PRICE_KINDS; k++)
        if (strcmp(kind, kind_names[k]) == 0) {
            list->kind = (enum price_kind)k;
            return 0;
        }
    return fail(err, E_INVALID, "line %u: kind: '%s' is none of functions, objects, machines",
                find(list, "kind")->line, kind);
}

/* ---- figures ------------------------------------------------------------------------------ */

static int read_number(const struct props_item *item, const struct price_figure *f, double *out,
                       struct error *err)
{
    if (parse_f64(item->value, out) && *out >= f->min && *out <= f->max)
        return 0;
    return fail(err, E_INVALID, "line %u: %s: '%s' is not a number from %g to %g", item->line,
                f->key, item->value, f->min, f->max);
}

/* Numbers with blanks between them, each larger than the one before. */
static int read_sizes(const struct props_item *item, const struct price_figure *f,
                      struct price_sizes *out, struct error *err)
{
    const char *at = item->value;
    double last = 0;

    for (out->count = 0; *at; at += strspn(at, " \t")) {
        char *end;
        double v = strtod(at, &end);

        if (end == at || (*end && *end != ' ' && *end != '\t') || !(v >= f->min && v <= f->max) ||
            v <= last || out->count == PRICE_SIZES_MAX)
            return fail(err, E_INVALID,
                        "line %u: %s: '%s' is not a list of at most %d rising numbers from %g to "
                        "%g",
                        item->line, f->key, item->value, PRICE_SIZES_MAX, f->min, f->max);
        out->values[out->count++] = last = v;
        at = end;
    }
    return 0;
}

static int read_figures(struct price_list *list, struct error *err)
{
    for (const struct price_figure *f = table; f->key; f++) {
        const struct props_item *item = find(list, f->key);
        void *out = (char *)list + f->offset;
        int rc = 0;

        if (!has_kind(f, list->kind))
            continue;
        if (!item && f->required)
            return fail(err, E_INVALID, "there is no line '%s: ...' (%s), which a list of %s needs",
                        f->key, f->unit, kind_names[list->kind]);
        if (item && f->sizes)
            rc = read_sizes(item, f, out, err);
        else if (item)
            rc = read_number(item, f, out, err);
        else if (!f->sizes)
            *(double *)out = f->fallback;
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- machines ----------------------------------------------------------------------------- */

/* "2 vCPU, 4096 MB, 0.0765 USD/hour"; the price, which stays 0 then, may be left out. */
static bool scan_machine(const char *text, struct price_machine *m)
{
    int end = 0;

    if (sscanf(text, "%lf vCPU, %lf MB%n", &m->vcpus, &m->memory_mb, &end) != 2 || end == 0)
        return false;
    text += end;
    if (!*text)
        return true;
    end = 0;
    return sscanf(text, ", %lf USD/hour%n", &m->usd_per_hour, &end) == 1 && end > 0 && !text[end];
}

static int read_machine(struct price_list *list, const struct props_item *item, struct error *err)
{
    struct price_machine m = { .name = item->key + strlen(MACHINE) };

    if (!scan_machine(item->value, &m))
        return fail(err, E_INVALID,
                    "line %u: '%s' is not of the form '2 vCPU, 4096 MB, 0.0765 USD/hour'",
                    item->line, item->value);
    if (m.usd_per_hour == 0)
        m.usd_per_hour =
            m.vcpus * list->usd_per_vcpu_hour + m.memory_mb / 1024 * list->usd_per_gb_hour;
    if (!(m.vcpus > 0 && m.vcpus <= 4096 && m.memory_mb >= 1 && m.memory_mb <= 1e9 &&
          m.usd_per_hour > 0 && m.usd_per_hour <= 1e5))
        return fail(err, E_INVALID,
                    "line %u: '%s' is not a machine (vCPUs, memory and price are above 0, and the "
                    "price may only be left out where the list has usd_per_vcpu_hour)",
                    item->line, item->value);
    list->machines[list->machine_count++] = m;
    return 0;
}

static int read_machines(struct price_list *list, struct error *err)
{
    int rc = 0;

    if (list->kind != PRICE_MACHINES)
        return 0;
    list->machines =
        heap_alloc(list->props.heap, (list->props.count + 1) * sizeof(*list->machines));
    for (unsigned i = 0; !rc && i < list->props.count; i++) {
        const struct props_item *item = &list->props.items[i];

        if (has_prefix(item->key, MACHINE) && !has_suffix(item->key, ".date") &&
            !has_suffix(item->key, ".source"))
            rc = read_machine(list, item, err);
    }
    if (!rc && list->machine_count == 0)
        return fail(err, E_INVALID, "there is no line 'machine NAME: 2 vCPU, 4096 MB, ...'");
    return rc;
}

/* ---- the rest of the lines ---------------------------------------------------------------- */

static bool is_known(const struct price_list *list, const char *key, size_t size)
{
    static const char *const head[] = { "kind", "name", "date", "source" };
    static const char *const links[] = { "objects", "store", "machines" };

    for (unsigned i = 0; i < ARRAY_SIZE(head); i++)
        if (strlen(head[i]) == size && memcmp(head[i], key, size) == 0)
            return true;
    for (unsigned i = 0; list->kind == PRICE_FUNCTIONS && i < ARRAY_SIZE(links); i++)
        if (strlen(links[i]) == size && memcmp(links[i], key, size) == 0)
            return true;
    return (list->kind == PRICE_MACHINES && has_prefix(key, MACHINE)) ||
           find_figure(list->kind, key, size);
}

/* A line that nobody reads is a slip: a misspelt figure would silently count as absent. */
static int check_lines(const struct price_list *list, struct error *err)
{
    for (unsigned i = 0; i < list->props.count; i++) {
        const struct props_item *item = &list->props.items[i];
        bool dated = has_suffix(item->key, ".date");
        bool sourced = has_suffix(item->key, ".source");
        size_t size =
            dated || sourced ? (size_t)(strrchr(item->key, '.') - item->key) : strlen(item->key);

        if (!is_known(list, item->key, size))
            return fail(err, E_INVALID,
                        "line %u: there is no figure '%s' in a list of %s; docs/PRICES.md names "
                        "them",
                        item->line, item->key, kind_names[list->kind]);
        if (dated && check_date(item, err))
            return E_INVALID;
        if (sourced && !item->value[0])
            return fail(err, E_INVALID, "line %u: '%s' names no source", item->line, item->key);
    }
    return 0;
}

int price_list_parse(struct price_list *list, const char *id, struct slice text, struct heap *heap,
                     struct error *err)
{
    int rc;

    *list = (struct price_list){ 0 };
    snprintf(list->id, sizeof(list->id), "%s", id);
    props_init(&list->props, heap);
    rc = props_parse(&list->props, text, err);
    if (!rc)
        rc = read_head(list, err);
    if (!rc)
        rc = check_lines(list, err);
    if (!rc)
        rc = read_figures(list, err);
    if (!rc)
        rc = read_machines(list, err);
    if (!rc)
        return 0;
    price_list_release(list);
    return fail_within(err, rc, "price list '%s'", id);
}

void price_list_release(struct price_list *list)
{
    if (list->props.heap)
        heap_free(list->props.heap, list->machines);
    props_release(&list->props);
    *list = (struct price_list){ 0 };
}

static const char *own_or(const struct price_list *list, const char *key, const char *suffix,
                          const char *fallback)
{
    size_t size = strlen(key);

    for (unsigned i = 0; i < list->props.count; i++) {
        const struct props_item *item = &list->props.items[i];

        if (strncmp(item->key, key, size) == 0 && strcmp(item->key + size, suffix) == 0)
            return item->value;
    }
    return fallback;
}

const char *price_list_date(const struct price_list *list, const char *key)
{
    return own_or(list, key, ".date", list->date);
}

const char *price_list_source(const struct price_list *list, const char *key)
{
    return own_or(list, key, ".source", list->source);
}

double price_size(const struct price_sizes *sizes, double wanted)
{
    if (sizes->count == 0)
        return wanted;
    for (unsigned i = 0; i < sizes->count; i++)
        if (sizes->values[i] >= wanted)
            return sizes->values[i];
    return sizes->values[sizes->count - 1];
}

uint64_t price_billed_ms(const struct price_list *list, uint64_t ms)
{
    uint64_t unit = MAX((uint64_t)list->billing_unit_ms, 1u);
    uint64_t billed = (ms + unit - 1) / unit * unit;

    return MAX(billed, (uint64_t)list->minimum_ms);
}
