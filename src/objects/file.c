/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects as files of a folder: the name is the path. A value is written to a temporary file
 * beside its place and then renamed (put) or linked (create) there, so that it appears whole or
 * not at all whenever its writer is killed. Nothing is flushed to the disk: this store
 * survives the death of processes, not that of the machine.
 *
 * Temporary names hold a '~', which no object's name can: they are never listed, and one that a
 * killed writer left is only dead weight.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "objects/objects.h"

#define TEMP_MAX (OBJECTS_NAME_MAX + 48)

struct file_objects {
    struct objects base;
    int root;          /* the folder */
    unsigned attempts; /* numbers temporary files */
    char path[];       /* the folder's name, for messages */
};

static struct file_objects *file(struct objects *o)
{
    assert(o->ops == &objects_file);
    return container_of(o, struct file_objects, base);
}

/* A sentence for what the system answered to an attempt to VERB the object NAME. */
static int fail_errno(struct file_objects *f, const char *verb, const char *name, struct error *err)
{
    int code = errno;

    switch (code) {
    case ENOENT:
        return fail(err, E_NOT_FOUND, "there is no object '%s' in %s", name, f->path);
    case EEXIST:
        return fail(err, E_EXISTS, "object '%s' exists already in %s", name, f->path);
    case ENOTDIR:
    case EISDIR:
    case ENOTEMPTY:
        return fail(err, E_INVALID, "'%s' is the folder of an object, or inside an object", name);
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return fail(err, E_FULL, "no room left in %s to %s '%s': %s", f->path, verb, name,
                    strerror(code));
    default:
        return fail(err, E_IO, "cannot %s '%s' in %s: %s", verb, name, f->path, strerror(code));
    }
}

/* How often a clash of temporary names, or with a deletion, is tried again. */
#define TEMP_TRIES 100

/* Make every folder on the way to PATH below ROOT. */
static int make_folders(int root, const char *path)
{
    char folder[4096];

    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
        if (mkdirat(root, folder, 0777) < 0 && errno != EEXIST)
            return -1;
    }
    return 0;
}

static int file_open(const char *where, const struct objects_open *open, struct objects **out,
                     struct error *err)
{
    size_t size = strlen(where);
    struct file_objects *f;
    char *folder;
    int root;

