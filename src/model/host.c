/* SPDX-License-Identifier: Apache-2.0 */
#include "model/host.h"

#include <stdarg.h>

#include "base/random.h"
#include "math/normal.h"

void host_init(struct gust_host *h, const struct props *settings, struct heap *heap, uint64_t seed)
{
    *h = (struct gust_host){ .settings = settings, .heap = heap, .seed = seed };
}

int host_open(struct gust_host *h, const struct gust_trainer *trainer, const struct gust_data *data,
              void **self, struct error *err)
{
    void *made = NULL;

    if (trainer->abi != GUST_ABI)
        return fail(err, E_UNSUPPORTED,
                    "trainer '%s' was built for interface %u of gust.h, this is %u", trainer->name,
                    trainer->abi, GUST_ABI);
    h->error = (struct error){ 0 };
    if (trainer->open(h, data, &made) && !h->error.code)
        fail(&h->error, E_INVALID, "it gave no reason");
    if (h->error.code) {
        host_close(trainer, made);
        return fail(err, h->error.code, "model '%s' cannot start: %s", trainer->name,
                    h->error.text);
    }
    *self = made;
    return 0;
}

void host_close(const struct gust_trainer *trainer, void *self)
{
    if (self && trainer->close)
        trainer->close(self);
}

static int check_group(const struct gust_trainer *trainer, const struct gust_group *g,
                       const struct gust_data *data, struct error *err)
{
    if (!g->name || !*g->name)
        return fail(err, E_INVALID, "trainer '%s' has a parameter group without a name",
                    trainer->name);
    if (g->rows == 0 || g->cols == 0)
        return fail(err, E_INVALID, "group '%s' of trainer '%s' has no rows or no columns", g->name,
                    trainer->name);
    if (g->rows > SIZE_MAX / sizeof(float) / gust_stride(g->cols))
        return fail(err, E_LIMIT, "group '%s' of trainer '%s' is larger than any memory", g->name,
                    trainer->name);
    if (g->scope == GUST_PRIVATE && (g->index != GUST_INDEX_COLUMN || g->column != 0))
        return fail(err, E_INVALID, "private group '%s' of trainer '%s' must follow key column 0",
                    g->name, trainer->name);
    if (g->index == GUST_INDEX_COLUMN && (data->ones == GUST_VARIES || g->column >= data->ones))
        return fail(err, E_INVALID,
                    "group '%s' of trainer '%s' follows index column %u, which the data does not "
                    "have",
                    g->name, trainer->name, g->column);
    return 0;
}

int host_groups(const struct gust_trainer *trainer, const void *self, const struct gust_data *data,
                struct gust_group *groups, unsigned *count, struct error *err)
{
    unsigned n;

    memset(groups, 0, GUST_GROUPS_MAX * sizeof(*groups));
    n = trainer->groups(self, groups);
    if (n == 0 || n > GUST_GROUPS_MAX)
        return fail(err, E_INVALID, "trainer '%s' has %u parameter groups; 1 to %u are possible",
                    trainer->name, n, GUST_GROUPS_MAX);
    for (unsigned g = 0; g < n; g++) {
        int rc = check_group(trainer, &groups[g], data, err);

        if (rc)
            return rc;
    }
    *count = n;
    return 0;
}

/* Letters, digits and underscores, so that the names that Gust gives tensors itself are apart. */
static bool is_field_name(const char *name)
{
    size_t size = name ? strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789_-")
                       : 0;

    return size > 0 && size <= HOST_FIELD_NAME_MAX && name[size] == 0;
}

static bool is_same_column(const struct gust_field *a, const struct gust_field *b)
{
    return a->group == b->group && a->first < b->first + b->cols && b->first < a->first + a->cols;
}

static int check_field(const struct gust_trainer *trainer, const struct gust_group *groups,
                       unsigned count, const struct gust_field *fields, unsigned i,
                       struct error *err)
{
    const struct gust_field *f = &fields[i];

