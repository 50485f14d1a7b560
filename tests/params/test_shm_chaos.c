/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kills the users of a shared-memory store by SIGKILL at random instants and finds nothing lost,
 * torn, stuck or leaked. Ranks are processes in a real loop of steps: contribute in place, sum
 * the shards they own, check every byte of every result; beside that they put, read and drop
 * values, append to logs, set the control record and check the store. The parent kills them, stops
 * some for a while, starts second attempts at ranks that live, and replaces the dead, who go on
 * from what the store holds.
 *
 * GUST_CHAOS_SECONDS says for how long (default 8).  test-timeout: 300
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/props.h"
#include "base/random.h"
#include "base/wire.h"
#include "params/shm.h"
#include "support/test.h"
#include "support/thread_env.h"

#define RANKS      4
#define SPARES     4
#define SHARDS     6
#define LIVES      65536 /* processes that may be started in all */
#define SLOTS      (RANKS + SPARES)
#define ROOM       2048
#define VALUES     6 /* that a process has at most */
#define RECORD     64
#define STOPPED_US 30000
#define STUCK_NS   (10 * NS_PER_S)

static const struct params_layout layout = {
    .ranks = RANKS,
    .spares = SPARES,
    .shards = SHARDS,
    .sums_kept = 2,
    .part_bytes = SHARDS * ROOM,
    .sum_bytes = SHARDS * ROOM,
    .general_bytes = MIB,
};

/* What a process did, told through memory of the test's own: before it begins, and when it knows.
 */
struct life {
    _Atomic uint64_t cas_begun, cas_done;
    _Atomic uint64_t log_begun, log_done;
    uint64_t log_read; /* the parent's */
    uint32_t rank;
};

struct board {
    _Atomic uint64_t last_step; /* ranks end when they have it */
    _Atomic uint64_t newest[RANKS];
    _Atomic int stopped[SLOTS]; /* processes to be continued */
    struct life lives[LIVES];
};

static struct board *board;

struct process {
    struct params *p;
    struct thread_env env;
    struct heap heap;
    struct buf buf;
    uint32_t rank, life;
    uint64_t drawn, values, seen_version;
};

