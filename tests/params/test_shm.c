/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is particular to the shared-memory store: its file, processes that die at a known place,
 * waking across processes, and that its check finds what is broken.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"
#include "params/shm_internal.h"
#include "support/test.h"
#include "support/thread_env.h"

static const struct params_layout small = {
    .ranks = 2,
    .spares = 0,
    .shards = 2,
    .sums_kept = 2,
    .part_bytes = 128,
    .sum_bytes = 128,
    .general_bytes = 64 * KIB,
};

#define VALUE(n)      ((struct params_key){ .kind = PARAMS_VALUE, .step = (n) })
#define PART(t, r, s) ((struct params_key){ PARAMS_PART, 0, (t), (r), (s) })
#define SUM(t, s)     ((struct params_key){ PARAMS_SUM, 0, (t), 0, (s) })

struct user {
    struct thread_env env;
    struct heap heap;
    struct params *p;
};

static void user_init(struct user *u)
{
    thread_env_init(&u->env);
    heap_init(&u->heap, 0);
    u->p = NULL;
}

static int user_open(struct user *u, int fd, struct error *err)
{
    struct params_open open = { .env = &u->env.base, .heap = &u->heap };

    user_init(u);
    return params_open("shm:", fd, &open, &u->p, err);
}

static int create(struct user *u, const struct params_layout *layout, struct error *err)
{
    struct params_open open = { .env = &u->env.base, .heap = &u->heap };

    user_init(u);
    return params_create("shm:", layout, &open, &u->p, err);
}

static void user_release(struct user *u)
{
    params_close(u->p);
    assert_int_equal(u->heap.used_bytes, 0);
    heap_release(&u->heap);
    thread_env_release(&u->env);
}

static int fd_of(struct user *u)
{
    struct params_address address;

    assert_int_equal(params_address(u->p, &address, NULL), 0);
    assert_string_equal(address.url, "shm:");
    return address.fd;
}

static struct shm_params *inside(struct user *u)
{
    return container_of(u->p, struct shm_params, base);
}

static int put(struct params *p, struct params_key key, const char *text)
{
    return params_put_new(p, &key, slice_str(text), NULL);
}

static bool is_missing(struct params *p, struct params_key key)
{
    bool missing;

    assert_int_equal(params_missing(p, &key, 1, &missing, NULL), 0);
    return missing;
}

static void assert_value(struct params *p, struct params_key key, const char *text)
{
    struct slice view;
    struct params_wait w = {
        .keys = &key, .count = 1, .views = &view, .seen_version = PARAMS_UNWATCHED
    };

    assert_int_equal(params_wait(p, &w, NULL), 0);
    assert_true(slice_equal(view, slice_str(text)));
}

/* Does WORK in a process of its own, which is then killed, or left as a zombie. */
static pid_t run_and_die(int fd, void (*work)(struct params *p), bool reap)
{
    siginfo_t info;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        struct user *u = calloc(1, sizeof(*u));

        if (user_open(u, fd, NULL))
            _exit(1);
        work(u->p);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(info.si_code, CLD_KILLED);
    if (reap)
        waitpid(pid, NULL, 0);
    return pid;
}

/* ---- the file ---- */

static void a_layout_that_does_not_fit_is_refused(void **state)
{
    struct params_layout l = small;
    struct error err = { 0 };
    struct user u;

    (void)state;
    l.general_bytes = (size_t)1 << 46;
    assert_int_equal(create(&u, &l, &err), E_FULL);
    assert_non_null(strstr(err.text, "MiB"));
    l = small;
    l.part_bytes = SIZE_MAX / 4;
    assert_int_equal(create(&u, &l, &err), E_LIMIT);
    l = small;
    l.ranks = 100000;
    assert_int_equal(create(&u, &l, &err), E_LIMIT);
    l = small;
    l.sums_kept = 1;
    assert_int_equal(create(&u, &l, &err), E_INVALID);
}

