/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/policy.h"

static const struct policy_ops *const policies[] = { &policy_fixed };

int policy_init(struct policy *p, const char *name, struct fleet first, struct error *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
        if (strcmp(policies[i]->name, name) != 0)
            continue;
        *p = (struct policy){ .ops = policies[i], .fleet = first };
        return 0;
    }
    return fail(err, E_NOT_FOUND, "there is no policy '%s' (there is: fixed)", name);
}

void policy_observe(struct policy *p, const struct observation *o)
{
    p->ops->observe(p, o);
}

struct fleet policy_decide(const struct policy *p)
{
    return p->ops->decide(p);
}
