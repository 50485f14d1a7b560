/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The local platform with real processes. This program is its own function program: started
 * with the argument "serve" it answers invocations whose payload says what to do.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* here it is the function of base/error.h */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/local.h"
#include "platform/local_env.h"
#include "platform/local_serve.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* ---- inside the function ------------------------------------------------------------------ */

static uint64_t number_after(const char *text, const char *word)
{
    return strtoull(text + strlen(word), NULL, 10);
}

static uint64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Take MEGABYTES from malloc, as a library would, and write to all of it. */
static int take_memory(uint64_t megabytes, struct error *err)
{
    for (uint64_t i = 0; i < megabytes; i++) {
        char *block = malloc(MIB);

        if (!block)
            return fail(err, E_MEMORY, "no memory after %llu MB", (unsigned long long)i);
        memset(block, 1, MIB);
        __asm__ volatile("" : : "r"(block) : "memory");
    }
    return 0;
}

/* Use the processor for MS of wall time; the last words are the processor time got, in ms. */
static int spin(struct env *env, uint64_t ms, struct error *err)
{
    uint64_t until = env_after(env, ms * NS_PER_MS), before = cpu_ns();

    while (env_now(env) < until)
        ;
    return fail(err, E_FAILED, "%llu", (unsigned long long)((cpu_ns() - before) / NS_PER_MS));
}

static int read_fd(int fd, struct error *err)
{
    char text[64] = { 0 };

    if (pread(fd, text, sizeof(text) - 1, 0) < 0)
        return fail(err, E_IO, "cannot read the descriptor: %s", strerror(errno));
    return fail(err, E_FAILED, "%s", text);
}

static int count_open_fds(struct error *err)
{
    unsigned n = 0;

    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return fail(err, E_FAILED, "%u", n);
}

/* What this program does as a function. Answers travel as last words. */
static int test_entry(const struct platform_call *call, struct error *err)
{
    char text[128] = { 0 };

    memcpy(text, call->payload.data, MIN(call->payload.size, sizeof(text) - 1));
    if (strcmp(text, "done") == 0)
        return 0;
    if (strcmp(text, "fail") == 0)
        return fail(err, E_MISMATCH, "two things differ");
    if (strcmp(text, "silent") == 0)
        return E_IO;
    if (strcmp(text, "pid") == 0)
        return fail(err, E_FAILED, "%ld", (long)getpid());
    if (strcmp(text, "now") == 0)
        return fail(err, E_FAILED, "%llu", (unsigned long long)env_now(call->env));
    if (strcmp(text, "left") == 0)
        return fail(err, E_FAILED, "%llu",
                    (unsigned long long)(call->deadline - env_now(call->env)));
    if (strncmp(text, "size ", 5) == 0)
        return fail(err, E_FAILED, "%zu", call->payload.size);
    if (strcmp(text, "fds") == 0)
        return count_open_fds(err);
    if (strcmp(text, "fd") == 0)
        return read_fd(call->fd, err);
    if (strncmp(text, "sleep ", 6) == 0)
        env_sleep(call->env, number_after(text, "sleep ") * NS_PER_MS);
    else if (strncmp(text, "spin ", 5) == 0)
        return spin(call->env, number_after(text, "spin "), err);
    else if (strncmp(text, "alloc ", 6) == 0)
        return take_memory(number_after(text, "alloc "), err);
    else if (strncmp(text, "heap ", 5) == 0)
        memset(heap_alloc(call->heap, number_after(text, "heap ") * MIB), 1, 1);
    else if (strncmp(text, "exit ", 5) == 0)
        _exit((int)number_after(text, "exit "));
    else if (strncmp(text, "signal ", 7) == 0) {
        signal((int)number_after(text, "signal "), SIG_DFL);
        raise((int)number_after(text, "signal "));
    } else if (strcmp(text, "garbage") == 0) {
        if (write(LOCAL_SERVE_FD, "rubbish", 7) == 7)
            env_sleep(call->env, NS_PER_S);
    } else if (strcmp(text, "hang up") == 0) {
        close(LOCAL_SERVE_FD);
        env_sleep(call->env, 10 * NS_PER_S);
    }
    return 0;
}

/* ---- the client --------------------------------------------------------------------------- */

struct fixture {
    struct heap heap;
    struct env *env;
    struct platform *platform;
    unsigned fds; /* descriptors that were open before */
};

