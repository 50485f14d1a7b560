/* SPDX-License-Identifier: Apache-2.0 */
/* The contract of objects.h, run over every store and every decorator around one. */
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"
#include "objects/decorators.h"
#include "support/test.h"

/* ---- an environment whose time passes only when somebody sleeps ---- */

struct still_env {
    struct env base;
    uint64_t now;
};

static uint64_t still_now(struct env *e)
{
    return container_of(e, struct still_env, base)->now;
}

static void still_sleep(struct env *e, uint64_t ns)
{
    container_of(e, struct still_env, base)->now += ns;
}

static const struct env_ops still_ops = { .now = still_now, .sleep = still_sleep };

/* ---- the stores ---- */

struct fixture {
    struct heap heap;
    struct still_env env;
    char url[64];
    struct objects *objects;
    unsigned lines; /* traced */
};

static void count_line(void *arg, const char *line)
{
    assert_non_null(strstr(line, line[0] == 'c' && line[1] == 'l' ? "close" : ": "));
    ++*(unsigned *)arg;
}

static struct objects *open_url(struct fixture *f)
{
    struct objects_open open = { .env = &f->env.base, .heap = &f->heap };
    struct objects *o = NULL;

    assert_int_equal(objects_open(f->url, &open, &o, NULL), 0);
    return o;
}

static struct fixture *new_fixture(const char *scheme)
{
    struct fixture *f = calloc(1, sizeof(*f));
    char folder[] = "/tmp/gust-objects-XXXXXX";

    f->env.base.ops = &still_ops;
    if (strcmp(scheme, "file") == 0)
        snprintf(f->url, sizeof(f->url), "file:%s/a/b", mkdtemp(folder));
    else
        snprintf(f->url, sizeof(f->url), "memory:contract");
    f->objects = open_url(f);
    return f;
}

static int set_up_memory(void **state)
{
    *state = new_fixture("memory");
    return 0;
}

static int set_up_file(void **state)
{
    *state = new_fixture("file");
    return 0;
}

static int set_up_traced(void **state)
{
    struct fixture *f = new_fixture("memory");

    f->objects = objects_traced_new(f->objects, count_line, &f->lines);
    *state = f;
    return 0;
}

static int set_up_delayed(void **state)
{
    struct objects_delays delays = { .latency_ns = 1000, .bytes_per_s = 1e6 };
    struct fixture *f = new_fixture("file");

    f->objects = objects_delayed_new(f->objects, &delays);
    *state = f;
    return 0;
}

static int set_up_faulty(void **state)
{
    struct objects_faults faults = { .seed = 3, .fails = 0.3, .lost_reply = 0.3 };
    struct fixture *f = new_fixture("file");

    f->objects = objects_faulty_new(f->objects, &faults);
    *state = f;
    return 0;
}

static int remove_one(const char *path, const struct stat *st UNUSED, int flag UNUSED,
                      struct FTW *w UNUSED)
{
    return remove(path);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    objects_close(f->objects);
    if (strncmp(f->url, "file:", 5) == 0) {
        char *root = f->url + 5;

        root[strlen(root) - strlen("/a/b")] = 0;
        nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    }
    assert_int_equal(f->heap.used_bytes, 0);
    heap_release(&f->heap);
    free(f);
    return 0;
}

/* ---- calls that are made again while they fail with a fault ---- */

static bool again(const struct error *err)
{
    return err->code == E_IO && err->retriable;
}

#define UNTIL_ANSWERED(call)                                                                       \
    struct error err = { 0 };                                                                      \
    int rc;                                                                                        \
    do {                                                                                           \
        err = (struct error){ 0 };                                                                 \
        rc = call;                                                                                 \
        assert_true(rc == err.code || rc > 0);                                                     \
    } while (again(&err));                                                                         \
    return rc

static int put(struct fixture *f, const char *name, struct slice value)
{
    UNTIL_ANSWERED(objects_put(f->objects, name, value, &err));
}

static int put_text(struct fixture *f, const char *name, const char *text)
{
    return put(f, name, slice_str(text));
}