/* In a forked process cmocka's assertions have nowhere to go: the exit status tells. */
#define CHECK(c)                                                                                   \
    do {                                                                                           \
        if (!(c)) {                                                                                \
            fprintf(stderr, "life %u rank %u line %d: %s\n", x->life, x->rank, __LINE__, #c);      \
            _exit(3);                                                                              \
        }                                                                                          \
    } while (0)

static uint64_t draw(struct process *x, uint64_t below)
{
    return random_below(random_at(99, x->life, x->drawn++, 0), below);
}

/* ---- what contributions and results must be ---- */

/* Sizes change from step to step; whole rooms can be summed in place together. */
static size_t piece_words(uint64_t step, uint32_t shard)
{
    return step % 3 == 0 ? ROOM / 4 : ROOM / 4 - (step * 7 + shard * 31) % 200;
}

static uint32_t contributed(uint64_t step, uint32_t rank, uint32_t shard, uint32_t i)
{
    return (uint32_t)((step * 2654435761u) ^ (rank * 40503u + shard * 9176u + i * 2246822519u));
}

static bool part_is_right(struct slice view, uint64_t step, uint32_t rank, uint32_t shard)
{
    const uint32_t *words = view.data;

    if (view.size != 4 * piece_words(step, shard))
        return false;
    for (uint32_t i = 0; i < view.size / 4; i++)
        if (words[i] != contributed(step, rank, shard, i))
            return false;
    return true;
}

static bool sum_is_right(struct slice view, uint64_t step, uint32_t shard)
{
    const uint32_t *words = view.data;

    if (view.size != 4 * piece_words(step, shard))
        return false;
    for (uint32_t i = 0; i < view.size / 4; i++) {
        uint32_t expected = 0;

        for (uint32_t r = 0; r < RANKS; r++)
            expected += contributed(step, r, shard, i);
        if (words[i] != expected)
            return false;
    }
    return true;
}

/* ---- a step ---- */

static bool is_missing(struct process *x, struct params_key key)
{
    bool missing;

    CHECK(params_missing(x->p, &key, 1, &missing, NULL) == 0);
    return missing;
}

static void contribute(struct process *x, uint64_t step)
{
    struct params_key keys[SHARDS];
    size_t sizes[SHARDS];
    void *room;
    char *at;
    int rc;

    for (uint32_t s = 0; s < SHARDS; s++) {
        keys[s] = (struct params_key){ PARAMS_PART, 0, step, x->rank, s };
        sizes[s] = 4 * piece_words(step, s);
    }
    while ((rc = params_reserve(x->p, keys, sizes, SHARDS, &room, NULL)) == E_FULL)
        usleep(1000);
    if (rc == E_EXISTS)
        return;
    CHECK(rc == 0);
    /* Wrong bytes first: if anyone else sees this memory, it shows. */
    memset(room, 0xEE, SHARDS * ROOM);
    at = room;
    for (uint32_t s = 0; s < SHARDS; s++) {
        for (uint32_t i = 0; i < sizes[s] / 4; i++)
            ((uint32_t *)at)[i] = contributed(step, x->rank, s, i);
        at += round_up(sizes[s], CACHE_LINE);
    }
    rc = params_publish(x->p, keys, SHARDS, NULL);
    CHECK(rc == 0 || rc == E_EXISTS);
}

/* Waits a while. 0, or E_TIMEOUT when it may be that the others are past this step. */
static int wait_for(struct process *x, const struct params_key *keys, unsigned count,
                    struct slice *views)
{
    bool watch = draw(x, 2);
    struct params_wait w = {
        .keys = keys,
        .count = count,
        .views = views,
        .seen_version = watch ? x->seen_version : PARAMS_UNWATCHED,
        .until = env_after(&x->env.base, 50 * NS_PER_MS),
    };
    int rc = params_wait(x->p, &w, NULL);

    if (rc == E_CHANGED) {
        uint64_t version = 0;

        rc = params_get(x->p, &(struct params_key){ .kind = PARAMS_CONTROL }, &x->buf, &version,
                        NULL);
        CHECK(watch && rc == 0 && version > x->seen_version);
        x->seen_version = version;
        return E_TIMEOUT;
    }
    CHECK(rc == 0 || rc == E_TIMEOUT);
    return rc;
}

/* Sums shards FIRST .. FIRST+COUNT-1 in one reservation. E_TIMEOUT as above. */
static int aggregate(struct process *x, uint64_t step, uint32_t first, uint32_t count)
{
    struct params_key sums[SHARDS], parts[SHARDS * RANKS];
    struct slice views[SHARDS * RANKS];
    size_t sizes[SHARDS];
    char *at;
    void *room;
    int rc;

    for (uint32_t i = 0; i < count; i++) {
        sums[i] = (struct params_key){ PARAMS_SUM, 0, step, 0, first + i };
        sizes[i] = 4 * piece_words(step, first + i);
        for (uint32_t r = 0; r < RANKS; r++)
            parts[i * RANKS + r] = (struct params_key){ PARAMS_PART, 0, step, r, first + i };
    }
    if (!is_missing(x, sums[0]))
        return 0;
    rc = wait_for(x, parts, count * RANKS, views);
    if (rc)
        return rc;
    CHECK(params_reserve(x->p, sums, sizes, count, &room, NULL) == 0);
    at = room;
    for (uint32_t i = 0; i < count; i++) {
        memset(at, 0, sizes[i]);
        for (uint32_t r = 0; r < RANKS; r++) {
            struct slice v = views[i * RANKS + r];

            /* Wrong bytes are an error unless the others are past them: shm_arena.c, A4. */
            if (!part_is_right(v, step, r, first + i)) {
                CHECK(is_missing(x, parts[i * RANKS + r]));
                return E_TIMEOUT;
            }
            for (uint32_t k = 0; k < v.size / 4; k++)
                ((uint32_t *)at)[k] += ((const uint32_t *)v.data)[k];
        }
        at += round_up(sizes[i], CACHE_LINE);
    }
    while ((rc = params_publish(x->p, sums, count, NULL)) == E_FULL)
        usleep(100);
    CHECK(rc == 0 || rc == E_EXISTS);
    return 0;
}

static int check_results(struct process *x, uint64_t step)
{
    struct params_key sums[SHARDS];
    struct slice views[SHARDS];
    int rc;

    for (uint32_t s = 0; s < SHARDS; s++)
        sums[s] = (struct params_key){ PARAMS_SUM, 0, step, 0, s };
    rc = wait_for(x, sums, SHARDS, views);
    for (uint32_t s = 0; s < SHARDS && !rc; s++)
        if (!sum_is_right(views[s], step, s)) {
            CHECK(is_missing(x, sums[s]));
            rc = E_TIMEOUT;
        }
    return rc;
}

/* ---- where a rank is ---- */

static struct params_key progress_key(uint32_t rank)
{
    return (struct params_key){ .kind = PARAMS_VALUE, .rank = rank, .shard = 1 };
}

static uint64_t load_progress(struct process *x, uint64_t *version)
{
    struct params_key key = progress_key(x->rank);
    uint64_t step = 0;
    int rc = params_get(x->p, &key, &x->buf, version, NULL);

    if (rc == E_NOT_FOUND) {
        *version = 0;
        return 0;
    }
    CHECK(rc == 0 && x->buf.size == sizeof(step));
    memcpy(&step, x->buf.data, sizeof(step));
    return step;
}

/* The rank has all results before STEP; another attempt at it may have said more already. */
static uint64_t store_progress(struct process *x, uint64_t step)
{
    struct params_key key = progress_key(x->rank);
    uint64_t version;

    for (;;) {
        uint64_t known = load_progress(x, &version);
        int rc;

        if (known >= step)
            return known;
        rc = params_cas(x->p, &key, version, slice(&step, sizeof(step)), &version, NULL);
        CHECK(rc == 0 || rc == E_CHANGED || rc == E_FULL);
        if (rc == 0)
            break;
    }
    if (atomic_load(&board->newest[x->rank]) < step)
        atomic_store(&board->newest[x->rank], step);
    return step;
}

/* ---- beside the steps ---- */

static void count_in_control(struct process *x)
{
    struct params_key key = { .kind = PARAMS_CONTROL };
    struct life *life = &board->lives[x->life];
    uint64_t record[RECORD] = { 0 }, version = 0;
    int rc = params_get(x->p, &key, &x->buf, &version, NULL);

    CHECK(rc == 0 || rc == E_NOT_FOUND);
    if (rc == 0) {
        CHECK(x->buf.size == sizeof(record));
        memcpy(record, x->buf.data, sizeof(record));
    }
    for (unsigned i = 0; i < RECORD; i++) {
        CHECK(record[i] == version);
        record[i]++;
    }
    atomic_fetch_add(&life->cas_begun, 1);
    rc = params_cas(x->p, &key, version, slice(record, sizeof(record)), &version, NULL);
    CHECK(rc == 0 || rc == E_CHANGED);
    if (rc == 0)
        atomic_fetch_add(&life->cas_done, 1);
    else
        atomic_fetch_sub(&life->cas_begun, 1);
}

static void report(struct process *x)
{
    struct params_key key = { .kind = PARAMS_LOG, .rank = x->rank };
    struct life *life = &board->lives[x->life];
    uint64_t entry[32];
    int rc;

    entry[0] = x->life;
    entry[1] = atomic_load(&life->log_begun) + 1;
    for (unsigned i = 2; i < ARRAY_SIZE(entry); i++)
        entry[i] = random_at(entry[0], entry[1], i, 0);
    atomic_store(&life->log_begun, entry[1]);
    while ((rc = params_append(x->p, &key, slice(entry, sizeof(entry)), NULL)) == E_FULL)
        usleep(1000);
    CHECK(rc == 0);
    atomic_store(&life->log_done, entry[1]);
}

static struct params_key value_key(uint32_t life, uint64_t n)
{
    return (struct params_key){ .kind = PARAMS_VALUE, .era = life, .step = n % VALUES, .shard = 2 };
}

/* Every byte from the size and its place; slow enough to be killed in the middle of it. */
static unsigned char byte_of(size_t size, size_t i)
{
    return (unsigned char)random_at(size, i, 0, 0);
}

static void fill(unsigned char *room, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((volatile unsigned char *)room)[i] = byte_of(size, i);
}

/* Puts a value, or looks at somebody's, or drops one of ours. */
static void play_with_values(struct process *x)
{
    uint64_t n = x->values++;
    struct params_key key = value_key(x->life, n);
    size_t size = 1 + draw(x, 20000);
    unsigned char *room;
    uint64_t version;
    int rc;

    if (n >= VALUES)
        CHECK(params_drop(x->p, &key, 1, NULL) == 0);
    rc = params_reserve(x->p, &key, &size, 1, (void **)&room, NULL);
    if (rc == 0) {
        fill(room, size);
        CHECK(params_publish(x->p, &key, 1, NULL) == 0);
    } else {
        CHECK(rc == E_FULL);
    }
    key = value_key((uint32_t)draw(x, x->life + 1), draw(x, VALUES));
    rc = params_get(x->p, &key, &x->buf, &version, NULL);
    CHECK(rc == 0 || rc == E_NOT_FOUND);
    for (size_t i = 0; i < x->buf.size && rc == 0; i++)
        CHECK((unsigned char)x->buf.data[i] == byte_of(x->buf.size, i));
}

static void do_something_else(struct process *x)
{
    struct params_shm_report report_;

    switch (draw(x, 8)) {
    case 0:
        count_in_control(x);
        break;
    case 1:
    case 2:
        play_with_values(x);
        break;
    case 3:
        report(x);
        break;
    case 4:
        CHECK(params_shm_check(x->p, &report_, NULL) == 0);
        break;
    case 5:
        /* Many in a row: most of the time is then spent under the lock. */
        for (uint64_t n = draw(x, 20); n > 0; n--) {
            report(x);
            count_in_control(x);
            store_progress(x, 0);
        }
        break;
    default:
        break;
    }
}

/* ---- a rank's life ---- */

/* SIGKILL after so much processor time: wherever it is then. */
static void die_after(uint64_t ns)
{
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
    struct itimerspec when = { .it_value = { .tv_nsec = (long)ns } };
    timer_t timer;

    if (timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) == 0)
        timer_settime(timer, 0, &when, NULL);
}

