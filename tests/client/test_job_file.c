/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "client/job_file.h"

struct fixture {
    struct heap heap;
    struct job_file file;
};

static int set_up(void **state)
{
    static struct fixture f;

    f = (struct fixture){ 0 };
    heap_init(&f.heap, 0);
    job_file_init(&f.file, &f.heap);
    *state = &f;
    return 0;
}

/* Releasing must leave the heap empty. */
static int tear_down(void **state)
{
    struct fixture *f = *state;

    job_file_release(&f->file);
    return f->heap.blocks != NULL;
}

static void start_again(struct fixture *f)
{
    job_file_release(&f->file);
    job_file_init(&f->file, &f->heap);
}

static void describe(struct fixture *f, const char *text)
{
    start_again(f);
    job_file_read(&f->file, slice_str(text), "job.yaml");
}

/* Problem AT is in LINE and says WORDS. */
static void expect(struct fixture *f, unsigned at, unsigned line, const char *words)
{
    const struct problem *p = &f->file.problems.items[at];

    assert_in_range(f->file.problems.kept, at + 1, PROBLEMS_MAX);
    if (p->line != line || !strstr(p->text, words))
        fail_msg("problem %u in line %u: %s (expected '%s' in line %u)", at, p->line, p->text,
                 words, line);
}

static void a_whole_job_is_understood(void **state)
{
    struct fixture *f = *state;
    const struct job *job = &f->file.job;

    describe(f, "model: { kind: factorisation, rank: 8 }\n"
                "data: ratings\n"
                "fleet:\n"
                "  workers: 4\n"
                "  memory: 1.5GB\n"
                "  time-limit: 2m\n"
                "training:\n"
                "  batch_per_worker: 2k\n"
                "  seed: 18446744073709551615\n"
                "  evaluate_every: 10\n"
                "optimiser:\n"
                "  rate: 0.5\n"
                "  decay_every:\n"
                "stop.steps: 1M\n"
                "stop:\n"
                "  time: 1h30m\n"
                "  target: 0.75\n"
                "out: out/x\n");
    expect(f, 0, 13, "optimiser.decay_every: has no value");
    assert_int_equal(f->file.problems.count, 1);
    start_again(f);
    describe(f, "model: { kind: factorisation, rank: 8 }\ndata: ratings\nfleet:\n  workers: 4\n"
                "  memory: 1.5GB\n  time-limit: 2m\ntraining:\n  batch_per_worker: 2k\n"
                "  seed: 18446744073709551615\n  evaluate_every: 10\noptimiser:\n  rate: 0.5\n"
                "stop.steps: 1M\nstop:\n  time: 1h30m\n  target: 0.75\nout: out/x\n");
    assert_int_equal(job_file_check(&f->file), 0);
    assert_string_equal(f->file.model, "factorisation");
    assert_string_equal(f->file.data, "ratings");
    assert_string_equal(f->file.out, "out/x");
    assert_int_equal(job->fleet.workers, 4);
    assert_int_equal(job->fleet.memory_mb, 1536);
    assert_int_equal(job->fleet.batch, 8000);
    assert_int_equal(job->timeout_ms, 120000);
    assert_int_equal(job->evaluate_every, 10);
    assert_int_equal(job->steps_max, 1000000);
    assert_true(job->epochs_max == 0 && job->seconds_max == 5400);
    assert_true(job->has_target && job->target == 0.75);
    assert_string_equal(props_find(&f->file.settings, "model"), "factorisation");
    assert_string_equal(props_find(&f->file.settings, "rank"), "8");
    assert_string_equal(props_find(&f->file.settings, "rate"), "0.5");
    assert_string_equal(props_find(&f->file.settings, "batch"), "8000");
    assert_string_equal(props_find(&f->file.settings, "seed"), "18446744073709551615");
    /* What was not given is left to the model. */
    assert_null(props_find(&f->file.settings, "decay"));
    assert_null(props_find(&f->file.settings, "optimiser"));
}

static void the_data_alone_is_a_job(void **state)
{
    struct fixture *f = *state;

    describe(f, "data: d\nfleet:\nstop: ~\n");
    assert_int_equal(job_file_check(&f->file), 0);
    assert_string_equal(f->file.model, "factorisation");
    assert_string_equal(f->file.out, "out");
    assert_int_equal(f->file.job.fleet.workers, 2);
    assert_int_equal(f->file.job.fleet.memory_mb, 1769);
    assert_int_equal(f->file.job.fleet.batch, 0);
    assert_int_equal(f->file.job.timeout_ms, 900000);
    assert_true(f->file.job.epochs_max == 10);
    assert_null(props_find(&f->file.settings, "batch"));
}

