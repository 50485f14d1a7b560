/* SPDX-License-Identifier: Apache-2.0 */
#include "model/optimiser.h"

#include "math/example.h"
#include "model/optimiser_rules.h"

/* Steps that a row may lag behind; then all are brought up to date, which changes no bits. */
#define PAST_MAX 1024

static int read_numbers(struct optimiser_config *c, const struct props *settings, struct error *err)
{
    int rc = props_f64(settings, "l1", 0, 0, 1e9, &c->l1, err);

    if (!rc)
        rc = props_f64(settings, "l2", 0, 0, 1e9, &c->l2, err);
    if (!rc)
        rc = props_f64(settings, "momentum", c->rule->momentum, 0, 0.99999, &c->momentum, err);
    if (!rc)
        rc = props_f64(settings, "adam-decay", 0.999, 0, 0.9999999, &c->decay, err);
    if (!rc)
        rc = props_f64(settings, "epsilon", c->rule->epsilon, 0, 1e9, &c->epsilon, err);
    if (!rc)
        rc = props_f64(settings, "accumulator", 0, 0, 1e12, &c->accumulator, err);
    return rc;
}

int optimiser_config_read(struct optimiser_config *c, const struct props *settings,
                          struct error *err)
{
    struct optimiser_config read = { 0 };
    const char *name = props_str(settings, "optimiser", "sgd");
    const char *reduce = props_str(settings, "reduce", "mean");
    int rc;

    read.rule = optimiser_rule_find(name);
    if (!read.rule)
        return fail(err, E_INVALID,
                    "optimiser: '%s' is none of sgd, momentum, nesterov, adam, adagrad, "
                    "adagrad-row",
                    name);
    read.kernels = kernels_named(props_find(settings, "kernels"));
    if (!read.kernels)
        return fail(err, E_INVALID, "kernels: '%s' is no instruction level of this CPU",
                    props_find(settings, "kernels"));
    read.mean = strcmp(reduce, "mean") == 0;
    if (!read.mean && strcmp(reduce, "sum") != 0)
        return fail(err, E_INVALID, "reduce: '%s' is neither 'sum' nor 'mean'", reduce);
    rc = schedule_read(&read.schedule, settings, err);
    if (!rc)
        rc = read_numbers(&read, settings, err);
    if (!rc)
        *c = read;
    return rc;
}

void optimiser_config_updates(struct optimiser_config *c, bool mean)
{
    c->rule = &optimiser_rule_update;
    c->mean = mean;
    c->l1 = c->l2 = 0;
}

static bool is_optimised(const struct gust_group *g)
{
    return g->scope == GUST_SHARED && !g->statistic;
}

static size_t state_floats(const struct optimiser_config *c, const struct gust_group *g)
{
    size_t row = c->rule->per_row ? 1 : gust_stride(g->cols);

    return is_optimised(g) ? c->rule->slots * row * g->rows : 0;
}

void optimiser_state_shape(const struct optimiser_config *c, const struct gust_group *group,
                           unsigned *slots, bool *per_row)
{
    *slots = is_optimised(group) ? c->rule->slots : 0;
    *per_row = c->rule->per_row;
}

static size_t units_of(const struct gust_group *g)
{
    unsigned shift = gust_unit_shift(gust_stride(g->cols));

    return (size_t)((g->rows + ((uint64_t)1 << shift) - 1) >> shift);
}

bool optimiser_moves_untouched(const struct optimiser_config *c, const struct gust_group *group)
{
    bool pulled = (c->l1 > 0 || c->l2 > 0) && !group->unregularised;

    return is_optimised(group) && (c->rule->rolls_on || pulled);
}

static bool may_lag(const struct optimiser_config *c, const struct gust_group *g)
{
    return g->sparse && optimiser_moves_untouched(c, g);
}

size_t optimiser_state_bytes(const struct optimiser_config *c, const struct gust_group *group)
{
    size_t bytes = state_floats(c, group) * sizeof(float);

    if (may_lag(c, group))
        bytes += units_of(group) * sizeof(uint64_t) + PAST_MAX * sizeof(struct optimiser_past);
    return bytes;
}

static int open_group(struct optimiser *o, unsigned index, const struct gust_group *g,
                      const struct gust_view *view)
{
    struct optimiser_group *own = &o->groups[index];

    own->group = *g;
    own->stride = gust_stride(g->cols);
    own->unit_shift = gust_unit_shift(own->stride);
    if (!is_optimised(g))
        return 0;
    own->rows = view->rows;
    own->state_floats = state_floats(&o->config, g);
    own->state = heap_try_alloc(o->heap, own->state_floats, sizeof(float));
    if (!own->state)
        return E_MEMORY;
    for (size_t i = 0; o->config.rule->accumulates && i < own->state_floats; i++)
        own->state[i] = (float)o->config.accumulator;
    if (!may_lag(&o->config, g))
        return 0;
    own->seen = heap_try_alloc(o->heap, units_of(g), sizeof(uint64_t));
    if (!o->past)
        o->past = heap_try_alloc(o->heap, PAST_MAX, sizeof(*o->past));
    return own->seen && o->past ? 0 : E_MEMORY;
}

