/* SPDX-License-Identifier: Apache-2.0 */
/* gust stop: has a running job save its model and end, as Ctrl-C does where it runs. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <time.h>

#include "cli/args.h"
#include "cli/commands.h"
#include "cli/job_folder.h"
#include "cli/result.h"

#define LOOK_NS (20 * NS_PER_MS)

/* Ask the client, unless it is gone. By SIGTERM: shells have background programs ignore SIGINT. */
static int ask(const char *path, struct error *err)
{
    struct job_folder f;
    int rc = job_folder_open(&f, path, err);

    if (!rc && !job_folder_is_running(&f))
        rc =
            fail(err, E_INVALID, "the job in '%s' is not running: %s", path, job_folder_status(&f));
    if (!rc && kill((pid_t)f.summary.pid, SIGTERM) < 0)
        rc = fail(err, E_FAILED, "cannot stop process %" PRIu64 ": %s", f.summary.pid,
                  strerror(errno));
    job_folder_close(&f);
    return rc;
}

/* Wait for the client to be done and say what it left. */
static int await(const char *path, double wait_s, struct error *err)
{
    const struct timespec pause = { .tv_nsec = LOOK_NS };
    double waited = 0;

    for (;;) {
        struct job_folder f;
        int rc = job_folder_open(&f, path, err);
        bool running = !rc && job_folder_is_running(&f);

        if (!rc && !running && strcmp(job_folder_status(&f), "died") == 0)
            rc = fail(err, E_FAILED, "the job in '%s' ended without saving", path);
        if (!rc && !running)
            result_print(&f.summary, job_folder_status(&f), path);
        job_folder_close(&f);
        if (rc || !running)
            return rc;
        if (waited >= wait_s)
            return fail(err, E_TIMEOUT, "the job in '%s' was asked to stop and has not yet", path);
        nanosleep(&pause, NULL);
        waited += (double)LOOK_NS / NS_PER_S;
    }
}

int cmd_stop(int argc, char **argv)
{
    double wait_s = 60;
    const struct arg table[] = {
        { .name = "wait",
          .kind = ARG_NUMBER,
          .out = &wait_s,
          .value = "SECONDS",
          .help = "how long to wait until it has saved (60)",
          .max = 86400 },
        { .name = NULL },
    };
    const struct args_command command = {
        .name = "gust stop",
        .summary = "Have a running job save its model and end.",
        .words = "JOB",
        .words_max = 1,
        .table = table,
        .notes = "JOB is the folder that 'gust train' was given as --out, on the machine where it "
                 "runs.",
    };
    struct args_words words = { 0 };
    struct error err = { 0 };
    int rc = args_parse(&command, argc, argv, &words);

    if (rc != ARGS_GO)
        return rc;
    if (words.count == 0)
        return args_complain(&command, 2,
                             "say which job: 'gust stop FOLDER'; 'gust jobs' lists "
                             "them");
    rc = ask(words.items[0], &err);
    if (!rc)
        rc = await(words.items[0], wait_s, &err);
    return rc ? args_complain(&command, error_exit_status(rc), "%s", err.text) : 0;
}