static void all_mistakes_are_found_at_once(void **state)
{
    struct fixture *f = *state;

    describe(f, "model: forest\n"
                "workers: 4\n"
                "fleet:\n"
                "  wrokers: 3\n"
                "  workers: 5000\n"
                "  workers: 2\n"
                "training: 12\n"
                "optimiser: [adam]\n"
                "stop:\n"
                "  steps: [1, 2]\n"
                "  time: {}\n"
                "stop.epochs: 1\n"
                "stop: &a 3\n");
    assert_int_equal(job_file_check(&f->file), E_INVALID);
    expect(f, 0, 0, "data.path: is missing");
    expect(f, 1, 1, "model.kind: there is no 'forest'");
    expect(f, 2, 2, "workers: there is no such setting; did you mean 'fleet.workers'?");
    expect(f, 3, 4, "fleet.wrokers: there is no such setting; did you mean 'workers'?");
    expect(f, 4, 5, "fleet.workers: 5000 is too large");
    expect(f, 5, 6, "'workers' is given again (first in line 5)");
    expect(f, 6, 7, "training: is a section");
    expect(f, 7, 8, "optimiser: takes one value, or is a section");
    expect(f, 8, 10, "stop.steps: takes one value, not a list");
    expect(f, 9, 11, "stop.time: takes one value, not a section");
    expect(f, 10, 13, "the anchor '&a'");
    expect(f, 11, 13, "'stop' is given again (first in line 9)");
    assert_int_equal(f->file.problems.count, 12);
}

static void a_setting_given_in_two_ways_is_given_twice(void **state)
{
    struct fixture *f = *state;

    describe(f, "data: d\nfleet:\n  time_limit: 1m\n  time-limit: 2m\nfleet.workers: 1\n"
                "data.path: e\n");
    expect(f, 0, 4, "fleet.time_limit: is given again (first in line 3)");
    expect(f, 1, 6, "data.path: is given again (first in line 1)");
    assert_int_equal(f->file.problems.count, 2);
}

static void contradictions_are_told_with_both_places(void **state)
{
    struct fixture *f = *state;

    describe(f, "data: d\nout: d/\n"
                "model: logistic\n"
                "model.rank: 3\n"
                "training:\n  batch: 10\n  batch_per_worker: 5\n"
                "optimiser:\n  kind: adam\n  accumulator: 1\n  decay: 2\n");
    assert_int_equal(job_file_check(&f->file), E_INVALID);
    expect(f, 0, 2, "out.folder: 'd/' is the folder of the data");
    expect(f, 1, 4, "model.rank: has no meaning for 'logistic' (model.kind, line 3)");
    expect(f, 2, 7, "contradicts training.batch (line 6); give one of the two");
    expect(f, 3, 10, "optimiser.accumulator: has no meaning for 'adam' (optimiser.kind, line 9)");
    expect(f, 4, 11, "optimiser.decay: has no meaning for 'constant' (optimiser.schedule, the");
    assert_int_equal(f->file.problems.count, 5);
}

static void options_override_the_file(void **state)
{
    struct fixture *f = *state;

    describe(f, "data: d\nmodel: { kind: factorisation, rank: 9 }\nfleet: { workers: 8 }\n"
                "training: { batch: 100 }\n");
    job_file_set(&f->file, setting_find("fleet.workers"), "3", "--workers");
    job_file_set(&f->file, setting_find("training.batch_per_worker"), "10", "--batch-per-worker");
    job_file_assign(&f->file, "model=logistic");
    job_file_assign(&f->file, "out.folder=a=b");
    assert_int_equal(job_file_check(&f->file), 0);
    assert_int_equal(f->file.job.fleet.workers, 3);
    assert_int_equal(f->file.job.fleet.batch, 30);
    assert_string_equal(f->file.model, "logistic");
    assert_string_equal(f->file.out, "a=b");
    /* The file's rank was for the model that it named. */
    assert_null(props_find(&f->file.settings, "rank"));
}

static void options_may_be_wrong_too(void **state)
{
    struct fixture *f = *state;

    job_file_set(&f->file, setting_find("fleet.workers"), "many", "--workers");
    job_file_assign(&f->file, "rate");
    job_file_assign(&f->file, "=3");
    job_file_assign(&f->file, "fleet.wrokers=3");
    job_file_assign(&f->file, "kind=adam");
    job_file_assign(&f->file, "optimiser.rate=fast");
    job_file_set(&f->file, setting_find("training.batch"), "10", "--batch");
    job_file_assign(&f->file, "batch_per_worker=10");
    assert_int_equal(job_file_check(&f->file), E_INVALID);
    assert_string_equal(f->file.problems.items[0].source, "--workers");
    expect(f, 0, 0, "'many' is not a whole number");
    expect(f, 1, 0, "'rate' is not of the form key=value");
    expect(f, 2, 0, "'=3' is not of the form key=value");
    expect(f, 3, 0, "fleet.wrokers: there is no such setting; did you mean 'workers'?");
    expect(f, 4, 0, "kind: there is no such setting");
    expect(f, 5, 0, "optimiser.rate: 'fast' is not a number");
    expect(f, 6, 0, "contradicts training.batch (--batch)");
    expect(f, 7, 0, "is missing; name the data set");
    assert_int_equal(f->file.problems.count, 8);
}

