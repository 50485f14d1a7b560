/* SPDX-License-Identifier: Apache-2.0 */
#include "support/params_contract.h"

#include <stdatomic.h>
#include <unistd.h>

#include "base/random.h"
#include "base/wire.h"
#include "support/test.h"

#define HANDLES_MAX 16

static const struct contract_kind *kind;

struct fixture {
    struct contract_handle handles[HANDLES_MAX];
    unsigned count;
    struct params_address address;
};

static const struct params_layout small = {
    .ranks = 3,
    .spares = 2,
    .shards = 4,
    .sums_kept = 2,
    .part_bytes = 1024,
    .sum_bytes = 1024,
    .general_bytes = 64 * KIB,
};

#define CONTROL     ((struct params_key){ .kind = PARAMS_CONTROL })
#define CLAIM(r, a) ((struct params_key){ .kind = PARAMS_CLAIM, .rank = (r), .step = (a) })
#define LOG(r)      ((struct params_key){ .kind = PARAMS_LOG, .rank = (r) })
#define VALUE(n)    ((struct params_key){ .kind = PARAMS_VALUE, .step = (n) })
#define PART(t, r, s)                                                                              \
    ((struct params_key){ .kind = PARAMS_PART, .step = (t), .rank = (r), .shard = (s) })
#define SUM(t, s) ((struct params_key){ .kind = PARAMS_SUM, .step = (t), .shard = (s) })

/* ---- handles ---- */

static struct contract_handle *prepare(struct fixture *f)
{
    struct contract_handle *h = &f->handles[f->count++];

    assert_true(f->count <= HANDLES_MAX);
    thread_env_init(&h->env);
    heap_init(&h->heap, 0);
    return h;
}

static struct params *wrap(struct fixture *f, struct contract_handle *h)
{
    if (kind->wrap)
        h->p = kind->wrap(h, h->p, f->count);
    return h->p;
}

static struct params *create(struct fixture *f, const struct params_layout *layout)
{
    struct contract_handle *h = prepare(f);
    struct params_open open = { .env = &h->env.base, .heap = &h->heap };

    assert_int_equal(params_create(kind->url, layout, &open, &h->p, NULL), 0);
    assert_int_equal(params_address(h->p, &f->address, NULL), 0);
    return wrap(f, h);
}

static struct params *open_another(struct fixture *f)
{
    struct contract_handle *h = prepare(f);
    struct params_open open = { .env = &h->env.base, .heap = &h->heap };

    assert_int_equal(params_open(f->address.url, f->address.fd, &open, &h->p, NULL), 0);
    return wrap(f, h);
}

static void close_handle(struct fixture *f, unsigned i)
{
    struct contract_handle *h = &f->handles[i];

    params_close(h->p);
    h->p = NULL;
    assert_int_equal(h->heap.used_bytes, 0);
    heap_release(&h->heap);
    thread_env_release(&h->env);
}

static void close_all(struct fixture *f)
{
    for (unsigned i = f->count; i-- > 0;)
        if (f->handles[i].p)
            close_handle(f, i);
}

static struct env *env_of(struct fixture *f, unsigned i)
{
    return &f->handles[i].env.base;
}

/* ---- calls that are repeated when they fail for the moment ---- */

static bool again(int rc, const struct error *err)
{
    return kind->loses_replies && rc == E_IO && err->retriable;
}

static int reserve(struct params *p, const struct params_key *keys, const size_t *sizes,
                   unsigned count, void **out)
{
    struct error err = { 0 };
    int rc;

    do {
        rc = params_reserve(p, keys, sizes, count, out, &err);
    } while (again(rc, &err));
    return rc;
}

static int publish(struct params *p, const struct params_key *keys, unsigned count)
{
    struct error err = { 0 };
    bool repeated = false;
    int rc = params_publish(p, keys, count, &err);

    while (again(rc, &err)) {
        repeated = true;
        rc = params_publish(p, keys, count, &err);
    }
    /* A reply that was lost: it had been published. */
    return repeated && rc == E_EXISTS ? 0 : rc;
}

/* As publish() for tests in which losing is what is expected. */
static int publish_lost(struct params *p, const struct params_key *keys, unsigned count)
{
    struct error err = { 0 };
    int rc;

    do {
        rc = params_publish(p, keys, count, &err);
    } while (again(rc, &err));
    return rc;
}

static int put(struct params *p, struct params_key key, const void *data, size_t size)
{
    void *room;
    int rc = reserve(p, &key, &size, 1, &room);

    if (rc)
        return rc;
    if (size)
        memcpy(room, data, size);
    return publish(p, &key, 1);
}

static int put_text(struct params *p, struct params_key key, const char *text)
{
    return put(p, key, text, strlen(text));
}

static int get(struct params *p, struct params_key key, struct buf *out, uint64_t *version)
{
    struct error err = { 0 };
    int rc;

    do {
        rc = params_get(p, &key, out, version, &err);
    } while (again(rc, &err));
    return rc;
}

static int cas(struct params *p, struct params_key key, uint64_t expected, struct slice value,
               uint64_t *version)
{
    struct error err = { 0 };
    bool repeated = false;
    int rc = params_cas(p, &key, expected, value, version, &err);

    while (again(rc, &err)) {
        repeated = true;
        rc = params_cas(p, &key, expected, value, version, &err);
    }
    if (repeated && rc == E_CHANGED) {
        *version = expected + 1;
        return 0;
    }
    return rc;
}

static int wait_for(struct params *p, const struct params_key *keys, unsigned count,
                    struct slice *views, uint64_t seen, uint64_t until)
{
    struct params_wait w = {
        .keys = keys, .count = count, .views = views, .seen_version = seen, .until = until
    };
    struct error err = { 0 };
    int rc;

    do {
        rc = params_wait(p, &w, &err);
    } while (again(rc, &err) || (kind->loses_replies && rc == E_TIMEOUT && until == ENV_FOREVER));
    return rc;
}

