/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exchange alone, between real processes over shared memory: how long from the moment at
 * which everyone has its contribution until everyone has the result. "In place" is what
 * training does: the trainer adds into the store's memory and the optimiser reads the result
 * where it lies. "With copies" starts and ends in private memory, as MPI_Allreduce does.
 */
#include "cli/bench.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "math/kernels.h"
#include "params/params.h"
#include "platform/local_env.h"

#define WARM_UP 2

/* What the processes share beside the store. */
struct ring {
    pthread_barrier_t barrier;
    double seconds[]; /* [ranks][repeats], then [ranks] CPU seconds */
};

struct bench_rank {
    const struct bench_exchange *b;
    struct ring *ring;
    struct shape shape;
    struct heap heap;
    struct env *env;
    struct params *params;
    struct exchange *exchange;
    uint32_t rank, shards;
    float *mine, *result; /* with copies */
    double cpu_s;
    struct exchange_times *times; /* shared, [ranks] */
};

double bench_median(double *values, unsigned count)
{
    for (unsigned i = 1; i < count; i++)
        for (unsigned j = i; j > 0 && values[j] < values[j - 1]; j--) {
            double t = values[j];

            values[j] = values[j - 1];
            values[j - 1] = t;
        }
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static double cpu_seconds(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static struct gust_group group_of(const struct bench_exchange *b)
{
    return (struct gust_group){
        .name = "bench", .rows = b->rows, .cols = b->cols, .sparse = b->touched < 1
    };
}

/* Whether RANK touches ROW: runs of rows, so that the share is met whatever the unit. */
static bool touches(const struct bench_exchange *b, uint32_t rank, uint64_t row)
{
    uint64_t run = row / 16 + (uint64_t)rank * 7;

    return b->touched >= 1 || (double)(run * 0x9E3779B97F4A7C15ull >> 40) < b->touched * 0x1p24;
}

static float value_of(uint32_t rank, uint64_t step)
{
    return (float)(rank + 1 + (step & 3));
}

/* Fill this rank's contribution, outside of what is timed. */
static void fill(struct bench_rank *r, struct gust_out *out, float *dense, uint64_t step)
{
    float v = value_of(r->rank, step);

    if (dense) {
        for (size_t i = 0; i < r->shape.floats; i++)
            dense[i] = v;
        return;
    }
    for (uint64_t row = 0; row < r->b->rows; row++) {
        float *to;

        if (!touches(r->b, r->rank, row))
            continue;
        to = gust_out_row(out, 0, row);
        for (uint32_t c = 0; c < r->b->cols; c++)
            to[c] = v;
    }
}

/* Every touched row must hold the sum over the ranks that touched it. */
static int verify(const struct bench_rank *r, const struct exchange_result *result, uint64_t step,
                  struct error *err)
{
    for (unsigned i = 0; i < result->count; i++) {
        const struct sum_view *piece = &result->pieces[i];
        struct shape_span span;

        if (!shape_span(&r->shape, piece->cell_first, piece->cell_first + piece->cells, &span))
            continue;
        for (uint64_t row = span.row; row < span.row + span.rows; row++) {
            uint64_t unit = (row - span.row) >> span.group->unit_shift;
            float expected = 0, got = piece->floats[(row - span.row) * span.group->stride];

            for (uint32_t k = 0; k < r->b->ranks; k++)
                expected += touches(r->b, k, row) ? value_of(k, step) : 0;
            if (!(piece->mask[unit / 64] >> (unit % 64) & 1))
                got = 0;
            if (got != expected)
                return fail(err, E_MISMATCH, "row %llu of the result is %g instead of %g",
                            (unsigned long long)row, (double)got, (double)expected);
        }
    }
    return 0;
}

static void copy_result(struct bench_rank *r, const struct exchange_result *result)
{
    for (unsigned i = 0; i < result->count; i++) {
        const struct sum_view *p = &result->pieces[i];
        size_t at = shape_float_of(&r->shape, p->cell_first);
        size_t end = shape_float_of(&r->shape, p->cell_first + p->cells);

        memcpy(r->result + at, p->floats, (end - at) * sizeof(float));
    }
}

/* One step; returns through SECONDS what is timed. */
static int timed_step(struct bench_rank *r, uint64_t step, double *seconds, struct error *err)
{
    struct exchange_step s = { .step = step,
                               .rank = r->rank,
                               .n = r->b->ranks,
                               .shards = r->shards,
                               .seen_version = PARAMS_UNWATCHED,
                               .until = env_after(r->env, 60 * NS_PER_S) };
    struct exchange_part part;
    struct exchange_result result;
    double cpu;
    uint64_t from;
    int rc = exchange_begin(r->exchange, &s, &part, err);

    if (rc)
        return rc;
    fill(r, &part.out, r->mine, step);
    part.out.weight = 1;
    pthread_barrier_wait(&r->ring->barrier);
    from = env_now(r->env);
    cpu = cpu_seconds();
    if (r->mine)
        memcpy(part.floats, r->mine, r->shape.floats * sizeof(float));
    rc = exchange_publish(r->exchange, &s, &part, err);
    if (!rc)
        rc = exchange_collect(r->exchange, &s, &result, err);
    if (!rc && r->result)
        copy_result(r, &result);
    *seconds = (double)(env_now(r->env) - from) / NS_PER_S;
    r->cpu_s += cpu_seconds() - cpu;
    /* Those who are still at it must not compete with those who check already. */
    pthread_barrier_wait(&r->ring->barrier);
    return rc ? rc : verify(r, &result, step, err);
}

static int open_rank(struct bench_rank *r, const struct params_address *address, struct error *err)
{
    struct params_open open = { .env = r->env, .heap = &r->heap };
    struct exchange_options o = { .env = r->env,
                                  .heap = &r->heap,
                                  .shape = &r->shape,
                                  .kernels = kernels_best(),
                                  .ranks_max = r->b->ranks,
                                  .shards_max = r->shards };
    int rc = params_open(address->url, address->fd, &open, &r->params, err);

    o.params = r->params;
    if (!rc)
        rc = exchange_new("scatter", &o, &r->exchange, err);
    if (!rc && r->b->copies) {
        r->mine = heap_try_alloc(&r->heap, r->shape.floats, sizeof(float));
        r->result = heap_try_alloc(&r->heap, r->shape.floats, sizeof(float));
        if (!r->mine || !r->result)
            rc = fail(err, E_MEMORY, "no memory for the copies");
    }
    return rc;
}

static int child(struct bench_rank *r, const struct params_address *address)
{
    struct error err = { 0 };
    int rc;

    heap_init(&r->heap, 0);
    r->env = local_env_new(&r->heap);
    rc = open_rank(r, address, &err);
    for (unsigned k = 0; !rc && k < WARM_UP + r->b->repeats; k++) {
        double seconds = 0;

        if (k == WARM_UP) {
            r->cpu_s = 0;
            r->exchange->times = (struct exchange_times){ 0 };
        }
        rc = timed_step(r, k, &seconds, &err);
        if (k >= WARM_UP)
            r->ring->seconds[r->rank * r->b->repeats + k - WARM_UP] = seconds;
    }
    if (rc) {
        fprintf(stderr, "gust bench: rank %u: %s\n", r->rank, err.text);
        return 1;
    }
    r->ring->seconds[r->b->ranks * r->b->repeats + r->rank] = r->cpu_s;
    r->times[r->rank] = r->exchange->times;
    params_close(r->params);
    return 0;
}

static void *shared_memory(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

/* Fork the ranks and wait for them; the first that fails ends the others. */
static int run_ranks(struct bench_rank *r, const struct params_address *address, struct error *err)
{
    uint32_t n = r->b->ranks, left = n;
    pid_t pids[256];
    int rc = 0;

    for (uint32_t i = 0; i < n; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            r->rank = i;
            _exit(child(r, address));
        }
    }
    while (left > 0) {
        int status;
        pid_t pid = wait(&status);

        if (pid < 0)
            return fail(err, E_FAILED, "lost track of the benchmark's processes");
        left--;
        if (status != 0 && !rc) {
            rc = fail(err, E_FAILED, "a process of the benchmark failed");
            for (uint32_t i = 0; i < n; i++)
                if (pids[i] != pid)
                    kill(pids[i], SIGKILL);
        }
    }
    return rc;
}

static void summarise(const struct bench_rank *r, struct bench_exchange_result *out)
{
    uint32_t n = r->b->ranks;
    unsigned repeats = r->b->repeats;
    double slowest[1024];

    for (unsigned k = 0; k < repeats; k++) {
        slowest[k] = 0;
        for (uint32_t i = 0; i < n; i++)
            slowest[k] = MAX(slowest[k], r->ring->seconds[i * repeats + k]);
    }
    out->median_s = bench_median(slowest, repeats);
    out->min_s = slowest[0];
    out->cpu_s = 0;
    out->times = (struct exchange_times){ 0 };
    for (uint32_t i = 0; i < n; i++) {
        const struct exchange_times *t = &r->times[i];
        uint64_t per = (uint64_t)n * repeats;

        out->cpu_s += r->ring->seconds[n * repeats + i] / repeats;
        out->times.ul_shard_ns += t->ul_shard_ns / per;
        out->times.dl_wait_ns += t->dl_wait_ns / per;
        out->times.dl_shard_ns += t->dl_shard_ns / per;
        out->times.ul_aggr_ns += t->ul_aggr_ns / per;
        out->times.dl_grad_ns += t->dl_grad_ns / per;
        out->times.bytes_up += t->bytes_up / per;
        out->times.bytes_down += t->bytes_down / per;
    }
}

int bench_exchange_run(const struct bench_exchange *b, struct bench_exchange_result *out,
                       struct error *err)
{
    struct bench_rank r = { .b = b, .shards = b->shards ? b->shards : b->ranks };
    size_t ring_bytes = sizeof(struct ring) + ((size_t)b->ranks * b->repeats + b->ranks) * 8;
    struct gust_group group = group_of(b);
    struct params_layout layout;
    struct params_address address;
    struct params *store = NULL;
    pthread_barrierattr_t shared;
    struct heap heap;
    struct params_open open = { .heap = &heap };
    int rc;

    if (b->ranks < 1 || b->ranks > 256 || b->repeats < 1 || b->repeats > 1000)
        return fail(err, E_INVALID, "from 1 to 256 ranks and from 1 to 1000 repeats");
    heap_init(&heap, 0);
    open.env = local_env_new(&heap);
    rc = shape_init(&r.shape, GUST_GRADIENT, &group, 1, err);
    if (rc)
        return rc;
    exchange_layout(&r.shape, b->ranks, r.shards, 2, &layout);
    layout.general_bytes = MIB;
    rc = params_create("shm:", &layout, &open, &store, err);
    if (!rc)
        rc = params_address(store, &address, err);
    r.ring = shared_memory(ring_bytes);
    r.times = shared_memory(b->ranks * sizeof(*r.times));
    if (!rc && (!r.ring || !r.times))
        rc = fail(err, E_MEMORY, "no memory for the benchmark");
    if (!rc) {
        pthread_barrierattr_init(&shared);
        pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
        pthread_barrier_init(&r.ring->barrier, &shared, b->ranks);
        rc = run_ranks(&r, &address, err);
    }
    if (!rc)
        summarise(&r, out);
    params_close(store);
    munmap(r.ring, ring_bytes);
    munmap(r.times, b->ranks * sizeof(*r.times));
    local_env_free(open.env);
    heap_release(&heap);
    return rc;
}