static int get(struct fixture *f, const char *name, uint64_t offset, size_t size, void *into,
               size_t *got)
{
    UNTIL_ANSWERED(objects_get(f->objects, name, offset, size, into, got, &err));
}

static int map(struct fixture *f, const char *name, struct slice *out)
{
    UNTIL_ANSWERED(objects_map(f->objects, name, out, &err));
}

static int stat_object(struct fixture *f, const char *name, struct objects_stat *out)
{
    UNTIL_ANSWERED(objects_stat(f->objects, name, out, &err));
}

static int delete_object(struct fixture *f, const char *name)
{
    UNTIL_ANSWERED(objects_delete(f->objects, name, &err));
}

static int list(struct fixture *f, const char *prefix, objects_list_fn each, void *arg)
{
    UNTIL_ANSWERED(objects_list(f->objects, prefix, each, arg, &err));
}

/* After a lost answer E_EXISTS may be about one's own object: then its bytes tell. */
static int create_text(struct fixture *f, const char *name, const char *text)
{
    struct error err = { 0 };
    bool doubtful = false;
    char now[64];
    size_t got = 0;
    int rc;

    while ((rc = objects_create(f->objects, name, slice_str(text), &err)) && again(&err)) {
        doubtful = true;
        err = (struct error){ 0 };
    }
    if (rc == E_EXISTS && doubtful && get(f, name, 0, sizeof(now), now, &got) == 0 &&
        slice_equal(slice(now, got), slice_str(text)))
        return 0;
    return rc;
}

static void assert_holds(struct fixture *f, const char *name, const char *text)
{
    char into[256];
    size_t got = 0;

    assert_int_equal(get(f, name, 0, sizeof(into), into, &got), 0);
    assert_int_equal(got, strlen(text));
    assert_memory_equal(into, text, got);
}

/* ---- the contract ---- */

static void what_was_put_can_be_read(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(put_text(f, "a/b/c", "hello"), 0);
    assert_holds(f, "a/b/c", "hello");
    assert_int_equal(put_text(f, "a/b/c", "other bytes"), 0);
    assert_holds(f, "a/b/c", "other bytes");
    assert_int_equal(put_text(f, "empty", ""), 0);
    assert_holds(f, "empty", "");
}

static void ranges_end_with_the_object(void **state)
{
    struct fixture *f = *state;
    char into[16] = "";
    size_t got = 99;

    put_text(f, "x", "0123456789");
    assert_int_equal(get(f, "x", 3, 4, into, &got), 0);
    assert_int_equal(got, 4);
    assert_memory_equal(into, "3456", 4);
    assert_int_equal(get(f, "x", 8, 16, into, &got), 0);
    assert_int_equal(got, 2);
    assert_memory_equal(into, "89", 2);
    assert_int_equal(get(f, "x", 10, 1, into, &got), 0);
    assert_int_equal(got, 0);
    assert_int_equal(get(f, "x", 1u << 30, 1, into, &got), 0);
    assert_int_equal(got, 0);
}

static void create_fails_when_there_is_one(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(create_text(f, "term/1", "mine"), 0);
    assert_int_equal(create_text(f, "term/1", "yours"), E_EXISTS);
    assert_holds(f, "term/1", "mine");
    assert_int_equal(delete_object(f, "term/1"), 0);
    assert_int_equal(create_text(f, "term/1", "yours"), 0);
    assert_holds(f, "term/1", "yours");
}

static void absent_objects_are_not_found(void **state)
{
    struct fixture *f = *state;
    struct objects_stat st;
    struct slice view;
    char into[4];
    size_t got;

    put_text(f, "folder/x", "1");
    for (const char *const *name = (const char *const[]){ "none", "folder", "folder/x/y", NULL };
         *name; name++) {
        assert_int_equal(get(f, *name, 0, 4, into, &got), E_NOT_FOUND);
        assert_int_equal(stat_object(f, *name, &st), E_NOT_FOUND);
        assert_int_equal(map(f, *name, &view), E_NOT_FOUND);
        assert_int_equal(delete_object(f, *name), 0);
    }
    assert_holds(f, "folder/x", "1");
}