static bool is_missing(struct params *p, struct params_key key)
{
    struct error err = { 0 };
    bool missing;
    int rc;

    do {
        rc = params_missing(p, &key, 1, &missing, &err);
    } while (again(rc, &err));
    assert_int_equal(rc, 0);
    return missing;
}

static int append(struct params *p, struct params_key key, struct slice entry)
{
    struct error err = { 0 };
    int rc;

    do {
        rc = params_append(p, &key, entry, &err);
    } while (again(rc, &err));
    return rc;
}

static int read_log(struct params *p, struct params_key key, uint64_t *cursor, struct buf *out)
{
    struct error err = { 0 };
    int rc;

    do {
        rc = params_read(p, &key, cursor, out, &err);
    } while (again(rc, &err));
    return rc;
}

static int drop(struct params *p, struct params_key key)
{
    struct error err = { 0 };
    int rc;

    do {
        rc = params_drop(p, &key, 1, &err);
    } while (again(rc, &err));
    return rc;
}

static void assert_value(struct params *p, struct params_key key, const char *text)
{
    struct slice view;

    assert_int_equal(wait_for(p, &key, 1, &view, PARAMS_UNWATCHED, ENV_FOREVER), 0);
    assert_int_equal(view.size, strlen(text));
    assert_memory_equal(view.data, text, view.size);
}

/* ---- values ---- */

static void what_one_handle_puts_another_sees(void **state)
{
    struct fixture f = { 0 };
    struct params *a = create(&f, &small), *b = open_another(&f);

    (void)state;
    assert_int_equal(put_text(a, VALUE(1), "one"), 0);
    assert_int_equal(put_text(b, CLAIM(2, 7), "claimed"), 0);
    assert_int_equal(put_text(a, PART(5, 1, 2), "part"), 0);
    assert_int_equal(put_text(b, SUM(5, 3), "sum"), 0);
    assert_int_equal(put_text(a, VALUE(2), ""), 0);
    assert_value(b, VALUE(1), "one");
    assert_value(a, CLAIM(2, 7), "claimed");
    assert_value(b, PART(5, 1, 2), "part");
    assert_value(a, SUM(5, 3), "sum");
    assert_value(b, VALUE(2), "");
    close_all(&f);
}

static void keys_that_differ_in_any_field_are_different(void **state)
{
    struct fixture f = { 0 };
    struct params *p = create(&f, &small);
    struct params_key key = { PARAMS_VALUE, 1, 2, 3, 4 }, other = key;

    (void)state;
    assert_int_equal(put_text(p, key, "x"), 0);
    other.era++;
    assert_true(is_missing(p, other));
    other = key;
    other.step += (uint64_t)1 << 32;
    assert_true(is_missing(p, other));
    other = key;
    other.rank++;
    assert_true(is_missing(p, other));
    other = key;
    other.shard++;
    assert_true(is_missing(p, other));
    other = key;
    other.kind = PARAMS_CLAIM;
    assert_true(is_missing(p, other));
    assert_false(is_missing(p, key));
    close_all(&f);
}

static void the_first_value_wins(void **state)
{
    struct fixture f = { 0 };
    struct params *a = create(&f, &small), *b = open_another(&f);
    const struct params_key keys[] = { VALUE(1), CLAIM(0, 0), PART(3, 0, 0), SUM(3, 1) };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        void *room;
        size_t size = 6;

        assert_int_equal(put_text(a, keys[i], "first!"), 0);
        assert_int_equal(reserve(b, &keys[i], &size, 1, &room), 0);
        memcpy(room, "second", 6);
        assert_int_equal(publish_lost(b, &keys[i], 1), E_EXISTS);
        assert_value(a, keys[i], "first!");
        assert_value(b, keys[i], "first!");
    }
    close_all(&f);
}

static void of_two_who_reserved_the_first_to_publish_wins(void **state)
{
    struct fixture f = { 0 };
    struct params *a = create(&f, &small), *b = open_another(&f);
    const struct params_key keys[] = { VALUE(1), CLAIM(0, 0), PART(3, 0, 0), SUM(3, 1) };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        void *one, *two;
        size_t size = 4;

        assert_int_equal(reserve(a, &keys[i], &size, 1, &one), 0);
        assert_int_equal(reserve(b, &keys[i], &size, 1, &two), 0);
        assert_ptr_not_equal(one, two);
        memcpy(one, "aaaa", 4);
        memcpy(two, "bbbb", 4);
        assert_int_equal(publish(b, &keys[i], 1), 0);
        assert_int_equal(publish_lost(a, &keys[i], 1), E_EXISTS);
        assert_value(a, keys[i], "bbbb");
    }
    close_all(&f);
}

static void reserved_values_are_absent_until_published(void **state)
{
    struct fixture f = { 0 };
    struct params *p = create(&f, &small);
    const struct params_key keys[] = { VALUE(1), CLAIM(0, 0), PART(3, 0, 0), SUM(3, 1) };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        void *room;
        size_t size = 4;

        assert_int_equal(reserve(p, &keys[i], &size, 1, &room), 0);
        assert_true(is_missing(p, keys[i]));
        assert_int_equal(publish(p, &keys[i], 1), 0);
        assert_false(is_missing(p, keys[i]));
    }
    close_all(&f);
}

