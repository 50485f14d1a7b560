/* SPDX-License-Identifier: Apache-2.0 */
#include "client/safetensors.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/json_read.h"
#include "base/wire.h"

static const struct {
    const char *name;
    uint64_t size;
} types[] = {
    [SAFETENSOR_F32] = { "F32", 4 },
    [SAFETENSOR_I64] = { "I64", 8 },
    [SAFETENSOR_U8] = { "U8", 1 },
};

const char *safetensor_type_name(enum safetensor_type type)
{
    return types[type].name;
}

uint64_t safetensor_size(const struct safetensor *t)
{
    uint64_t size = types[t->type].size;

    for (unsigned i = 0; i < t->dims; i++)
        if (__builtin_mul_overflow(size, t->shape[i], &size))
            return UINT64_MAX;
    return size;
}

/* ---- writing ------------------------------------------------------------------------------ */

static void describe(struct json *w, const struct safetensor *t, uint64_t at)
{
    json_open(w, t->name, '{');
    json_str(w, "dtype", types[t->type].name);
    json_open(w, "shape", '[');
    for (unsigned i = 0; i < t->dims; i++)
        json_u64(w, NULL, t->shape[i]);
    json_close(w);
    json_open(w, "data_offsets", '[');
    json_u64(w, NULL, at);
    json_u64(w, NULL, at + safetensor_size(t));
    json_close(w);
    json_close(w);
}

static void header_text(const struct safetensor *tensors, unsigned count,
                        const struct props *metadata, struct buf *out)
{
    struct json w;
    uint64_t at = 0;

    json_init(&w, out);
    json_open(&w, NULL, '{');
    if (metadata && metadata->count) {
        json_open(&w, "__metadata__", '{');
        for (unsigned i = 0; i < metadata->count; i++)
            json_str(&w, metadata->items[i].key, metadata->items[i].value);
        json_close(&w);
    }
    for (unsigned i = 0; i < count; i++) {
        describe(&w, &tensors[i], at);
        at += safetensor_size(&tensors[i]);
    }
    json_close(&w);
}

int safetensors_header(const struct safetensor *tensors, unsigned count,
                       const struct props *metadata, struct buf *out, struct error *err)
{
    struct buf text;

    buf_init(&text, out->heap, SAFETENSORS_HEADER_MAX);
    header_text(tensors, count, metadata, &text);
    while (!text.failed && text.size % 8)
        buf_str(&text, " ");
    wire_put_u64(out, text.size);
    buf_add(out, text.data, text.size);
    if (text.failed)
        out->failed = true;
    buf_release(&text);
    return out->failed ? fail(err, E_LIMIT, "the header of the model file is too long") : 0;
}

/* ---- reading ------------------------------------------------------------------------------ */

/* Whether Gust may have written the key; others may write what they like. */
static bool is_own_key(const char *key)
{
    size_t size = strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");

    return size > 0 && key[size] == 0;
}

static int read_metadata(struct safetensors *s, struct json_reader *r, struct error *err)
{
    const char *key;

    if (s->metadata.count)
        return fail(err, E_FORMAT, "there are two lists of metadata");
    json_enter(r, '{');
    while ((key = json_next_key(r))) {
        const char *value = json_read_str(r);

        if (r->failed)
            break;
        if (!is_own_key(key))
            continue;
        if (s->metadata.count == SAFETENSORS_METADATA_MAX)
            return fail(err, E_LIMIT, "there are more than %u metadata", SAFETENSORS_METADATA_MAX);
        if (props_find(&s->metadata, key))
            return fail(err, E_FORMAT, "metadata '%.64s' comes twice", key);
        props_set(&s->metadata, key, value);
    }
    return 0;
}

static int read_type(struct safetensor *t, const char *name, struct error *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (strcmp(name, types[i].name) == 0) {
            t->type = (enum safetensor_type)i;
            return 0;
        }
    return fail(err, E_UNSUPPORTED, "tensor '%s' has the type '%.16s'; Gust reads F32, I64 and U8",
                t->name, name);
}

