/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kills a process in the middle of every operation of a shared-memory store: it is traced and
 * executed instruction by instruction up to a random one in each of several strides. Then the
 * store must hold together, hold no trace of the dead, and do the same operation for somebody
 * else. GUST_CHAOS_SECONDS (default 8) says about how long this may take, and so how fine the
 * strides are. test-timeout: 300
 */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/props.h"
#include "base/random.h"
#include "params/shm_internal.h"
#include "support/test.h"
#include "support/thread_env.h"

/* Sanitizers make ten instructions of one, and see nothing new in a process that is killed. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED false
#endif

/* How many instructions may be traced for one operation; each takes some 40 microseconds. */
#define STEPS_PER_SECOND 500

static const struct params_layout layout = {
    .ranks = 2,
    .spares = 1,
    .shards = 3,
    .sums_kept = 2,
    .part_bytes = 3 * 64,
    .sum_bytes = 3 * 64,
    .general_bytes = 64 * KIB,
};

#define VALUE(n)   ((struct params_key){ .kind = PARAMS_VALUE, .step = (n) })
#define PART(t, s) ((struct params_key){ .kind = PARAMS_PART, .step = (t), .shard = (s) })
#define SUM(t, s)  ((struct params_key){ .kind = PARAMS_SUM, .step = (t), .shard = (s) })
#define CONTROL    ((struct params_key){ .kind = PARAMS_CONTROL })
#define LOG        ((struct params_key){ .kind = PARAMS_LOG, .rank = 1 })

struct user {
    struct thread_env env;
    struct heap heap;
    struct params *p;
};

static void user_init(struct user *u)
{
    thread_env_init(&u->env);
    heap_init(&u->heap, 0);
}

static void user_release(struct user *u)
{
    params_close(u->p);
    heap_release(&u->heap);
    thread_env_release(&u->env);
}

static void user_open(struct user *u, int fd)
{
    struct params_open open = { .env = &u->env.base, .heap = &u->heap };

    user_init(u);
    if (params_open("shm:", fd, &open, &u->p, NULL))
        abort();
}

/* ---- operations; they return whether they did what they are for ---- */

static bool put(struct params *p, const struct params_key *keys, unsigned count, size_t size)
{
    size_t sizes[3] = { size, size, size };
    void *room;
    int rc = params_reserve(p, keys, sizes, count, &room, NULL);

    if (rc)
        return rc == E_EXISTS;
    memset(room, 'v', count * round_up(size, CACHE_LINE));
    rc = params_publish(p, keys, count, NULL);
    return rc == 0 || rc == E_EXISTS;
}

static bool put_values(struct params *p)
{
    const struct params_key keys[3] = { VALUE(1), VALUE(2), VALUE(3) };

    return put(p, keys, 3, 100);
}

static bool put_parts(struct params *p)
{
    const struct params_key keys[3] = { PART(4, 0), PART(4, 1), PART(4, 2) };

    return put(p, keys, 3, 64);
}

static bool put_sums_in_place(struct params *p)
{
    const struct params_key keys[3] = { SUM(4, 0), SUM(4, 1), SUM(4, 2) };

    return put(p, keys, 3, 64);
}

/* Not a whole room each, so it is copied when it is published. */
static bool put_sums_by_copy(struct params *p)
{
    const struct params_key keys[3] = { SUM(4, 0), SUM(4, 1), SUM(4, 2) };
    size_t sizes[3] = { 0, 64, 10 };
    void *room;
    int rc = params_reserve(p, keys, sizes, 3, &room, NULL);

    if (rc)
        return false;
    memset(room, 'v', 128);
    rc = params_publish(p, keys, 3, NULL);
    return rc == 0 || rc == E_EXISTS;
}

static bool set(struct params *p, struct params_key key, size_t size)
{
    static const char bytes[200] = { 'v' };
    uint64_t version;
    struct heap heap;
    struct buf out;
    int rc;

    heap_init(&heap, 0);
    buf_init(&out, &heap, MIB);
    rc = params_get(p, &key, &out, &version, NULL);
    if (rc == 0)
        rc = params_cas(p, &key, version, slice(bytes, size), &version, NULL);
    buf_release(&out);
    heap_release(&heap);
    return rc == 0;
}