int optimiser_open(struct optimiser *o, struct heap *heap, const struct optimiser_config *config,
                   const struct gust_group *groups, const struct gust_view *views, unsigned count,
                   struct error *err)
{
    *o = (struct optimiser){ .heap = heap,
                             .kernels = config->kernels ? config->kernels : kernels_best(),
                             .config = *config,
                             .count = count };
    for (unsigned g = 0; g < count; g++) {
        if (open_group(o, g, &groups[g], &views[g])) {
            optimiser_close(o);
            return fail(err, E_MEMORY,
                        "there is no memory left for what optimiser '%s' keeps about group '%s' "
                        "(%zu bytes)",
                        config->rule->name, groups[g].name,
                        optimiser_state_bytes(config, &groups[g]));
        }
    }
    return 0;
}

void optimiser_close(struct optimiser *o)
{
    if (o->heap) {
        for (unsigned g = 0; g < o->count; g++) {
            heap_free(o->heap, o->groups[g].state);
            heap_free(o->heap, o->groups[g].seen);
        }
        heap_free(o->heap, o->past);
    }
    *o = (struct optimiser){ 0 };
}

double optimiser_rate(const struct optimiser *o, double epochs)
{
    return schedule_rate(&o->config.schedule, epochs);
}

static struct optimiser_span span_of(const struct optimiser *o, const struct optimiser_group *g,
                                     uint64_t first, uint64_t end, const float *sums)
{
    struct optimiser_span s = { .w = g->rows + first * g->stride,
                                .sums = sums,
                                .rows = (size_t)(end - first),
                                .cols = g->group.cols,
                                .stride = g->stride };
    size_t row = o->config.rule->per_row ? 1 : g->stride;

    for (unsigned k = 0; k < o->config.rule->slots; k++)
        s.state[k] = g->state + (k * g->group.rows + first) * row;
    return s;
}

static const struct sweep *strengths(const struct optimiser_past *step,
                                     const struct optimiser_group *g)
{
    return g->group.unregularised ? &step->plain : &step->regularised;
}

static bool all_bits_zero(const float *x, size_t count)
{
    uint32_t any = 0, bits;

    for (size_t i = 0; i < count; i++) {
        memcpy(&bits, x + i, sizeof(bits));
        any |= bits;
    }
    return any == 0;
}

/* Without a gradient, parameters and momenta that are all +0 stay so under every rule. */
static bool rests(const struct optimiser *o, const struct optimiser_span *s)
{
    size_t floats = s->rows * s->stride;

    if (!all_bits_zero(s->w, floats))
        return false;
    for (unsigned k = 0; k < o->config.rule->slots && !o->config.rule->accumulates; k++)
        if (!all_bits_zero(s->state[k], floats))
            return false;
    return true;
}

static void catch_up(struct optimiser *o, struct optimiser_group *g, uint64_t unit)
{
    uint64_t first = unit << g->unit_shift;
    uint64_t end = MIN(first + ((uint64_t)1 << g->unit_shift), g->group.rows);
    struct optimiser_span span = span_of(o, g, first, end, NULL);

    if (!rests(o, &span))
        for (uint64_t step = g->seen[unit]; step < o->steps; step++)
            o->config.rule->sweep(o->kernels, &span, strengths(&o->past[step - o->past_first], g));
    g->seen[unit] = o->steps;
}

static void catch_up_all(struct optimiser *o, struct optimiser_group *g)
{
    for (uint64_t unit = 0; g->seen && unit < units_of(&g->group); unit++)
        if (g->seen[unit] < o->steps)
            catch_up(o, g, unit);
}

static void catch_up_row(struct optimiser *o, struct optimiser_group *g, uint64_t row)
{
    uint64_t unit = row >> g->unit_shift;

    if (g->seen[unit] < o->steps)
        catch_up(o, g, unit);
}

/* Whether looking at every unit is less work than looking at every index of the batch. */
static bool reads_most(const struct optimiser_group *g, const struct gust_batch *batch)
{
    uint32_t ones = batch->data->ones;
    uint64_t each = g->group.index == GUST_INDEX_LISTS && ones != GUST_VARIES ? MAX(ones, 1u) : 1;

    return g->group.index == GUST_INDEX_ALL || each * batch->rows >= units_of(&g->group);
}

