/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gust doctor: can this machine train, and how are functions held to their limits? Every
 * check gives one line: ok, a note (it works, but not fully), or a problem (it does not).
 */
#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "platform/local.h"
#include "platform/local_env.h"

#define CHECKS_MAX      16
#define TRIAL_TIMEOUT_S 5

enum level { LEVEL_OK, LEVEL_NOTE, LEVEL_PROBLEM };

static const char *const level_names[] = { "ok", "note", "problem" };

struct check {
    const char *name;
    enum level level;
    char found[LOCAL_PATH_MAX];
    const char *remedy; /* what to do about it; NULL: nothing to do */
};

struct doctor {
    struct heap heap;
    struct env *env;
    struct check checks[CHECKS_MAX];
    unsigned count;
};

static struct check *add(struct doctor *d, const char *name, enum level level, const char *remedy)
{
    struct check *c = &d->checks[d->count++];

    *c = (struct check){ .name = name, .level = level, .remedy = remedy };
    return c;
}

#define say(c, ...) snprintf((c)->found, sizeof((c)->found), __VA_ARGS__)

static const char *kernel_level(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
        return "avx512";
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") ? "avx2" : "sse2";
#else
    return "plain";
#endif
}

static void check_processor(struct doctor *d)
{
    struct check *c = add(d, "processor", LEVEL_OK, NULL);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t usable;

    if (sched_getaffinity(0, sizeof(usable), &usable) == 0)
        cores = CPU_COUNT(&usable);
    say(c, "%ld core%s, kernels for %s", cores, cores == 1 ? "" : "s", kernel_level());
}

/* A line "NAME: N kB" of /proc/meminfo, in bytes; 0 if there is none. */
static uint64_t memory_info(const char *name)
{
    FILE *f = fopen("/proc/meminfo", "re");
    size_t size = strlen(name);
    uint64_t bytes = 0;
    char line[256];

    while (f && !bytes && fgets(line, sizeof(line), f))
        if (strncmp(line, name, size) == 0 && line[size] == ':')
            bytes = strtoull(line + size + 1, NULL, 10) * KIB;
    if (f)
        fclose(f);
    return bytes;
}

static double gib(uint64_t bytes)
{
    return (double)bytes / (double)(1024 * MIB);
}

static void check_memory(struct doctor *d)
{
    uint64_t total = memory_info("MemTotal"), available = memory_info("MemAvailable");
    struct check *c = add(d, "memory", LEVEL_OK, NULL);

    say(c, "%.1f GB, of which %.1f GB are available", gib(total), gib(available));
    if (available && available < 512 * MIB) {
        c->level = LEVEL_NOTE;
        c->remedy = "end other programs, or train with few and small functions";
    }
}

static void check_shared_memory(struct doctor *d)
{
    static const char remedy[] =
        "allow memfd_create and shared mappings for this user or container";
    int fd = memfd_create("gust-doctor", MFD_CLOEXEC);
    void *at = MAP_FAILED;
    struct check *c;

    if (fd >= 0 && ftruncate(fd, (off_t)MIB) == 0)
        at = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    c = add(d, "shared memory", at == MAP_FAILED ? LEVEL_PROBLEM : LEVEL_OK,
            at == MAP_FAILED ? remedy : NULL);
    if (at == MAP_FAILED) {
        say(c, "memory files do not work: %s", strerror(errno));
    } else {
        memset(at, 1, MIB);
        munmap(at, MIB);
        say(c, "memory files work; %.1f GB can be had", gib(memory_info("MemAvailable")));
    }
    if (fd >= 0)
        close(fd);
}

static const char *version_text(enum cgroup_version v)
{
    return v == CGROUP_V1 ? "control groups, version 1" : "control groups, version 2";
}

static void check_limits(struct doctor *d)
{
    static const char remedy[] =
        "run as root, or inside 'systemd-run --user --scope -p Delegate=yes'";
    struct cgroups g;
    struct check *c;

    cgroups_open(&g, env_random(d->env));
    if (g.memory != CGROUP_NONE) {
        c = add(d, "memory limit", LEVEL_OK, NULL);
        say(c, "enforced by %s", version_text(g.memory));
    } else {
        c = add(d, "memory limit", LEVEL_NOTE, remedy);
        say(c, "enforced by resource limits, which count what is allocated, not what is used; %s",
            g.why);
    }
    if (g.cpu != CGROUP_NONE) {
        c = add(d, "processor share", LEVEL_OK, NULL);
        say(c, "one core per %d MB, enforced every %u ms by %s", LOCAL_MB_PER_VCPU,
            CGROUP_PERIOD_US / 1000, version_text(g.cpu));
    } else {
        c = add(d, "processor share", LEVEL_NOTE, remedy);
        say(c, "not enforced: every function may use all cores; %s", g.why);
    }
    cgroups_close(&g);
}

static bool check_worker(struct doctor *d)
{
    static const char remedy[] = "build it with 'make', or install it beside gust";
    char path[LOCAL_PATH_MAX];
    struct error err = { 0 };
    bool found = platform_local_find_worker(path, &err) == 0;
    struct check *c =
        add(d, "gust-worker", found ? LEVEL_OK : LEVEL_PROBLEM, found ? NULL : remedy);

    say(c, "%s", found ? path : err.text);
    return found;
}