static int read_shape(struct safetensor *t, struct json_reader *r, struct error *err)
{
    json_enter(r, '[');
    for (t->dims = 0; json_next(r); t->dims++) {
        if (t->dims == SAFETENSORS_DIMS_MAX)
            return fail(err, E_UNSUPPORTED, "tensor '%s' has more than %u dimensions", t->name,
                        SAFETENSORS_DIMS_MAX);
        t->shape[t->dims] = json_read_u64(r);
    }
    return 0;
}

static void read_offsets(uint64_t offsets[2], struct json_reader *r)
{
    json_enter(r, '[');
    for (unsigned i = 0; i < 2; i++)
        offsets[i] = json_next(r) ? json_read_u64(r) : 0;
    if (json_next(r) && !r->failed)
        r->failed = "two offsets are expected";
}

/* Its place is checked against the shape here, against the other tensors in check_places(). */
static int read_tensor(struct safetensor *t, struct json_reader *r, struct slice data,
                       struct error *err)
{
    enum { TYPE = 1, SHAPE = 2, OFFSETS = 4 };
    uint64_t offsets[2] = { 0, 0 };
    unsigned seen = 0;
    const char *key;
    int rc = 0;

    json_enter(r, '{');
    while (!rc && (key = json_next_key(r))) {
        unsigned field = strcmp(key, "dtype") == 0          ? TYPE
                         : strcmp(key, "shape") == 0        ? SHAPE
                         : strcmp(key, "data_offsets") == 0 ? OFFSETS
                                                            : 0;

        if (!field || seen & field)
            return fail(err, E_FORMAT, "tensor '%s' has '%.32s' %s", t->name, key,
                        field ? "twice" : "beside type, shape and offsets");
        seen |= field;
        if (field == TYPE) {
            const char *name = json_read_str(r);

            rc = r->failed ? 0 : read_type(t, name, err);
        } else if (field == SHAPE) {
            rc = read_shape(t, r, err);
        } else {
            read_offsets(offsets, r);
        }
    }
    if (rc || r->failed)
        return rc;
    if (seen != (TYPE | SHAPE | OFFSETS))
        return fail(err, E_FORMAT, "tensor '%s' lacks its type, shape or offsets", t->name);
    if (offsets[0] > offsets[1] || offsets[1] > data.size)
        return fail(err, E_FORMAT,
                    "tensor '%s' lies at bytes %" PRIu64 " to %" PRIu64 " of %zu: the file is cut "
                    "off or garbled",
                    t->name, offsets[0], offsets[1], data.size);
    if (offsets[1] - offsets[0] != safetensor_size(t))
        return fail(err, E_FORMAT,
                    "tensor '%s' has %" PRIu64 " bytes, and its shape needs %" PRIu64, t->name,
                    offsets[1] - offsets[0], safetensor_size(t));
    t->bytes = slice((const char *)data.data + offsets[0], offsets[1] - offsets[0]);
    return 0;
}

static int add_tensor(struct safetensors *s, const char *name, struct json_reader *r,
                      struct slice data, struct error *err)
{
    struct safetensor *t = &s->tensors[s->count];

    if (s->count == SAFETENSORS_COUNT_MAX)
        return fail(err, E_LIMIT, "there are more than %u tensors", SAFETENSORS_COUNT_MAX);
    if (strlen(name) > SAFETENSORS_NAME_MAX)
        return fail(err, E_UNSUPPORTED, "the name of tensor '%.64s' is longer than %d bytes", name,
                    SAFETENSORS_NAME_MAX);
    if (safetensors_find(s, name))
        return fail(err, E_FORMAT, "tensor '%s' comes twice", name);
    memset(t, 0, sizeof(*t));
    memcpy(t->name, name, strlen(name));
    s->count++;
    return read_tensor(t, r, data, err);
}