static void run_steps(struct process *x)
{
    uint32_t first = x->rank * SHARDS / RANKS, end = (x->rank + 1) * SHARDS / RANKS;
    uint64_t version, step = load_progress(x, &version);

    while (step < atomic_load(&board->last_step)) {
        int rc;

        if (draw(x, 2) || is_missing(x, (struct params_key){ PARAMS_PART, 0, step, x->rank, 0 }))
            contribute(x, step);
        do_something_else(x);
        rc = aggregate(x, step, first, end - first);
        if (!rc)
            rc = check_results(x, step);
        /* Out of time: perhaps another attempt at this rank went on without us. */
        step = rc ? load_progress(x, &version) : store_progress(x, step + 1);
    }
}

static void live(int fd, uint32_t rank, uint32_t life)
{
    struct process *x = calloc(1, sizeof(*x));
    struct params_open open = { .env = &x->env.base, .heap = &x->heap };
    int rc;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    x->rank = rank;
    x->life = life;
    thread_env_init(&x->env);
    heap_init(&x->heap, 0);
    buf_init(&x->buf, &x->heap, MIB);
    if (atomic_load(&board->last_step) == UINT64_MAX && draw(x, 8))
        die_after(NS_PER_MS / 10 + draw(x, 30 * NS_PER_MS));
    while ((rc = params_open("shm:", fd, &open, &x->p, NULL)) == E_FULL)
        usleep(1000);
    CHECK(rc == 0);
    run_steps(x);
    for (uint64_t n = 0; n < VALUES; n++) {
        struct params_key key = value_key(x->life, n);

        CHECK(params_drop(x->p, &key, 1, NULL) == 0);
    }
    if (draw(x, 2))
        params_close(x->p);
    _exit(0);
}

