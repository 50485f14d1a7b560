/* SPDX-License-Identifier: Apache-2.0 */
/* The wrappers around object stores, and the list of those that a URL can name. */
#include "objects/objects.h"

static const struct objects_ops *const backends[] = { &objects_memory, &objects_file };

int objects_open(const char *url, const struct objects_open *open, struct objects **out,
                 struct error *err)
{
    const char *colon = strchr(url, ':');

    for (size_t i = 0; colon && i < ARRAY_SIZE(backends); i++) {
        const char *name = backends[i]->name;

        if (strlen(name) == (size_t)(colon - url) && memcmp(name, url, strlen(name)) == 0)
            return backends[i]->open(colon + 1, open, out, err);
    }
    return fail(err, E_INVALID,
                "'%s' is not the address of an object store; write file:PATH or memory:NAME", url);
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
}

static bool component_ok(const char *from, size_t size)
{
    if (size == 0 || (size == 1 && from[0] == '.') || (size == 2 && memcmp(from, "..", 2) == 0))
        return false;
    for (size_t i = 0; i < size; i++)
        if (!is_name_char(from[i]))
            return false;
    return true;
}

bool objects_name_ok(const char *name)
{
    if (strlen(name) > OBJECTS_NAME_MAX)
        return false;
    for (;;) {
        size_t size = strcspn(name, "/");

        if (!component_ok(name, size))
            return false;
        if (!name[size])
            return true;
        name += size + 1;
    }
}

static int check_name(const char *name, struct error *err)
{
    if (objects_name_ok(name))
        return 0;
    return fail(err, E_INVALID, "'%.*s' cannot be the name of an object", OBJECTS_NAME_MAX, name);
}

int objects_put(struct objects *o, const char *name, struct slice value, struct error *err)
{
    int rc = check_name(name, err);

    if (rc)
        return rc;
    o->counts.puts++;
    o->counts.bytes_in += value.size;
    return o->ops->put(o, name, value, err);
}

int objects_create(struct objects *o, const char *name, struct slice value, struct error *err)
{
    int rc = check_name(name, err);

    if (rc)
        return rc;
    o->counts.puts++;
    o->counts.bytes_in += value.size;
    return o->ops->create(o, name, value, err);
}

int objects_get(struct objects *o, const char *name, uint64_t offset, size_t size, void *into,
                size_t *got, struct error *err)
{
    int rc = check_name(name, err);

    if (rc)
        return rc;
    o->counts.gets++;
    rc = o->ops->get(o, name, offset, size, into, got, err);
    if (!rc)
        o->counts.bytes_out += *got;
    return rc;
}

/* The first SIZE bytes of NAME; an object that became shorter meanwhile is E_CHANGED. */
static int get_exactly(struct objects *o, const char *name, void *into, size_t size,
                       struct error *err)
{
    size_t got = 0;
    int rc = objects_get(o, name, 0, size, into, &got, err);

    if (!rc && got != size)
        rc = fail_retriable(err, E_CHANGED, "object '%s' changed while it was read", name);
    return rc;
}

int objects_get_all(struct objects *o, const char *name, struct buf *out, struct error *err)
{
    struct objects_stat stat;
    size_t before = out->size;
    void *into;
    int rc = objects_stat(o, name, &stat, err);

    if (rc)
        return rc;
    if (stat.size_bytes > out->max_bytes - before)
        return fail(err, E_LIMIT, "object '%s' has %llu bytes, more than the %zu expected at most",
                    name, (unsigned long long)stat.size_bytes, out->max_bytes - before);
    into = buf_extend(out, (size_t)stat.size_bytes);
    if (!into)
        return fail(err, E_MEMORY, "no memory for object '%s' of %llu bytes", name,
                    (unsigned long long)stat.size_bytes);
    rc = get_exactly(o, name, into, (size_t)stat.size_bytes, err);
    if (rc)
        out->size = before;
    return rc;
}

static int map_by_reading(struct objects *o, const char *name, struct slice *out, struct error *err)
{
    struct objects_stat stat;
    void *copy;
    int rc = objects_stat(o, name, &stat, err);

    if (rc)
        return rc;
    copy = heap_try_alloc_raw(o->heap, 1, (size_t)stat.size_bytes);
    if (!copy)
        return fail(err, E_MEMORY, "no memory for object '%s' of %llu bytes", name,
                    (unsigned long long)stat.size_bytes);
    rc = get_exactly(o, name, copy, (size_t)stat.size_bytes, err);
    if (rc) {
        heap_free(o->heap, copy);
        return rc;
    }
    *out = slice(copy, (size_t)stat.size_bytes);
    return 0;
}

int objects_map(struct objects *o, const char *name, struct slice *out, struct error *err)
{
    int rc = check_name(name, err);

    if (rc)
        return rc;
    if (!o->ops->map)
        return map_by_reading(o, name, out, err);
    o->counts.gets++;
    rc = o->ops->map(o, name, out, err);
    if (!rc)
        o->counts.bytes_out += out->size;
    return rc;
}

void objects_unmap(struct objects *o, struct slice view)
{
    if (o->ops->map)
        o->ops->unmap(o, view);
    else
        heap_free(o->heap, (void *)view.data);
}

int objects_list(struct objects *o, const char *prefix, objects_list_fn each, void *arg,
                 struct error *err)
{
    for (const char *p = prefix; *p; p++)
        if ((!is_name_char(*p) && *p != '/') || p - prefix >= OBJECTS_NAME_MAX)
            return fail(err, E_INVALID, "no object's name can begin with '%.*s'", OBJECTS_NAME_MAX,
                        prefix);
    o->counts.lists++;
    return o->ops->list(o, prefix, each, arg, err);
}

int objects_stat(struct objects *o, const char *name, struct objects_stat *out, struct error *err)
{
    int rc = check_name(name, err);

    if (rc)
        return rc;
    o->counts.gets++;
    return o->ops->stat(o, name, out, err);
}

int objects_delete(struct objects *o, const char *name, struct error *err)
{
    int rc = check_name(name, err);

    if (rc)
        return rc;
    o->counts.deletes++;
    return o->ops->delete (o, name, err);
}

void objects_close(struct objects *o)
{
    if (o)
        o->ops->close(o);
}