/* Run one function without a job: by refusing it shows that it starts and answers. */
static int try_function(struct doctor *d, struct platform *p, struct platform_exit *e,
                        struct error *err)
{
    struct platform_start s = { .memory_mb = 256,
                                .timeout_ms = TRIAL_TIMEOUT_S * 1000,
                                .payload = slice_str("doctor: yes\n"),
                                .fd = -1 };
    uint64_t id;
    int rc = platform_start(p, &s, &id, err);

    while (!rc && platform_poll(p, e, 1) == 0)
        env_sleep(d->env, NS_PER_MS / 2);
    if (!rc && (e->reason != PLATFORM_FAILED || e->code == E_IO))
        rc = fail(err, E_FAILED, "a trial function ended by: %s%s%s",
                  platform_reason_text(e->reason), e->words[0] ? ", " : "", e->words);
    return rc;
}

static void check_function(struct doctor *d)
{
    struct platform_local_options o = { 0 };
    struct error err = { 0 };
    struct platform_exit e = { 0 };
    struct platform *p = NULL;
    struct check *c;
    int rc = platform_local_new(&o, d->env, &d->heap, &p, &err);

    if (!rc)
        rc = try_function(d, p, &e, &err);
    platform_close(p);
    c = add(d, "function", rc ? LEVEL_PROBLEM : LEVEL_OK,
            rc ? "see that gust and gust-worker are of the same build" : NULL);
    if (rc)
        say(c, "%s", err.text);
    else
        say(c, "started and answered within %llu ms", (unsigned long long)e.billed_ms);
}

static void check_clock(struct doctor *d)
{
    struct timespec resolution = { 0 };
    struct check *c = add(d, "clock", LEVEL_OK, NULL);
    uint64_t ns;

    clock_getres(CLOCK_MONOTONIC, &resolution);
    ns = (uint64_t)resolution.tv_sec * NS_PER_S + (uint64_t)resolution.tv_nsec;
    say(c, "monotonic, resolution %llu ns", (unsigned long long)ns);
    if (ns > NS_PER_MS) {
        c->level = LEVEL_NOTE;
        c->remedy = "times of short steps will be coarse here";
    }
}

static void check_open_files(struct doctor *d)
{
    struct check *c = add(d, "open files", LEVEL_OK, NULL);
    struct rlimit limit = { 0 };

    getrlimit(RLIMIT_NOFILE, &limit);
    say(c, "%llu may be open at once", (unsigned long long)limit.rlim_cur);
    if (limit.rlim_cur < 2 * LOCAL_CONCURRENCY) {
        c->level = LEVEL_NOTE;
        c->remedy = "'ulimit -n 1024' for larger fleets";
    }
}

static void print_text(const struct doctor *d)
{
    for (unsigned i = 0; i < d->count; i++) {
        const struct check *c = &d->checks[i];

        printf("%-8s %-16s %s\n", level_names[c->level], c->name, c->found);
        if (c->remedy)
            printf("%-8s %-16s -> %s\n", "", "", c->remedy);
    }
}

static void print_json(struct doctor *d, bool able)
{
    struct buf out;
    struct json w;

    buf_init(&out, &d->heap, MIB);
    json_init(&w, &out);
    json_open(&w, NULL, '{');
    json_bool(&w, "able", able);
    json_open(&w, "checks", '[');
    for (unsigned i = 0; i < d->count; i++) {
        const struct check *c = &d->checks[i];

        json_open(&w, NULL, '{');
        json_str(&w, "name", c->name);
        json_str(&w, "level", level_names[c->level]);
        json_str(&w, "found", c->found);
        if (c->remedy)
            json_str(&w, "remedy", c->remedy);
        json_close(&w);
    }
    json_close(&w);
    json_close(&w);
    printf("%s\n", out.data);
    buf_release(&out);
}

/* True when nothing stands in the way of training. */
static bool check_all(struct doctor *d)
{
    check_processor(d);
    check_memory(d);
    check_shared_memory(d);
    check_limits(d);
    if (check_worker(d))
        check_function(d);
    check_clock(d);
    check_open_files(d);
    for (unsigned i = 0; i < d->count; i++)
        if (d->checks[i].level == LEVEL_PROBLEM)
            return false;
    return true;
}

int cmd_doctor(int argc, char **argv)
{
    bool json = false, able;
    const struct arg table[] = {
        { .name = "json", .kind = ARG_FLAG, .out = &json, .help = "as JSON, for scripts" },
        { 0 },
    };
    const struct args_command command = {
        .name = "gust doctor",
        .summary = "whether this machine can train, and how functions are limited on it",
        .table = table,
    };
    struct doctor d = { 0 };
    int status = args_parse(&command, argc, argv, NULL);

    if (status != ARGS_GO)
        return status;
    d.env = local_env_new(&d.heap);
    able = check_all(&d);
    if (json)
        print_json(&d, able);
    else
        print_text(&d);
    local_env_free(d.env);
    heap_release(&d.heap);
    return able ? 0 : 4;
}