static unsigned open_fds(void)
{
    unsigned n = 0;
    DIR *d = opendir("/proc/self/fd");

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

static void open_platform(struct fixture *f, struct platform_local_options o)
{
    struct error err = { 0 };

    o.worker_path = "/proc/self/exe";
    o.worker_arg = "serve";
    f->fds = open_fds();
    heap_init(&f->heap, 0);
    f->env = local_env_new(&f->heap);
    platform_local_new(&o, f->env, &f->heap, &f->platform, &err);
    assert_string_equal(err.text, "");
}

/* Close, and check that nothing is left: no child, no group, no descriptor, no memory. */
static void close_platform(struct fixture *f)
{
    struct cgroups groups = *platform_local_cgroups(f->platform);

    platform_close(f->platform);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    if (groups.memory)
        assert_int_equal(access(groups.memory_dir, F_OK), -1);
    if (groups.cpu)
        assert_int_equal(access(groups.cpu_dir, F_OK), -1);
    local_env_free(f->env);
    assert_int_equal(f->heap.used_bytes, 0);
    heap_release(&f->heap);
    assert_int_equal(open_fds(), f->fds);
}

static int try_start(struct fixture *f, const char *payload, uint32_t memory_mb,
                     uint64_t timeout_ms, uint64_t *id, struct error *err)
{
    struct platform_start s = {
        .memory_mb = memory_mb, .timeout_ms = timeout_ms, .payload = slice_str(payload), .fd = -1
    };

    return platform_start(f->platform, &s, id, err);
}

static uint64_t start(struct fixture *f, const char *payload, uint32_t memory_mb,
                      uint64_t timeout_ms)
{
    struct error err = { 0 };
    uint64_t id = 0;

    try_start(f, payload, memory_mb, timeout_ms, &id, &err);
    assert_string_equal(err.text, "");
    return id;
}

/* Poll as the scheduler does until one invocation has ended. */
static struct platform_exit next_exit(struct fixture *f)
{
    struct platform_exit e;
    uint64_t until = env_after(f->env, 20 * NS_PER_S);

    while (platform_poll(f->platform, &e, 1) == 0) {
        assert_true(env_now(f->env) < until);
        env_sleep(f->env, NS_PER_MS / 4);
    }
    return e;
}

static struct platform_exit run(struct fixture *f, const char *payload)
{
    uint64_t id = start(f, payload, 256, 20000);
    struct platform_exit e = next_exit(f);

    assert_int_equal(e.id, id);
    return e;
}

static uint64_t run_number(struct fixture *f, const char *payload)
{
    struct platform_exit e = run(f, payload);

    assert_int_equal(e.reason, PLATFORM_FAILED);
    return strtoull(e.words, NULL, 10);
}

static int set_up(void **state)
{
    static struct fixture f;

    open_platform(&f, (struct platform_local_options){ 0 });
    *state = &f;
    return 0;
}

static int set_up_resource_limits(void **state)
{
    static struct fixture f;

    open_platform(&f, (struct platform_local_options){ .no_cgroups = true });
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    close_platform(*state);
    return 0;
}

static void a_function_that_returns_is_done(void **state)
{
    struct platform_exit e = run(*state, "done");

    assert_int_equal(e.reason, PLATFORM_DONE);
    assert_int_equal(e.code, 0);
    assert_string_equal(e.words, "");
    assert_true(e.cold);
    assert_true(e.billed_ms >= 1 && e.billed_ms < 5000);
    assert_true(e.peak_bytes > 0);
    if (!SANITIZED)
        assert_true(e.peak_bytes < 64 * MIB);
}

static void a_failure_brings_code_and_words(void **state)
{
    struct platform_exit e = run(*state, "fail");

    assert_int_equal(e.reason, PLATFORM_FAILED);
    assert_int_equal(e.code, E_MISMATCH);
    assert_string_equal(e.words, "two things differ");
    e = run(*state, "silent");
    assert_int_equal(e.code, E_IO);
    assert_string_equal(e.words, error_text(E_IO));
}

static void a_signal_is_a_crash_that_names_it(void **state)
{
    struct platform_exit e = run(*state, "signal 11");

    assert_int_equal(e.reason, PLATFORM_CRASHED);
    assert_int_equal(e.code, SIGSEGV);
    assert_string_equal(e.words, "killed by signal 11 (Segmentation fault)");
    e = run(*state, "signal 9");
    assert_int_equal(e.reason, PLATFORM_CRASHED);
    assert_int_equal(e.code, SIGKILL);
}

static void leaving_without_an_answer_is_a_crash(void **state)
{
    struct platform_exit e = run(*state, "exit 3");

    assert_int_equal(e.reason, PLATFORM_CRASHED);
    assert_string_equal(e.words, "it left with exit status 3 without an answer");
    assert_int_equal(run(*state, "hang up").reason, PLATFORM_CRASHED);
}

static void garbage_on_the_socket_is_a_crash(void **state)
{
    struct platform_exit e = run(*state, "garbage");

    assert_int_equal(e.reason, PLATFORM_CRASHED);
    assert_string_equal(e.words, "it sent a message that is no answer");
    assert_int_equal(run(*state, "done").reason, PLATFORM_DONE);
}

static void too_much_memory_is_told_apart(void **state)
{
    struct fixture *f = *state;
    struct platform_exit e;

    if (SANITIZED && !platform_local_cgroups(f->platform)->memory)
        skip(); /* the sanitizer's own memory is over the limit */
    start(f, "alloc 400", 128, 20000);
    e = next_exit(f);
    assert_int_equal(e.reason, PLATFORM_MEMORY);
    assert_string_not_equal(e.words, "");
    start(f, "alloc 64", SANITIZED ? 1024 : 128, 20000);
    e = next_exit(f);
    assert_int_equal(e.reason, PLATFORM_DONE);
    assert_true(e.peak_bytes >= 64 * MIB);
}

static void an_allocation_that_cannot_fail_tells_that_memory_ran_out(void **state)
{
    struct platform_exit e;

    start(*state, "heap 400", 128, 20000);
    e = next_exit(*state);
    assert_int_equal(e.reason, PLATFORM_MEMORY);
    assert_string_equal(e.words, "out of memory for a block of 419430400 bytes");
    assert_int_equal(run(*state, "done").reason, PLATFORM_DONE);
}

static void the_time_limit_strikes(void **state)
{
    struct platform_exit e;

    start(*state, "sleep 10000", 128, 100);
    e = next_exit(*state);
    assert_int_equal(e.reason, PLATFORM_TIME);
    assert_string_equal(e.words, "it ran into its time limit of 100 ms");
    assert_in_range(e.billed_ms, 100, 2000);
}

/* The client is away; the process ends by itself soon after its limit. */
static void the_time_limit_strikes_even_when_nobody_polls(void **state)
{
    struct fixture *f = *state;
    struct platform_exit e;

    start(f, "sleep 600", 128, 50);
    env_sleep(f->env, 450 * NS_PER_MS);
    e = next_exit(f);
    assert_int_equal(e.reason, PLATFORM_TIME);
    assert_true(e.billed_ms < 600);
}

static void the_function_knows_its_deadline(void **state)
{
    uint64_t left_ns = run_number(*state, "left");

    assert_in_range(left_ns, 15 * NS_PER_S, 20 * NS_PER_S);
}

static void stop_ends_a_function_and_ignores_others(void **state)
{
    struct fixture *f = *state;
    uint64_t id = start(f, "sleep 10000", 128, 20000);
    struct platform_exit e;

    platform_stop(f->platform, 0);
    platform_stop(f->platform, id + 1);
    assert_int_equal(platform_poll(f->platform, &e, 1), 0);
    platform_stop(f->platform, id);
    platform_stop(f->platform, id);
    e = next_exit(f);
    assert_int_equal(e.id, id);
    assert_int_equal(e.reason, PLATFORM_STOPPED);
    platform_stop(f->platform, id);
    assert_int_equal(run(f, "done").reason, PLATFORM_DONE);
}

static void a_process_is_used_again_for_the_same_memory(void **state)
{
    struct fixture *f = *state;
    struct platform_exit first = run(f, "pid"), again = run(f, "pid"), other;

    assert_true(first.cold);
    assert_false(again.cold);
    assert_string_equal(first.words, again.words);
    start(f, "pid", 512, 1000);
    other = next_exit(f);
    assert_true(other.cold);
    assert_string_not_equal(first.words, other.words);
}

static void a_prepared_process_runs_at_once_within_its_limits(void **state)
{
    struct fixture *f = *state;
    struct platform_exit e;
    uint64_t before;

    assert_int_equal(platform_local_prepare(f->platform, 2, NULL), 0);
    assert_int_equal(platform_local_prepare(f->platform, 2, NULL), 0);
    env_sleep(f->env, 100 * NS_PER_MS);
    before = env_now(f->env);
    e = run(f, "now");
    print_message("start to entry: prepared %.2f ms\n",
                  (double)(strtoull(e.words, NULL, 10) - before) / NS_PER_MS);
    assert_false(e.cold);
    /* A sanitizer does not survive a malloc() that hits a resource limit. */
    start(f, SANITIZED && !platform_local_cgroups(f->platform)->memory ? "heap 400" : "alloc 400",
          128, 20000);
    e = next_exit(f);
    assert_false(e.cold);
    assert_int_equal(e.reason, PLATFORM_MEMORY);
    start(f, "done", 512, 1000);
    assert_true(next_exit(f).cold);
}

static void an_idle_process_that_died_is_not_used(void **state)
{
    struct fixture *f = *state;
    struct platform_exit first = run(f, "pid"), again;
    pid_t pid = (pid_t)strtol(first.words, NULL, 10);
    siginfo_t info;

    kill(pid, SIGKILL);
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    again = run(f, "pid");
    assert_true(again.cold);
    assert_int_equal(again.reason, PLATFORM_FAILED);
    assert_string_not_equal(first.words, again.words);
}

static void peak_memory_of_a_reused_process_is_that_of_the_invocation(void **state)
{
    struct fixture *f = *state;

    if (platform_local_cgroups(f->platform)->memory != CGROUP_V1)
        skip();
    assert_true(run(f, "heap 1").peak_bytes < run(f, "alloc 100").peak_bytes);
}

static void a_full_payload_and_a_descriptor_arrive(void **state)
{
    static char payload[PLATFORM_PAYLOAD_MAX];
    struct fixture *f = *state;
    struct platform_start s = { .memory_mb = 128, .timeout_ms = 20000, .fd = -1 };
    struct platform_exit e;
    uint64_t id;

    memset(payload, ' ', sizeof(payload));
    memcpy(payload, "size ", 5);
    s.payload = slice(payload, sizeof(payload));
    assert_int_equal(platform_start(f->platform, &s, &id, NULL), 0);
    e = next_exit(f);
    assert_string_equal(e.words, "65536");

    s.fd = memfd_create("test", MFD_CLOEXEC);
    assert_int_equal(write(s.fd, "hello", 5), 5);
    s.payload = slice_str("fd");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(platform_start(f->platform, &s, &id, NULL), 0);
        e = next_exit(f);
        assert_string_equal(e.words, "hello");
    }
    close(s.fd);
    /* Standard input, output and error, and the socket; nothing of the client's. */
    start(f, "fds", 128, 1000);
    assert_string_equal(next_exit(f).words, "4");
}

