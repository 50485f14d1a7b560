/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/base.h"

#include <inttypes.h>
#include <stdlib.h>

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

static int read_props(struct base_reader *r, const char *name, struct props *out, struct error *err)
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
        rc =
            fail(err, E_MISMATCH, "base %" PRIu64 " belongs to another model or data set", r->step);
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

/* Whether BYTES are what was written as NAME, whose entry in the index is ENTRY. */
static int check_bytes(const struct base_reader *r, const char *name, const char *entry,
                       struct slice bytes, struct error *err)
{
    char expected[64];

    snprintf(expected, sizeof(expected), "%zu %08" PRIx32, bytes.size,
             crc32c(0, bytes.data, bytes.size));
    if (strcmp(entry, expected) != 0)
        return fail(err, E_FORMAT,
                    "'%s' of base %" PRIu64
                    " is damaged: size and checksum are %s, written were %s",
                    name, r->step, expected, entry);
    return 0;
}

bool base_has(const struct base_reader *r, const char *name, size_t *size)
{
    const char *entry = props_find(&r->index, name);

    if (entry && size)
        *size = strtoull(entry, NULL, 10);
    return entry != NULL;
}

int base_read(struct base_reader *r, const char *name, void *into, size_t size, struct error *err)
{
    const char *entry = props_find(&r->index, name);
    char full[OBJECTS_NAME_MAX + 1];
    size_t got = 0;
    int rc;

    if (!entry)
        return fail(err, E_FORMAT, "base %" PRIu64 " has no '%s'", r->step, name);
    base_name(full, sizeof(full), r->step, name);
    rc = objects_get(r->objects, full, 0, size, into, &got, err);
    if (!rc)
        rc = check_bytes(r, name, entry, slice(into, got), err);
    if (!rc && got != size)
        rc = fail(err, E_FORMAT, "'%s' has %zu bytes, %zu were expected", full, got, size);
    return rc;
}

/* The object that holds the rows of LANE; *LO and *HI become the lanes that it has. */
static const struct props_item *find_private(const struct base_reader *r, unsigned group,
                                             uint32_t lane, uint32_t *lo, uint32_t *hi)
{
    for (unsigned i = 0; i < r->index.count; i++) {
        unsigned g;

        if (sscanf(r->index.items[i].key, "private-%u-%" SCNu32 "-%" SCNu32, &g, lo, hi) == 3 &&
            g == group && *lo <= lane && lane < *hi)
            return &r->index.items[i];
    }
    return NULL;
}

/* Copy the rows of lanes FROM .. TO-1 out of the object ITEM, whose first lane is LO. */
static int copy_private(struct base_reader *r, const struct base_private *p,
                        const struct props_item *item, uint32_t lo, uint32_t from, uint32_t to,
                        float *into, struct error *err)
{
    size_t row = p->stride * sizeof(float);
    size_t skip = (p->key_first[from] - p->key_first[lo]) * row;
    size_t size = (p->key_first[to] - p->key_first[from]) * row;
    char full[OBJECTS_NAME_MAX + 1];
    struct slice bytes;
    int rc;

    base_name(full, sizeof(full), r->step, item->key);
    rc = objects_map(r->objects, full, &bytes, err);
    if (rc)
        return rc;
    rc = check_bytes(r, item->key, item->value, bytes, err);
    if (!rc && (skip > bytes.size || size > bytes.size - skip))
        rc = fail(err, E_FORMAT, "'%s' has %zu bytes, at least %zu were expected", full, bytes.size,
                  skip + size);
    if (!rc && size)
        memcpy(into + (p->key_first[from] - p->key_first[p->lo]) * p->stride,
               (const char *)bytes.data + skip, size);
    objects_unmap(r->objects, bytes);
    return rc;
}

int base_read_private(struct base_reader *r, const struct base_private *p, float *into,
                      struct error *err)
{
    uint32_t lane = p->lo, lo, hi;
    int rc = 0;

    while (!rc && lane < p->hi) {
        const struct props_item *item = find_private(r, p->group, lane, &lo, &hi);

        if (!item)
            return fail(err, E_FORMAT, "base %" PRIu64 " has no rows of group %u for lane %" PRIu32,
                        r->step, p->group, lane);
        rc = copy_private(r, p, item, lo, lane, MIN(hi, p->hi), into, err);
        lane = MIN(hi, p->hi);
    }
    return rc;
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