static void pieces_reserved_together_lie_one_after_the_other(void **state)
{
    struct fixture f = { 0 };
    struct params *p = create(&f, &small);
    const size_t sizes[][3] = { { 256, 256, 100 }, { 64, 1, 0 }, { 100, 0, 60 } };

    (void)state;
    for (unsigned n = 0; n < 3; n++) {
        const struct params_key groups[3][3] = {
            { VALUE(10 * n), VALUE(10 * n + 1), VALUE(10 * n + 2) },
            { PART(n, 1, 0), PART(n, 1, 1), PART(n, 1, 3) },
            { SUM(n, 1), SUM(n, 2), SUM(n, 3) },
        };

        for (unsigned g = 0; g < 3; g++) {
            struct slice views[3];
            void *room;
            char *at;

            assert_int_equal(reserve(p, groups[g], sizes[n], 3, &room), 0);
            assert_int_equal((uintptr_t)room % CACHE_LINE, 0);
            at = room;
            for (unsigned i = 0; i < 3; i++) {
                memset(at, 'a' + (int)(i + g), sizes[n][i]);
                at += round_up(sizes[n][i], CACHE_LINE);
            }
            assert_int_equal(publish(p, groups[g], 3), 0);
            assert_int_equal(wait_for(p, groups[g], 3, views, PARAMS_UNWATCHED, ENV_FOREVER), 0);
            for (unsigned i = 0; i < 3; i++) {
                assert_int_equal(views[i].size, sizes[n][i]);
                for (size_t k = 0; k < views[i].size; k++)
                    assert_int_equal(((const char *)views[i].data)[k], 'a' + (int)(i + g));
            }
        }
    }
    close_all(&f);
}

static void reserving_again_returns_the_same_memory(void **state)
{
    struct fixture f = { 0 };
    struct params *p = create(&f, &small);
    const struct params_key groups[3][2] = { { VALUE(1), VALUE(2) },
                                             { PART(0, 0, 0), PART(0, 0, 1) },
                                             { SUM(0, 2), SUM(0, 3) } };
    const size_t sizes[2] = { 256, 10 };

    (void)state;
    for (unsigned g = 0; g < 3; g++) {
        void *one, *two;

        assert_int_equal(reserve(p, groups[g], sizes, 2, &one), 0);
        memcpy(one, "half", 4);
        assert_int_equal(reserve(p, groups[g], sizes, 2, &two), 0);
        assert_ptr_equal(one, two);
        assert_memory_equal(two, "half", 4);
        assert_int_equal(publish(p, groups[g], 2), 0);
    }
    close_all(&f);
}

static void publishing_needs_a_reservation_and_may_be_repeated(void **state)
{
    struct fixture f = { 0 };
    struct params *p = create(&f, &small);
    const struct params_key keys[] = { VALUE(1), CLAIM(0, 0), PART(3, 0, 0), SUM(3, 1) };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        assert_int_equal(publish_lost(p, &keys[i], 1), E_NOT_FOUND);
        assert_int_equal(put_text(p, keys[i], "x"), 0);
        assert_int_equal(publish_lost(p, &keys[i], 1), E_EXISTS);
        assert_value(p, keys[i], "x");
    }
    close_all(&f);
}

static void arguments_outside_the_contract_are_refused(void **state)
{
    struct fixture f = { 0 };
    struct params *p = create(&f, &small);
    const struct params_key mixed[2] = { VALUE(1), CLAIM(1, 1) };
    const struct params_key ranks[2] = { PART(1, 0, 0), PART(1, 1, 1) };
    const struct params_key falling[2] = { PART(1, 0, 1), PART(1, 0, 0) };
    const struct params_key apart[2] = { SUM(1, 0), SUM(1, 2) };
    const struct params_key control = CONTROL, log = LOG(0), part = PART(1, 0, 0), value = VALUE(1);
    const size_t sizes[2] = { 8, 8 };
    struct slice view;
    uint64_t version;
    void *room;

    (void)state;
    assert_int_equal(params_reserve(p, mixed, sizes, 2, &room, NULL), E_INVALID);
    assert_int_equal(params_reserve(p, ranks, sizes, 2, &room, NULL), E_INVALID);
    assert_int_equal(params_reserve(p, falling, sizes, 2, &room, NULL), E_INVALID);
    assert_int_equal(params_reserve(p, apart, sizes, 2, &room, NULL), E_INVALID);
    assert_int_equal(params_reserve(p, &value, sizes, 0, &room, NULL), E_INVALID);
    assert_int_equal(params_reserve(p, &control, sizes, 1, &room, NULL), E_INVALID);
    assert_int_equal(params_reserve(p, &log, sizes, 1, &room, NULL), E_INVALID);
    assert_int_equal(params_drop(p, &part, 1, NULL), E_INVALID);
    assert_int_equal(params_cas(p, &part, 0, slice_str("x"), &version, NULL), E_INVALID);
    assert_int_equal(params_append(p, &value, slice_str("x"), NULL), E_INVALID);
    assert_int_equal(wait_for(p, &control, 1, &view, PARAMS_UNWATCHED, 0), E_INVALID);
    close_all(&f);
}

static void the_layout_is_the_limit(void **state)
{
    struct fixture f = { 0 };
    struct params *p = create(&f, &small);
    const struct params_key rank = PART(1, 3, 0), shard = PART(1, 0, 4), sum = SUM(1, 4);
    const struct params_key pieces[2] = { PART(1, 0, 0), PART(1, 0, 1) }, piece = SUM(1, 0);
    const struct params_key value = VALUE(1), log = LOG(5);
    const size_t little = 8, most[2] = { 512, 512 }, over[2] = { 512, 513 }, share = 256;
    const size_t beyond = 257, large = 64 * KIB + 1;
    void *room;

    (void)state;
    assert_int_equal(params_reserve(p, &rank, &little, 1, &room, NULL), E_LIMIT);
    assert_int_equal(params_reserve(p, &shard, &little, 1, &room, NULL), E_LIMIT);
    assert_int_equal(params_reserve(p, &sum, &little, 1, &room, NULL), E_LIMIT);
    assert_int_equal(params_reserve(p, pieces, over, 2, &room, NULL), E_LIMIT);
    assert_int_equal(reserve(p, pieces, most, 2, &room), 0);
    assert_int_equal(params_reserve(p, &piece, &beyond, 1, &room, NULL), E_LIMIT);
    assert_int_equal(reserve(p, &piece, &share, 1, &room), 0);
    assert_int_equal(reserve(p, &value, &large, 1, &room), E_LIMIT);
    assert_int_equal(params_append(p, &log, slice_str("x"), NULL), E_LIMIT);
    close_all(&f);
}

