/* SPDX-License-Identifier: Apache-2.0 */
/* Every parameter store, plain and through the decorators, keeps the contract of params.h. */
#include <unistd.h>

#include "params/decorators.h"
#include "support/params_contract.h"
#include "support/test.h"

static void ignore_line(void *arg, const char *line)
{
    (void)arg;
    assert_true(strlen(line) > 0);
}

static struct params *trace(struct contract_handle *h, struct params *inner, unsigned n)
{
    (void)n;
    return params_traced_new(inner, &h->heap, ignore_line, NULL);
}

static struct params *delay(struct contract_handle *h, struct params *inner, unsigned n)
{
    const struct params_open open = { .env = &h->env.base, .heap = &h->heap };

    (void)n;
    return params_delayed_new(
        inner, &open, &(struct params_delays){ .latency_ns = 20 * NS_PER_US, .bytes_per_s = 1e9 });
}

static struct params *disturb(struct contract_handle *h, struct params *inner, unsigned n)
{
    return params_faulty_new(
        inner, &h->heap,
        &(struct params_faults){ .seed = n, .fails = 0.2, .lost_reply = 0.2, .timeout = 0.2 });
}

int main(void)
{
    const struct contract_kind kinds[] = {
        { "params memory", "memory:", NULL, false },
        { "params shm", "shm:", NULL, false },
        { "params traced memory", "memory:", trace, false },
        { "params delayed memory", "memory:", delay, false },
        { "params faulty memory", "memory:", disturb, true },
        { "params traced shm", "shm:", trace, false },
        { "params delayed shm", "shm:", delay, false },
        { "params faulty shm", "shm:", disturb, true },
    };
    int failed = 0;

    /* A wait that nobody ends must not hang the test run. */
    alarm(60);
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        failed += contract_run(&kinds[i]);
    return failed;
}
