/* SPDX-License-Identifier: Apache-2.0 */
/* What crosses a local function's socket: it comes out as it went in, or not at all. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* here it is the function of base/error.h */

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/local_message.h"
#include "platform/local_serve.h"

struct fixture {
    struct heap heap;
    struct buf out, in;
    int pair[2];
};

static int set_up(void **state)
{
    static struct fixture f;

    heap_init(&f.heap, 0);
    buf_init(&f.out, &f.heap, LOCAL_MESSAGE_MAX);
    buf_init(&f.in, &f.heap, LOCAL_MESSAGE_MAX + 1);
    *state = &f;
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, f.pair);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    close(f->pair[0]);
    close(f->pair[1]);
    heap_release(&f->heap);
    return 0;
}

static const struct local_invocation example = {
    .memory_mb = 1769,
    .has_fd = true,
    .deadline = 1234567890123,
    .payload = { "rank: 3", 7 },
};

static void an_invocation_comes_out_as_it_went_in(void **state)
{
    struct fixture *f = *state;
    struct local_invocation i;

    local_invocation_encode(&example, &f->out);
    assert_int_equal(local_invocation_decode(buf_slice(&f->out), &i, NULL), 0);
    assert_int_equal(i.memory_mb, example.memory_mb);
    assert_true(i.has_fd);
    assert_false(i.limit_data);
    assert_int_equal(i.deadline, example.deadline);
    assert_true(slice_equal(i.payload, example.payload));
}

static void an_entry_is_only_an_entry(void **state)
{
    struct fixture *f = *state;
    struct local_invocation i;

    local_entry_encode(&f->out);
    assert_true(local_is_entry(buf_slice(&f->out)));
    assert_false(local_is_entry(slice(f->out.data, f->out.size - 1)));
    assert_int_equal(local_invocation_decode(buf_slice(&f->out), &i, NULL), E_FORMAT);
    buf_reset(&f->out);
    local_invocation_encode(&example, &f->out);
    assert_false(local_is_entry(buf_slice(&f->out)));
}

static void an_answer_comes_out_as_it_went_in(void **state)
{
    struct fixture *f = *state;
    struct local_answer a = { .code = E_FORMAT, .ended = 77, .peak_bytes = 1 << 20 }, b;

    memset(a.words, 'x', sizeof(a.words) - 1);
    local_answer_encode(&a, &f->out);
    assert_int_equal(local_answer_decode(buf_slice(&f->out), &b, NULL), 0);
    assert_memory_equal(&a, &b, sizeof(a));
}

static void any_damaged_byte_and_any_cut_is_refused(void **state)
{
    struct fixture *f = *state;
    struct local_answer a = { .code = E_FORMAT, .words = "words" };
    struct local_invocation i;

    local_invocation_encode(&example, &f->out);
    for (size_t n = 0; n < f->out.size; n++) {
        assert_int_equal(local_invocation_decode(slice(f->out.data, n), &i, NULL), E_FORMAT);
        f->out.data[n] ^= 0x40;
        assert_int_equal(local_invocation_decode(buf_slice(&f->out), &i, NULL), E_FORMAT);
        f->out.data[n] ^= 0x40;
    }
    assert_int_equal(local_answer_decode(buf_slice(&f->out), &a, NULL), E_FORMAT);
    buf_reset(&f->out);
    local_answer_encode(&a, &f->out);
    for (size_t n = 0; n < f->out.size; n++) {
        assert_int_equal(local_answer_decode(slice(f->out.data, n), &a, NULL), E_FORMAT);
        f->out.data[n] ^= 1;
        assert_int_equal(local_answer_decode(buf_slice(&f->out), &a, NULL), E_FORMAT);
        f->out.data[n] ^= 1;
    }
    assert_int_equal(local_invocation_decode(buf_slice(&f->out), &i, NULL), E_FORMAT);
}