static void a_full_store_says_so_and_takes_more_once_something_is_dropped(void **state)
{
    struct fixture f = { 0 };
    struct params *p = create(&f, &small);
    unsigned n = 0;
    char bytes[4096] = { 0 };
    int rc;

    (void)state;
    while ((rc = put(p, VALUE(n), bytes, sizeof(bytes))) == 0)
        n++;
    assert_int_equal(rc, E_FULL);
    assert_int_equal(n, 16);
    assert_int_equal(drop(p, VALUE(3)), 0);
    assert_int_equal(put(p, VALUE(100), bytes, sizeof(bytes)), 0);
    assert_int_equal(put(p, VALUE(101), bytes, 1), E_FULL);
    close_all(&f);
}

static void the_control_record_changes_in_a_full_store(void **state)
{
    struct fixture f = { 0 };
    struct params *p = create(&f, &small);
    char bytes[4096] = { 0 };
    uint64_t version = 0;

    (void)state;
    for (unsigned n = 0; put(p, VALUE(n), bytes, sizeof(bytes)) == 0; n++)
        ;
    for (uint64_t v = 0; v < 5; v++) {
        assert_int_equal(cas(p, CONTROL, v, slice(bytes, sizeof(bytes)), &version), 0);
        assert_int_equal(version, v + 1);
    }
    close_all(&f);
}

static void what_a_handle_reserved_goes_when_it_closes(void **state)
{
    struct fixture f = { 0 };
    struct params *a = create(&f, &small), *b = open_another(&f);
    const struct params_key key = VALUE(1), other = VALUE(2);
    const size_t all = 64 * KIB;
    void *room;

    (void)state;
    assert_int_equal(reserve(b, &key, &all, 1, &room), 0);
    assert_int_equal(reserve(a, &other, &all, 1, &room), E_FULL);
    close_handle(&f, 1);
    assert_int_equal(reserve(a, &other, &all, 1, &room), 0);
    close_all(&f);
}

static void dropped_values_are_gone(void **state)
{
    struct fixture f = { 0 };
    struct params *p = create(&f, &small);
    uint64_t version, cursor = 0;
    struct buf out;

    (void)state;
    buf_init(&out, &f.handles[0].heap, MIB);
    assert_int_equal(put_text(p, VALUE(1), "x"), 0);
    assert_int_equal(put_text(p, CLAIM(1, 1), "x"), 0);
    assert_int_equal(append(p, LOG(1), slice_str("x")), 0);
    assert_int_equal(cas(p, CONTROL, 0, slice_str("x"), &version), 0);
    assert_int_equal(drop(p, VALUE(1)), 0);
    assert_int_equal(drop(p, CLAIM(1, 1)), 0);
    assert_int_equal(drop(p, LOG(1)), 0);
    assert_int_equal(drop(p, CONTROL), 0);
    assert_int_equal(drop(p, VALUE(99)), 0);
    assert_true(is_missing(p, VALUE(1)));
    assert_true(is_missing(p, CLAIM(1, 1)));
    assert_true(is_missing(p, CONTROL));
    assert_int_equal(read_log(p, LOG(1), &cursor, &out), 0);
    assert_int_equal(out.size, 0);
    assert_int_equal(get(p, CONTROL, &out, &version), E_NOT_FOUND);
    assert_int_equal(put_text(p, VALUE(1), "new"), 0);
    assert_value(p, VALUE(1), "new");
    buf_release(&out);
    close_all(&f);
}

/* ---- compare and set ---- */

static void cas_counts_versions_and_refuses_the_wrong_one(void **state)
{
    struct fixture f = { 0 };
    struct params *a = create(&f, &small), *b = open_another(&f);
    const struct params_key keys[] = { CONTROL, VALUE(7) };
    struct buf out;

    (void)state;
    buf_init(&out, &f.handles[0].heap, MIB);
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        uint64_t version = 99;

        assert_int_equal(get(a, keys[i], &out, &version), E_NOT_FOUND);
        assert_int_equal(cas(a, keys[i], 1, slice_str("early"), &version), E_CHANGED);
        assert_int_equal(version, 99);
        assert_int_equal(cas(a, keys[i], 0, slice_str("one"), &version), 0);
        assert_int_equal(version, 1);
        assert_int_equal(cas(b, keys[i], 1, slice_str("second"), &version), 0);
        assert_int_equal(version, 2);
        assert_int_equal(get(a, keys[i], &out, &version), 0);
        assert_int_equal(version, 2);
        assert_int_equal(out.size, 6);
        assert_memory_equal(out.data, "second", 6);
    }
    buf_release(&out);
    close_all(&f);
}

static void cas_takes_up_to_its_limit(void **state)
{
    struct fixture f = { 0 };
    struct params *p = create(&f, &small);
    static char bytes[PARAMS_CAS_MAX + 1];
    const struct params_key keys[] = { CONTROL, VALUE(7) };
    struct buf out;

    (void)state;
    memset(bytes, 'q', sizeof(bytes));
    buf_init(&out, &f.handles[0].heap, MIB);
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        uint64_t version;

        assert_int_equal(params_cas(p, &keys[i], 0, slice(bytes, sizeof(bytes)), &version, NULL),
                         E_LIMIT);
        assert_int_equal(cas(p, keys[i], 0, slice(bytes, PARAMS_CAS_MAX), &version), 0);
        assert_int_equal(get(p, keys[i], &out, &version), 0);
        assert_int_equal(out.size, PARAMS_CAS_MAX);
        assert_memory_equal(out.data, bytes, out.size);
        assert_int_equal(cas(p, keys[i], 1, slice(NULL, 0), &version), 0);
        assert_int_equal(get(p, keys[i], &out, &version), 0);
        assert_int_equal(out.size, 0);
    }
    buf_release(&out);
    close_all(&f);
}