static void what_is_not_a_store_is_not_opened(void **state)
{
    char garbage[16384];
    int fd = memfd_create("not a store", 0), pipes[2];
    struct user u;

    (void)state;
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(user_open(&u, -1, NULL), E_INVALID);
    assert_int_equal(user_open(&u, 12345, NULL), E_IO);
    assert_int_equal(user_open(&u, pipes[0], NULL), E_FORMAT);
    assert_int_equal(user_open(&u, fd, NULL), E_FORMAT);
    memset(garbage, 'g', sizeof(garbage));
    assert_int_equal(write(fd, garbage, sizeof(garbage)), sizeof(garbage));
    assert_int_equal(user_open(&u, fd, NULL), E_FORMAT);
    assert_int_equal(u.heap.used_bytes, 0);
    close(fd);
    close(pipes[0]);
    close(pipes[1]);
}

static void a_changed_plan_is_not_opened(void **state)
{
    struct user a, b;

    (void)state;
    assert_int_equal(create(&a, &small, NULL), 0);
    /* The process's own mapping is found without looking at the file: look from another. */
    inside(&a)->file->plan.general += 4096;
    if (fork() == 0) {
        inside(&a)->map->inode++;
        _exit(user_open(&b, fd_of(&a), NULL) == E_FORMAT ? 0 : 1);
    } else {
        int status;

        wait(&status);
        assert_int_equal(status, 0);
    }
    inside(&a)->file->plan.general -= 4096;
    user_release(&a);
}

static void handles_of_a_process_share_one_mapping(void **state)
{
    struct user a, b;
    int copy;

    (void)state;
    assert_int_equal(create(&a, &small, NULL), 0);
    copy = dup(fd_of(&a));
    assert_int_equal(user_open(&b, copy, NULL), 0);
    close(copy);
    assert_ptr_equal(inside(&a)->file, inside(&b)->file);
    assert_int_equal(params_address(b.p, &(struct params_address){ 0 }, NULL), E_UNSUPPORTED);
    assert_int_equal(put(b.p, VALUE(1), "x"), 0);
    assert_value(a.p, VALUE(1), "x");
    user_release(&b);
    user_release(&a);
}

static void a_file_cannot_be_cut_short(void **state)
{
    struct user u;

    (void)state;
    assert_int_equal(create(&u, &small, NULL), 0);
    assert_int_equal(ftruncate(fd_of(&u), 4096), -1);
    user_release(&u);
}

static void there_are_only_so_many_handles(void **state)
{
    static struct user users[200];
    struct user a;
    unsigned n = 0;
    int rc;

    (void)state;
    assert_int_equal(create(&a, &small, NULL), 0);
    while (n < ARRAY_SIZE(users) && (rc = user_open(&users[n], fd_of(&a), NULL)) == 0)
        n++;
    assert_int_equal(rc, E_FULL);
    assert_int_equal(n, inside(&a)->plan->handle_count - 1);
    user_release(&users[0]);
    assert_int_equal(user_open(&users[0], fd_of(&a), NULL), 0);
    while (n > 0)
        user_release(&users[--n]);
    user_release(&a);
}

/* ---- the dead ---- */

static void reserve_everything(struct params *p)
{
    struct params_key key = VALUE(7);
    size_t size = 64 * KIB;
    void *room;

    if (params_reserve(p, &key, &size, 1, &room, NULL))
        _exit(1);
}

static void what_the_dead_reserved_is_taken_back(void **state)
{
    struct user u;

    (void)state;
    for (unsigned reap = 0; reap < 2; reap++) {
        pid_t pid;

        assert_int_equal(create(&u, &small, NULL), 0);
        pid = run_and_die(fd_of(&u), reserve_everything, reap);
        assert_int_equal(put(u.p, VALUE(8), "there is room"), 0);
        if (!reap)
            waitpid(pid, NULL, 0);
        user_release(&u);
    }
}

