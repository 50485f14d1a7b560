/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory file of the `shm` store: where everything lies in it, how it is made, and the
 * mappings of this process. What is in it means nothing here.
 */
#include "params/shm_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE ((size_t)4096)

/* ---- the plan ---- */

/* Adds up regions; one that does not fit into a size_t marks the whole as failed. */
struct planner {
    size_t at;
    bool failed;
};

static size_t region(struct planner *p, size_t count, size_t size, size_t align)
{
    size_t bytes, start, end;

    if (__builtin_mul_overflow(count, size, &bytes) ||
        __builtin_add_overflow(p->at, align - 1, &start)) {
        p->failed = true;
        return 0;
    }
    start &= ~(align - 1);
    if (__builtin_add_overflow(start, bytes, &end) || end > SIZE_MAX / 2)
        p->failed = true;
    else
        p->at = end;
    return start;
}

static uint32_t count_slots(const struct params_layout *l)
{
    size_t by_size = MIN(l->general_bytes / KIB, (size_t)1 << 20);

    return (uint32_t)MAX(by_size, 64) + l->ranks + l->spares;
}

int shm_make_plan(const struct params_layout *l, struct shm_plan *plan, struct error *err)
{
    struct planner p = { .at = sizeof(struct shm_file) };
    uint64_t seats = (uint64_t)l->ranks + l->spares;
    size_t kept = l->sums_kept, shards = l->shards;

    if (seats > SHM_PLACES_MAX || kept + 1 > SHM_PLACES_MAX)
        return fail(err, E_LIMIT,
                    "a shared-memory store has at most %u ranks and spares, not %" PRIu64,
                    SHM_PLACES_MAX, seats);
    *plan = (struct shm_plan){
        .seat_count = (uint32_t)seats,
        .log_count = (uint32_t)seats,
        .handle_count = (uint32_t)(2 * seats + 16),
        /* One more than is kept, so that a result can be written while all kept ones are read. */
        .banks = (uint32_t)kept + 1,
        .slot_count = count_slots(l),
    };
    plan->bucket_count = plan->slot_count;
    plan->handles = region(&p, plan->handle_count, sizeof(struct shm_handle), CACHE_LINE);
    plan->ranks = region(&p, l->ranks, sizeof(struct shm_rank), CACHE_LINE);
    plan->seats = region(&p, plan->seat_count, sizeof(struct shm_seat), CACHE_LINE);
    plan->shards = region(&p, shards, sizeof(struct shm_shard), CACHE_LINE);
    plan->sum_words = region(&p, kept * shards, sizeof(uint64_t), CACHE_LINE);
    plan->sum_claims = region(&p, (kept + 1) * shards, sizeof(uint64_t), CACHE_LINE);
    plan->sum_pieces = region(&p, (kept + 1) * shards, sizeof(struct shm_piece), CACHE_LINE);
    plan->logs = region(&p, plan->log_count, sizeof(struct shm_log), CACHE_LINE);
    plan->slots = region(&p, plan->slot_count, sizeof(struct shm_slot), CACHE_LINE);
    plan->buckets = region(&p, plan->bucket_count, sizeof(uint32_t), CACHE_LINE);
    plan->control = region(&p, 1, sizeof(struct shm_control), CACHE_LINE);
    plan->part_header = round_up(shards * sizeof(struct shm_piece), CACHE_LINE);
    plan->part_stride = round_up(plan->part_header + l->part_bytes, PAGE);
    plan->room = params_sum_room(l);
    plan->bank_stride = round_up(plan->room * shards, PAGE);
    plan->parts = region(&p, 2 * seats, plan->part_stride, PAGE);
    plan->sums = region(&p, plan->banks, plan->bank_stride, PAGE);
    plan->general = region(&p, 1, round_up(l->general_bytes, PAGE), PAGE);
    if (p.failed || l->general_bytes > SIZE_MAX / 4 || plan->room > SIZE_MAX / 4 / shards)
        return fail(err, E_LIMIT, "a shared-memory store of this layout has no size");
    plan->total = round_up(p.at, PAGE);
    return 0;
}

int params_shm_size(const struct params_layout *layout, size_t *out, struct error *err)
{
    struct shm_plan plan;
    int rc = shm_make_plan(layout, &plan, err);

    if (!rc)
        *out = plan.total;
    return rc;
}

/* ---- is there room ---- */