static void a_published_value_has_version_one(void **state)
{
    struct fixture f = { 0 };
    struct params *p = create(&f, &small);
    uint64_t version;
    struct buf out;

    (void)state;
    buf_init(&out, &f.handles[0].heap, MIB);
    assert_int_equal(put_text(p, VALUE(1), "put"), 0);
    assert_int_equal(get(p, VALUE(1), &out, &version), 0);
    assert_int_equal(version, 1);
    assert_int_equal(cas(p, VALUE(1), 1, slice_str("set"), &version), 0);
    assert_value(p, VALUE(1), "set");
    buf_release(&out);
    close_all(&f);
}

struct adder {
    struct params *p;
    unsigned count;
};

static void *add_ones(void *arg)
{
    struct adder *a = arg;
    struct heap heap;
    struct buf out;

    heap_init(&heap, 0);
    buf_init(&out, &heap, MIB);
    for (unsigned n = 0; n < a->count;) {
        uint64_t version = 0, number[64] = { 0 };
        int rc = get(a->p, CONTROL, &out, &version);

        assert_true(rc == 0 || rc == E_NOT_FOUND);
        if (rc == 0)
            memcpy(number, out.data, sizeof(number));
        /* The same everywhere: a torn copy would not be. */
        for (unsigned i = 0; i < ARRAY_SIZE(number); i++) {
            assert_int_equal(number[i], version);
            number[i]++;
        }
        n += cas(a->p, CONTROL, version, slice(number, sizeof(number)), &version) == 0;
    }
    buf_release(&out);
    heap_release(&heap);
    return NULL;
}

static void increments_by_many_are_all_counted(void **state)
{
    struct fixture f = { 0 };
    struct params *p = create(&f, &small);
    struct adder adders[4];
    pthread_t threads[4];
    uint64_t version;
    struct buf out;

    (void)state;
    /* A repeated cas cannot know whose version it sees, so it does not count exactly. */
    if (kind->loses_replies) {
        close_all(&f);
        return;
    }
    for (unsigned i = 0; i < 4; i++) {
        adders[i] = (struct adder){ .p = open_another(&f), .count = 200 };
        assert_int_equal(pthread_create(&threads[i], NULL, add_ones, &adders[i]), 0);
    }
    for (unsigned i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    buf_init(&out, &f.handles[0].heap, MIB);
    assert_int_equal(get(p, CONTROL, &out, &version), 0);
    assert_int_equal(version, 800);
    buf_release(&out);
    close_all(&f);
}

/* ---- waiting ---- */

static void wait_gives_up_at_its_time(void **state)
{
    struct fixture f = { 0 };
    struct params *p = create(&f, &small);
    const struct params_key keys[2] = { PART(1, 0, 0), PART(1, 1, 0) };
    struct slice views[2];
    uint64_t before = env_now(env_of(&f, 0));

    (void)state;
    assert_int_equal(put_text(p, keys[0], "here"), 0);
    assert_int_equal(wait_for(p, keys, 2, views, PARAMS_UNWATCHED, 0), E_TIMEOUT);
    assert_int_equal(wait_for(p, keys, 2, views, PARAMS_UNWATCHED, before), E_TIMEOUT);
    if (!kind->loses_replies) {
        uint64_t until = env_after(env_of(&f, 0), 30 * NS_PER_MS);

        assert_int_equal(wait_for(p, keys, 2, views, PARAMS_UNWATCHED, until), E_TIMEOUT);
        assert_true(env_now(env_of(&f, 0)) >= until);
        assert_int_equal(wait_for(p, NULL, 0, NULL, PARAMS_UNWATCHED, until + NS_PER_MS),
                         E_TIMEOUT);
    }
    close_all(&f);
}

static void wait_returns_when_the_control_record_is_not_the_one_seen(void **state)
{
    struct fixture f = { 0 };
    struct params *p = create(&f, &small);
    const struct params_key key = SUM(1, 0);
    struct slice view;
    uint64_t version;

    (void)state;
    assert_int_equal(wait_for(p, &key, 1, &view, 5, ENV_FOREVER), E_CHANGED);
    assert_int_equal(wait_for(p, NULL, 0, NULL, 5, ENV_FOREVER), E_CHANGED);
    assert_int_equal(cas(p, CONTROL, 0, slice_str("plan"), &version), 0);
    assert_int_equal(wait_for(p, &key, 1, &view, 0, ENV_FOREVER), E_CHANGED);
    assert_int_equal(wait_for(p, &key, 1, &view, 1, 0), E_TIMEOUT);
    assert_int_equal(put_text(p, key, "there"), 0);
    /* The keys are all there: that wins. */
    assert_int_equal(wait_for(p, &key, 1, &view, 0, ENV_FOREVER), 0);
    assert_memory_equal(view.data, "there", 5);
    close_all(&f);
}

struct waiter {
    struct params *p;
    struct params_key keys[4];
    unsigned count;
    uint64_t seen;
    struct slice views[4];
    atomic_int rc;
};

static void *wait_in_thread(void *arg)
{
    struct waiter *w = arg;

    atomic_store(&w->rc, wait_for(w->p, w->keys, w->count, w->views, w->seen, ENV_FOREVER));
    return NULL;
}

static pthread_t start_waiter(struct waiter *w)
{
    pthread_t thread;

    atomic_store(&w->rc, 1);
    assert_int_equal(pthread_create(&thread, NULL, wait_in_thread, w), 0);
    usleep(10000);
    assert_int_equal(atomic_load(&w->rc), 1);
    return thread;
}

static void wait_returns_after_the_last_value_is_published(void **state)
{
    struct fixture f = { 0 };
    struct params *p = create(&f, &small);
    struct waiter w = { .p = open_another(&f),
                        .keys = { PART(4, 0, 1), SUM(4, 2), VALUE(4), PART(4, 2, 1) },
                        .count = 4,
                        .seen = PARAMS_UNWATCHED };
    const unsigned order[4] = { 1, 3, 2, 0 };
    pthread_t thread = start_waiter(&w);

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(atomic_load(&w.rc), 1);
        assert_int_equal(put_text(p, w.keys[order[i]], "abcd"), 0);
        usleep(3000);
    }
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&w.rc), 0);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(w.views[i].size, 4);
        assert_memory_equal(w.views[i].data, "abcd", 4);
    }
    close_all(&f);
}