static void what_the_living_reserved_is_not(void **state)
{
    struct user a, b;

    (void)state;
    assert_int_equal(create(&a, &small, NULL), 0);
    assert_int_equal(user_open(&b, fd_of(&a), NULL), 0);
    reserve_everything(b.p);
    assert_int_equal(put(a.p, VALUE(8), "x"), E_FULL);
    user_release(&b);
    user_release(&a);
}

static uint64_t step_of_the_dead;

static void contribute(struct params *p)
{
    for (uint64_t t = 0; t <= step_of_the_dead; t++)
        if (put(p, PART(t, 0, 0), t & 1 ? "odd" : "even"))
            _exit(1);
}

static void a_replacement_goes_on_in_the_seat_of_the_dead(void **state)
{
    struct user a, b, c;

    (void)state;
    assert_int_equal(create(&a, &small, NULL), 0);
    assert_int_equal(user_open(&b, fd_of(&a), NULL), 0);
    assert_int_equal(put(b.p, PART(0, 1, 0), "other"), 0);
    step_of_the_dead = 5;
    run_and_die(fd_of(&a), contribute, true);
    /* Both seats are taken, one by the living and one by what the dead one left. */
    assert_int_equal(user_open(&c, fd_of(&a), NULL), 0);
    assert_value(c.p, PART(4, 0, 0), "even");
    assert_value(c.p, PART(5, 0, 0), "odd");
    assert_int_equal(put(c.p, PART(5, 0, 0), "again"), E_EXISTS);
    assert_int_equal(put(c.p, PART(4, 0, 0), "again"), E_EXISTS);
    assert_int_equal(put(c.p, PART(6, 0, 0), "six"), 0);
    assert_value(a.p, PART(5, 0, 0), "odd");
    assert_true(is_missing(a.p, PART(4, 0, 0)));
    assert_int_equal(put(c.p, PART(7, 0, 0), "seven"), 0);
    assert_value(a.p, PART(6, 0, 0), "six");
    assert_value(a.p, PART(7, 0, 0), "seven");
    user_release(&c);
    user_release(&b);
    user_release(&a);
}

static void a_seat_is_not_given_away_while_its_steps_may_be_read(void **state)
{
    struct user a;

    (void)state;
    assert_int_equal(create(&a, &small, NULL), 0);
    step_of_the_dead = 5;
    run_and_die(fd_of(&a), contribute, true);
    assert_int_equal(put(a.p, PART(5, 1, 0), "five"), 0);
    assert_int_equal(put(a.p, PART(6, 1, 0), "six"), 0);
    assert_value(a.p, PART(5, 0, 0), "odd");
    user_release(&a);
}

static void a_seat_of_a_rank_that_left_serves_another(void **state)
{
    struct user a, b;

    (void)state;
    assert_int_equal(create(&a, &small, NULL), 0);
    assert_int_equal(user_open(&b, fd_of(&a), NULL), 0);
    step_of_the_dead = 1;
    run_and_die(fd_of(&a), contribute, true);
    /* Rank 0's two steps may be read until the others are two steps further. */
    assert_int_equal(put(a.p, PART(1, 1, 0), "a"), 0);
    assert_int_equal(put(b.p, PART(2, 1, 0), "b"), E_FULL);
    assert_int_equal(put(a.p, PART(2, 1, 0), "a"), 0);
    assert_int_equal(put(b.p, PART(3, 1, 0), "b"), E_FULL);
    assert_value(b.p, PART(1, 0, 0), "odd");
    assert_int_equal(put(a.p, PART(3, 1, 0), "a"), 0);
    assert_int_equal(put(b.p, PART(4, 1, 0), "b"), 0);
    assert_true(is_missing(b.p, PART(0, 0, 0)));
    assert_true(is_missing(b.p, PART(1, 0, 0)));
    assert_value(a.p, PART(3, 1, 0), "a");
    assert_value(a.p, PART(4, 1, 0), "b");
    user_release(&b);
    user_release(&a);
}