static void prepare_group(struct optimiser *o, struct optimiser_group *g,
                          const struct gust_batch *batch)
{
    if (reads_most(g, batch)) {
        catch_up_all(o, g);
        return;
    }
    for (uint32_t r = 0; r < batch->rows; r++) {
        struct example e = example_at(batch, r);

        if (g->group.index == GUST_INDEX_COLUMN) {
            catch_up_row(o, g, e.ones[g->group.column]);
            continue;
        }
        for (uint32_t j = 0; j < e.ones_count; j++)
            catch_up_row(o, g, e.ones[j]);
        for (uint32_t j = 0; j < e.pair_count; j++)
            catch_up_row(o, g, e.pairs[2 * j]);
    }
}

void optimiser_prepare(struct optimiser *o, const struct gust_batch *batch)
{
    for (unsigned g = 0; g < o->count; g++)
        if (o->groups[g].seen)
            prepare_group(o, &o->groups[g], batch);
}

/* 1 / (1 - x^n) with only multiplications, for the same bits everywhere. */
static float correction(double x, uint64_t n)
{
    double power = 1;

    for (; n; n >>= 1, x *= x)
        if (n & 1)
            power *= x;
    return (float)(1 / (1 - power));
}

void optimiser_begin(struct optimiser *o, double rate, double weight)
{
    const struct optimiser_config *c = &o->config;
    double scale = c->mean ? 1 / weight : 1;
    struct sweep s = { .scale = (float)scale,
                       .rate = (float)rate,
                       .momentum = (float)c->momentum,
                       .decay = (float)c->decay,
                       .epsilon = (float)c->epsilon,
                       .correct1 = correction(c->momentum, o->steps + 1),
                       .correct2 = correction(c->decay, o->steps + 1) };

    o->now.plain = s;
    /* Strengths are per example: a sum of gradients is that many times as strong as a mean. */
    s.l1 = (float)(c->l1 * weight * scale);
    s.l2 = (float)(c->l2 * weight * scale);
    o->now.regularised = s;
    if (o->past && o->steps - o->past_first == PAST_MAX)
        optimiser_finish(o);
}

static void apply_rows(struct optimiser *o, struct optimiser_group *g, uint64_t first, uint64_t end,
                       const float *sums)
{
    struct optimiser_span span = span_of(o, g, first, end, sums);
    uint64_t unit = first >> g->unit_shift, units = units_of(&g->group);

    for (; g->seen && unit < units && unit << g->unit_shift < end; unit++) {
        if (g->seen[unit] < o->steps)
            catch_up(o, g, unit);
        g->seen[unit] = o->steps + 1;
    }
    o->config.rule->sweep(o->kernels, &span, strengths(&o->now, g));
}

static bool is_touched(const uint64_t *touched, uint64_t unit)
{
    return touched[unit >> 6] >> (unit & 63) & 1;
}

/* The first unit from FROM on whose bit is set, at most END. */
static uint64_t next_touched(const uint64_t *touched, uint64_t from, uint64_t end)
{
    while (from < end) {
        uint64_t word = touched[from >> 6] >> (from & 63);

        if (word)
            return MIN(from + (uint64_t)__builtin_ctzll(word), end);
        from = (from | 63) + 1;
    }
    return end;
}

void optimiser_apply(struct optimiser *o, const struct optimiser_piece *piece)
{
    struct optimiser_group *g = &o->groups[piece->group];
    uint64_t rows = piece->end - piece->first;
    uint64_t units = (rows + ((uint64_t)1 << g->unit_shift) - 1) >> g->unit_shift, from = 0;

    if (!piece->touched) {
        apply_rows(o, g, piece->first, piece->end, piece->sums);
        return;
    }
    /* Runs of touched units go through one sweep. */
    while ((from = next_touched(piece->touched, from, units)) < units) {
        uint64_t to = from + 1, first = from << g->unit_shift;

        while (to < units && is_touched(piece->touched, to))
            to++;
        apply_rows(o, g, piece->first + first, piece->first + MIN(to << g->unit_shift, rows),
                   piece->sums + first * g->stride);
        from = to;
    }
}

void optimiser_end(struct optimiser *o)
{
    if (o->past)
        o->past[o->steps - o->past_first] = o->now;
    o->steps++;
}

void optimiser_finish(struct optimiser *o)
{
    for (unsigned g = 0; g < o->count; g++)
        catch_up_all(o, &o->groups[g]);
    o->past_first = o->steps;
}

float *optimiser_state(struct optimiser *o, unsigned group, size_t *floats)
{
    *floats = o->groups[group].state_floats;
    return o->groups[group].state;
}

void optimiser_restored(struct optimiser *o, uint64_t steps)
{
    o->steps = steps;
    o->past_first = steps;
    for (unsigned g = 0; g < o->count; g++)
        for (uint64_t unit = 0; o->groups[g].seen && unit < units_of(&o->groups[g].group); unit++)
            o->groups[g].seen[unit] = steps;
}