static void raw_data_is_described_for_the_importer(void **state)
{
    struct fixture *f = *state;
    struct import_options o;

    describe(f, "data:\n"
                "  path: clicks.csv\n"
                "  format: csv\n"
                "  columns:\n"
                "    label: click\n"
                "    numeric: [age, price]\n"
                "    categorical: []\n"
                "  test: more.csv\n"
                "  scale: log\n"
                "  hash_width: 1M\n"
                "  bad-rows: 0\n"
                "  lanes: 64\n");
    assert_int_equal(job_file_check(&f->file), 0);
    job_file_import(&f->file, &o);
    assert_string_equal(o.columns, "label=click numeric=age,price categorical=");
    assert_int_equal(o.format, TRANSFORM_CSV);
    assert_true(o.scale_set && o.scale == SCALE_LOG);
    assert_int_equal(o.test_count, 1);
    assert_string_equal(o.tests[0], "more.csv");
    assert_int_equal(o.hash_width, 1000000);
    assert_int_equal(o.bad_rows, 0);
    assert_int_equal(o.lanes, 64);
    describe(f, "data: ratings.csv\n");
    job_file_assign(&f->file, "data.columns=user=u item=i,label=r");
    assert_int_equal(job_file_check(&f->file), 0);
    job_file_import(&f->file, &o);
    assert_string_equal(o.columns, "user=u item=i,label=r");
    assert_int_equal(o.format, -1);
    assert_false(o.scale_set);
    assert_int_equal(o.test_count, 0);
    assert_true(o.held_out == 0.1 && o.bad_rows == IMPORT_BAD_DEFAULT && o.lanes == 0);
}

static void columns_are_checked(void **state)
{
    struct fixture *f = *state;

    describe(f, "data:\n"
                "  path: x.csv\n"
                "  columns:\n"
                "    lable: click\n"
                "    numeric: [age, in dollars]\n"
                "    user:\n"
                "    item: [[a]]\n");
    job_file_assign(&f->file, "data.columns=click");
    job_file_assign(&f->file, "data.columns=lable=click");
    expect(f, 0, 4, "data.columns: 'lable' is no role; use label, weight");
    expect(f, 1, 5, "cannot name a column with a blank");
    expect(f, 2, 6, "data.columns: names no column");
    expect(f, 3, 7, "and nothing deeper");
    expect(f, 4, 0, "data.columns: begins with a role, as in label=click");
    expect(f, 5, 0, "data.columns: 'lable' is no role");
    assert_int_equal(f->file.problems.count, 6);
    describe(f, "data: { path: x.csv, columns: { label: a }, held_out: 0.2, test: y.csv }\n");
    assert_int_equal(job_file_check(&f->file), E_INVALID);
    expect(f, 0, 1, "data.held_out: contradicts data.test (line 1)");
    assert_int_equal(f->file.problems.count, 1);
}

static void what_is_not_a_job_file_is_refused(void **state)
{
    static const struct {
        const char *text;
        unsigned line;
        const char *words;
    } cases[] = {
        { "", 0, "there is nothing in it" },
        { "# nothing\n", 0, "there is nothing in it" },
        { "~", 0, "there is nothing in it" },
        { "just words\n", 1, "this is not a job file" },
        { "\n- a\n- b\n", 2, "this is not a job file" },
        { "1::2::3.5::978300760\n", 1, "this is not a job file" },
        { "a,b,c\n1,2,3\n", 1, "this is not a job file" },
        { "{\"model\": svm]", 1, "this is not YAML" },
        { "model: svm\n\tfleet: x\n", 2, "this is not YAML" },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        describe(f, cases[i].text);
        assert_int_equal(job_file_check(&f->file), E_INVALID);
        assert_int_equal(f->file.problems.count, 1);
        expect(f, 0, cases[i].line, cases[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_whole_job_is_understood, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_data_alone_is_a_job, set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_mistakes_are_found_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_setting_given_in_two_ways_is_given_twice, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(contradictions_are_told_with_both_places, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(options_override_the_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(options_may_be_wrong_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(raw_data_is_described_for_the_importer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(columns_are_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_a_job_file_is_refused, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
