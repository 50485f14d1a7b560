/* SPDX-License-Identifier: Apache-2.0 */
/* gust bench exchange: the table over sizes and ranks, with MPI and Gloo in the same run. */
#include "cli/args.h"
#include "cli/bench.h"
#include "cli/text.h"

#include <inttypes.h>

#include "base/props.h"

#define LIST_MAX 16

struct options {
    const char *ranks, *floats, *peers;
    uint64_t repeats, cols;
    double touched;
    bool no_peers, json;
    struct buf *out;
    struct json *w;
};

static bool parse_list(const char *text, uint64_t *out, unsigned *count)
{
    char copy[256];

    *count = 0;
    if ((size_t)snprintf(copy, sizeof(copy), "%s", text) >= sizeof(copy))
        return false;
    for (char *at = copy, *next; at && *count < LIST_MAX; at = next) {
        next = strchr(at, ',');
        if (next)
            *next++ = 0;
        if (!parse_u64(at, &out[*count]) || out[*count] == 0)
            return false;
        ++*count;
    }
    return *count > 0;
}

/* One line of the table; BASE_S is MPI's time, 0 when it was not measured. */
static void show(const struct options *o, const char *system, uint64_t floats, uint64_t ranks,
                 double median_s, double min_s, double cpu_s, double base_s,
                 const struct exchange_times *times)
{
    if (o->json) {
        json_open(o->w, NULL, '{');
        json_str(o->w, "system", system);
        json_u64(o->w, "floats", floats);
        json_u64(o->w, "ranks", ranks);
        json_f64(o->w, "median_s", median_s);
        json_f64(o->w, "min_s", min_s);
        json_f64(o->w, "cpu_s", cpu_s);
        if (times) {
            json_f64(o->w, "ul_shard_s", (double)times->ul_shard_ns / NS_PER_S);
            json_f64(o->w, "dl_wait_s", (double)times->dl_wait_ns / NS_PER_S);
            json_f64(o->w, "dl_shard_s", (double)times->dl_shard_ns / NS_PER_S);
            json_f64(o->w, "ul_aggr_s", (double)times->ul_aggr_ns / NS_PER_S);
            json_f64(o->w, "dl_grad_s", (double)times->dl_grad_ns / NS_PER_S);
            json_u64(o->w, "bytes_up", times->bytes_up);
            json_u64(o->w, "bytes_down", times->bytes_down);
        }
        json_close(o->w);
        return;
    }
    printf("%-18s %9s %9s %9s", system, text_seconds(median_s).s, text_seconds(min_s).s,
           text_seconds(cpu_s).s);
    if (base_s > 0)
        printf(" %7.2fx", base_s / median_s);
    else
        printf(" %8s", "");
    if (times)
        printf("  %8s %8s %8s %8s %8s", text_seconds((double)times->ul_shard_ns / NS_PER_S).s,
               text_seconds((double)times->dl_wait_ns / NS_PER_S).s,
               text_seconds((double)times->dl_shard_ns / NS_PER_S).s,
               text_seconds((double)times->ul_aggr_ns / NS_PER_S).s,
               text_seconds((double)times->dl_grad_ns / NS_PER_S).s);
    printf("\n");
    fflush(stdout);
}

/* The time of a peer, or 0 when it could not be measured, saying so. */
static double run_peer(const struct options *o, const char *name, const char *label,
                       uint64_t floats, uint64_t ranks, double base_s)
{
    struct bench_lines lines;
    int rc;

    if (o->no_peers)
        return 0;
    rc = bench_peer(o->peers, &lines, "%s %" PRIu64 " %" PRIu64 " %" PRIu64, name, ranks, floats,
                    o->repeats);
    if (rc) {
        if (!o->json)
            printf("%-18s %s\n", label, rc == E_NOT_FOUND ? "not installed" : "failed");
        return 0;
    }
    show(o, label, floats, ranks, lines.at[0][0], lines.at[0][1], lines.at[0][2], base_s, NULL);
    return lines.at[0][0];
}

