/* SPDX-License-Identifier: Apache-2.0 */
#include "client/model_file.h"

#include <inttypes.h>

#include "client/safetensors.h"
#include "worker/base.h"

/* A private group lies in one object per rank: the lanes that the rank owned. */
static int read_private(const struct blueprint *b, struct base_reader *base, unsigned group,
                        float *rows, struct error *err)
{
    uint32_t stride = gust_stride(b->groups[group].cols);
    int rc = 0;

    for (uint32_t r = 0; !rc && r < base->ranks; r++) {
        uint64_t first, count;
        uint32_t lo, hi;
        char name[64];

        lanes_of_rank(b->data->lanes, base->ranks, r, &lo, &hi);
        blueprint_keys(b, lo, hi, &first, &count);
        snprintf(name, sizeof(name), "private-%u-%" PRIu32 "-%" PRIu32, group, lo, hi);
        rc = base_read(base, name, rows + first * stride, count * stride * sizeof(float), err);
    }
    return rc;
}

static int read_group(const struct blueprint *b, struct base_reader *base, unsigned group,
                      struct safetensor *out, struct error *err)
{
    const struct gust_group *g = &b->groups[group];
    uint32_t stride = gust_stride(g->cols);
    float *rows = heap_try_alloc_raw(b->heap, g->rows, stride * sizeof(float));
    char name[32];

    if (!rows)
        return fail(err, E_MEMORY, "no memory for the %" PRIu64 " rows of '%s'", g->rows, g->name);
    *out = (struct safetensor){
        .name = g->name, .rows = g->rows, .cols = g->cols, .stride = stride, .data = rows
    };
    if (g->scope == GUST_PRIVATE)
        return read_private(b, base, group, rows, err);
    snprintf(name, sizeof(name), "shared-%u", group);
    return base_read(base, name, rows, g->rows * stride * sizeof(float), err);
}

static int write_file(const struct blueprint *b, const struct safetensor *tensors, unsigned count,
                      struct objects *objects, const char *name, struct error *err)
{
    size_t bytes = PROPS_MAX_BYTES;
    struct buf file;
    int rc;

    for (unsigned i = 0; i < count; i++)
        bytes += tensors[i].rows * tensors[i].cols * sizeof(float);
    buf_init(&file, b->heap, bytes);
    rc = safetensors_write(tensors, count, &b->settings, &file, err);
    if (!rc)
        rc = objects_put(objects, name, buf_slice(&file), err);
    buf_release(&file);
    return rc;
}

int model_file_save(const struct blueprint *b, struct objects *objects, uint64_t step,
                    const char *name, struct error *err)
{
    struct safetensor tensors[GUST_GROUPS_MAX] = { 0 };
    struct base_reader base;
    unsigned count = 0;
    int rc = base_open(&base, objects, b->heap, step, b->fingerprint, err);

    if (rc)
        return rc;
    for (unsigned g = 0; !rc && g < b->group_count; g++)
        if (!b->groups[g].statistic)
            rc = read_group(b, &base, g, &tensors[count++], err);
    if (!rc)
        rc = write_file(b, tensors, count, objects, name, err);
    for (unsigned i = 0; i < count; i++)
        heap_free(b->heap, (float *)tensors[i].data);
    base_close(&base);
    return rc;
}