/* The number after LABEL at the start of a line of a small file, or UINT64_MAX. */
static uint64_t read_number(const char *path, const char *label)
{
    char line[256];
    uint64_t value = UINT64_MAX;
    FILE *f = fopen(path, "re");

    if (!f)
        return UINT64_MAX;
    while (value == UINT64_MAX && fgets(line, sizeof(line), f)) {
        size_t n = strlen(label);

        if (strncmp(line, label, n) == 0 && sscanf(line + n, " %" SCNu64, &value) != 1)
            break;
    }
    fclose(f);
    return value;
}

/* What a control group has left: its limit, less what it uses but for the file cache it can drop.
 */
static uint64_t group_room(const char *folder, const char *limit, const char *usage,
                           const char *cache)
{
    char path[512];
    uint64_t max, used, idle;

    snprintf(path, sizeof(path), "%s/%s", folder, limit);
    max = read_number(path, "");
    snprintf(path, sizeof(path), "%s/%s", folder, usage);
    used = read_number(path, "");
    if (max == UINT64_MAX || used == UINT64_MAX)
        return UINT64_MAX;
    snprintf(path, sizeof(path), "%s/memory.stat", folder);
    idle = read_number(path, cache);
    if (idle != UINT64_MAX)
        used -= MIN(idle, used);
    return max > used ? max - used : 0;
}

/*
 * The least room of this process's control group and those above it, in either version. A
 * path that is not there (containers see their own group as the root) says nothing.
 */
static uint64_t groups_room(void)
{
    char line[400], folder[480];
    uint64_t least = UINT64_MAX;
    FILE *f = fopen("/proc/self/cgroup", "re");

    if (!f)
        return least;
    while (fgets(line, sizeof(line), f)) {
        bool v2 = strncmp(line, "0::", 3) == 0;
        char *v1 = strstr(line, ":memory:"), *path = v2 ? line + 3 : v1 ? v1 + 8 : NULL;

        if (!path)
            continue;
        path[strcspn(path, "\n")] = 0;
        for (;;) {
            char *slash;

            snprintf(folder, sizeof(folder), "/sys/fs/cgroup%s%s", v2 ? "" : "/memory", path);
            least =
                MIN(least, v2 ? group_room(folder, "memory.max", "memory.current", "inactive_file ")
                              : group_room(folder, "memory.limit_in_bytes", "memory.usage_in_bytes",
                                           "total_inactive_file "));
            slash = strrchr(path, '/');
            if (!slash)
                break;
            *slash = 0;
        }
    }
    fclose(f);
    return least;
}

/* Asked before touching, because the kernel answers later by killing somebody. */
static int check_room(size_t need, struct error *err)
{
    uint64_t free_kib = read_number("/proc/meminfo", "MemAvailable:");
    uint64_t room = MIN(free_kib == UINT64_MAX ? UINT64_MAX : free_kib * KIB, groups_room());

    if (need > room)
        return fail(err, E_FULL,
                    "the shared-memory store needs %zu MiB and this machine has %zu MiB left: "
                    "use fewer workers, a smaller model or a machine with more memory",
                    need / MIB + 1, (size_t)(room / MIB));
    return 0;
}

/* ---- making the file ---- */

static int no_room(size_t need, struct error *err)
{
    if (errno == ENOSPC || errno == ENOMEM || errno == EFBIG)
        return fail(err, E_FULL, "the shared-memory store needs %zu MiB and there is no room: %s",
                    need / MIB + 1, strerror(errno));
    return fail(err, E_IO, "cannot make a memory file of %zu MiB: %s", need / MIB + 1,
                strerror(errno));
}

/*
 * Pages are charged to whoever touches them first: that must be the client, not a function
 * with a small memory limit. Allocating alone leaves them to be cleared at first use, which
 * would happen in the first steps.
 */
static int touch(void *at, size_t size, struct error *err)
{
#ifdef MADV_POPULATE_WRITE
    if (madvise(at, size, MADV_POPULATE_WRITE) == 0)
        return 0;
    if (errno != EINVAL)
        return no_room(size, err);
#endif
    for (size_t i = 0; i < size; i += PAGE)
        ((volatile char *)at)[i] = 0;
    (void)err;
    return 0;
}

static int init_lock(pthread_mutex_t *lock, struct error *err)
{
    pthread_mutexattr_t attr;
    int rc;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    rc = pthread_mutex_init(lock, &attr);
    pthread_mutexattr_destroy(&attr);
    return rc ? fail(err, E_IO, "cannot make a lock for processes: %s", strerror(rc)) : 0;
}