static void bad_names_are_refused(void **state)
{
    struct fixture *f = *state;
    char longest[OBJECTS_NAME_MAX + 2];
    static const char *const names[] = { "",    "/",    "/a",     "a/",  "a//b", ".", "..",
                                         "a/.", "../a", "a/../b", "a b", "a~1",  "ä", "a\n" };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        assert_int_equal(put_text(f, names[i], "x"), E_INVALID);
    memset(longest, 'n', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = 0;
    assert_int_equal(put_text(f, longest, "x"), E_INVALID);
}

static void a_name_is_an_object_or_a_folder(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(put_text(f, "a/b", "1"), 0);
    assert_int_equal(put_text(f, "a", "2"), E_INVALID);
    assert_int_equal(put_text(f, "a/b/c", "3"), E_INVALID);
    assert_int_equal(create_text(f, "a", "2"), E_INVALID);
    assert_holds(f, "a/b", "1");
}

struct listing {
    char text[512];
    uint64_t bytes;
    unsigned stop_after;
};

static int note(void *arg, const char *name, const struct objects_stat *st)
{
    struct listing *l = arg;
    size_t used = strlen(l->text);

    snprintf(l->text + used, sizeof(l->text) - used, "%s ", name);
    l->bytes += st->size_bytes;
    return l->stop_after && --l->stop_after == 0 ? 7 : 0;
}

static void listings_are_sorted_and_keep_to_the_prefix(void **state)
{
    struct fixture *f = *state;
    struct listing all = { "", 0, 0 }, some = { "", 0, 0 }, partial = { "", 0, 0 },
                   stopped = { "", 0, 2 }, none = { "", 0, 0 };

    put_text(f, "b/2", "12");
    put_text(f, "b/10", "1");
    put_text(f, "b-x", "1");
    put_text(f, "a", "123");
    put_text(f, "bb/z/y", "1");
    assert_int_equal(list(f, "", note, &all), 0);
    assert_string_equal(all.text, "a b-x b/10 b/2 bb/z/y ");
    assert_int_equal(all.bytes, 8);
    assert_int_equal(list(f, "b/", note, &some), 0);
    assert_string_equal(some.text, "b/10 b/2 ");
    assert_int_equal(list(f, "bb/z", note, &partial), 0);
    assert_string_equal(partial.text, "bb/z/y ");
    assert_int_equal(list(f, "", note, &stopped), 7);
    assert_string_equal(stopped.text, "a b-x ");
    assert_int_equal(list(f, "zzz/", note, &none), 0);
    assert_string_equal(none.text, "");
}

static void a_map_shows_the_bytes_until_unmapped(void **state)
{
    struct fixture *f = *state;
    struct slice view = { 0 }, empty = { 0 };
    size_t size = 3 * MIB + 17;
    unsigned char *bytes = malloc(size);

    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)random_mix(i);
    assert_int_equal(put(f, "big", slice(bytes, size)), 0);
    assert_int_equal(map(f, "big", &view), 0);
    assert_int_equal((uintptr_t)view.data % CACHE_LINE, 0);
    /* Replacing and deleting the object does not change what is mapped. */
    assert_int_equal(put_text(f, "big", "small"), 0);
    assert_int_equal(delete_object(f, "big"), 0);
    assert_true(slice_equal(view, slice(bytes, size)));
    objects_unmap(f->objects, view);
    put_text(f, "empty", "");
    assert_int_equal(map(f, "empty", &empty), 0);
    assert_int_equal(empty.size, 0);
    objects_unmap(f->objects, empty);
    free(bytes);
}

static void get_all_refuses_what_is_too_long(void **state)
{
    struct fixture *f = *state;
    struct error err = { 0 };
    struct buf b;
    int rc;

    buf_init(&b, &f->heap, 10);
    put_text(f, "x", "12345678");
    while ((rc = objects_get_all(f->objects, "x", &b, &err)) == E_IO)
        ;
    assert_int_equal(rc, 0);
    while ((rc = objects_get_all(f->objects, "x", &b, &err)) == E_IO)
        ;
    assert_int_equal(rc, E_LIMIT);
    assert_true(slice_equal(buf_slice(&b), slice_str("12345678")));
    buf_release(&b);
}