static int by_place(const void *a, const void *b)
{
    const struct safetensor *const *x = a, *const *y = b;
    const char *p = (*x)->bytes.data, *q = (*y)->bytes.data;

    /* An empty tensor stands before the one that begins where it lies. */
    if (p != q)
        return p < q ? -1 : 1;
    return (*x)->bytes.size < (*y)->bytes.size ? -1 : (*x)->bytes.size > (*y)->bytes.size;
}

/* Every byte of DATA belongs to exactly one tensor. */
static int check_places(const struct safetensors *s, struct slice data, struct error *err)
{
    const struct safetensor *order[SAFETENSORS_COUNT_MAX];
    const char *at = data.data;

    for (unsigned i = 0; i < s->count; i++)
        order[i] = &s->tensors[i];
    qsort(order, s->count, sizeof(order[0]), by_place);
    for (unsigned i = 0; i < s->count; i++) {
        const struct safetensor *t = order[i];

        if (t->bytes.data != at)
            return fail(err, E_FORMAT, "tensor '%s' %s", t->name,
                        (const char *)t->bytes.data < at
                            ? "overlaps another one"
                            : "leaves a hole between it and the one before");
        at += t->bytes.size;
    }
    if (at != (const char *)data.data + data.size)
        return fail(err, E_FORMAT, "%zu bytes follow the last tensor",
                    (size_t)((const char *)data.data + data.size - at));
    return 0;
}

static int read_header(struct safetensors *s, struct slice text, struct slice data,
                       struct error *err)
{
    struct json_reader r;
    const char *key;
    int rc = 0;

    json_read_init(&r, s->heap, text, SAFETENSORS_STRING_MAX);
    json_enter(&r, '{');
    while (!rc && (key = json_next_key(&r)))
        rc = strcmp(key, "__metadata__") == 0 ? read_metadata(s, &r, err)
                                              : add_tensor(s, key, &r, data, err);
    if (!rc && !json_done(&r))
        rc = fail(err, E_FORMAT, "the header is garbled at byte %zu: %s", 8 + json_read_place(&r),
                  r.failed);
    json_read_release(&r);
    return rc ? rc : check_places(s, data, err);
}

int safetensors_open(struct safetensors *s, struct heap *heap, struct slice file, struct error *err)
{
    const char *bytes = file.data;
    struct wire_reader w;
    uint64_t size;
    int rc;

    *s = (struct safetensors){ 0 };
    if (file.size < 8)
        return fail(err, E_FORMAT, "it is no model: a safetensors file has more than %zu bytes",
                    file.size);
    wire_read(&w, slice(bytes, 8));
    size = wire_u64(&w);
    if (size < 2 || size > SAFETENSORS_HEADER_MAX || (file.size > 8 && bytes[8] != '{'))
        return fail(err, E_FORMAT, "it is no model: it does not begin as a safetensors file does");
    if (size > file.size - 8)
        return fail(err, E_FORMAT,
                    "it is cut off: the header has %" PRIu64 " bytes, the whole file %zu", size,
                    file.size);
    s->heap = heap;
    s->tensors = heap_alloc(heap, SAFETENSORS_COUNT_MAX * sizeof(*s->tensors));
    props_init(&s->metadata, heap);
    rc = read_header(s, slice(bytes + 8, size), slice(bytes + 8 + size, file.size - 8 - size), err);
    if (rc)
        safetensors_close(s);
    return rc;
}

void safetensors_close(struct safetensors *s)
{
    if (!s->heap)
        return;
    props_release(&s->metadata);
    heap_free(s->heap, s->tensors);
    *s = (struct safetensors){ 0 };
}

const struct safetensor *safetensors_find(const struct safetensors *s, const char *name)
{
    for (unsigned i = 0; i < s->count; i++)
        if (strcmp(s->tensors[i].name, name) == 0)
            return &s->tensors[i];
    return NULL;
}
