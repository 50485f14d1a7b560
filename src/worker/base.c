/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/base.h"

#include <inttypes.h>

#include "base/crc32c.h"

#define BASE_VERSION   "1"
#define BASE_INDEX_MAX (256 * KIB)

void base_name(char *out, size_t size, uint64_t step, const char *name)
{
    snprintf(out, size, "base/%020" PRIu64 "/%s", step, name);
}

void base_begin(struct base_writer *w, struct objects *objects, struct heap *heap, uint64_t step,
                uint32_t rank)
{
    *w = (struct base_writer){ .objects = objects, .heap = heap, .step = step, .rank = rank };
    props_init(&w->index, heap);
}

int base_add(struct base_writer *w, const char *name, struct slice bytes, struct error *err)
{
    char full[OBJECTS_NAME_MAX + 1];
    int rc;

    base_name(full, sizeof(full), w->step, name);
    rc = objects_put(w->objects, full, bytes, err);
    if (rc)
        return fail_within(err, rc, "cannot write '%s'", full);
    props_setf(&w->index, name, "%zu %08" PRIx32, bytes.size, crc32c(0, bytes.data, bytes.size));
    return 0;
}

int base_end(struct base_writer *w, struct error *err)
{
    char full[OBJECTS_NAME_MAX + 1], name[32];
    struct buf text;
    int rc;

    snprintf(name, sizeof(name), "part-%" PRIu32, w->rank);
    base_name(full, sizeof(full), w->step, name);
    buf_init(&text, w->heap, BASE_INDEX_MAX);
    props_write(&w->index, &text);
    rc = objects_put(w->objects, full, buf_slice(&text), err);
    buf_release(&text);
    props_release(&w->index);
    return rc;
}

int base_seal(struct objects *objects, struct heap *heap, uint64_t step, uint32_t ranks,
              const char *fingerprint, struct error *err)
{
    char full[OBJECTS_NAME_MAX + 1];
    struct buf text;
    int rc;

    base_name(full, sizeof(full), step, "manifest");
    buf_init(&text, heap, BASE_INDEX_MAX);
    buf_printf(&text, "version: %s\nstep: %" PRIu64 "\nranks: %" PRIu32 "\nfingerprint: %s\n",
               BASE_VERSION, step, ranks, fingerprint);
    rc = objects_put(objects, full, buf_slice(&text), err);
    buf_release(&text);
    return rc;
}

static int read_props(struct base_reader *r, const char *name, struct props *out,
                      struct error *err)
{
    char full[OBJECTS_NAME_MAX + 1];
    struct buf text;
    int rc;

    base_name(full, sizeof(full), r->step, name);
    buf_init(&text, r->heap, BASE_INDEX_MAX);
    rc = objects_get_all(r->objects, full, &text, err);
    if (!rc)
        rc = props_parse(out, buf_slice(&text), err);
    if (rc)
        rc = fail_within(err, rc, "'%s'", full);
    buf_release(&text);
    return rc;
}

static int read_manifest(struct base_reader *r, const char *fingerprint, struct error *err)
{
    struct props manifest;
    uint64_t step = 0, ranks = 0;
    int rc;

    props_init(&manifest, r->heap);
    rc = read_props(r, "manifest", &manifest, err);
    if (!rc && strcmp(props_str(&manifest, "version", ""), BASE_VERSION) != 0)
        rc = fail(err, E_FORMAT, "base %" PRIu64 " has version '%s', this program reads %s",
                  r->step, props_str(&manifest, "version", ""), BASE_VERSION);
    if (!rc && strcmp(props_str(&manifest, "fingerprint", ""), fingerprint) != 0)
        rc = fail(err, E_MISMATCH, "base %" PRIu64 " belongs to another model or data set",
                  r->step);
    if (!rc)
        rc = props_u64(&manifest, "step", UINT64_MAX, r->step, r->step, &step, err);
    if (!rc)
        rc = props_u64(&manifest, "ranks", 0, 1, UINT32_MAX, &ranks, err);
    r->ranks = (uint32_t)ranks;
    props_release(&manifest);
    return rc;
}

int base_open(struct base_reader *r, struct objects *objects, struct heap *heap, uint64_t step,
              const char *fingerprint, struct error *err)
{
    int rc;

    *r = (struct base_reader){ .objects = objects, .heap = heap, .step = step };
    props_init(&r->index, heap);
    rc = read_manifest(r, fingerprint, err);
    for (uint32_t i = 0; !rc && i < r->ranks; i++) {
        char name[32];

        snprintf(name, sizeof(name), "part-%" PRIu32, i);
        rc = read_props(r, name, &r->index, err);
    }
    if (rc)
        base_close(r);
    return rc;
}

void base_close(struct base_reader *r)
{
    props_release(&r->index);
}

int base_read(struct base_reader *r, const char *name, void *into, size_t size, struct error *err)
{
    const char *entry = props_find(&r->index, name);
    char full[OBJECTS_NAME_MAX + 1], expected[64];
    size_t got = 0;
    int rc;

    if (!entry)
        return fail(err, E_FORMAT, "base %" PRIu64 " has no '%s'", r->step, name);
    base_name(full, sizeof(full), r->step, name);
    rc = objects_get(r->objects, full, 0, size, into, &got, err);
    if (rc)
        return rc;
    snprintf(expected, sizeof(expected), "%zu %08" PRIx32, got, crc32c(0, into, got));
    if (got != size || strcmp(entry, expected) != 0)
        return fail(err, E_FORMAT, "'%s' is damaged: size and checksum are %s, written were %s",
                    full, expected, entry);
    return 0;
}

struct names {
    struct heap *heap;
    char (*at)[OBJECTS_NAME_MAX + 1];
    unsigned count, room;
};

static int remember(void *arg, const char *name, const struct objects_stat *stat)
{
    struct names *n = arg;

    (void)stat;
    if (n->count == n->room) {
        unsigned room = MAX(2 * n->room, 64u);
        void *more = heap_alloc(n->heap, room * sizeof(*n->at));

        if (n->count)
            memcpy(more, n->at, n->count * sizeof(*n->at));
        heap_free(n->heap, n->at);
        n->at = more;
        n->room = room;
    }
    snprintf(n->at[n->count++], sizeof(*n->at), "%s", name);
    return 0;
}

static int delete_below(struct objects *objects, struct heap *heap, const char *prefix,
                        struct error *err)
{
    struct names names = { .heap = heap };
    int rc = objects_list(objects, prefix, remember, &names, err);

    for (unsigned i = 0; !rc && i < names.count; i++)
        rc = objects_delete(objects, names.at[i], err);
    heap_free(heap, names.at);
    return rc;
}

int base_delete(struct objects *objects, struct heap *heap, uint64_t step, struct error *err)
{
    char manifest[OBJECTS_NAME_MAX + 1], prefix[64];
    int rc;

    base_name(manifest, sizeof(manifest), step, "manifest");
    base_name(prefix, sizeof(prefix), step, "");
    rc = objects_delete(objects, manifest, err);
    return rc ? rc : delete_below(objects, heap, prefix, err);
}

int base_delete_all(struct objects *objects, struct heap *heap, struct error *err)
{
    return delete_below(objects, heap, "base/", err);
}