static void handles_on_one_store_see_the_same(void **state)
{
    struct fixture *f = *state;
    struct objects *other = open_url(f);

    put_text(f, "x", "1");
    assert_int_equal(objects_put(other, "x", slice_str("22"), NULL), 0);
    assert_holds(f, "x", "22");
    assert_int_equal(objects_delete(other, "x", NULL), 0);
    assert_int_equal(delete_object(f, "x"), 0);
    objects_close(other);
}

static void requests_are_counted(void **state)
{
    struct fixture *f = *state;
    struct objects_counts before = f->objects->counts;
    char into[8];
    size_t got;

    assert_int_equal(objects_put(f->objects, "/bad", slice_str("123"), NULL), E_INVALID);
    assert_int_equal(f->objects->counts.puts, before.puts);
    put_text(f, "x", "12345");
    get(f, "x", 0, 8, into, &got);
    delete_object(f, "x");
    assert_true(f->objects->counts.puts > before.puts);
    assert_true(f->objects->counts.deletes > before.deletes);
    assert_int_equal(f->objects->counts.bytes_out - before.bytes_out, 5);
    assert_true(f->objects->counts.bytes_in - before.bytes_in >= 5);
}

/* ---- what only one of them promises ---- */

struct racer {
    struct fixture *f;
    unsigned won;
};

static void *race(void *arg)
{
    struct racer *r = arg;
    struct fixture own = { .env.base.ops = &still_ops };

    memcpy(own.url, r->f->url, sizeof(own.url));
    own.objects = open_url(&own);
    for (int i = 0; i < 200; i++) {
        char name[32];

        snprintf(name, sizeof(name), "race/%d", i);
        r->won += objects_create(own.objects, name, slice_str("me"), NULL) == 0;
    }
    objects_close(own.objects);
    return NULL;
}

static void of_racing_creators_one_wins(void **state)
{
    struct racer racers[4];
    pthread_t threads[4];
    unsigned won = 0;

    for (int i = 0; i < 4; i++) {
        racers[i] = (struct racer){ *state, 0 };
        pthread_create(&threads[i], NULL, race, &racers[i]);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        won += racers[i].won;
    }
    assert_int_equal(won, 200);
}

/* A child that puts values of one repeated byte until it is killed. */
static void put_until_killed(struct fixture *f)
{
    size_t size = 256 * KIB;
    char *bytes = malloc(size);
    struct objects *o = open_url(f);

    for (unsigned i = 0;; i++) {
        memset(bytes, 'a' + (int)(i % 26), size);
        objects_put(o, "torn/value", slice(bytes, size), NULL);
    }
}

static void an_object_is_whole_when_its_writer_is_killed(void **state)
{
    struct fixture *f = *state;
    struct listing names = { "", 0, 0 };

    for (unsigned round = 0; round < 12; round++) {
        pid_t child = fork();
        struct slice view;

        if (child == 0) {
            put_until_killed(f);
            _exit(1);
        }
        usleep(3000 + 1700 * round);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        if (map(f, "torn/value", &view) == E_NOT_FOUND)
            continue;
        assert_int_equal(view.size, 256 * KIB);
        for (size_t i = 1; i < view.size; i++)
            assert_int_equal(((const char *)view.data)[i], ((const char *)view.data)[0]);
        objects_unmap(f->objects, view);
    }
    assert_int_equal(list(f, "", note, &names), 0);
    assert_string_equal(names.text, "torn/value ");
}

static void a_full_disk_is_reported_and_harms_nothing(void **state)
{
    struct fixture *f = *state;
    struct rlimit old, small = { 64 * KIB, 64 * KIB };
    char *big = calloc(1, 256 * KIB);
    struct listing names = { "", 0, 0 };
    struct error err = { 0 };
    int rc;

    put_text(f, "x", "kept");
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    rc = objects_put(f->objects, "x", slice(big, 256 * KIB), &err);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(rc, E_FULL);
    assert_non_null(strstr(err.text, "no room left"));
    assert_holds(f, "x", "kept");
    list(f, "", note, &names);
    assert_string_equal(names.text, "x ");
    free(big);
}