/* ---- the parent ---- */

struct child {
    pid_t pid; /* 0: none */
    uint32_t rank, life;
};

struct parent {
    struct thread_env env;
    struct heap heap;
    struct params *p;
    int fd;
    struct child children[SLOTS];
    uint32_t lives;
    uint64_t drawn, kills, deaths, stops;
    uint64_t cursors[RANKS];
    struct buf buf;
};

static uint64_t pick(struct parent *t, uint64_t below)
{
    return random_below(random_at(5, t->drawn++, 0, 0), below);
}

static void start(struct parent *t, struct child *c, uint32_t rank)
{
    assert_true(t->lives < LIVES);
    c->rank = rank;
    c->life = t->lives++;
    board->lives[c->life].rank = rank;
    c->pid = fork();
    assert_true(c->pid >= 0);
    if (c->pid == 0)
        live(t->fd, c->rank, c->life);
}

static bool has_attempt(struct parent *t, uint32_t rank)
{
    for (unsigned i = 0; i < SLOTS; i++)
        if (t->children[i].pid && t->children[i].rank == rank)
            return true;
    return false;
}

/* Those who ended: killed, or done with all steps. Their values go by name. */
static void reap(struct parent *t)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        struct child *c = &t->children[i];
        int status;

        if (!c->pid || waitpid(c->pid, &status, WNOHANG) != c->pid)
            continue;
        if (WIFSIGNALED(status))
            assert_int_equal(WTERMSIG(status), SIGKILL);
        else
            assert_int_equal(WEXITSTATUS(status), 0);
        t->deaths += WIFSIGNALED(status);
        for (uint64_t n = 0; n < VALUES; n++) {
            struct params_key key = value_key(c->life, n);

            assert_int_equal(params_drop(t->p, &key, 1, NULL), 0);
        }
        c->pid = 0;
        atomic_store(&board->stopped[i], 0);
    }
}

