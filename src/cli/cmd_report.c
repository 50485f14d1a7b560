/* SPDX-License-Identifier: Apache-2.0 */
/* gust report: what became of a job, and its page made anew. */
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/job_folder.h"
#include "cli/result.h"
#include "client/report_html.h"

static int report(const struct args_command *c, const char *path, bool json)
{
    struct job_folder f;
    struct error err = { 0 };
    int rc = job_folder_open(&f, path, &err);

    if (!rc)
        rc = report_html_make(f.objects, &f.heap, GUST_VERSION, &err);
    if (!rc && json) {
        printf("%s", f.text.data);
    } else if (!rc) {
        result_print(&f.summary, job_folder_status(&f), path);
        if (f.summary.item_count)
            result_print_bill(&f.summary);
    }
    job_folder_close(&f);
    return rc ? args_complain(c, error_exit_status(rc), "%s", err.text) : 0;
}

int cmd_report(int argc, char **argv)
{
    bool json = false;
    const struct arg table[] = {
        { "json", ARG_FLAG, &json, NULL, "print the job's summary.json" },
        { NULL },
    };
    const struct args_command command = {
        .name = "gust report",
        .summary = "Say what became of a job, and make its report.html anew.",
        .words = "JOB",
        .words_max = 1,
        .table = table,
        .notes = "JOB is the folder that 'gust train' was given as --out. The page is made from "
                 "summary.json and events.jsonl and needs nothing else to be looked at.",
    };
    struct args_words words = { 0 };
    int rc = args_parse(&command, argc, argv, &words);

    if (rc != ARGS_GO)
        return rc;
    if (words.count == 0)
        return args_complain(&command, 2,
                             "say which job: 'gust report FOLDER'; 'gust jobs' lists "
                             "them");
    return report(&command, words.items[0], json);
}