static void a_new_control_record_wakes_whoever_waits_for_anything(void **state)
{
    const struct params_key keys[] = { PART(1, 0, 0), SUM(1, 0), VALUE(1), CLAIM(1, 1) };
    struct fixture f = { 0 };
    struct params *p = create(&f, &small);
    struct waiter w[5];
    pthread_t threads[5];
    uint64_t version;

    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        w[i] = (struct waiter){ .p = open_another(&f), .count = i < 4, .seen = 0 };
        w[i].keys[0] = keys[i % 4];
        threads[i] = start_waiter(&w[i]);
    }
    assert_int_equal(cas(p, CONTROL, 0, slice_str("new"), &version), 0);
    for (unsigned i = 0; i < 5; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(atomic_load(&w[i].rc), E_CHANGED);
    }
    close_all(&f);
}

static void closing_the_store_wakes_its_waiters(void **state)
{
    struct fixture f = { 0 };
    struct params *p;
    struct waiter w[2];
    pthread_t threads[2];
    uint64_t version;

    (void)state;
    create(&f, &small);
    for (unsigned i = 0; i < 2; i++) {
        w[i] = (struct waiter){ .p = open_another(&f), .count = 1, .seen = PARAMS_UNWATCHED };
        w[i].keys[0] = i ? VALUE(1) : PART(1, 1, 1);
        threads[i] = start_waiter(&w[i]);
    }
    close_handle(&f, 0);
    for (unsigned i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(atomic_load(&w[i].rc), E_CLOSED);
    }
    p = w[0].p;
    assert_int_equal(put_text(p, VALUE(1), "x"), E_CLOSED);
    assert_int_equal(cas(p, CONTROL, 0, slice_str("x"), &version), E_CLOSED);
    assert_int_equal(append(p, LOG(0), slice_str("x")), E_CLOSED);
    close_all(&f);
}

/* ---- steps ---- */

static void old_contributions_and_results_go_by_themselves(void **state)
{
    struct fixture f = { 0 };
    struct params *p = create(&f, &small);

    (void)state;
    for (uint64_t t = 0; t < 20; t++) {
        char text[32];

        snprintf(text, sizeof(text), "step %u", (unsigned)t);
        assert_int_equal(put_text(p, PART(t, 1, 3), text), 0);
        assert_int_equal(put_text(p, SUM(t, 2), text), 0);
        assert_value(p, PART(t, 1, 3), text);
        assert_value(p, SUM(t, 2), text);
        if (t >= 1) {
            snprintf(text, sizeof(text), "step %u", (unsigned)t - 1);
            assert_value(p, PART(t - 1, 1, 3), text);
            assert_value(p, SUM(t - 1, 2), text);
        }
        if (t >= 2) {
            assert_true(is_missing(p, PART(t - 2, 1, 3)));
            assert_true(is_missing(p, SUM(t - 2, 2)));
        }
    }
    close_all(&f);
}

static void as_many_results_are_kept_as_were_asked_for(void **state)
{
    struct params_layout layout = small;
    struct fixture f = { 0 };
    struct params *p;

    (void)state;
    layout.sums_kept = 5;
    p = create(&f, &layout);
    for (uint64_t t = 0; t < 17; t++)
        assert_int_equal(put(p, SUM(t, 0), &t, sizeof(t)), 0);
    for (uint64_t t = 0; t < 17; t++) {
        struct params_key key = SUM(t, 0);
        struct slice view;

        if (t < 12) {
            assert_true(is_missing(p, key));
            continue;
        }
        assert_int_equal(wait_for(p, &key, 1, &view, PARAMS_UNWATCHED, ENV_FOREVER), 0);
        assert_memory_equal(view.data, &t, sizeof(t));
    }
    close_all(&f);
}

static void a_late_publication_of_an_old_step_changes_nothing(void **state)
{
    struct fixture f = { 0 };
    struct params *a = create(&f, &small), *b = open_another(&f);
    const struct params_key part = PART(2, 0, 0), sum = SUM(2, 0);
    const size_t size = 4;
    void *room;

    (void)state;
    assert_int_equal(reserve(b, &part, &size, 1, &room), 0);
    memcpy(room, "late", 4);
    assert_int_equal(reserve(b, &sum, &size, 1, &room), 0);
    memcpy(room, "late", 4);
    for (uint64_t t = 2; t < 7; t++) {
        assert_int_equal(put_text(a, PART(t, 0, 0), "good"), 0);
        assert_int_equal(put_text(a, SUM(t, 0), "good"), 0);
    }
    assert_int_equal(publish_lost(b, &part, 1), E_EXISTS);
    assert_int_equal(publish_lost(b, &sum, 1), E_EXISTS);
    for (uint64_t t = 5; t < 7; t++) {
        assert_value(b, PART(t, 0, 0), "good");
        assert_value(b, SUM(t, 0), "good");
    }
    assert_true(is_missing(a, part));
    assert_true(is_missing(a, sum));
    close_all(&f);
}

static void a_new_era_begins_at_any_step(void **state)
{
    struct fixture f = { 0 };
    struct params *p = create(&f, &small);
    struct params_key part = PART(9, 0, 0), sum = SUM(9, 0);

    (void)state;
    assert_int_equal(put_text(p, part, "old"), 0);
    assert_int_equal(put_text(p, sum, "old"), 0);
    part.era = sum.era = 1;
    part.step = sum.step = 3;
    assert_int_equal(put_text(p, part, "new"), 0);
    assert_int_equal(put_text(p, sum, "new"), 0);
    assert_value(p, part, "new");
    assert_value(p, sum, "new");
    close_all(&f);
}