static int fill_file(int fd, const struct params_layout *l, const struct shm_plan *plan,
                     struct error *err)
{
    struct shm_file *file;
    int rc;

    if (ftruncate(fd, (off_t)plan->total) < 0 || fallocate(fd, 0, 0, (off_t)plan->total) < 0)
        return no_room(plan->total, err);
    /* Nobody can pull the file from under those who map it. */
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        return fail(err, E_IO, "cannot seal a memory file: %s", strerror(errno));
    file = mmap(NULL, plan->total, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (file == MAP_FAILED)
        return no_room(plan->total, err);
    rc = touch(file, plan->total, err);
    if (!rc)
        rc = init_lock(&file->lock, err);
    if (!rc) {
        file->magic = SHM_MAGIC;
        file->layout = *l;
        file->plan = *plan;
        atomic_store_explicit(&file->ready, 1, memory_order_release);
    }
    munmap(file, plan->total);
    return rc;
}

int shm_file_create(const struct params_layout *l, int *fd, struct error *err)
{
    struct shm_plan plan;
    int made, rc = shm_make_plan(l, &plan, err);

    if (!rc)
        rc = check_room(plan.total, err);
    if (rc)
        return rc;
    made = memfd_create("gust-params", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (made < 0)
        return no_room(plan.total, err);
    rc = fill_file(made, l, &plan, err);
    if (rc)
        close(made);
    else
        *fd = made;
    return rc;
}

/* ---- mappings of this process ---- */

/*
 * The handles of one process share one mapping: it costs less, and the thread sanitizer, which
 * knows addresses and not pages, can see what they do to each other.
 */
static pthread_mutex_t maps_lock = PTHREAD_MUTEX_INITIALIZER;
static struct shm_map *maps;

static struct shm_map *find_map(const struct stat *st)
{
    struct shm_map *m = maps;

    while (m && (m->device != st->st_dev || m->inode != st->st_ino))
        m = m->next;
    return m;
}

static bool is_store(const struct shm_file *file, size_t size)
{
    struct shm_plan plan;

    return file->magic == SHM_MAGIC &&
           atomic_load_explicit(&file->ready, memory_order_acquire) == 1 &&
           shm_make_plan(&file->layout, &plan, NULL) == 0 &&
           memcmp(&plan, &file->plan, sizeof(plan)) == 0 && plan.total == size;
}

static int map_new(int fd, const struct stat *st, struct shm_map **out, struct error *err)
{
    size_t size = (size_t)st->st_size;
    struct shm_file *file;
    struct shm_map *m;

    if (!S_ISREG(st->st_mode) || size < sizeof(struct shm_file))
        return fail(err, E_FORMAT, "descriptor %d is not a shared-memory store", fd);
    file = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (file == MAP_FAILED)
        return fail(err, E_IO, "cannot map a shared-memory store of %zu bytes: %s", size,
                    strerror(errno));
    m = malloc(sizeof(*m));
    if (!m || !is_store(file, size)) {
        bool got = m;

        free(m);
        munmap(file, size);
        return got ? fail(err, E_FORMAT, "descriptor %d is not a store of this version", fd)
                   : fail(err, E_MEMORY, "no memory for a mapping");
    }
    *m = (struct shm_map){
        .next = maps, .device = st->st_dev, .inode = st->st_ino, .size = size, .file = file
    };
    maps = m;
    *out = m;
    return 0;
}

int shm_map_open(int fd, struct shm_map **out, struct error *err)
{
    struct shm_map *m;
    struct stat st;
    int rc = 0;

    if (fstat(fd, &st) < 0)
        return fail(err, E_IO, "cannot look at descriptor %d: %s", fd, strerror(errno));
    pthread_mutex_lock(&maps_lock);
    m = find_map(&st);
    if (!m)
        rc = map_new(fd, &st, &m, err);
    if (!rc) {
        m->users++;
        *out = m;
    }
    pthread_mutex_unlock(&maps_lock);
    return rc;
}

void shm_map_close(struct shm_map *map)
{
    struct shm_map **link = &maps;

    pthread_mutex_lock(&maps_lock);
    if (--map->users == 0) {
        while (*link != map)
            link = &(*link)->next;
        *link = map->next;
        munmap(map->file, map->size);
        free(map);
    }
    pthread_mutex_unlock(&maps_lock);
}