/* Every entry is whole, and each process's come in order, none twice and none left out. */
static void read_logs(struct parent *t)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        struct params_key key = { .kind = PARAMS_LOG, .rank = rank };
        struct wire_reader r;

        buf_reset(&t->buf);
        assert_int_equal(params_read(t->p, &key, &t->cursors[rank], &t->buf, NULL), 0);
        wire_read(&r, buf_slice(&t->buf));
        while (!wire_done(&r)) {
            struct slice s = wire_bytes(&r, PARAMS_ENTRY_MAX);
            uint64_t entry[32];

            assert_false(r.failed);
            assert_int_equal(s.size, sizeof(entry));
            memcpy(entry, s.data, sizeof(entry));
            assert_true(entry[0] < t->lives);
            assert_int_equal(entry[1], ++board->lives[entry[0]].log_read);
            for (unsigned i = 2; i < ARRAY_SIZE(entry); i++)
                assert_true(entry[i] == random_at(entry[0], entry[1], i, 0));
        }
    }
}

/*
 * Stopped processes are continued by a process that does nothing else: one that was stopped while
 * it held the lock also stops the parent.
 */
static pid_t start_continuing(void)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        usleep(STOPPED_US);
        for (unsigned i = 0; i < SLOTS; i++) {
            int stopped = atomic_exchange(&board->stopped[i], 0);

            if (stopped)
                kill((pid_t)stopped, SIGCONT);
        }
    }
}

static void disturb(struct parent *t)
{
    unsigned i = (unsigned)pick(t, SLOTS);
    struct child *c = &t->children[i];
    uint64_t what = pick(t, 20);

    if (!c->pid) {
        if (what < 4)
            start(t, c, (uint32_t)pick(t, RANKS));
    } else if (what < 14) {
        kill(c->pid, SIGKILL);
        t->kills++;
    } else if (what < 16) {
        kill(c->pid, SIGSTOP);
        atomic_store(&board->stopped[i], c->pid);
        t->stops++;
    }
}

static void replace_the_dead(struct parent *t)
{
    for (uint32_t rank = 0; rank < RANKS; rank++)
        for (unsigned i = 0; i < SLOTS && !has_attempt(t, rank); i++)
            if (!t->children[i].pid)
                start(t, &t->children[i], rank);
}

static uint64_t slowest(void)
{
    uint64_t least = UINT64_MAX;

    for (uint32_t r = 0; r < RANKS; r++)
        least = MIN(least, atomic_load(&board->newest[r]));
    return least;
}

static bool any_left(struct parent *t)
{
    for (unsigned i = 0; i < SLOTS; i++)
        if (t->children[i].pid)
            return true;
    return false;
}