static void what_is_outside_the_limits_is_refused(void **state)
{
    static char payload[PLATFORM_PAYLOAD_MAX + 1];
    struct fixture *f = *state;
    struct platform_start s = { .memory_mb = 128, .timeout_ms = 1000, .fd = -1 };
    struct platform_limits limits;
    struct error err;
    uint64_t id;

    platform_limits(f->platform, &limits);
    assert_int_equal(try_start(f, "done", limits.memory_mb_min - 1, 1000, &id, &err), E_LIMIT);
    assert_int_equal(try_start(f, "done", limits.memory_mb_max + 1, 1000, &id, &err), E_LIMIT);
    assert_int_equal(try_start(f, "done", 128, 0, &id, &err), E_LIMIT);
    assert_int_equal(try_start(f, "done", 128, limits.timeout_ms_max + 1, &id, &err), E_LIMIT);
    s.payload = slice(payload, sizeof(payload));
    assert_int_equal(platform_start(f->platform, &s, &id, &err), E_LIMIT);
}

static void the_processor_share_follows_the_memory(void **state)
{
    struct fixture *f = *state;
    uint64_t got_ms;

    if (!platform_local_cgroups(f->platform)->cpu)
        skip();
    start(f, "spin 400", LOCAL_MB_PER_VCPU / 4, 20000);
    got_ms = strtoull(next_exit(f).words, NULL, 10);
    assert_in_range(got_ms, 20, 180);
}

