/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects in this process's memory: one store per name, shared by all handles opened with that
 * name and gone with the last of them. The complete reference for other backends, and what the
 * twin runs on. Times are a count of changes, so that equal runs list equal times.
 */
#include "objects/memory.h"

#include <assert.h>
#include <pthread.h>

/* Immutable bytes; readers hold a reference while they copy or view them. */
struct value {
    unsigned refs; /* under the lock */
    uint64_t changed;
    size_t size;
    _Alignas(CACHE_LINE) unsigned char bytes[];
};

struct entry {
    char *name;
    struct value *value;
};

struct store {
    struct store *next;
    char *name;
    unsigned handles;
    uint64_t clock;
    struct entry *entries; /* in the order of strcmp() */
    size_t count, room;
};

/*
 * What a handle holds. Not in its function's heap, which the twin drops: by then
 * objects_memory_forget() must still be able to let go of it.
 */
struct holding {
    struct holding *next;
    const struct env *env;
    struct store *store;
    struct value **views; /* mapped and not yet unmapped */
    size_t view_count, view_room;
};

struct memory_objects {
    struct objects base;
    struct holding *holding;
};

/* One lock for everything: it is held for look-ups, never while bytes are copied. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct store *stores;
static struct holding *holdings;

static struct holding *holding_of(struct objects *o)
{
    assert(o->ops == &objects_memory);
    return container_of(o, struct memory_objects, base)->holding;
}

static struct store *store_of(struct objects *o)
{
    return holding_of(o)->store;
}

static char *copy_text(const char *text)
{
    char *copy = strdup(text);

    if (!copy)
        heap_exhausted(strlen(text) + 1);
    return copy;
}

static struct store *find_or_add_store(const char *name)
{
    struct store *s;

    for (s = stores; s; s = s->next)
        if (strcmp(s->name, name) == 0)
            return s;
    s = calloc(1, sizeof(*s));
    if (!s) {
        heap_exhausted(sizeof(*s));
        abort();
    }
    s->name = copy_text(name);
    s->next = stores;
    stores = s;
    return s;
}

static int memory_open(const char *where, const struct objects_open *open, struct objects **out,
                       struct error *err UNUSED)
{
    struct memory_objects *m = heap_alloc(open->heap, sizeof(*m));
    struct holding *h = calloc(1, sizeof(*h));

    if (!h) {
        heap_exhausted(sizeof(*h));
        abort();
    }
    h->env = open->env;
    m->holding = h;
    m->base = (struct objects){ .ops = &objects_memory, .env = open->env, .heap = open->heap };
    pthread_mutex_lock(&lock);
    h->store = find_or_add_store(where);
    h->store->handles++;
    h->next = holdings;
    holdings = h;
    pthread_mutex_unlock(&lock);
    *out = &m->base;
    return 0;
}

/* Under the lock. */
static void unref(struct value *v)
{
    if (v && --v->refs == 0)
        free(v);
}

/* Under the lock. */
static void remove_store(struct store *s)
{
    struct store **at = &stores;

    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    for (size_t i = 0; i < s->count; i++) {
        unref(s->entries[i].value);
        free(s->entries[i].name);
    }
    free(s->entries);
    free(s->name);
    free(s);
}

/* Under the lock: let go of everything that *AT holds. */
static void remove_holding(struct holding **at)
{
    struct holding *h = *at;

    *at = h->next;
    for (size_t i = 0; i < h->view_count; i++)
        unref(h->views[i]);
    if (--h->store->handles == 0)
        remove_store(h->store);
    free(h->views);
    free(h);
}

static void memory_close(struct objects *o)
{
    struct holding *h = holding_of(o), **at = &holdings;

    pthread_mutex_lock(&lock);
    while (*at != h)
        at = &(*at)->next;
    remove_holding(at);
    pthread_mutex_unlock(&lock);
    heap_free(o->heap, container_of(o, struct memory_objects, base));
}