static void a_contribution_is_absent_before_its_memory_is_used_again(void **state)
{
    struct params_key key = PART(2, 0, 0);
    size_t size = 8;
    struct user a;
    void *room;

    (void)state;
    assert_int_equal(create(&a, &small, NULL), 0);
    assert_int_equal(put(a.p, PART(0, 0, 0), "zero"), 0);
    assert_int_equal(put(a.p, PART(1, 0, 0), "one"), 0);
    assert_int_equal(params_reserve(a.p, &key, &size, 1, &room, NULL), 0);
    assert_true(is_missing(a.p, PART(0, 0, 0)));
    assert_true(is_missing(a.p, PART(2, 0, 0)));
    assert_value(a.p, PART(1, 0, 0), "one");
    user_release(&a);
}

static void reserve_sums(struct params *p)
{
    struct params_key keys[2] = { SUM(2, 0), SUM(2, 1) };
    size_t sizes[2] = { 64, 64 };
    void *room;

    if (params_reserve(p, keys, sizes, 2, &room, NULL))
        _exit(1);
    memset(room, 'd', 128);
}

static void rooms_that_the_dead_claimed_are_taken_over(void **state)
{
    struct params_shm_report r;
    struct user a;

    (void)state;
    assert_int_equal(create(&a, &small, NULL), 0);
    for (uint64_t t = 0; t < 2; t++)
        for (uint32_t s = 0; s < 2; s++)
            assert_int_equal(put(a.p, SUM(t, s), "old"), 0);
    for (unsigned i = 0; i < 5; i++)
        run_and_die(fd_of(&a), reserve_sums, true);
    assert_int_equal(params_shm_check(a.p, &r, NULL), 0);
    assert_int_equal(r.rooms_claimed, 0);
    for (uint64_t t = 2; t < 9; t++)
        for (uint32_t s = 0; s < 2; s++) {
            assert_value(a.p, SUM(t - 2, s), "old");
            assert_int_equal(put(a.p, SUM(t, s), "old"), 0);
            assert_value(a.p, SUM(t - 1, s), "old");
        }
    user_release(&a);
}

/* The words of one shard only, as if killed between the two. */
static void publish_half(struct params *p)
{
    struct shm_params *s = container_of(p, struct shm_params, base);

    reserve_sums(p);
    atomic_store(shm_sum_word(s, 0, 1), shm_tag(0, 2) | (s->shards[1].bank + 1));
}

static void a_half_published_result_is_completed_by_the_next_owner(void **state)
{
    struct params_key keys[2] = { SUM(2, 0), SUM(2, 1) };
    size_t sizes[2] = { 64, 64 };
    struct user a;
    void *room;

    (void)state;
    assert_int_equal(create(&a, &small, NULL), 0);
    for (uint64_t t = 0; t < 2; t++)
        for (uint32_t s = 0; s < 2; s++)
            assert_int_equal(put(a.p, SUM(t, s), "old"), 0);
    run_and_die(fd_of(&a), publish_half, true);
    assert_true(is_missing(a.p, SUM(2, 0)));
    assert_false(is_missing(a.p, SUM(2, 1)));
    assert_int_equal(params_reserve(a.p, keys, sizes, 2, &room, NULL), 0);
    memset(room, 'n', 128);
    assert_int_equal(params_publish(a.p, keys, 2, NULL), 0);
    assert_false(is_missing(a.p, SUM(2, 0)));
    assert_false(is_missing(a.p, SUM(2, 1)));
    assert_value(a.p, SUM(1, 0), "old");
    user_release(&a);
}