static void several_functions_run_at_once_and_each_exit_is_told_once(void **state)
{
    struct fixture *f = *state;
    struct platform_exit out[16];
    unsigned told = 0;
    uint64_t seen = 0;

    for (int i = 0; i < 8; i++)
        start(f, i % 2 ? "sleep 20" : "fail", 128, 20000);
    while (told < 8) {
        unsigned n = platform_poll(f->platform, out, 3);

        assert_true(n <= 3);
        for (unsigned i = 0; i < n; i++) {
            assert_int_equal(seen >> out[i].id & 1, 0);
            seen |= (uint64_t)1 << out[i].id;
            assert_int_equal(out[i].reason, out[i].id % 2 ? PLATFORM_FAILED : PLATFORM_DONE);
        }
        told += n;
        env_sleep(f->env, NS_PER_MS);
    }
    assert_int_equal(seen, 0x1fe);
    assert_int_equal(platform_poll(f->platform, out, 16), 0);
}

static void the_concurrency_limit_is_retriable(void **state UNUSED)
{
    struct fixture f = { 0 };
    struct error err = { 0 };
    uint64_t id;

    open_platform(&f, (struct platform_local_options){ .concurrency = 2 });
    start(&f, "sleep 10000", 128, 20000);
    id = start(&f, "sleep 10000", 128, 20000);
    assert_int_equal(try_start(&f, "done", 128, 1000, &id, &err), E_FULL);
    assert_true(err.retriable);
    platform_stop(f.platform, 2);
    next_exit(&f);
    start(&f, "done", 128, 1000);
    assert_int_equal(next_exit(&f).id, 3);
    close_platform(&f);
}