static void a_memory_store_goes_with_its_last_handle(void **state)
{
    struct fixture *f = *state;
    struct objects *other;

    put_text(f, "x", "1");
    other = open_url(f);
    objects_close(f->objects);
    assert_int_equal(objects_stat(other, "x", &(struct objects_stat){ 0 }, NULL), 0);
    objects_close(other);
    f->objects = open_url(f);
    assert_int_equal(stat_object(f, "x", &(struct objects_stat){ 0 }), E_NOT_FOUND);
}

static void an_unknown_scheme_is_refused(void **state)
{
    struct fixture *f = *state;
    struct objects_open open = { .heap = &f->heap };
    struct objects *o = NULL;

    assert_int_equal(objects_open("ftp:x", &open, &o, NULL), E_INVALID);
    assert_int_equal(objects_open("file", &open, &o, NULL), E_INVALID);
    assert_int_equal(objects_open("file:", &open, &o, NULL), E_INVALID);
    assert_null(o);
}

static void a_trace_has_a_line_for_every_call(void **state)
{
    struct fixture *f = *state;
    unsigned before = f->lines;
    char into[4];
    size_t got;

    put_text(f, "x", "1");
    get(f, "x", 0, 4, into, &got);
    get(f, "none", 0, 4, into, &got);
    delete_object(f, "x");
    assert_int_equal(f->lines - before, 4);
}

static void delays_follow_latency_and_bandwidth(void **state)
{
    struct fixture *f = *state;
    uint64_t before = f->env.now;
    char into[4];
    size_t got;

    put_text(f, "x", "1234");
    assert_int_equal(f->env.now - before, 1000 + 4 * 1000);
    before = f->env.now;
    get(f, "x", 0, 4, into, &got);
    assert_int_equal(f->env.now - before, 1000 + 4 * 1000);
    before = f->env.now;
    delete_object(f, "x");
    assert_int_equal(f->env.now - before, 1000);
}

#define CONTRACT(set_up)                                                                           \
    cmocka_unit_test_setup_teardown(what_was_put_can_be_read, set_up, tear_down),                  \
        cmocka_unit_test_setup_teardown(ranges_end_with_the_object, set_up, tear_down),            \
        cmocka_unit_test_setup_teardown(create_fails_when_there_is_one, set_up, tear_down),        \
        cmocka_unit_test_setup_teardown(absent_objects_are_not_found, set_up, tear_down),          \
        cmocka_unit_test_setup_teardown(bad_names_are_refused, set_up, tear_down),                 \
        cmocka_unit_test_setup_teardown(a_name_is_an_object_or_a_folder, set_up, tear_down),       \
        cmocka_unit_test_setup_teardown(listings_are_sorted_and_keep_to_the_prefix, set_up,        \
                                        tear_down),                                                \
        cmocka_unit_test_setup_teardown(a_map_shows_the_bytes_until_unmapped, set_up, tear_down),  \
        cmocka_unit_test_setup_teardown(get_all_refuses_what_is_too_long, set_up, tear_down),      \
        cmocka_unit_test_setup_teardown(handles_on_one_store_see_the_same, set_up, tear_down),     \
        cmocka_unit_test_setup_teardown(requests_are_counted, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONTRACT(set_up_memory),
        CONTRACT(set_up_file),
        CONTRACT(set_up_traced),
        CONTRACT(set_up_delayed),
        CONTRACT(set_up_faulty),
        cmocka_unit_test_setup_teardown(of_racing_creators_one_wins, set_up_memory, tear_down),
        cmocka_unit_test_setup_teardown(of_racing_creators_one_wins, set_up_file, tear_down),
        cmocka_unit_test_setup_teardown(an_object_is_whole_when_its_writer_is_killed, set_up_file,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_full_disk_is_reported_and_harms_nothing, set_up_file,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_memory_store_goes_with_its_last_handle, set_up_memory,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_unknown_scheme_is_refused, set_up_memory, tear_down),
        cmocka_unit_test_setup_teardown(a_trace_has_a_line_for_every_call, set_up_traced,
                                        tear_down),
        cmocka_unit_test_setup_teardown(delays_follow_latency_and_bandwidth, set_up_delayed,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
