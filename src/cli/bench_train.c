/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gust bench train: throughput inside the trainer and time to held-out quality, for several
 * fleets, beside what one would use on one machine instead. Clocks start when all ranks are
 * ready and stand still during evaluations, for Gust and for the peers alike; the whole wall
 * time is printed beside them.
 */
#include "cli/bench.h"

#include <inttypes.h>

#include "cli/args.h"
#include "cli/text.h"
#include "client/session.h"
#include "platform/local_env.h"

#define TARGETS_MAX 8

struct options {
    const char *data, *model, *out, *workers, *targets, *peers, *export;
    uint64_t memory_mb, batch, threads;
    double epochs, evaluations;
    struct arg_list set;
    bool json;
    double target[TARGETS_MAX];
    unsigned target_count;
    struct heap heap;
    struct env *env;
    struct json w;
};

static bool parse_targets(struct options *o)
{
    const char *at = o->targets;

    while (at && *at && o->target_count < TARGETS_MAX) {
        char *end;

        o->target[o->target_count++] = strtod(at, &end);
        if (end == at || (*end && *end != ','))
            return false;
        at = *end ? end + 1 : NULL;
    }
    return true;
}

/* When the first metric first reached TARGET, or a negative number. */
static double time_to(const struct run *run, double target, bool higher)
{
    for (unsigned i = 0; i < run->evaluation_count; i++) {
        double v = run->evaluations[i].values[0];

        if (higher ? v >= target : v <= target)
            return run->evaluations[i].seconds;
    }
    return -1;
}

static void print_head(const struct options *o, const struct session *s)
{
    printf("%s on %s examples, batch %s, held-out %s\n", o->model,
           text_count(s->data.rows[DATASET_TRAIN]).s,
           props_str(&s->blueprint.settings, "batch", ""), s->blueprint.trainer->metrics[0].name);
    printf("%-26s %12s %12s %9s", "", "in trainer", "in all", "best");
    for (unsigned i = 0; i < o->target_count; i++)
        printf("  to %-6g", o->target[i]);
    printf(" %9s %9s %9s\n", "wall", "1st grad.", "heap");
    printf("%-26s %12s %12s\n", "", "per function", "examples/s");
}

static void print_time(double seconds)
{
    printf("  %9s", seconds < 0 ? "-" : text_seconds(seconds).s);
}

static double best_of(const struct run *run, bool higher)
{
    double best = run->evaluation_count ? run->evaluations[0].values[0] : 0;

    for (unsigned i = 1; i < run->evaluation_count; i++) {
        double v = run->evaluations[i].values[0];

        best = higher ? MAX(best, v) : MIN(best, v);
    }
    return best;
}

/* Where the time of a step goes, per function. */
static void print_times(const struct run *run, uint32_t workers)
{
    double steps = (double)run->steps * workers * 1e3;
    const struct exchange_times *x = &run->times.exchange;

    printf(
        "  a step: batch %.0f us, trainer %.0f, UL-Shard %.0f, wait %.0f, DL-Shard %.0f, UL-aggr "
        "%.0f, DL-grad %.0f, optimiser %.0f; bases %.0f\n",
        (double)run->times.batch_ns / steps, (double)run->times.compute_ns / steps,
        (double)x->ul_shard_ns / steps, (double)x->dl_wait_ns / steps,
        (double)x->dl_shard_ns / steps, (double)x->ul_aggr_ns / steps,
        (double)x->dl_grad_ns / steps, (double)run->times.apply_ns / steps,
        (double)run->times.base_ns / steps);
}