/* More sizes than there is room for processes: idle ones make way. */
static void idle_processes_make_way(void **state UNUSED)
{
    struct fixture f = { 0 };

    open_platform(&f, (struct platform_local_options){ .concurrency = 1 });
    for (uint32_t i = 0; i < 6; i++) {
        start(&f, "done", 128 + i, 1000);
        assert_true(next_exit(&f).cold);
    }
    close_platform(&f);
    open_platform(&f, (struct platform_local_options){ .idle_max = LOCAL_IDLE_NONE });
    assert_true(run(&f, "done").cold);
    assert_true(run(&f, "done").cold);
    close_platform(&f);
}

static void a_missing_worker_program_is_named(void **state UNUSED)
{
    struct platform_local_options o = { .worker_path = "/nonexistent/gust-worker" };
    struct error err = { 0 };
    struct platform *p;
    struct heap heap;
    struct env *env;

    heap_init(&heap, 0);
    env = local_env_new(&heap);
    assert_int_equal(platform_local_new(&o, env, &heap, &p, &err), E_NOT_FOUND);
    assert_non_null(strstr(err.text, "/nonexistent/gust-worker"));
    local_env_free(env);
    heap_release(&heap);
}

/* A client with a running function and an idle one, whose pid it tells; waits to be killed. */
static void doomed_client(int pipe_fd)
{
    struct fixture f = { 0 };
    pid_t idle;

    open_platform(&f, (struct platform_local_options){ 0 });
    idle = (pid_t)run_number(&f, "pid");
    start(&f, "sleep 30000", 128, 60000);
    env_sleep(f.env, 50 * NS_PER_MS);
    if (write(pipe_fd, &idle, sizeof(idle)) != (ssize_t)sizeof(idle) ||
        write(pipe_fd, platform_local_cgroups(f.platform), sizeof(struct cgroups)) < 0)
        _exit(1);
    for (;;)
        pause();
}

static bool is_gone(struct env *env, pid_t pid)
{
    for (int i = 0; i < 2000; i++) {
        char path[64], text[512] = { 0 };
        FILE *f;

        snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
        f = fopen(path, "re");
        if (!f)
            return true;
        /* Whoever adopts orphans here may leave zombies. */
        if (fgets(text, sizeof(text), f) && strstr(text, ") Z")) {
            fclose(f);
            return true;
        }
        fclose(f);
        env_sleep(env, NS_PER_MS);
    }
    return false;
}

static bool group_is_empty(const char *dir)
{
    char path[CGROUP_PATH_MAX + 32];
    char text[64];
    bool empty;
    FILE *f;

    snprintf(path, sizeof(path), "%s/f2/cgroup.procs", dir);
    f = fopen(path, "re");
    if (!f)
        return true;
    empty = !fgets(text, sizeof(text), f);
    fclose(f);
    return empty;
}