    if (size == 0 || size > 4000)
        return fail(err, E_INVALID, "'file:%.80s' does not name a folder", where);
    folder = heap_alloc(open->heap, size + 2);
    snprintf(folder, size + 2, "%s/", where);
    root = !open->existing && make_folders(AT_FDCWD, folder) < 0
               ? -1
               : openat(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    heap_free(open->heap, folder);
    if (root < 0 && open->existing && errno == ENOENT)
        return fail(err, E_NOT_FOUND, "there is no folder %s", where);
    if (root < 0 && (errno == ENOTDIR || errno == EEXIST))
        return fail(err, E_INVALID, "%s is not a folder, nor can one be made there", where);
    if (root < 0 && (errno == EACCES || errno == EPERM || errno == EROFS))
        return fail(err, E_INVALID, "this user may not use the folder %s: %s", where,
                    strerror(errno));
    if (root < 0)
        return fail(err, errno == ENOSPC ? E_FULL : E_IO, "cannot open the folder %s: %s", where,
                    strerror(errno));
    f = heap_alloc(open->heap, sizeof(*f) + size + 1);
    f->base = (struct objects){ .ops = &objects_file, .env = open->env, .heap = open->heap };
    f->root = root;
    memcpy(f->path, where, size + 1);
    *out = &f->base;
    return 0;
}

static void file_close(struct objects *o)
{
    struct file_objects *f = file(o);

    close(f->root);
    heap_free(o->heap, f);
}

/* Open a new temporary file beside NAME. The process's number makes clashes rare, O_EXCL harmless.
 */
static int open_temp(struct file_objects *f, const char *name, char *temp)
{
    for (unsigned tries = 0;; tries++) {
        int fd;

        snprintf(temp, TEMP_MAX, "%s~%ld.%u", name, (long)getpid(), f->attempts++);
        fd = openat(f->root, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || (errno != EEXIST && errno != ENOENT) || tries == TEMP_TRIES)
            return fd;
        /* A folder may be missing, or go away again when its last object is deleted. */
        if (errno == ENOENT && make_folders(f->root, name) < 0)
            return -1;
    }
}

static int write_all(int fd, struct slice value)
{
    const char *at = value.data;

    while (value.size > 0) {
        ssize_t n = write(fd, at, MIN(value.size, 64 * MIB));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        at += n;
        value.size -= (size_t)n;
    }
    return 0;
}

/* VALUE in a temporary file beside NAME, whose name is stored in TEMP (TEMP_MAX bytes). */
static int write_temp(struct file_objects *f, const char *name, struct slice value, char *temp)
{
    int fd = open_temp(f, name, temp), rc, saved;

    if (fd < 0)
        return -1;
    rc = write_all(fd, value);
    saved = errno;
    if (close(fd) < 0 && rc == 0) {
        rc = -1;
        saved = errno;
    }
    if (rc < 0)
        unlinkat(f->root, temp, 0);
    errno = saved;
    return rc;
}

static int file_put(struct objects *o, const char *name, struct slice value, struct error *err)
{
    struct file_objects *f = file(o);
    char temp[TEMP_MAX];
    int rc;

    if (write_temp(f, name, value, temp) < 0)
        return fail_errno(f, "write", name, err);
    if (renameat(f->root, temp, f->root, name) == 0)
        return 0;
    rc = fail_errno(f, "write", name, err);
    unlinkat(f->root, temp, 0);
    return rc;
}

static int file_create(struct objects *o, const char *name, struct slice value, struct error *err)
{
    struct file_objects *f = file(o);
    char temp[TEMP_MAX];
    struct stat st;
    int rc = 0;

    if (fstatat(f->root, name, &st, 0) == 0) {
        errno = S_ISDIR(st.st_mode) ? EISDIR : EEXIST;
        return fail_errno(f, "create", name, err);
    }
    if (write_temp(f, name, value, temp) < 0)
        return fail_errno(f, "create", name, err);
    if (linkat(f->root, temp, f->root, name, 0) < 0)
        rc = fail_errno(f, "create", name, err);
    unlinkat(f->root, temp, 0);
    return rc;
}

/* Open the object NAME to read; -1 with errno. */
static int open_object(struct file_objects *f, const char *name, struct stat *st)
{
    int fd = openat(f->root, name, O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        if (errno == ENOTDIR)
            errno = ENOENT;
        return -1;
    }
    if (fstat(fd, st) == 0 && S_ISREG(st->st_mode))
        return fd;
    close(fd);
    errno = ENOENT;
    return -1;
}

static int file_get(struct objects *o, const char *name, uint64_t offset, size_t size, void *into,
                    size_t *got, struct error *err)
{
    struct file_objects *f = file(o);
    struct stat st;
    int fd = open_object(f, name, &st), rc = 0;
    size_t done = 0;

    if (fd < 0)
        return fail_errno(f, "read", name, err);
    while (done < size && offset + done < (uint64_t)st.st_size) {
        ssize_t n = pread(fd, (char *)into + done, size - done, (off_t)(offset + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            rc = fail_errno(f, "read", name, err);
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    close(fd);
    if (!rc)
        *got = done;
    return rc;
}

static int file_map(struct objects *o, const char *name, struct slice *out, struct error *err)
{
    struct file_objects *f = file(o);
    struct stat st;
    int fd = open_object(f, name, &st), rc = 0;
    int flags = MAP_SHARED;
    void *at;

#ifdef MAP_POPULATE
    flags |= MAP_POPULATE;
#endif
    if (fd < 0)
        return fail_errno(f, "read", name, err);
    if (st.st_size == 0) {
        *out = slice("", 0);
        goto out;
    }
    at = mmap(NULL, (size_t)st.st_size, PROT_READ, flags, fd, 0);
    if (at == MAP_FAILED)
        rc = fail_errno(f, "map", name, err);
    else
        *out = slice(at, (size_t)st.st_size);
out:
    close(fd);
    return rc;
}

static void file_unmap(struct objects *o UNUSED, struct slice view)
{
    if (view.size)
        munmap((void *)view.data, view.size);
}

struct names {
    struct heap *heap;
    char **names;
    size_t count, room;
};

static void names_add(struct names *n, const char *name)
{
    if (n->count == n->room) {
        size_t room = MAX(2 * n->room, (size_t)64);
        char **names = heap_alloc(n->heap, room * sizeof(*names));

        if (n->count)
            memcpy(names, n->names, n->count * sizeof(*names));
        heap_free(n->heap, n->names);
        n->names = names;
        n->room = room;
    }
    n->names[n->count++] = heap_strdup(n->heap, name);
}

static void names_release(struct names *n)
{
    for (size_t i = 0; i < n->count; i++)
        heap_free(n->heap, n->names[i]);
    heap_free(n->heap, n->names);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Whether PATH can be, or can lead to, a name that begins with PREFIX. */
static bool may_match(const char *path, const char *prefix)
{
    size_t n = strlen(path), m = strlen(prefix);

    return strncmp(path, prefix, MIN(n, m)) == 0;
}

/* Add the objects below FOLDER ("" or ending in '/') that begin with PREFIX, in no order. */
static int walk(struct file_objects *f, const char *folder, const char *prefix, struct names *out)
{
    int fd = openat(f->root, folder[0] ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *d;
    int rc = 0;

    if (!dir) {
        if (fd >= 0)
            close(fd);
        return errno == ENOENT ? 0 : -1;
    }
    while (rc == 0 && (d = readdir(dir))) {
        char path[OBJECTS_NAME_MAX + 2];
        struct stat st;
        int size = snprintf(path, sizeof(path), "%s%s", folder, d->d_name);

        if (size < 0 || size > OBJECTS_NAME_MAX || !objects_name_ok(path) ||
            !may_match(path, prefix) || fstatat(f->root, path, &st, 0) < 0)
            continue;
        if (S_ISREG(st.st_mode) && strncmp(path, prefix, strlen(prefix)) == 0)
            names_add(out, path);
        if (S_ISDIR(st.st_mode)) {
            snprintf(path + size, sizeof(path) - (size_t)size, "/");
            if (may_match(path, prefix))
                rc = walk(f, path, prefix, out);
        }
    }
    closedir(dir);
    return rc;
}

static uint64_t changed_ns(const struct stat *st)
{
    return (uint64_t)st->st_mtim.tv_sec * NS_PER_S + (uint64_t)st->st_mtim.tv_nsec;
}

static int file_list(struct objects *o, const char *prefix, objects_list_fn each, void *arg,
                     struct error *err)
{
    struct file_objects *f = file(o);
    struct names names = { .heap = o->heap };
    int rc = 0;

    if (walk(f, "", prefix, &names) < 0)
        rc = fail_errno(f, "list", prefix, err);
    if (names.count)
        qsort(names.names, names.count, sizeof(*names.names), compare_names);
    for (size_t i = 0; i < names.count && !rc; i++) {
        struct stat st;

        /* One that was deleted since is no longer listed. */
        if (fstatat(f->root, names.names[i], &st, 0) == 0) {
            struct objects_stat stat = { (uint64_t)st.st_size, changed_ns(&st) };

            rc = each(arg, names.names[i], &stat);
        }
    }
    names_release(&names);
    return rc;
}

static int file_stat(struct objects *o, const char *name, struct objects_stat *out,
                     struct error *err)
{
    struct file_objects *f = file(o);
    struct stat st;
    int rc = fstatat(f->root, name, &st, 0);

    if (rc == 0 && !S_ISREG(st.st_mode)) {
        errno = ENOENT;
        rc = -1;
    }
    if (rc < 0) {
        if (errno == ENOTDIR)
            errno = ENOENT;
        return fail_errno(f, "read", name, err);
    }
    *out = (struct objects_stat){ (uint64_t)st.st_size, changed_ns(&st) };
    return 0;
}

/* Folders are no objects: those that held only NAME go with it. Writers make them anew. */
static void remove_folders_of(struct file_objects *f, const char *name)
{
    char folder[OBJECTS_NAME_MAX + 1];
    char *slash;

    snprintf(folder, sizeof(folder), "%s", name);
    while ((slash = strrchr(folder, '/'))) {
        *slash = 0;
        if (unlinkat(f->root, folder, AT_REMOVEDIR) < 0)
            return;
    }
}

static int file_delete(struct objects *o, const char *name, struct error *err)
{
    struct file_objects *f = file(o);

    if (unlinkat(f->root, name, 0) == 0) {
        remove_folders_of(f, name);
        return 0;
    }
    if (errno == ENOENT || errno == ENOTDIR || errno == EISDIR)
        return 0;
    return fail_errno(f, "delete", name, err);
}

const struct objects_ops objects_file = {
    .name = "file",
    .open = file_open,
    .put = file_put,
    .create = file_create,
    .get = file_get,
    .map = file_map,
    .unmap = file_unmap,
    .list = file_list,
    .stat = file_stat,
    .delete = file_delete,
    .close = file_close,
};