static bool set_value(struct params *p)
{
    return set(p, VALUE(50), 200);
}

static bool set_control(struct params *p)
{
    return set(p, CONTROL, 200);
}

static bool append(struct params *p)
{
    struct params_key key = LOG;

    return params_append(p, &key, slice_str("entry"), NULL) == 0;
}

static bool read_entries(struct params *p)
{
    struct params_key key = LOG;
    uint64_t cursor = 0;
    struct heap heap;
    struct buf out;
    int rc;

    heap_init(&heap, 0);
    buf_init(&out, &heap, MIB);
    rc = params_read(p, &key, &cursor, &out, NULL);
    buf_release(&out);
    heap_release(&heap);
    return rc == 0;
}

static bool drop(struct params *p)
{
    const struct params_key keys[3] = { VALUE(50), VALUE(51), LOG };

    return params_drop(p, keys, 3, NULL) == 0;
}

/* Which file open_and_close() opens: operations are given a handle only. */
static int store_fd;

static bool open_and_close(struct params *p)
{
    struct user *u = calloc(1, sizeof(*u));

    (void)p;
    user_open(u, store_fd);
    user_release(u);
    free(u);
    return true;
}

static bool check(struct params *p)
{
    struct params_shm_report r;

    return params_shm_check(p, &r, NULL) == 0;
}

/* ---- the trials ---- */

struct operation {
    const char *name;
    bool (*run)(struct params *p);
    bool broken;           /* begin with a lock whose owner died in the middle of something */
    struct params_key key; /* what the operation makes or removes; kind 0: nothing to look at */
};

static uint64_t killed_after; /* for messages */

/* What is in the store before the operation. */
static void prepare(struct params *p)
{
    struct params_key control = CONTROL, value = VALUE(50), other = VALUE(51), log = LOG;
    uint64_t version;

    assert_int_equal(params_cas(p, &control, 0, slice_str("old"), &version, NULL), 0);
    assert_int_equal(params_put_new(p, &value, slice_str("old"), NULL), 0);
    assert_int_equal(params_put_new(p, &other, slice_str("other"), NULL), 0);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(params_append(p, &log, slice_str("old"), NULL), 0);
    for (uint64_t t = 2; t < 4; t++)
        for (uint32_t s = 0; s < 3; s++) {
            struct params_key sum = SUM(t, s);

            assert_int_equal(params_put_new(p, &sum, slice_str("old"), NULL), 0);
        }
}

/* Somebody dies with the lock, having just forgotten all that is derived. */
static void break_lock(int fd)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        struct user *u = calloc(1, sizeof(*u));
        struct shm_params *s;

        user_open(u, fd);
        s = container_of(u->p, struct shm_params, base);
        shm_lock(s);
        s->file->leftmost = 1;
        s->file->free_slots = 7;
        s->file->used_bytes = 12345;
        shm_buckets(s)[3] = 5;
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, NULL, 0);
}

/* A traced process that stops before the operation; 0 if tracing is not allowed here. */
static pid_t start(const struct operation *op, int fd)
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        struct user *u = calloc(1, sizeof(*u));

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        user_open(u, fd);
        if (op->broken)
            break_lock(fd);
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
            _exit(77);
        raise(SIGSTOP);
        _exit(op->run(u->p) ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        return 0;
    assert_true(WIFSTOPPED(status));
    return pid;
}

/* Executes LIMIT instructions of the process and kills it. Returns how many there were. */
static uint64_t step_and_kill(pid_t pid, uint64_t limit)
{
    uint64_t n = 0;
    int status = 0;

    while (n < limit) {
        if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) < 0)
            break;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFSTOPPED(status)) {
            assert_true(WIFEXITED(status));
            assert_int_equal(WEXITSTATUS(status), 0);
            return n;
        }
        n++;
    }
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return n;
}

/* What is there is whole. After somebody did the operation again, it must be there. */
static void look_at_value(struct params *p, const struct params_key *key, bool must)
{
    struct params_wait w = { .keys = key, .count = 1, .seen_version = PARAMS_UNWATCHED };
    struct slice view;
    int rc;

    w.views = &view;
    rc = params_wait(p, &w, NULL);
    assert_true(rc == 0 || (rc == E_TIMEOUT && !must));
    for (size_t i = 0; rc == 0 && i < view.size; i++)
        assert_int_equal(((const char *)view.data)[i], 'v');
}