static void many_may_write_the_same_result_and_one_wins(void **state)
{
    struct params_key keys[2] = { SUM(2, 0), SUM(2, 1) };
    size_t sizes[2] = { 64, 64 };
    struct user users[6];
    char *rooms[6];

    (void)state;
    assert_int_equal(create(&users[0], &small, NULL), 0);
    for (uint64_t t = 0; t < 2; t++)
        for (uint32_t s = 0; s < 2; s++)
            assert_int_equal(put(users[0].p, SUM(t, s), "old"), 0);
    for (unsigned i = 0; i < 6; i++) {
        if (i)
            assert_int_equal(user_open(&users[i], fd_of(&users[0]), NULL), 0);
        assert_int_equal(params_reserve(users[i].p, keys, sizes, 2, (void **)&rooms[i], NULL), 0);
        memset(rooms[i], 'a' + (int)i, 128);
    }
    /* The fourth has only memory of its own, the first has a room. */
    assert_int_equal(params_publish(users[3].p, keys, 2, NULL), 0);
    for (unsigned i = 0; i < 6; i++)
        if (i != 3)
            assert_int_equal(params_publish(users[i].p, keys, 2, NULL), E_EXISTS);
    for (uint32_t s = 0; s < 2; s++) {
        char expected[65] = { 0 };

        memset(expected, 'd', 64);
        assert_value(users[0].p, SUM(2, s), expected);
        assert_value(users[0].p, SUM(1, s), "old");
    }
    for (unsigned i = 6; i-- > 0;)
        user_release(&users[i]);
}

/* Leaves the general part as one does who is killed under the lock, in the middle of a cas. */
static void die_replacing(struct params *p)
{
    struct shm_params *s = container_of(p, struct shm_params, base);
    struct shm_slot *slots = shm_slots(s), *old, *new;
    uint32_t i = 0;

    shm_lock(s);
    while (slots[i].key.step != 1 || atomic_load(&slots[i].state) != SHM_LIVE)
        i++;
    old = &slots[i];
    new = &slots[s->file->free_slots];
    *new = *old;
    new->version = 2;
    new->offset = 4096;
    memcpy(s->at + s->plan->general + new->offset, "new", 3);
    atomic_store(&new->state, SHM_LIVE);
    s->file->leftmost = 3;
    s->file->used_bytes = 9;
    shm_buckets(s)[0] = 1;
}

static void whoever_gets_the_lock_of_the_dead_repairs(void **state)
{
    struct params_shm_report r;
    struct user a;

    (void)state;
    assert_int_equal(create(&a, &small, NULL), 0);
    assert_int_equal(put(a.p, VALUE(1), "old"), 0);
    assert_int_equal(put(a.p, VALUE(2), "two"), 0);
    run_and_die(fd_of(&a), die_replacing, true);
    assert_value(a.p, VALUE(1), "new");
    assert_value(a.p, VALUE(2), "two");
    assert_int_equal(params_shm_check(a.p, &r, NULL), 0);
    assert_int_equal(r.values, 2);
    assert_int_equal(r.used_bytes, 128);
    user_release(&a);
}

#define HAMMERS 8

/* Takes and gives the lock until somebody kills it. */
static void hammer(int fd)
{
    struct params_key key = VALUE(1);
    struct user *u = calloc(1, sizeof(*u));
    bool missing;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (user_open(u, fd, NULL))
        _exit(1);
    for (;;)
        params_missing(u->p, &key, 1, &missing, NULL);
}

/* Kills those who hammer, at random, so that it is no one who waits for the lock that kills. */
static void kill_hammers(const volatile pid_t *hammers)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (uint64_t n = 0;; n++) {
        uint64_t bits = random_at(3, n, 0, 0);

        usleep((useconds_t)(bits % 400));
        for (unsigned i = 0; i < HAMMERS; i++)
            if (hammers[i] && ((bits >> 32) % HAMMERS == i || bits >> 60 == 0))
                kill(hammers[i], SIGKILL);
    }
}

