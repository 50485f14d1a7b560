/* SPDX-License-Identifier: Apache-2.0 */
#include "client/safetensors.h"

#include "base/json.h"
#include "base/wire.h"

static void describe(struct json *w, const struct safetensor *t, uint64_t at)
{
    uint64_t bytes = t->rows * t->cols * sizeof(float);

    json_open(w, t->name, '{');
    json_str(w, "dtype", "F32");
    json_open(w, "shape", '[');
    json_u64(w, NULL, t->rows);
    if (t->cols > 1)
        json_u64(w, NULL, t->cols);
    json_close(w);
    json_open(w, "data_offsets", '[');
    json_u64(w, NULL, at);
    json_u64(w, NULL, at + bytes);
    json_close(w);
    json_close(w);
}

static void header(const struct safetensor *tensors, unsigned count, const struct props *metadata,
                   struct buf *out)
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
        at += tensors[i].rows * tensors[i].cols * sizeof(float);
    }
    json_close(&w);
}

int safetensors_write(const struct safetensor *tensors, unsigned count,
                      const struct props *metadata, struct buf *out, struct error *err)
{
    struct buf text;

    buf_init(&text, out->heap, PROPS_MAX_BYTES);
    header(tensors, count, metadata, &text);
    /* Blanks at the end of the header put the tensors on a multiple of eight bytes. */
    while (!text.failed && text.size % 8)
        buf_str(&text, " ");
    wire_put_u64(out, text.size);
    buf_add(out, text.data, text.size);
    for (unsigned i = 0; i < count; i++)
        for (uint64_t r = 0; r < tensors[i].rows && !out->failed; r++)
            buf_add(out, tensors[i].data + r * tensors[i].stride, tensors[i].cols * sizeof(float));
    if (text.failed)
        out->failed = true;
    buf_release(&text);
    return out->failed ? fail(err, E_MEMORY, "no memory for the model file") : 0;
}
