/* SPDX-License-Identifier: Apache-2.0 */
/* Listing the files of an import. */
#include "data/inputs.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "base/random.h"

#define FILES_MAX  65536u
#define DEPTH_MAX  8u
#define PATH_BYTES 4096

void inputs_init(struct inputs *in, struct heap *heap)
{
    *in = (struct inputs){ .heap = heap };
}

void inputs_release(struct inputs *in)
{
    for (unsigned i = 0; i < in->count; i++)
        heap_free(in->heap, in->all[i].path);
    if (in->heap)
        heap_free(in->heap, in->all);
    *in = (struct inputs){ 0 };
}

static int no_input(const char *path, struct error *err)
{
    return fail(err, errno == ENOENT || errno == ENOTDIR ? E_NOT_FOUND : E_INVALID,
                "cannot read %s: %s", path, strerror(errno));
}

static int add_file(struct inputs *in, const char *path, const struct stat *st, bool test,
                    struct error *err)
{
    if (in->count == FILES_MAX)
        return fail(err, E_LIMIT, "there are more than %u files", FILES_MAX);
    if (in->count == in->room) {
        unsigned room = MAX(2 * in->room, 16u);
        struct input *all = heap_alloc(in->heap, room * sizeof(*all));

        if (in->count)
            memcpy(all, in->all, in->count * sizeof(*all));
        heap_free(in->heap, in->all);
        in->all = all;
        in->room = room;
    }
    in->all[in->count++] = (struct input){
        .path = heap_strdup(in->heap, path),
        .size_bytes = (uint64_t)st->st_size,
        .changed_ns = (uint64_t)st->st_mtim.tv_sec * NS_PER_S + (uint64_t)st->st_mtim.tv_nsec,
        .test = test,
    };
    in->size_bytes += (uint64_t)st->st_size;
    return 0;
}

/* The names in a folder, each ended by a zero byte. */
static int read_names(const char *path, struct buf *names, struct error *err)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    if (!dir)
        return no_input(path, err);
    while ((entry = readdir(dir)))
        if (entry->d_name[0] != '.' && entry->d_name[0] != '_')
            buf_add(names, entry->d_name, strlen(entry->d_name) + 1);
    closedir(dir);
    return names->failed ? fail(err, E_LIMIT, "%s holds too many files", path) : 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int add_at(struct inputs *in, const char *path, bool test, unsigned depth,
                  struct error *err);

static int add_folder(struct inputs *in, const char *path, bool test, unsigned depth,
                      struct error *err)
{
    const char **sorted = NULL;
    size_t count = 0, at = 0;
    struct buf names;
    int rc;

    if (depth == DEPTH_MAX)
        return fail(err, E_LIMIT, "%s: folders are more than %u deep", path, DEPTH_MAX);
    buf_init(&names, in->heap, 64 * MIB);
    rc = read_names(path, &names, err);
    for (size_t i = 0; i < names.size; i++)
        count += names.data[i] == 0;
    if (!rc && count)
        sorted = heap_alloc(in->heap, count * sizeof(*sorted));
    for (size_t i = 0; sorted && i < count; i++) {
        sorted[i] = names.data + at;
        at += strlen(sorted[i]) + 1;
    }
    if (sorted)
        qsort(sorted, count, sizeof(*sorted), compare_names);
    for (size_t i = 0; !rc && i < count; i++) {
        char inner[PATH_BYTES];

        if (snprintf(inner, sizeof(inner), "%s/%s", path, sorted[i]) >= (int)sizeof(inner))
            rc = fail(err, E_LIMIT, "%s: a path is too long", path);
        rc = rc ? rc : add_at(in, inner, test, depth + 1, err);
    }
    heap_free(in->heap, sorted);
    buf_release(&names);
    return rc;
}

static int add_at(struct inputs *in, const char *path, bool test, unsigned depth, struct error *err)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return no_input(path, err);
    if (S_ISDIR(st.st_mode))
        return add_folder(in, path, test, depth, err);
    if (!S_ISREG(st.st_mode))
        return fail(err, E_INVALID, "%s is neither a file nor a folder", path);
    return add_file(in, path, &st, test, err);
}

int inputs_add(struct inputs *in, const char *path, bool test, struct error *err)
{
    unsigned before = in->count;
    int rc = add_at(in, path, test, 0, err);

    if (!rc && in->count == before)
        rc = fail(err, E_INVALID, "the folder %s holds no files", path);
    return rc;
}

static uint64_t mix_bytes(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *p = bytes;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ p[i]) * 0x100000001B3ull;
    return random_mix(hash ^ size);
}

uint64_t inputs_key(const struct inputs *in, struct slice options)
{
    uint64_t key = mix_bytes(0xCBF29CE484222325ull, options.data, options.size);

    for (unsigned i = 0; i < in->count; i++) {
        const struct input *f = &in->all[i];
        char *whole = realpath(f->path, NULL);
        const char *path = whole ? whole : f->path;

        key = mix_bytes(key, path, strlen(path));
        key = random_at(key, f->size_bytes, f->changed_ns, f->test);
        free(whole);
    }
    return key ? key : 1;
}

bool inputs_holds(const char *folder, const char *name)
{
    char path[PATH_BYTES];
    struct stat st;

    return snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path) &&
           stat(path, &st) == 0 && S_ISREG(st.st_mode);
}
