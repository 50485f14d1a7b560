/* SPDX-License-Identifier: Apache-2.0 */
/* The wrappers: what is checked for every platform, and the only callers of ops. */
#include "platform/platform.h"

const char *platform_reason_text(enum platform_reason reason)
{
    switch (reason) {
    case PLATFORM_DONE:
        return "done";
    case PLATFORM_FAILED:
        return "failed";
    case PLATFORM_CRASHED:
        return "crashed";
    case PLATFORM_MEMORY:
        return "out of memory";
    case PLATFORM_TIME:
        return "time limit";
    case PLATFORM_STOPPED:
        return "stopped";
    case PLATFORM_THROTTLED:
        return "throttled";
    }
    return "unknown";
}

void platform_limits(struct platform *p, struct platform_limits *out)
{
    p->ops->limits(p, out);
}

static int check_start(const struct platform_limits *limits, const struct platform_start *start,
                       struct error *err)
{
    if (start->payload.size > PLATFORM_PAYLOAD_MAX)
        return fail(err, E_LIMIT, "the payload of an invocation is %zu bytes; at most %d fit",
                    start->payload.size, PLATFORM_PAYLOAD_MAX);
    if (start->memory_mb < limits->memory_mb_min || start->memory_mb > limits->memory_mb_max)
        return fail(err, E_LIMIT, "a function cannot have %u MB of memory here; choose %u to %u",
                    start->memory_mb, limits->memory_mb_min, limits->memory_mb_max);
    if (start->timeout_ms == 0 || start->timeout_ms > limits->timeout_ms_max)
        return fail(
            err, E_LIMIT, "a function cannot have a time limit of %llu ms here; choose 1 to %llu",
            (unsigned long long)start->timeout_ms, (unsigned long long)limits->timeout_ms_max);
    return 0;
}

int platform_start(struct platform *p, const struct platform_start *start, uint64_t *id,
                   struct error *err)
{
    struct platform_limits limits;
    int rc;

    p->ops->limits(p, &limits);
    rc = check_start(&limits, start, err);
    return rc ? rc : p->ops->start(p, start, id, err);
}

unsigned platform_poll(struct platform *p, struct platform_exit *out, unsigned max)
{
    return max ? p->ops->poll(p, out, max) : 0;
}

void platform_stop(struct platform *p, uint64_t id)
{
    p->ops->stop(p, id);
}

void platform_close(struct platform *p)
{
    if (p)
        p->ops->close(p);
}