static void a_second_attempt_at_a_rank_has_memory_of_its_own(void **state)
{
    struct fixture f = { 0 };
    struct params *a = create(&f, &small), *b = open_another(&f);

    (void)state;
    for (uint64_t t = 0; t < 8; t++) {
        struct params_key part = PART(t, 0, 0);
        struct params *first = t % 3 ? a : b, *second = t % 3 ? b : a;
        const size_t size = 512;
        void *one, *two;

        assert_int_equal(reserve(first, &part, &size, 1, &one), 0);
        assert_int_equal(reserve(second, &part, &size, 1, &two), 0);
        memset(one, 'x', size);
        assert_int_equal(publish(first, &part, 1), 0);
        memset(two, 'y', size);
        assert_int_equal(publish_lost(second, &part, 1), E_EXISTS);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(((char *)one)[i], 'x');
    }
    close_all(&f);
}

static void there_are_seats_for_all_ranks_and_spares(void **state)
{
    struct fixture f = { 0 };
    struct params *p = create(&f, &small);
    const struct params_key key = PART(1, 0, 0);
    const size_t size = 8;
    void *room;

    (void)state;
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(reserve(open_another(&f), &key, &size, 1, &room), 0);
    assert_int_equal(reserve(p, &key, &size, 1, &room), E_FULL);
    close_handle(&f, 2);
    assert_int_equal(reserve(p, &key, &size, 1, &room), 0);
    close_all(&f);
}

#define BSP_RANKS  3
#define BSP_SHARDS 4
#define BSP_STEPS  60

struct bsp {
    struct params *p;
    uint32_t rank;
};

static uint32_t contribution(uint64_t step, uint32_t rank, uint32_t i)
{
    return (uint32_t)random_at(step, rank, i, 0);
}

/* What every rank does in a step: contribute, sum the shards it owns, use the result. */
static void *run_bsp(void *arg)
{
    struct bsp *b = arg;
    const size_t sizes[BSP_SHARDS] = { 256, 256, 256, 256 };
    const uint32_t words = 64;

    for (uint64_t t = 0; t < BSP_STEPS; t++) {
        struct params_key parts[BSP_SHARDS], sums[BSP_SHARDS], all[BSP_RANKS];
        struct slice views[BSP_SHARDS];
        uint32_t *out;

        for (uint32_t s = 0; s < BSP_SHARDS; s++) {
            parts[s] = PART(t, b->rank, s);
            sums[s] = SUM(t, s);
        }
        assert_int_equal(reserve(b->p, parts, sizes, BSP_SHARDS, (void **)&out), 0);
        for (uint32_t i = 0; i < words * BSP_SHARDS; i++)
            out[i] = contribution(t, b->rank, i);
        assert_int_equal(publish(b->p, parts, BSP_SHARDS), 0);
        for (uint32_t s = b->rank; s < BSP_SHARDS; s += BSP_RANKS) {
            for (uint32_t r = 0; r < BSP_RANKS; r++)
                all[r] = PART(t, r, s);
            assert_int_equal(wait_for(b->p, all, BSP_RANKS, views, PARAMS_UNWATCHED, ENV_FOREVER),
                             0);
            assert_int_equal(reserve(b->p, &sums[s], &sizes[s], 1, (void **)&out), 0);
            memset(out, 0, sizes[s]);
            for (uint32_t r = 0; r < BSP_RANKS; r++)
                for (uint32_t i = 0; i < words; i++)
                    out[i] += ((const uint32_t *)views[r].data)[i];
            assert_int_equal(publish(b->p, &sums[s], 1), 0);
        }
        assert_int_equal(wait_for(b->p, sums, BSP_SHARDS, views, PARAMS_UNWATCHED, ENV_FOREVER), 0);
        for (uint32_t i = 0; i < words * BSP_SHARDS; i++) {
            uint32_t expected = 0;

            for (uint32_t r = 0; r < BSP_RANKS; r++)
                expected += contribution(t, r, i);
            assert_int_equal(((const uint32_t *)views[i / words].data)[i % words], expected);
        }
        params_release(b->p, t);
    }
    return NULL;
}

static void ranks_in_step_see_every_result(void **state)
{
    struct fixture f = { 0 };
    struct bsp ranks[BSP_RANKS];
    pthread_t threads[BSP_RANKS];

    (void)state;
    create(&f, &small);
    for (uint32_t r = 0; r < BSP_RANKS; r++) {
        ranks[r] = (struct bsp){ .p = open_another(&f), .rank = r };
        assert_int_equal(pthread_create(&threads[r], NULL, run_bsp, &ranks[r]), 0);
    }
    for (uint32_t r = 0; r < BSP_RANKS; r++)
        pthread_join(threads[r], NULL);
    close_all(&f);
}

static void what_passes_through_a_handle_is_counted(void **state)
{
    struct fixture f = { 0 };
    struct params *p = create(&f, &small);
    const struct params_key keys[2] = { PART(1, 0, 0), PART(1, 0, 1) };
    const size_t sizes[2] = { 100, 50 };
    struct slice views[2];
    void *room;

    (void)state;
    assert_int_equal(reserve(p, keys, sizes, 2, &room), 0);
    assert_int_equal(publish(p, keys, 2), 0);
    assert_int_equal(wait_for(p, keys, 2, views, PARAMS_UNWATCHED, ENV_FOREVER), 0);
    assert_int_equal(put_text(p, VALUE(1), "seven!!"), 0);
    assert_int_equal(p->counts.published_bytes, 157);
    assert_int_equal(p->counts.viewed, 2);
    assert_int_equal(p->counts.viewed_bytes, 150);
    assert_true(p->counts.waits >= 1);
    if (!kind->loses_replies)
        assert_int_equal(p->counts.published, 3);
    close_all(&f);
}

/* ---- logs ---- */