/* Kills and replaces until the time is up, then lets everyone come to the same last step. */
static void run_chaos(struct parent *t, uint64_t seconds)
{
    uint64_t now = env_now(&t->env.base), end = now + seconds * NS_PER_S;
    uint64_t moved_at = now, reached = 0;
    bool ending = false;

    while (!ending || slowest() < atomic_load(&board->last_step) || any_left(t)) {
        struct params_shm_report r;
        struct error err = { 0 };

        now = env_now(&t->env.base);
        if (slowest() > reached || (ending && slowest() == atomic_load(&board->last_step))) {
            reached = slowest();
            moved_at = now;
        }
        if (!ending && now > end) {
            atomic_store(&board->last_step, reached + 20);
            ending = true;
        }
        reap(t);
        if (!ending)
            disturb(t);
        if (!ending || slowest() < atomic_load(&board->last_step))
            replace_the_dead(t);
        read_logs(t);
        if (pick(t, 20) == 0 && params_shm_check(t->p, &r, &err)) {
            print_error("%s\n", err.text);
            assert_int_equal(err.code, 0);
        }
        if (now - moved_at > STUCK_NS)
            print_error("stuck at step %u\n", (unsigned)reached);
        assert_true(now - moved_at <= STUCK_NS);
        usleep(500 + (useconds_t)pick(t, 4000));
    }
}

static void check_counts(struct parent *t)
{
    uint64_t begun = 0, done = 0, version;
    struct params_key key = { .kind = PARAMS_CONTROL };

    for (uint32_t i = 0; i < t->lives; i++) {
        struct life *life = &board->lives[i];

        begun += atomic_load(&life->cas_begun);
        done += atomic_load(&life->cas_done);
        assert_true(life->log_read >= atomic_load(&life->log_done));
        assert_true(life->log_read <= atomic_load(&life->log_begun));
    }
    assert_int_equal(params_get(t->p, &key, &t->buf, &version, NULL), 0);
    assert_true(version >= done && version <= begun);
}

/* Everything that the dead held is there again: the progress of the ranks is all there is. */
static void check_nothing_leaked(struct parent *t)
{
    struct params_key key = { .kind = PARAMS_VALUE, .shard = 3 };
    struct params_shm_report r;
    size_t rest;
    void *room;

    assert_int_equal(params_shm_check(t->p, &r, NULL), 0);
    assert_int_equal(r.handles, 1);
    assert_int_equal(r.values, RANKS);
    assert_int_equal(r.reserved, 0);
    assert_int_equal(r.entries, 0);
    assert_int_equal(r.rooms_claimed, 0);
    assert_int_equal(r.used_bytes, RANKS * CACHE_LINE);
    for (uint32_t i = 0; i < RANKS; i++) {
        struct params_key progress = progress_key(i);

        assert_int_equal(params_drop(t->p, &progress, 1, NULL), 0);
    }
    rest = layout.general_bytes;
    assert_int_equal(params_reserve(t->p, &key, &rest, 1, &room, NULL), 0);
    for (uint32_t i = 0; i < RANKS; i++) {
        struct params_key part = { PARAMS_PART, 0, slowest() + 10, i, 0 };

        assert_int_equal(params_put_new(t->p, &part, slice_str("x"), NULL), 0);
    }
}

static void a_store_survives_the_death_of_its_users_at_any_instant(void **state)
{
    const char *text = getenv("GUST_CHAOS_SECONDS");
    struct parent *t = calloc(1, sizeof(*t));
    struct params_open open = { .env = &t->env.base, .heap = &t->heap };
    struct params_address address;
    uint64_t seconds = 8;
    pid_t continuing;

    (void)state;
    if (text)
        assert_true(parse_u64(text, &seconds));
    /* A process that hangs must not hang the test run. */
    alarm((unsigned)seconds + 60);
    board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(board != MAP_FAILED);
    atomic_store(&board->last_step, UINT64_MAX);
    thread_env_init(&t->env);
    heap_init(&t->heap, 0);
    buf_init(&t->buf, &t->heap, 4 * MIB);
    assert_int_equal(params_create("shm:", &layout, &open, &t->p, NULL), 0);
    assert_int_equal(params_address(t->p, &address, NULL), 0);
    t->fd = address.fd;

    continuing = start_continuing();
    run_chaos(t, seconds);
    kill(continuing, SIGKILL);
    waitpid(continuing, NULL, 0);
    read_logs(t);
    check_counts(t);
    check_nothing_leaked(t);
    print_message("%u steps, %u processes, %u died, %u stopped for a while\n", (unsigned)slowest(),
                  t->lives, (unsigned)t->deaths, (unsigned)t->stops);
    assert_true(t->deaths > 10 * seconds);
    assert_true(slowest() > 10 * seconds);

    params_close(t->p);
    buf_release(&t->buf);
    heap_release(&t->heap);
    thread_env_release(&t->env);
    munmap(board, sizeof(*board));
    free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_survives_the_death_of_its_users_at_any_instant),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