static void whoever_waits_for_the_lock_gets_it_though_other_waiters_die(void **state)
{
    volatile pid_t *hammers =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct user a;
    uint64_t until;
    pid_t killer;

    (void)state;
    assert_int_equal(create(&a, &small, NULL), 0);
    killer = fork();
    if (killer == 0)
        kill_hammers(hammers);
    until = env_after(&a.env.base, 3 * NS_PER_S);
    while (env_now(&a.env.base) < until) {
        for (unsigned i = 0; i < HAMMERS; i++) {
            if (hammers[i] && waitpid(hammers[i], NULL, WNOHANG) == hammers[i])
                hammers[i] = 0;
            if (!hammers[i]) {
                pid_t pid = fork();

                if (pid == 0)
                    hammer(fd_of(&a));
                hammers[i] = pid;
            }
        }
        for (unsigned i = 0; i < 20; i++)
            assert_true(is_missing(a.p, VALUE(1)));
    }
    kill(killer, SIGKILL);
    waitpid(killer, NULL, 0);
    for (unsigned i = 0; i < HAMMERS; i++) {
        kill(hammers[i], SIGKILL);
        waitpid(hammers[i], NULL, 0);
    }
    assert_int_equal(put(a.p, VALUE(1), "fine"), 0);
    munmap((void *)hammers, 4096);
    user_release(&a);
}

/* ---- waking ---- */

static void wait_until_there(struct params *p, struct params_key key)
{
    struct slice view;
    struct params_wait w = { .keys = &key,
                             .count = 1,
                             .views = &view,
                             .seen_version = PARAMS_UNWATCHED,
                             .until = ENV_FOREVER };

    if (params_wait(p, &w, NULL))
        _exit(1);
}

static void waking_another_process_does_not_wait_for_the_recheck(void **state)
{
    const uint64_t rounds = 100;
    uint64_t began;
    struct user a;
    pid_t pid;

    (void)state;
    assert_int_equal(create(&a, &small, NULL), 0);
    pid = fork();
    if (pid == 0) {
        struct user *u = calloc(1, sizeof(*u));

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (user_open(u, fd_of(&a), NULL))
            _exit(1);
        for (uint64_t t = 0; t < rounds; t++) {
            wait_until_there(u->p, PART(t, 0, 0));
            if (put(u->p, SUM(t, 1), "pong"))
                _exit(1);
        }
        _exit(0);
    }
    began = env_now(&a.env.base);
    for (uint64_t t = 0; t < rounds; t++) {
        usleep(500);
        assert_int_equal(put(a.p, PART(t, 0, 0), "ping"), 0);
        wait_until_there(a.p, SUM(t, 1));
    }
    assert_true(env_now(&a.env.base) - began < rounds * SHM_RECHECK_NS / 2);
    waitpid(pid, NULL, 0);
    user_release(&a);
}

/* The word without the wake: as if killed between the two. */
static void publish_without_waking(struct params *p)
{
    struct shm_params *s = container_of(p, struct shm_params, base);
    struct params_key key = PART(3, 1, 0);
    size_t size = 4;
    void *room;

    usleep(5000);
    if (params_reserve(p, &key, &size, 1, &room, NULL))
        _exit(1);
    memcpy(room, "late", 4);
    atomic_store(&shm_ranks(s)[1].published[1], shm_tag(0, 3) | (s->ranks[1].seat + 1));
}

struct waiter {
    struct params *p;
    bool done;
};

static void *wait_in_thread(void *arg)
{
    struct waiter *w = arg;

    wait_until_there(w->p, PART(3, 1, 0));
    w->done = true;
    return NULL;
}

static void a_value_whose_publisher_died_before_waking_is_found(void **state)
{
    struct user a;
    struct waiter w;
    pthread_t thread;

    (void)state;
    assert_int_equal(create(&a, &small, NULL), 0);
    w = (struct waiter){ .p = a.p };
    /* Forked from here while the thread sleeps: nothing of the thread's is used in there. */
    assert_int_equal(pthread_create(&thread, NULL, wait_in_thread, &w), 0);
    run_and_die(fd_of(&a), publish_without_waking, true);
    pthread_join(thread, NULL);
    assert_true(w.done);
    assert_value(a.p, PART(3, 1, 0), "late");
    user_release(&a);
}

