/* SPDX-License-Identifier: Apache-2.0 */
#include "client/prices.h"

#include <inttypes.h>

/* The text of a file under prices/, as bytes between two symbols. */
#define EMBED(symbol, file)                                                                        \
    __asm__(".section .rodata\n"                                                                   \
            ".global " #symbol "_begin, " #symbol "_end\n" #symbol "_begin:\n"                     \
            ".incbin \"" file "\"\n" #symbol "_end:\n"                                             \
            ".byte 0\n"                                                                            \
            ".previous\n");                                                                        \
    extern const char symbol##_begin[], symbol##_end[]

/* Every file under prices/, in alphabetical order; tests/client/test_prices.c compares. */
#define BOOK(X)                                                                                    \
    X(aws_ec2_arm, "aws-ec2-arm")                                                                  \
    X(aws_ec2_x86, "aws-ec2-x86")                                                                  \
    X(aws_elasticache, "aws-elasticache")                                                          \
    X(aws_fargate_arm, "aws-fargate-arm")                                                          \
    X(aws_fargate_x86, "aws-fargate-x86")                                                          \
    X(aws_lambda_arm, "aws-lambda-arm")                                                            \
    X(aws_lambda_x86, "aws-lambda-x86")                                                            \
    X(aws_s3, "aws-s3")                                                                            \
    X(azure_functions_flex, "azure-functions-flex")                                                \
    X(azure_vm, "azure-vm")                                                                        \
    X(google_cloud_run, "google-cloud-run")                                                        \
    X(google_compute, "google-compute")                                                            \
    X(google_storage, "google-storage")                                                            \
    X(ibm_functions_2021, "ibm-functions-2021")                                                    \
    X(ibm_vm_2021, "ibm-vm-2021")

#define X(symbol, id) EMBED(prices_##symbol, "prices/" id ".yaml");
BOOK(X)
#undef X

static const struct {
    const char *id;
    const char *begin, *end;
} book[] = {
#define X(symbol, id) { id, prices_##symbol##_begin, prices_##symbol##_end },
    BOOK(X)
#undef X
};

unsigned prices_count(void)
{
    return ARRAY_SIZE(book);
}

const char *prices_id(unsigned i)
{
    return book[i].id;
}

static bool is_path(const char *what)
{
    size_t size = strlen(what);

    return strchr(what, '/') || (size > 5 && strcmp(what + size - 5, ".yaml") == 0);
}

static int open_file(struct price_list *list, const char *path, struct heap *heap,
                     struct error *err)
{
    struct buf text;
    int rc;

    buf_init(&text, heap, PROPS_MAX_BYTES);
    rc = prices_file_read(path, &text, err);
    if (!rc)
        rc = price_list_parse(list, path, buf_slice(&text), heap, err);
    buf_release(&text);
    return rc;
}

static int not_found(const char *what, struct error *err)
{
    char ids[400];
    size_t at = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(book) && at < sizeof(ids); i++)
        at += (size_t)snprintf(ids + at, sizeof(ids) - at, "%s%s", i ? ", " : "", book[i].id);
    return fail(err, E_NOT_FOUND,
                "there is no price list '%s'; there are %s, and files whose name ends in .yaml",
                what, ids);
}

int prices_list_open(struct price_list *list, const char *what, struct heap *heap,
                     struct error *err)
{
    *list = (struct price_list){ 0 };
    if (is_path(what))
        return open_file(list, what, heap, err);
    for (unsigned i = 0; i < ARRAY_SIZE(book); i++)
        if (strcmp(book[i].id, what) == 0)
            return price_list_parse(
                list, what, slice(book[i].begin, (size_t)(book[i].end - book[i].begin)), heap, err);
    return not_found(what, err);
}

/* The list that the list of functions P names under KEY, if it names one. */
static int open_link(struct prices *p, const char *key, enum price_kind kind,
                     struct price_list *list, bool *has, struct error *err)
{
    const char *what = props_find(&p->functions.props, key);
    int rc;

    if (!what || !what[0])
        return 0;
    rc = prices_list_open(list, what, p->functions.props.heap, err);
    if (!rc && list->kind != kind)
        rc = fail(err, E_INVALID, "'%s' is a list of %s and not of %s", what,
                  price_kind_name(list->kind), price_kind_name(kind));
    if (rc)
        return fail_within(err, rc, "price list '%s': %s", p->functions.id, key);
    *has = true;
    return 0;
}

int prices_open(struct prices *p, const char *what, struct heap *heap, struct error *err)
{
    int rc;

    *p = (struct prices){ 0 };
    rc = prices_list_open(&p->functions, what, heap, err);
    if (!rc && p->functions.kind != PRICE_FUNCTIONS)
        rc = fail(err, E_INVALID, "'%s' is a list of %s; a job is billed by a list of functions",
                  what, price_kind_name(p->functions.kind));
    if (!rc)
        rc = open_link(p, "objects", PRICE_OBJECTS, &p->objects, &p->has_objects, err);
    if (!rc)
        rc = open_link(p, "store", PRICE_MACHINES, &p->store, &p->has_store, err);
    if (!rc)
        rc = open_link(p, "machines", PRICE_MACHINES, &p->machines, &p->has_machines, err);
    if (rc) {
        prices_close(p);
        return rc;
    }
    p->name = p->functions.name;
    p->date = p->functions.date;
    p->source = p->functions.source;
    return 0;
}

void prices_close(struct prices *p)
{
    price_list_release(&p->functions);
    price_list_release(&p->objects);
    price_list_release(&p->store);
    price_list_release(&p->machines);
    *p = (struct prices){ 0 };
}

void prices_sold(const struct prices *p, uint32_t memory_mb, double *sold_mb, double *vcpus)
{
    const struct price_list *f = &p->functions;

    *sold_mb = MAX(price_size(&f->memory_sizes_mb, memory_mb), (double)memory_mb);
    *vcpus = price_size(&f->vcpu_sizes, *sold_mb / f->mb_per_vcpu);
}

int prices_check(const struct prices *p, uint32_t memory_mb, struct error *err)
{
    if (memory_mb <= p->functions.memory_max_mb)
        return 0;
    return fail(err, E_LIMIT, "%s has no functions of %" PRIu32 " MB; the largest have %.0f MB",
                p->name, memory_mb, p->functions.memory_max_mb);
}