static int run_gust(const struct options *o, uint64_t floats, uint64_t ranks, bool copies,
                    double base_s, struct error *err)
{
    struct bench_exchange b = { .ranks = (uint32_t)ranks,
                                .rows = floats / o->cols,
                                .cols = (uint32_t)o->cols,
                                .touched = o->touched,
                                .copies = copies,
                                .repeats = (unsigned)o->repeats };
    struct bench_exchange_result r;
    int rc = bench_exchange_run(&b, &r, err);

    if (!rc)
        show(o, copies ? "gust, with copies" : "gust, in place", floats, ranks, r.median_s,
             r.min_s, r.cpu_s, base_s, &r.times);
    return rc;
}

static int run_size(const struct options *o, uint64_t floats, uint64_t ranks, struct error *err)
{
    double base_s;
    int rc;

    if (!o->json)
        printf("\n%s floats (%s), %" PRIu64 " processes\n%-18s %9s %9s %9s %8s  %8s %8s %8s %8s "
               "%8s\n",
               text_count(floats).s, text_bytes((double)floats * 4).s, ranks, "", "median", "best",
               "CPU", "vs MPI", "UL-Shard", "wait", "DL-Shard", "UL-aggr", "DL-grad");
    base_s = run_peer(o, "mpi", "MPI_Allreduce", floats, ranks, 0);
    run_peer(o, "gloo", "Gloo", floats, ranks, base_s);
    rc = run_gust(o, floats, ranks, false, base_s, err);
    if (!rc && o->touched >= 1)
        rc = run_gust(o, floats, ranks, true, base_s, err);
    return rc;
}

int bench_exchange_command(int argc, char **argv)
{
    struct options o = { .ranks = "2,4,8",
                         .floats = "262144,11173962",
                         .peers = "bench/peers",
                         .repeats = 15,
                         .cols = 1,
                         .touched = 1 };
    const struct arg table[] = {
        { "ranks", ARG_TEXT, &o.ranks, "N,N,...", "processes (2,4,8)" },
        { "floats", ARG_TEXT, &o.floats, "N,N,...", "sizes of the vector (262144,11173962)" },
        { "cols", ARG_COUNT, &o.cols, "N", "columns of a row (1)", 1, 65536 },
        { "touched", ARG_NUMBER, &o.touched, "P", "share of rows that a rank touches (1: dense)", 0,
          1 },
        { "repeats", ARG_COUNT, &o.repeats, "N", "timed exchanges (15)", 1, 1000 },
        { "peers", ARG_TEXT, &o.peers, "FOLDER", "where the peers' programs are (bench/peers)" },
        { "no-peers", ARG_FLAG, &o.no_peers, NULL, "measure Gust alone" },
        { "json", ARG_FLAG, &o.json, NULL, "print JSON" },
        { NULL }
    };
    const struct args_command command = {
        .name = "gust bench exchange",
        .summary = "Time from the moment at which all processes have a vector until all have the sum: median\n"
                   "and best over steps of the slowest process, CPU seconds of all, and where the time goes.",
        .table = table
    };
    uint64_t ranks[LIST_MAX], floats[LIST_MAX];
    unsigned rank_count, float_count;
    struct error err = { 0 };
    struct heap heap;
    struct json w;
    struct buf text;
    int rc = args_parse(&command, argc, argv, NULL);

    if (rc != ARGS_GO)
        return rc;
    if (!parse_list(o.ranks, ranks, &rank_count))
        return args_complain(&command, 2, "--ranks: '%s' is not a list of numbers", o.ranks);
    if (!parse_list(o.floats, floats, &float_count))
        return args_complain(&command, 2, "--floats: '%s' is not a list of numbers", o.floats);
    heap_init(&heap, 0);
    buf_init(&text, &heap, 16 * MIB);
    json_init(&w, &text);
    o.w = &w;
    json_open(&w, NULL, '[');
    rc = 0;
    for (unsigned f = 0; !rc && f < float_count; f++)
        for (unsigned r = 0; !rc && r < rank_count; r++)
            rc = run_size(&o, floats[f], ranks[r], &err);
    json_close(&w);
    if (!rc && o.json)
        printf("%s\n", text.data);
    buf_release(&text);
    heap_release(&heap);
    return rc ? args_complain(&command, error_exit_status(rc), "%s", err.text) : 0;
}
