/* SPDX-License-Identifier: Apache-2.0 */
#include "client/prices.h"

/* The text of a file under prices/, as bytes between two symbols. */
#define EMBED(symbol, file)                                                                        \
    __asm__(".section .rodata\n"                                                                   \
            ".global " #symbol "_begin, " #symbol "_end\n" #symbol "_begin:\n"                     \
            ".incbin \"" file "\"\n" #symbol "_end:\n"                                             \
            ".byte 0\n"                                                                            \
            ".previous\n");                                                                        \
    extern const char symbol##_begin[], symbol##_end[]

EMBED(prices_aws_lambda_x86, "prices/aws-lambda-x86.yaml");

static const struct {
    const char *name;
    const char *begin, *end;
} book[] = {
    { "aws-lambda-x86", prices_aws_lambda_x86_begin, prices_aws_lambda_x86_end },
};

static int read_list(struct prices *p, const char *name, struct error *err)
{
    static const struct {
        const char *key;
        size_t offset;
    } figures[] = {
        { "usd_per_gb_second", offsetof(struct prices, usd_per_gb_second) },
        { "usd_per_million_requests", offsetof(struct prices, usd_per_million_requests) },
        { "billing_unit_ms", offsetof(struct prices, billing_unit_ms) },
        { "mb_per_vcpu", offsetof(struct prices, mb_per_vcpu) },
    };

    for (size_t i = 0; i < ARRAY_SIZE(figures); i++) {
        double *out = (double *)((char *)p + figures[i].offset);
        int rc;

        if (!props_find(&p->props, figures[i].key))
            return fail(err, E_INVALID, "the price list '%s' has no %s", name, figures[i].key);
        rc = props_f64(&p->props, figures[i].key, 0, 0, 1e9, out, err);
        if (rc)
            return fail_within(err, rc, "price list '%s'", name);
    }
    p->name = props_str(&p->props, "name", name);
    p->date = props_str(&p->props, "date", "undated");
    p->source = props_str(&p->props, "source", "unknown");
    return 0;
}

int prices_open(struct prices *p, const char *name, struct heap *heap, struct error *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(book); i++) {
        int rc;

        if (strcmp(book[i].name, name) != 0)
            continue;
        *p = (struct prices){ 0 };
        props_init(&p->props, heap);
        rc = props_parse(&p->props, slice(book[i].begin, (size_t)(book[i].end - book[i].begin)),
                         err);
        if (!rc)
            rc = read_list(p, name, err);
        if (rc)
            props_release(&p->props);
        return rc;
    }
    return fail(err, E_NOT_FOUND, "there is no price list '%s' (there is: aws-lambda-x86)", name);
}

void prices_close(struct prices *p)
{
    props_release(&p->props);
}
