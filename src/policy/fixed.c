/* SPDX-License-Identifier: Apache-2.0 */
/* The policy `fixed`: the user's numbers, whatever happens. */
#include "policy/policy.h"

static void fixed_observe(struct policy *p, const struct observation *o)
{
    (void)p;
    (void)o;
}

static struct fleet fixed_decide(const struct policy *p)
{
    return p->fleet;
}

const struct policy_ops policy_fixed = {
    .name = "fixed",
    .observe = fixed_observe,
    .decide = fixed_decide,
};
