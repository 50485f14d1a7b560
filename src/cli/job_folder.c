/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/job_folder.h"

#include <dirent.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/events.h"

#define TEXT_MAX       (64 * MIB)
#define JOB_PATH_MAX   4096
#define START_FIELD    22 /* of /proc/PID/stat; proc(5) */
#define COMMAND_FIELDS 2  /* up to the command's closing bracket */

uint64_t process_started(uint64_t pid)
{
    char path[64], text[1024];
    const char *at;
    uint64_t started = 0;
    size_t got;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%" PRIu64 "/stat", pid);
    file = fopen(path, "re");
    if (!file)
        return 0;
    got = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[got] = 0;
    /* The command may hold blanks and brackets: count fields after its last bracket. */
    at = strrchr(text, ')');
    for (unsigned field = COMMAND_FIELDS; at && field < START_FIELD; field++)
        at = strchr(at + 1, ' ');
    if (at)
        started = strtoull(at, NULL, 10);
    return started;
}

static int open_store(struct job_folder *f, const char *path, struct error *err)
{
    struct objects_open open = { .heap = &f->heap, .existing = true };
    char url[JOB_PATH_MAX];

    if ((size_t)snprintf(url, sizeof(url), "file:%s", path) >= sizeof(url))
        return fail(err, E_INVALID, "the path '%.60s...' is too long", path);
    return objects_open(url, &open, &f->objects, err);
}

/* Runs write events whole, so what cannot be read is damage; a list of jobs can do without. */
static void read_events(struct job_folder *f)
{
    struct buf text;

    buf_init(&text, &f->heap, TEXT_MAX);
    if (objects_get_all(f->objects, EVENTS_NAME, &text, NULL) == 0)
        history_read(&f->history, &f->heap, buf_slice(&text), NULL);
    buf_release(&text);
}

/* What the summary of a running job does not say yet, its last events do. */
static void fill_running(struct job_folder *f)
{
    const struct history *h = &f->history;
    const struct sample *last = h->sample_count ? &h->samples[h->sample_count - 1] : NULL;
    struct summary *s = &f->summary;

    if (strcmp(s->status, "running") != 0 || !last)
        return;
    s->steps = last->step;
    s->epochs = last->epoch;
    s->seconds_training = last->seconds;
    s->examples = last->epoch * (double)s->rows_train;
    s->bill_usd = last->bill_usd;
}

int job_folder_open(struct job_folder *f, const char *path, struct error *err)
{
    char folder[JOB_PATH_MAX];
    const char *slash = strrchr(path, '/');
    struct stat st;
    int rc;

    *f = (struct job_folder){ 0 };
    heap_init(&f->heap, 0);
    snprintf(folder, sizeof(folder), "%s", path);
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
        snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) : 1,
                 slash ? path : ".");
    if (!job_folder_is(folder))
        return fail(err, E_NOT_FOUND,
                    "'%s' is not the folder of a job: it holds no %s; 'gust jobs' lists jobs",
                    folder, SUMMARY_NAME);
    rc = open_store(f, folder, err);
    if (rc)
        return rc;
    buf_init(&f->text, &f->heap, TEXT_MAX);
    rc = objects_get_all(f->objects, SUMMARY_NAME, &f->text, err);
    if (!rc && summary_read(&f->summary, buf_slice(&f->text), err))
        rc = fail_within(err, E_FORMAT, "%s/%s cannot be used", folder, SUMMARY_NAME);
    if (!rc)
        read_events(f);
    if (!rc)
        fill_running(f);
    return rc;
}

void job_folder_close(struct job_folder *f)
{
    history_release(&f->history);
    summary_release(&f->summary);
    buf_release(&f->text);
    objects_close(f->objects);
    heap_release(&f->heap);
    *f = (struct job_folder){ 0 };
}

static bool holds(const char *path, const char *name)
{
    char file[JOB_PATH_MAX];

    return (size_t)snprintf(file, sizeof(file), "%s/%s", path, name) < sizeof(file) &&
           access(file, F_OK) == 0;
}

bool job_folder_is(const char *path)
{
    return holds(path, SUMMARY_NAME);
}

bool job_folder_is_running(const struct job_folder *f)
{
    const struct summary *s = &f->summary;

    /* Numbers of processes are used again; their starts tell them apart. */
    return strcmp(s->status, "running") == 0 && s->pid > 0 && s->pid_started > 0 &&
           process_started(s->pid) == s->pid_started;
}

const char *job_folder_status(const struct job_folder *f)
{
    if (strcmp(f->summary.status, "running") == 0 && !job_folder_is_running(f))
        return "died";
    return f->summary.status;
}

/* Something in PATH that no job leaves there, into NAME. */
static bool find_stranger(const char *path, char *name, size_t size)
{
    static const char *const ours[] = { ".",         "..",          "base",
                                        "job",       SUMMARY_NAME,  EVENTS_NAME,
                                        REPORT_NAME, JOB_COPY_NAME, MODEL_NAME };
    DIR *dir = opendir(path);
    struct dirent *entry;
    bool found = false;

    while (dir && !found && (entry = readdir(dir))) {
        size_t i = 0;

        while (i < ARRAY_SIZE(ours) && strcmp(entry->d_name, ours[i]) != 0)
            i++;
        found = i == ARRAY_SIZE(ours);
        if (found)
            snprintf(name, size, "%.60s", entry->d_name);
    }
    if (dir)
        closedir(dir);
    return found;
}

int job_folder_check_free(const char *path, bool force, struct error *err)
{
    char name[64];
    struct job_folder f;
    bool running = false;
    uint64_t pid = 0;

    if (job_folder_is(path)) {
        running = job_folder_open(&f, path, NULL) == 0 && job_folder_is_running(&f);
        pid = f.summary.pid;
        job_folder_close(&f);
    }
    if (running)
        return fail(err, E_EXISTS,
                    "a job is running in '%s' (process %" PRIu64
                    "); choose another --out, or end it with 'gust stop %s'",
                    path, pid, path);
    if (!force && holds(path, MODEL_NAME))
        return fail(err, E_EXISTS,
                    "'%s/" MODEL_NAME "' exists; choose another --out, or --force to replace it",
                    path);
    if (!force && find_stranger(path, name, sizeof(name)))
        return fail(err, E_EXISTS,
                    "'%s' is not the folder of a job: it holds '%s'; choose another --out, or "
                    "--force to use it all the same",
                    path, name);
    return 0;
}