static void a_packet_that_is_too_long_is_refused(void **state)
{
    static char large[LOCAL_MESSAGE_MAX + 1];
    struct fixture *f = *state;
    int fds[LOCAL_FDS_MAX];
    unsigned count;

    assert_int_equal(local_send(f->pair[0], slice(large, sizeof(large)), NULL, 0, NULL), 0);
    assert_int_equal(local_receive(f->pair[1], false, &f->in, fds, &count, NULL), E_FORMAT);
    assert_int_equal(local_receive(f->pair[1], false, &f->in, fds, &count, NULL), E_TIMEOUT);
}

static void descriptors_travel_and_the_end_is_noticed(void **state)
{
    struct fixture *f = *state;
    int fds[LOCAL_FDS_MAX], sent[2] = { f->pair[0], f->pair[1] };
    unsigned count;

    assert_int_equal(local_send(f->pair[0], slice_str("x"), sent, 2, NULL), 0);
    assert_int_equal(local_receive(f->pair[1], true, &f->in, fds, &count, NULL), 0);
    assert_int_equal(count, 2);
    for (unsigned i = 0; i < count; i++) {
        assert_true(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
        close(fds[i]);
    }
    shutdown(f->pair[0], SHUT_RDWR);
    assert_int_equal(local_receive(f->pair[1], true, &f->in, fds, &count, NULL), E_CLOSED);
    assert_int_equal(local_send(f->pair[1], slice_str("x"), NULL, 0, NULL), E_CLOSED);
}

static int refuse(const struct platform_call *call UNUSED, struct error *err)
{
    return fail(err, E_INVALID, "called");
}

/* Serve in a child, send it MESSAGE, and return how it ends. */
static int status_after(struct fixture *f, struct slice message, const int *fds, unsigned count)
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        int quiet = open("/dev/null", O_WRONLY);

        dup2(quiet, STDERR_FILENO);
        close(f->pair[0]);
        _exit(local_serve(f->pair[1], refuse));
    }
    assert_int_equal(local_send(f->pair[0], message, fds, count, NULL), 0);
    shutdown(f->pair[0], SHUT_WR);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_process_leaves_on_a_message_that_it_does_not_understand(void **state)
{
    assert_int_equal(status_after(*state, slice_str("not an invocation"), NULL, 0), 1);
}

static void a_process_leaves_when_descriptors_are_missing(void **state)
{
    struct fixture *f = *state;

    local_invocation_encode(&example, &f->out);
    assert_int_equal(status_after(f, buf_slice(&f->out), NULL, 0), 1);
}

static void a_process_answers_and_leaves_at_the_end(void **state)
{
    struct fixture *f = *state;
    struct local_invocation i = { .memory_mb = 128, .deadline = UINT64_MAX / 2 };
    struct local_answer a = { 0 };
    int fds[LOCAL_FDS_MAX];
    unsigned count;

    local_invocation_encode(&i, &f->out);
    assert_int_equal(status_after(f, buf_slice(&f->out), NULL, 0), 0);
    assert_int_equal(local_receive(f->pair[0], true, &f->in, fds, &count, NULL), 0);
    assert_int_equal(local_answer_decode(buf_slice(&f->in), &a, NULL), 0);
    assert_int_equal(a.code, E_INVALID);
    assert_string_equal(a.words, "called");
    assert_true(a.peak_bytes > 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(an_invocation_comes_out_as_it_went_in),
        TEST(an_entry_is_only_an_entry),
        TEST(an_answer_comes_out_as_it_went_in),
        TEST(any_damaged_byte_and_any_cut_is_refused),
        TEST(a_packet_that_is_too_long_is_refused),
        TEST(descriptors_travel_and_the_end_is_noticed),
        TEST(a_process_leaves_on_a_message_that_it_does_not_understand),
        TEST(a_process_leaves_when_descriptors_are_missing),
        TEST(a_process_answers_and_leaves_at_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