static void verify(const struct operation *op, struct params *p)
{
    struct params_shm_report r;
    struct error err = { 0 };

    if (params_shm_check(p, &r, &err))
        print_error("%s, killed after %u instructions: %s\n", op->name, (unsigned)killed_after,
                    err.text);
    assert_int_equal(err.code, 0);
    assert_int_equal(r.handles, 1);
    assert_int_equal(r.reserved, 0);
    assert_int_equal(r.rooms_claimed, 0);
    if (op->key.kind)
        look_at_value(p, &op->key, false);
    assert_true(op->run(p));
    if (op->key.kind)
        look_at_value(p, &op->key, true);
    assert_int_equal(params_shm_check(p, &r, &err), 0);
    assert_int_equal(r.reserved, 0);
}

/* False: not allowed to trace. COUNT: instructions that were executed. */
static bool try_once(const struct operation *op, uint64_t limit, uint64_t *count)
{
    struct user u;
    struct params_open open = { .env = &u.env.base, .heap = &u.heap };
    struct params_address address;
    pid_t pid;

    user_init(&u);
    assert_int_equal(params_create("shm:", &layout, &open, &u.p, NULL), 0);
    assert_int_equal(params_address(u.p, &address, NULL), 0);
    store_fd = address.fd;
    prepare(u.p);
    pid = start(op, address.fd);
    if (pid) {
        *count = step_and_kill(pid, limit);
        verify(op, u.p);
    }
    user_release(&u);
    return pid;
}

static void try_everywhere(const struct operation *op)
{
    const char *text = getenv("GUST_CHAOS_SECONDS");
    uint64_t total = 0, done, seconds = 8, trials, seed = (uint64_t)time(NULL);

    alarm(250);
    if (text)
        assert_true(parse_u64(text, &seconds));
    if (SANITIZED || !try_once(op, UINT64_MAX, &total))
        skip();
    trials = MIN(total, MAX(4, 2 * seconds * STEPS_PER_SECOND / total));
    for (uint64_t i = 0; i < trials; i++) {
        uint64_t from = total * i / trials, to = total * (i + 1) / trials;

        killed_after = from + random_below(random_at(seed, i, 0, 0), to - from);
        assert_true(try_once(op, killed_after, &done));
    }
}

#define KILLED_WHILE(what, ...)                                                                    \
    static void killed_while_it_ran_##what(void **state)                                           \
    {                                                                                              \
        (void)state;                                                                               \
        try_everywhere(&(struct operation){ .name = #what, .run = what, __VA_ARGS__ });            \
    }

KILLED_WHILE(put_values, .key = VALUE(2))
KILLED_WHILE(put_parts, .key = PART(4, 2))
KILLED_WHILE(put_sums_in_place, .key = SUM(4, 1))
KILLED_WHILE(put_sums_by_copy, .key = SUM(4, 1))
KILLED_WHILE(set_value, .broken = false)
KILLED_WHILE(set_control, .broken = false)
KILLED_WHILE(append, .broken = false)
KILLED_WHILE(read_entries, .broken = false)
KILLED_WHILE(drop, .broken = false)
KILLED_WHILE(open_and_close, .broken = false)
KILLED_WHILE(check, .broken = true)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_while_it_ran_put_values),
        cmocka_unit_test(killed_while_it_ran_put_parts),
        cmocka_unit_test(killed_while_it_ran_put_sums_in_place),
        cmocka_unit_test(killed_while_it_ran_put_sums_by_copy),
        cmocka_unit_test(killed_while_it_ran_set_value),
        cmocka_unit_test(killed_while_it_ran_set_control),
        cmocka_unit_test(killed_while_it_ran_append),
        cmocka_unit_test(killed_while_it_ran_read_entries),
        cmocka_unit_test(killed_while_it_ran_drop),
        cmocka_unit_test(killed_while_it_ran_open_and_close),
        cmocka_unit_test(killed_while_it_ran_check),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