    if (!is_field_name(f->name))
        return fail(err, E_INVALID,
                    "field '%s' of trainer '%s': a name has up to %d letters, digits, '_' and '-'",
                    f->name ? f->name : "", trainer->name, HOST_FIELD_NAME_MAX);
    if (f->group >= count || groups[f->group].statistic || f->cols == 0 ||
        f->cols > groups[f->group].cols || f->first > groups[f->group].cols - f->cols ||
        (f->vector && f->cols != 1))
        return fail(err, E_INVALID, "field '%s' of trainer '%s' names columns that are not there",
                    f->name, trainer->name);
    for (unsigned j = 0; j < i; j++)
        if (strcmp(f->name, fields[j].name) == 0 || is_same_column(f, &fields[j]))
            return fail(err, E_INVALID, "fields '%s' and '%s' of trainer '%s' overlap",
                        fields[j].name, f->name, trainer->name);
    return 0;
}

static unsigned whole_groups(const struct gust_group *groups, unsigned count,
                             struct gust_field *fields)
{
    unsigned n = 0;

    for (unsigned g = 0; g < count; g++)
        if (!groups[g].statistic)
            fields[n++] = (struct gust_field){ .name = groups[g].name,
                                               .group = g,
                                               .cols = groups[g].cols,
                                               .vector = groups[g].cols == 1 };
    return n;
}

int host_fields(const struct gust_trainer *trainer, const void *self,
                const struct gust_group *groups, unsigned count, struct gust_field *fields,
                unsigned *field_count, struct error *err)
{
    unsigned n;

    memset(fields, 0, GUST_FIELDS_MAX * sizeof(*fields));
    n = trainer->fields ? trainer->fields(self, fields) : whole_groups(groups, count, fields);
    if (n > GUST_FIELDS_MAX)
        return fail(err, E_INVALID, "trainer '%s' has %u fields; at most %u are possible",
                    trainer->name, n, GUST_FIELDS_MAX);
    for (unsigned i = 0; i < n; i++) {
        int rc = check_field(trainer, groups, count, fields, i, err);

        if (rc)
            return rc;
    }
    *field_count = n;
    return 0;
}

const char *gust_setting(struct gust_host *h, const char *name, const char *fallback)
{
    return props_str(h->settings, name, fallback);
}

/* Only the first thing that is wrong is kept: what follows it may be its consequence. */
static struct error *first_error(struct gust_host *h)
{
    return h->error.code ? NULL : &h->error;
}

double gust_setting_f64(struct gust_host *h, const char *name, double fallback, double min,
                        double max)
{
    double value = fallback;

    props_f64(h->settings, name, fallback, min, max, &value, first_error(h));
    return value;
}

uint64_t gust_setting_u64(struct gust_host *h, const char *name, uint64_t fallback, uint64_t min,
                          uint64_t max)
{
    uint64_t value = fallback;

    props_u64(h->settings, name, fallback, min, max, &value, first_error(h));
    return value;
}

uint64_t gust_seed(struct gust_host *h)
{
    return h->seed;
}

void *gust_alloc(struct gust_host *h, size_t size)
{
    void *block = heap_try_alloc(h->heap, 1, size);

    if (!block)
        fail(first_error(h), E_MEMORY, "there is no memory left for %zu bytes", size);
    return block;
}

int gust_refuse(struct gust_host *h, const char *format, ...)
{
    char text[sizeof(h->error.text)];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fail(first_error(h), E_INVALID, "%s", text);
    return -1;
}

uint64_t gust_random(uint64_t seed, uint64_t a, uint64_t b, uint64_t c)
{
    return random_at(seed, a, b, c);
}

float gust_normal(uint64_t seed, uint64_t a, uint64_t b, uint64_t c)
{
    return normal_deviate(random_at(seed, a, b, c));
}

void gust_out_rows(struct gust_out *out, unsigned group, uint32_t cols, const uint32_t *index,
                   const float *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        float *row = gust_out_row(out, group, index[i]);

        for (uint32_t c = 0; c < cols; c++)
            row[c] += values[(size_t)i * cols + c];
    }
}