static void entries_are_read_once_and_in_order(void **state)
{
    struct fixture f = { 0 };
    struct params *a = create(&f, &small), *b = open_another(&f);
    uint64_t cursor = 0, other = 0;
    struct wire_reader r;
    struct buf out;

    (void)state;
    buf_init(&out, &f.handles[0].heap, MIB);
    assert_int_equal(append(b, LOG(1), slice_str("one")), 0);
    assert_int_equal(append(b, LOG(1), slice_str("")), 0);
    assert_int_equal(append(a, LOG(4), slice_str("elsewhere")), 0);
    assert_int_equal(append(b, LOG(1), slice_str("three")), 0);
    assert_int_equal(read_log(a, LOG(1), &cursor, &out), 0);
    wire_read(&r, buf_slice(&out));
    assert_true(slice_equal(wire_bytes(&r, 100), slice_str("one")));
    assert_true(slice_equal(wire_bytes(&r, 100), slice_str("")));
    assert_true(slice_equal(wire_bytes(&r, 100), slice_str("three")));
    assert_true(wire_done(&r));
    buf_reset(&out);
    assert_int_equal(read_log(a, LOG(1), &cursor, &out), 0);
    assert_int_equal(out.size, 0);
    assert_int_equal(append(b, LOG(1), slice_str("four")), 0);
    assert_int_equal(read_log(a, LOG(1), &cursor, &out), 0);
    assert_int_equal(out.size, 8);
    assert_int_equal(read_log(a, LOG(4), &other, &out), 0);
    assert_int_equal(out.size, 8 + 13);
    buf_release(&out);
    close_all(&f);
}

static void a_full_log_takes_more_once_it_is_read(void **state)
{
    struct fixture f = { 0 };
    struct params *p = create(&f, &small);
    char bytes[1000] = { 0 };
    uint64_t cursor = 0;
    unsigned n = 0;
    struct buf out;
    int rc;

    (void)state;
    buf_init(&out, &f.handles[0].heap, MIB);
    for (unsigned round = 0; round < 3; round++) {
        for (n = 0; (rc = append(p, LOG(0), slice(bytes, sizeof(bytes)))) == 0; n++)
            ;
        assert_int_equal(rc, E_FULL);
        assert_int_equal(n, 32);
        /* The logs leave room for values. */
        assert_int_equal(put(p, VALUE(round), bytes, sizeof(bytes)), 0);
        buf_reset(&out);
        assert_int_equal(read_log(p, LOG(0), &cursor, &out), 0);
        assert_int_equal(out.size, n * (sizeof(bytes) + 4));
    }
    buf_release(&out);
    close_all(&f);
}

static void reading_stops_where_the_buffer_does_and_goes_on_later(void **state)
{
    struct fixture f = { 0 };
    struct params *p = create(&f, &small);
    char bytes[1000] = { 0 };
    uint64_t cursor = 0, last;
    unsigned read = 0;
    struct buf out, tiny;

    (void)state;
    buf_init(&out, &f.handles[0].heap, 4096);
    buf_init(&tiny, &f.handles[0].heap, 100);
    for (unsigned n = 0; n < 10; n++)
        assert_int_equal(append(p, LOG(0), slice(bytes, sizeof(bytes))), 0);
    assert_int_equal(read_log(p, LOG(0), &cursor, &tiny), E_LIMIT);
    do {
        last = cursor;
        buf_reset(&out);
        assert_int_equal(read_log(p, LOG(0), &cursor, &out), 0);
        assert_int_equal(out.size % 1004, 0);
        read += (unsigned)(out.size / 1004);
    } while (cursor != last);
    assert_int_equal(read, 10);
    buf_release(&out);
    buf_release(&tiny);
    close_all(&f);
}

int contract_run(const struct contract_kind *k)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_one_handle_puts_another_sees),
        cmocka_unit_test(keys_that_differ_in_any_field_are_different),
        cmocka_unit_test(the_first_value_wins),
        cmocka_unit_test(of_two_who_reserved_the_first_to_publish_wins),
        cmocka_unit_test(reserved_values_are_absent_until_published),
        cmocka_unit_test(pieces_reserved_together_lie_one_after_the_other),
        cmocka_unit_test(reserving_again_returns_the_same_memory),
        cmocka_unit_test(publishing_needs_a_reservation_and_may_be_repeated),
        cmocka_unit_test(arguments_outside_the_contract_are_refused),
        cmocka_unit_test(the_layout_is_the_limit),
        cmocka_unit_test(a_full_store_says_so_and_takes_more_once_something_is_dropped),
        cmocka_unit_test(the_control_record_changes_in_a_full_store),
        cmocka_unit_test(what_a_handle_reserved_goes_when_it_closes),
        cmocka_unit_test(dropped_values_are_gone),
        cmocka_unit_test(cas_counts_versions_and_refuses_the_wrong_one),
        cmocka_unit_test(cas_takes_up_to_its_limit),
        cmocka_unit_test(a_published_value_has_version_one),
        cmocka_unit_test(increments_by_many_are_all_counted),
        cmocka_unit_test(wait_gives_up_at_its_time),
        cmocka_unit_test(wait_returns_when_the_control_record_is_not_the_one_seen),
        cmocka_unit_test(wait_returns_after_the_last_value_is_published),
        cmocka_unit_test(a_new_control_record_wakes_whoever_waits_for_anything),
        cmocka_unit_test(closing_the_store_wakes_its_waiters),
        cmocka_unit_test(old_contributions_and_results_go_by_themselves),
        cmocka_unit_test(as_many_results_are_kept_as_were_asked_for),
        cmocka_unit_test(a_late_publication_of_an_old_step_changes_nothing),
        cmocka_unit_test(a_new_era_begins_at_any_step),
        cmocka_unit_test(a_second_attempt_at_a_rank_has_memory_of_its_own),
        cmocka_unit_test(there_are_seats_for_all_ranks_and_spares),
        cmocka_unit_test(ranks_in_step_see_every_result),
        cmocka_unit_test(what_passes_through_a_handle_is_counted),
        cmocka_unit_test(entries_are_read_once_and_in_order),
        cmocka_unit_test(a_full_log_takes_more_once_it_is_read),
        cmocka_unit_test(reading_stops_where_the_buffer_does_and_goes_on_later),
    };

    kind = k;
    return cmocka_run_group_tests_name(k->name, tests, NULL, NULL);
}