static void report(struct options *o, const struct session *s, uint32_t workers,
                   const struct run *run)
{
    bool higher = s->blueprint.trainer->metrics[0].higher_is_better;
    char name[64];

    snprintf(name, sizeof(name), "gust, %" PRIu32 " function%s", workers, workers == 1 ? "" : "s");
    if (o->json) {
        json_open(&o->w, NULL, '{');
        json_str(&o->w, "system", "gust");
        json_u64(&o->w, "workers", workers);
        json_f64(&o->w, "examples_per_second_in_trainer", run->compute_rate);
        json_f64(&o->w, "examples_per_second", (double)run->examples / run->seconds);
        json_f64(&o->w, "best", best_of(run, higher));
        json_f64(&o->w, "seconds_wall", run->wall_seconds);
        json_f64(&o->w, "seconds_start", run->start_seconds);
        json_f64(&o->w, "seconds_first_gradient", run->first_seconds);
        json_u64(&o->w, "ready_ns", run->ready_ns_max);
        json_u64(&o->w, "peak_bytes", run->peak_bytes_max);
        json_u64(&o->w, "heap_bytes", run->heap_bytes_max);
        json_u64(&o->w, "need_bytes", s->need.total);
        json_open(&o->w, "evaluations", '[');
        for (unsigned i = 0; i < run->evaluation_count; i++) {
            json_open(&o->w, NULL, '[');
            json_f64(&o->w, NULL, run->evaluations[i].seconds);
            json_f64(&o->w, NULL, run->evaluations[i].values[0]);
            json_close(&o->w);
        }
        json_close(&o->w);
        json_close(&o->w);
        return;
    }
    printf("%-26s %12s %12s %9.4f", name, text_short(run->compute_rate).s,
           text_short((double)run->examples / run->seconds).s, best_of(run, higher));
    for (unsigned i = 0; i < o->target_count; i++)
        print_time(time_to(run, o->target[i], higher));
    printf(" %9s %9s %9s\n", text_seconds(run->wall_seconds).s, text_seconds(run->first_seconds).s,
           text_bytes((double)run->heap_bytes_max).s);
    print_times(run, workers);
    fflush(stdout);
}

static int run_fleet(struct options *o, uint32_t workers, bool first, struct error *err)
{
    struct props settings;
    struct session s = { 0 };
    struct job job;
    struct run run;
    uint64_t batch, epoch;
    int rc = 0;

    props_init(&settings, &o->heap);
    props_set(&settings, "model", o->model);
    if (o->batch)
        props_setf(&settings, "batch", "%" PRIu64, o->batch);
    for (unsigned i = 0; !rc && i < o->set.count; i++)
        rc = props_assign(&settings, o->set.items[i], err);
    if (!rc)
        rc = session_open(&s, o->env, &o->heap, o->data, o->out, &settings, err);
    if (!rc)
        rc = props_u64(&s.blueprint.settings, "batch", 10000, 1, UINT64_MAX, &batch, err);
    if (!rc) {
        batch = MIN(batch, s.data.rows[DATASET_TRAIN]);
        props_setf(&s.blueprint.settings, "batch", "%" PRIu64, batch);
        epoch = (s.data.rows[DATASET_TRAIN] + batch - 1) / batch;
        job = (struct job){ .fleet = { workers, (uint32_t)o->memory_mb, batch },
                            .threads = (uint32_t)o->threads,
                            .epochs_max = o->epochs,
                            .evaluate_every = (uint64_t)MAX((double)epoch / o->evaluations, 1.0) };
        rc = session_check(&s, &job, err);
    }
    if (!rc && first && !o->json)
        print_head(o, &s);
    if (!rc)
        rc = session_train(&s, &job, NULL, NULL, &run, err);
    if (!rc)
        report(o, &s, workers, &run);
    session_close(&s);
    props_release(&settings);
    return rc;
}

static void run_peer(struct options *o, const char *label, const char *arguments, bool higher)
{
    struct bench_lines lines;
    double best = 0;
    int rc = bench_peer(o->peers, &lines, "%s", arguments);

    if (rc) {
        if (!o->json)
            printf("%-26s %s\n", label, rc == E_NOT_FOUND ? "not installed" : "failed");
        return;
    }
    for (unsigned i = 0; i < lines.count; i++)
        best = i == 0   ? lines.at[i][1]
               : higher ? MAX(best, lines.at[i][1])
                        : MIN(best, lines.at[i][1]);
    if (o->json) {
        json_open(&o->w, NULL, '{');
        json_str(&o->w, "system", label);
        json_f64(&o->w, "best", best);
        json_open(&o->w, "evaluations", '[');
        for (unsigned i = 0; i < lines.count; i++) {
            json_open(&o->w, NULL, '[');
            json_f64(&o->w, NULL, lines.at[i][0]);
            json_f64(&o->w, NULL, lines.at[i][1]);
            json_close(&o->w);
        }
        json_close(&o->w);
        json_close(&o->w);
        return;
    }
    printf("%-26s %12s %12s %9.4f", label, "", "", best);
    for (unsigned t = 0; t < o->target_count; t++) {
        double seconds = -1;

        for (unsigned i = 0; i < lines.count && seconds < 0; i++)
            if (higher ? lines.at[i][1] >= o->target[t] : lines.at[i][1] <= o->target[t])
                seconds = lines.at[i][0];
        print_time(seconds);
    }
    printf("\n");
    fflush(stdout);
}

