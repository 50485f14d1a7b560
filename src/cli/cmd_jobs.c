/* SPDX-License-Identifier: Apache-2.0 */
/* gust jobs: the jobs below a folder, newest first. */
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/json.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/job_folder.h"
#include "cli/text.h"

/* How far below a folder jobs are looked for: out, and runs/monday. */
#define DEPTH      2u
#define JOBS_MAX   1000u
#define FOLDER_MAX 1024
#define TEXT_MAX   (16 * MIB)

struct row {
    char path[FOLDER_MAX];
    char status[16], model[24], metric[24], began[32];
    double quality, epochs, steps, seconds, bill_usd;
};

struct list {
    struct heap heap;
    struct row *rows; /* JOBS_MAX of them */
    unsigned count, left_out;
};

static void fill(struct row *row, const char *path, const struct job_folder *f)
{
    const struct summary *s = &f->summary;
    const struct evaluation *e = summary_evaluation(s);

    *row = (struct row){ .quality = e ? e->values[0] : f->history.quality,
                         .epochs = s->epochs,
                         .steps = s->steps,
                         .seconds = s->seconds_training,
                         .bill_usd = s->bill_usd };
    snprintf(row->path, sizeof(row->path), "%s", path);
    snprintf(row->status, sizeof(row->status), "%s", job_folder_status(f));
    snprintf(row->model, sizeof(row->model), "%s", s->model);
    snprintf(row->began, sizeof(row->began), "%s", s->began);
    snprintf(row->metric, sizeof(row->metric), "%s", s->metric_count ? s->metrics[0].name : "");
}

static void add(struct list *l, const char *path)
{
    struct job_folder f;

    if (l->count == JOBS_MAX) {
        l->left_out++;
        return;
    }
    if (job_folder_open(&f, path, NULL) == 0) {
        fill(&l->rows[l->count], path, &f);
    } else {
        l->rows[l->count] = (struct row){ .quality = NAN, .status = "damaged" };
        snprintf(l->rows[l->count].path, FOLDER_MAX, "%s", path);
    }
    l->count++;
    job_folder_close(&f);
}

static bool is_folder(const char *path)
{
    struct stat st;

    /* Links are not followed, so that no job is found twice. */
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void search(struct list *l, const char *path, unsigned depth)
{
    DIR *dir = job_folder_is(path) || depth == 0 ? NULL : opendir(path);
    struct dirent *entry;

    if (job_folder_is(path))
        add(l, path);
    while (dir && (entry = readdir(dir))) {
        char below[FOLDER_MAX];
        bool here = strcmp(path, ".") == 0;

        if (entry->d_name[0] == '.' ||
            (size_t)snprintf(below, sizeof(below), "%s%s%s", here ? "" : path, here ? "" : "/",
                             entry->d_name) >= sizeof(below))
            continue;
        if (is_folder(below))
            search(l, below, depth - 1);
    }
    if (dir)
        closedir(dir);
}

/* Newest first; of the same second, by name. */
static int compare(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = strcmp(y->began, x->began);

    return order ? order : strcmp(x->path, y->path);
}

static void print_table(const struct list *l)
{
    int wide = 10;

    for (unsigned i = 0; i < l->count; i++)
        wide = MAX(wide, MIN((int)strlen(l->rows[i].path), 28));
    printf("%-*s %-11s %-13s %-15s %7s %8s %9s\n", wide, "job", "status", "model", "quality",
           "epochs", "time", "bill");
    for (unsigned i = 0; i < l->count; i++) {
        const struct row *r = &l->rows[i];
        char quality[48] = "-";

        if (!isnan(r->quality))
            snprintf(quality, sizeof(quality), "%s %.4f", r->metric, r->quality);
        printf("%-*s %-11s %-13s %-15s %7.2f %8s %9s\n", wide, r->path, r->status, r->model,
               quality, r->epochs, text_seconds(r->seconds).s, text_usd(r->bill_usd).s);
    }
    if (l->left_out)
        printf("and %u more; name a folder further down\n", l->left_out);
}

static void print_json(struct list *l)
{
    struct buf text;
    struct json w;

    buf_init(&text, &l->heap, TEXT_MAX);
    json_init(&w, &text);
    json_open(&w, NULL, '[');
    for (unsigned i = 0; i < l->count; i++) {
        const struct row *r = &l->rows[i];

        json_open(&w, NULL, '{');
        json_str(&w, "job", r->path);
        json_str(&w, "status", r->status);
        json_str(&w, "model", r->model);
        json_str(&w, "began", r->began);
        json_str(&w, "metric", r->metric);
        json_f64(&w, "quality", r->quality);
        json_f64(&w, "steps", r->steps);
        json_f64(&w, "epochs", r->epochs);
        json_f64(&w, "seconds_training", r->seconds);
        json_f64(&w, "bill_usd", r->bill_usd);
        json_close(&w);
    }
    json_close(&w);
    printf("%s\n", text.data);
    buf_release(&text);
}

static int list_jobs(const struct args_command *c, const char *path, bool json)
{
    struct list l = { 0 };

    if (!is_folder(path))
        return args_complain(c, 2, "there is no folder '%s'", path);
    heap_init(&l.heap, 0);
    l.rows = heap_alloc(&l.heap, JOBS_MAX * sizeof(*l.rows));
    search(&l, path, DEPTH);
    qsort(l.rows, l.count, sizeof(*l.rows), compare);
    if (json)
        print_json(&l);
    else if (l.count)
        print_table(&l);
    else
        printf("There are no jobs in '%s' or the folders below it.\n", path);
    heap_release(&l.heap);
    return 0;
}

int cmd_jobs(int argc, char **argv)
{
    bool json = false;
    const struct arg table[] = {
        { "json", ARG_FLAG, &json, NULL, "print one JSON array" },
        { NULL },
    };
    const struct args_command command = {
        .name = "gust jobs",
        .summary = "List the jobs in a folder and the two levels of folders below it.",
        .words = "[FOLDER]",
        .words_max = 1,
        .table = table,
        .notes = "Without FOLDER, the current one. A job 'died' when its client was killed before "
                 "it could save.",
    };
    struct args_words words = { 0 };
    int rc = args_parse(&command, argc, argv, &words);

    if (rc != ARGS_GO)
        return rc;
    return list_jobs(&command, words.count ? words.items[0] : ".", json);
}