/* ---- the check ---- */

static void the_check_finds_what_is_broken(void **state)
{
    struct params_shm_report r;
    struct shm_params *s;
    struct user a;

    (void)state;
    assert_int_equal(create(&a, &small, NULL), 0);
    s = inside(&a);
    assert_int_equal(put(a.p, VALUE(1), "one"), 0);
    assert_int_equal(put(a.p, VALUE(2), "two"), 0);
    assert_int_equal(put(a.p, PART(1, 1, 1), "part"), 0);
    assert_int_equal(put(a.p, SUM(0, 0), "sum"), 0);
    assert_int_equal(put(a.p, SUM(1, 0), "sum"), 0);
    assert_int_equal(params_shm_check(a.p, &r, NULL), 0);
    assert_int_equal(r.handles, 1);
    assert_int_equal(r.values, 2);
    assert_int_equal(r.seats, 1);

    s->file->used_bytes += 64;
    assert_int_equal(params_shm_check(a.p, &r, NULL), E_MISMATCH);
    s->file->used_bytes -= 64;
    shm_slots(s)[1].offset -= 64;
    assert_int_equal(params_shm_check(a.p, &r, NULL), E_MISMATCH);
    shm_slots(s)[1].offset += 64;
    atomic_store(&shm_slots(s)[5].state, SHM_LIVE);
    assert_int_equal(params_shm_check(a.p, &r, NULL), E_MISMATCH);
    atomic_store(&shm_slots(s)[5].state, SHM_FREE);
    shm_slots(s)[1].key.step = 99;
    assert_int_equal(params_shm_check(a.p, &r, NULL), E_MISMATCH);
    shm_slots(s)[1].key.step = 2;
    atomic_fetch_add(&shm_ranks(s)[1].published[1], 1);
    assert_int_equal(params_shm_check(a.p, &r, NULL), E_MISMATCH);
    atomic_fetch_sub(&shm_ranks(s)[1].published[1], 1);
    atomic_store(shm_sum_word(s, 1, 0),
                 shm_tag(0, 1) | (shm_word_place(atomic_load(shm_sum_word(s, 0, 0))) + 1));
    assert_int_equal(params_shm_check(a.p, &r, NULL), E_MISMATCH);
    user_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layout_that_does_not_fit_is_refused),
        cmocka_unit_test(what_is_not_a_store_is_not_opened),
        cmocka_unit_test(a_changed_plan_is_not_opened),
        cmocka_unit_test(handles_of_a_process_share_one_mapping),
        cmocka_unit_test(a_file_cannot_be_cut_short),
        cmocka_unit_test(there_are_only_so_many_handles),
        cmocka_unit_test(what_the_dead_reserved_is_taken_back),
        cmocka_unit_test(what_the_living_reserved_is_not),
        cmocka_unit_test(a_replacement_goes_on_in_the_seat_of_the_dead),
        cmocka_unit_test(a_seat_is_not_given_away_while_its_steps_may_be_read),
        cmocka_unit_test(a_seat_of_a_rank_that_left_serves_another),
        cmocka_unit_test(a_contribution_is_absent_before_its_memory_is_used_again),
        cmocka_unit_test(rooms_that_the_dead_claimed_are_taken_over),
        cmocka_unit_test(a_half_published_result_is_completed_by_the_next_owner),
        cmocka_unit_test(many_may_write_the_same_result_and_one_wins),
        cmocka_unit_test(whoever_gets_the_lock_of_the_dead_repairs),
        cmocka_unit_test(whoever_waits_for_the_lock_gets_it_though_other_waiters_die),
        cmocka_unit_test(waking_another_process_does_not_wait_for_the_recheck),
        cmocka_unit_test(a_value_whose_publisher_died_before_waking_is_found),
        cmocka_unit_test(the_check_finds_what_is_broken),
    };

    /* A wait that nobody ends must not hang the test run. */
    alarm(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