/* The peers for a model, on the rows that `gust data export --format bin` wrote. */
static void run_peers(struct options *o)
{
    static const struct {
        const char *model, *label, *arguments;
    } peers[] = {
        { "logistic", "scikit-learn, 1 thread", "sklearn '%s' 3" },
        { "logistic", "liblinear, 1 thread", "liblinear '%s'" },
        { "logistic", "PyTorch, 1 thread", "torch-logistic '%s' 2" },
        { "factorisation", "PyTorch, 2 threads", "torch-factorisation '%s' 60" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(peers); i++) {
        char arguments[512];

        if (strcmp(peers[i].model, o->model) != 0)
            continue;
        snprintf(arguments, sizeof(arguments), peers[i].arguments, o->export);
        run_peer(o, peers[i].label, arguments, false);
    }
}

static int run_all(struct options *o, struct error *err)
{
    const char *at = o->workers;
    bool first = true;
    int rc = 0;

    if (o->json)
        json_open(&o->w, NULL, '[');
    while (!rc && at && *at) {
        char *end;
        unsigned long workers = strtoul(at, &end, 10);

        if (end == at || workers == 0 || workers > CONTROL_RANKS_MAX || (*end && *end != ','))
            return fail(err, E_INVALID, "--workers: '%s' is not a list of numbers", o->workers);
        rc = run_fleet(o, (uint32_t)workers, first, err);
        first = false;
        at = *end ? end + 1 : NULL;
    }
    if (!rc && o->export)
        run_peers(o);
    if (o->json)
        json_close(&o->w);
    return rc;
}

int bench_train_command(int argc, char **argv)
{
    struct options o = { .model = "factorisation",
                         .out = "out/bench",
                         .workers = "1,2",
                         .peers = "bench/peers",
                         .memory_mb = 1769,
                         .epochs = 8,
                         .evaluations = 4 };
    const struct arg table[] = {
        { "data", ARG_TEXT, &o.data, "FOLDER", "the data set", .required = true },
        { "model", ARG_TEXT, &o.model, "NAME", "factorisation, logistic, svm, softmax" },
        { "workers", ARG_TEXT, &o.workers, "N,N,...", "functions (1,2)" },
        { "memory", ARG_COUNT, &o.memory_mb, "MB", "of each function (1769)", 128, 10240 },
        { "batch", ARG_COUNT, &o.batch, "N", "examples of a step", 1, 1e12 },
        { "threads", ARG_COUNT, &o.threads, "N", "in each function", 1, 256 },
        { "epochs", ARG_NUMBER, &o.epochs, "N", "passes (8)", 0.01, 1e6 },
        { "evaluations", ARG_NUMBER, &o.evaluations, "N", "per epoch (4; 0.1: every ten epochs)",
          1e-6, 1000 },
        { "targets", ARG_TEXT, &o.targets, "X,X,...", "qualities whose time is wanted" },
        { "set", ARG_LIST, &o.set, "KEY=VALUE", "a setting of the model or the optimiser" },
        { "out", ARG_TEXT, &o.out, "FOLDER", "where the runs keep their state (out/bench)" },
        { "export", ARG_TEXT, &o.export, "PREFIX",
          "run the peers too, on what 'gust data export' wrote there" },
        { "peers", ARG_TEXT, &o.peers, "FOLDER", "where the peers' programs are (bench/peers)" },
        { "json", ARG_FLAG, &o.json, NULL, "print JSON" },
        { NULL }
    };
    const struct args_command command = {
        .name = "gust bench train",
        .summary =
            "Train with several fleets and print throughput and time to held-out quality. Clocks run\n"
            "from all functions being ready and exclude evaluation; wall is everything.",
        .table = table
    };
    struct error err = { 0 };
    struct buf text;
    int rc = args_parse(&command, argc, argv, NULL);

    if (rc != ARGS_GO)
        return rc;
    if (!parse_targets(&o))
        return args_complain(&command, 2, "--targets: '%s' is not a list of numbers", o.targets);
    heap_init(&o.heap, 0);
    o.env = local_env_new(&o.heap);
    buf_init(&text, &o.heap, 16 * MIB);
    json_init(&o.w, &text);
    rc = run_all(&o, &err);
    if (!rc && o.json)
        printf("%s\n", text.data);
    buf_release(&text);
    local_env_free(o.env);
    heap_release(&o.heap);
    return rc ? args_complain(&command, error_exit_status(rc), "%s", err.text) : 0;
}
