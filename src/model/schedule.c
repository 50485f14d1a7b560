/* SPDX-License-Identifier: Apache-2.0 */
#include "model/schedule.h"

#include "math/functions.h"

#define HALF_PI 1.57079632679489661923

static const char *const names[] = {
    [SCHEDULE_CONSTANT] = "constant",
    [SCHEDULE_INVERSE] = "inverse",
    [SCHEDULE_INVERSE_SQRT] = "inverse-sqrt",
    [SCHEDULE_EXPONENTIAL] = "exponential",
    [SCHEDULE_STEP] = "step",
    [SCHEDULE_COSINE] = "cosine",
};

static int find_kind(const char *name, enum schedule_kind *kind, struct error *err)
{
    for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
        if (strcmp(names[i], name) == 0) {
            *kind = (enum schedule_kind)i;
            return 0;
        }
    }
    return fail(err, E_INVALID,
                "schedule: '%s' is none of constant, inverse, inverse-sqrt, exponential, step, "
                "cosine",
                name);
}

int schedule_read(struct schedule *s, const struct props *settings, struct error *err)
{
    struct schedule read;
    int rc = find_kind(props_str(settings, "schedule", "constant"), &read.kind, err);

    if (!rc)
        rc = props_f64(settings, "rate", 0.1, 0, 1e9, &read.rate, err);
    if (!rc)
        rc = props_f64(settings, "decay", 0, 0, 1e9, &read.decay, err);
    if (!rc)
        rc = props_f64(settings, "decay-every", 1, 1e-9, 1e9, &read.every, err);
    if (!rc)
        rc = props_f64(settings, "warmup", 0, 0, 1e9, &read.warmup, err);
    if (!rc)
        *s = read;
    return rc;
}

/* cos(pi x) for 0 <= x <= 1, by sin's series around the middle; good to 1e-12. */
static double cos_pi(double x)
{
    double t = HALF_PI * (1 - 2 * x), z = t * t, term = t, sum = t;

    for (int k = 1; k <= 8; k++) {
        term = -term * z / (double)((2 * k) * (2 * k + 1));
        sum += term;
    }
    return sum;
}

/* (1 + decay)^-times; past a few hundred times the step size is nothing anyway. */
static double stepped(double decay, double times)
{
    double factor = 1;

    for (uint64_t k = (uint64_t)MIN(times, 4096.0); k > 0; k--)
        factor /= 1 + decay;
    return factor;
}

static double shape(const struct schedule *s, double x)
{
    switch (s->kind) {
    case SCHEDULE_CONSTANT:
        return 1;
    case SCHEDULE_INVERSE:
        return 1 / (1 + s->decay * x);
    case SCHEDULE_INVERSE_SQRT:
        return 1 / __builtin_sqrt(1 + s->decay * x);
    case SCHEDULE_EXPONENTIAL:
        return (double)exp_f32((float)(-s->decay * x));
    case SCHEDULE_STEP:
        return stepped(s->decay, x / s->every);
    case SCHEDULE_COSINE:
        return x < s->every ? 0.5 * (1 + cos_pi(x / s->every)) : 0;
    }
    return 1;
}

double schedule_rate(const struct schedule *s, double epochs)
{
    double rate = s->rate * shape(s, epochs);

    if (epochs < s->warmup)
        rate *= 0.01 + 0.99 * (epochs / s->warmup);
    return rate;
}