void objects_memory_forget(const struct env *env)
{
    struct holding **at = &holdings;

    pthread_mutex_lock(&lock);
    while (*at) {
        if ((*at)->env == env)
            remove_holding(at);
        else
            at = &(*at)->next;
    }
    pthread_mutex_unlock(&lock);
}

/* The first entry that is not before NAME. */
static size_t lower_bound(const struct store *s, const char *name)
{
    size_t from = 0, to = s->count;

    while (from < to) {
        size_t middle = (from + to) / 2;

        if (strcmp(s->entries[middle].name, name) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static struct entry *find(const struct store *s, const char *name)
{
    size_t i = lower_bound(s, name);

    return i < s->count && strcmp(s->entries[i].name, name) == 0 ? &s->entries[i] : NULL;
}

/* Whether an object lies in the folder NAME, or has a folder of NAME as its own name. */
static bool is_folder_clash(const struct store *s, const char *name)
{
    char path[OBJECTS_NAME_MAX + 2];
    size_t i;

    snprintf(path, sizeof(path), "%s/", name);
    i = lower_bound(s, path);
    if (i < s->count && strncmp(s->entries[i].name, path, strlen(path)) == 0)
        return true;
    path[strlen(name)] = 0;
    for (char *slash = strrchr(path, '/'); slash; slash = strrchr(path, '/')) {
        *slash = 0;
        if (find(s, path))
            return true;
    }
    return false;
}

/* Under the lock. Takes over the reference to V on success. */
static int insert(struct store *s, const char *name, struct value *v, bool replace,
                  struct error *err)
{
    struct entry *e = find(s, name);
    size_t i;

    if (e && !replace)
        return fail(err, E_EXISTS, "object '%s' exists already", name);
    v->changed = ++s->clock;
    if (e) {
        unref(e->value);
        e->value = v;
        return 0;
    }
    if (is_folder_clash(s, name))
        return fail(err, E_INVALID, "'%s' is the folder of an object, or inside an object", name);
    if (s->count == s->room) {
        size_t room = MAX(2 * s->room, (size_t)64);
        struct entry *entries = realloc(s->entries, room * sizeof(*entries));

        if (!entries)
            return fail(err, E_MEMORY, "no memory for object '%s'", name);
        s->entries = entries;
        s->room = room;
    }
    i = lower_bound(s, name);
    memmove(&s->entries[i + 1], &s->entries[i], (s->count - i) * sizeof(*s->entries));
    s->entries[i] = (struct entry){ copy_text(name), v };
    s->count++;
    return 0;
}

static int store_value(struct objects *o, const char *name, struct slice bytes, bool replace,
                       struct error *err)
{
    size_t total = sizeof(struct value) + round_up(bytes.size, CACHE_LINE);
    struct value *v = total < bytes.size ? NULL : aligned_alloc(CACHE_LINE, total);
    int rc;

    if (!v)
        return fail(err, E_MEMORY, "no memory for object '%s' of %zu bytes", name, bytes.size);
    v->refs = 1;
    v->size = bytes.size;
    if (bytes.size)
        memcpy(v->bytes, bytes.data, bytes.size);
    pthread_mutex_lock(&lock);
    rc = insert(store_of(o), name, v, replace, err);
    pthread_mutex_unlock(&lock);
    if (rc)
        free(v);
    return rc;
}

static int memory_put(struct objects *o, const char *name, struct slice value, struct error *err)
{
    return store_value(o, name, value, true, err);
}

static int memory_create(struct objects *o, const char *name, struct slice value, struct error *err)
{
    return store_value(o, name, value, false, err);
}

/* A reference to NAME's value, or NULL. */
static struct value *take(struct objects *o, const char *name)
{
    struct entry *e;
    struct value *v;

    pthread_mutex_lock(&lock);
    e = find(store_of(o), name);
    v = e ? e->value : NULL;
    if (v)
        v->refs++;
    pthread_mutex_unlock(&lock);
    return v;
}

static void give_back(struct value *v)
{
    pthread_mutex_lock(&lock);
    unref(v);
    pthread_mutex_unlock(&lock);
}

static int absent(const char *name, struct error *err)
{
    return fail(err, E_NOT_FOUND, "there is no object '%s'", name);
}

static int memory_get(struct objects *o, const char *name, uint64_t offset, size_t size, void *into,
                      size_t *got, struct error *err)
{
    struct value *v = take(o, name);

    if (!v)
        return absent(name, err);
    *got = offset >= v->size ? 0 : MIN(size, v->size - (size_t)offset);
    if (*got)
        memcpy(into, v->bytes + offset, *got);
    give_back(v);
    return 0;
}

/* A handle belongs to one thread, so its list of views needs no lock. */
static bool remember_view(struct holding *h, struct value *v)
{
    if (h->view_count == h->view_room) {
        size_t room = MAX(2 * h->view_room, (size_t)8);
        struct value **views = realloc(h->views, room * sizeof(struct value *));

        if (!views)
            return false;
        h->views = views;
        h->view_room = room;
    }
    h->views[h->view_count++] = v;
    return true;
}

static int memory_map(struct objects *o, const char *name, struct slice *out, struct error *err)
{
    struct value *v = take(o, name);

    if (!v)
        return absent(name, err);
    if (!remember_view(holding_of(o), v)) {
        give_back(v);
        return fail(err, E_MEMORY, "no memory to view object '%s'", name);
    }
    *out = slice(v->bytes, v->size);
    return 0;
}

static void memory_unmap(struct objects *o, struct slice view)
{
    struct value *v = container_of(view.data, struct value, bytes);
    struct holding *h = holding_of(o);
    size_t i = h->view_count;

    while (i > 0 && h->views[i - 1] != v)
        i--;
    assert(i > 0);
    h->views[i - 1] = h->views[--h->view_count];
    give_back(v);
}

static int memory_list(struct objects *o, const char *prefix, objects_list_fn each, void *arg,
                       struct error *err UNUSED)
{
    struct store *s = store_of(o);
    char after[OBJECTS_NAME_MAX + 1] = "";
    int rc = 0;

    /* EACH may use the store, so the lock is taken anew for every name. */
    while (!rc) {
        struct objects_stat stat;
        size_t i;
        bool more;

        pthread_mutex_lock(&lock);
        i = lower_bound(s, after[0] ? after : prefix);
        if (after[0] && i < s->count && strcmp(s->entries[i].name, after) == 0)
            i++;
        more = i < s->count && strncmp(s->entries[i].name, prefix, strlen(prefix)) == 0;
        if (more) {
            snprintf(after, sizeof(after), "%s", s->entries[i].name);
            stat = (struct objects_stat){ s->entries[i].value->size, s->entries[i].value->changed };
        }
        pthread_mutex_unlock(&lock);
        if (!more)
            break;
        rc = each(arg, after, &stat);
    }
    return rc;
}

static int memory_stat(struct objects *o, const char *name, struct objects_stat *out,
                       struct error *err)
{
    struct value *v = take(o, name);

    if (!v)
        return absent(name, err);
    *out = (struct objects_stat){ v->size, v->changed };
    give_back(v);
    return 0;
}

static int memory_delete(struct objects *o, const char *name, struct error *err UNUSED)
{
    struct store *s = store_of(o);
    struct entry *e;

    pthread_mutex_lock(&lock);
    e = find(s, name);
    if (e) {
        unref(e->value);
        free(e->name);
        s->count--;
        memmove(e, e + 1, (size_t)(&s->entries[s->count] - e) * sizeof(*e));
    }
    pthread_mutex_unlock(&lock);
    return 0;
}

const struct objects_ops objects_memory = {
    .name = "memory",
    .open = memory_open,
    .put = memory_put,
    .create = memory_create,
    .get = memory_get,
    .map = memory_map,
    .unmap = memory_unmap,
    .list = memory_list,
    .stat = memory_stat,
    .delete = memory_delete,
    .close = memory_close,
};