static void functions_die_with_their_client_and_the_next_one_cleans_up(void **state UNUSED)
{
    struct fixture f = { 0 };
    struct cgroups groups;
    pid_t client, idle;
    int fds[2], status;

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    client = fork();
    assert_true(client >= 0);
    if (client == 0)
        doomed_client(fds[1]);
    close(fds[1]);
    assert_int_equal(read(fds[0], &idle, sizeof(idle)), sizeof(idle));
    assert_int_equal(read(fds[0], &groups, sizeof(groups)), sizeof(groups));
    close(fds[0]);
    kill(client, SIGKILL);
    assert_int_equal(waitpid(client, &status, 0), client);

    open_platform(&f, (struct platform_local_options){ .no_cgroups = true });
    assert_true(is_gone(f.env, idle));
    if (groups.memory) {
        for (int i = 0; i < 2000 && !group_is_empty(groups.memory_dir); i++)
            env_sleep(f.env, NS_PER_MS);
        assert_true(group_is_empty(groups.memory_dir));
        assert_int_equal(access(groups.memory_dir, F_OK), 0);
    }
    close_platform(&f);
    open_platform(&f, (struct platform_local_options){ 0 });
    if (groups.memory)
        assert_int_equal(access(groups.memory_dir, F_OK), -1);
    if (groups.cpu)
        assert_int_equal(access(groups.cpu_dir, F_OK), -1);
    close_platform(&f);
}

static void functions_start_quickly(void **state)
{
    struct fixture *f = *state;
    uint64_t before = env_now(f->env), cold_ns, warm_ns;

    cold_ns = run_number(f, "now") - before;
    before = env_now(f->env);
    warm_ns = run_number(f, "now") - before;
    print_message("start to entry: cold %.2f ms, warm %.2f ms\n", (double)cold_ns / NS_PER_MS,
                  (double)warm_ns / NS_PER_MS);
    if (!SANITIZED) {
        assert_true(cold_ns < 500 * NS_PER_MS);
        assert_true(warm_ns < 250 * NS_PER_MS);
    }
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define TEST_RESOURCE(name)                                                                        \
    {                                                                                              \
#name " (resource limits)", name, set_up_resource_limits, tear_down, NULL                  \
    }
    const struct CMUnitTest tests[] = {
        TEST(a_function_that_returns_is_done),
        TEST_RESOURCE(a_function_that_returns_is_done),
        TEST(a_failure_brings_code_and_words),
        TEST(a_signal_is_a_crash_that_names_it),
        TEST(leaving_without_an_answer_is_a_crash),
        TEST(garbage_on_the_socket_is_a_crash),
        TEST(too_much_memory_is_told_apart),
        TEST_RESOURCE(too_much_memory_is_told_apart),
        TEST(an_allocation_that_cannot_fail_tells_that_memory_ran_out),
        TEST_RESOURCE(an_allocation_that_cannot_fail_tells_that_memory_ran_out),
        TEST(the_time_limit_strikes),
        TEST(the_time_limit_strikes_even_when_nobody_polls),
        TEST(the_function_knows_its_deadline),
        TEST(stop_ends_a_function_and_ignores_others),
        TEST(a_process_is_used_again_for_the_same_memory),
        TEST(a_prepared_process_runs_at_once_within_its_limits),
        TEST_RESOURCE(a_prepared_process_runs_at_once_within_its_limits),
        TEST(an_idle_process_that_died_is_not_used),
        TEST(peak_memory_of_a_reused_process_is_that_of_the_invocation),
        TEST(a_full_payload_and_a_descriptor_arrive),
        TEST(what_is_outside_the_limits_is_refused),
        TEST(the_processor_share_follows_the_memory),
        TEST(several_functions_run_at_once_and_each_exit_is_told_once),
        cmocka_unit_test(the_concurrency_limit_is_retriable),
        cmocka_unit_test(idle_processes_make_way),
        cmocka_unit_test(a_missing_worker_program_is_named),
        cmocka_unit_test(functions_die_with_their_client_and_the_next_one_cleans_up),
        TEST(functions_start_quickly),
        TEST_RESOURCE(functions_start_quickly),
    };

    if (argc > 1 && strcmp(argv[1], "serve") == 0)
        return local_serve(LOCAL_SERVE_FD, test_entry);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
