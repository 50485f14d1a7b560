/* SPDX-License-Identifier: Apache-2.0 */
/* Progress of an import. */
#include "cli/data_progress.h"

#include <sched.h>
#include <unistd.h>

#include "cli/text.h"

/* How often a line changes, and how often a new one is written where there is no terminal. */
#define REDRAW_NS   (200 * NS_PER_MS)
#define REPEAT_NS   (5 * NS_PER_S)
#define THREADS_MAX 16

void data_progress_init(struct data_progress *p, bool quiet)
{
    bool terminal = isatty(STDERR_FILENO);

    *p = (struct data_progress){
        .quiet = quiet,
        .terminal = terminal,
        .next_ns = terminal ? REDRAW_NS : REPEAT_NS,
    };
}

void data_progress_end(struct data_progress *p)
{
    if (p->drawn)
        fprintf(stderr, "\r\033[K");
    p->drawn = false;
}

void data_progress_tell(void *arg, const struct import_progress *now)
{
    static const char *const names[] = { "", "looking", "converting", "writing" };
    struct data_progress *p = arg;
    double seconds = (double)now->pass_ns * 1e-9;
    char line[160];

    if (p->quiet || now->elapsed_ns < p->next_ns)
        return;
    p->next_ns = now->elapsed_ns + (p->terminal ? REDRAW_NS : REPEAT_NS);
    if (now->pass == 3)
        snprintf(line, sizeof(line), "%-10s %3.0f %%  %s rows", names[3],
                 100.0 * (double)now->rows / (double)MAX(now->rows_total, 1ull),
                 text_count(now->rows).s);
    else
        snprintf(line, sizeof(line), "%-10s %3.0f %%  %s rows  %.0f MB/s", names[now->pass],
                 100.0 * (double)now->bytes / (double)MAX(now->bytes_total, 1ull),
                 text_count(now->rows).s, (double)now->text_bytes / 1e6 / fmax(seconds, 1e-9));
    if (p->terminal)
        fprintf(stderr, "\r\033[K%s", line);
    else
        fprintf(stderr, "gust: %s\n", line);
    p->drawn = p->terminal;
}

void data_progress_bad(void *arg, const char *place, const char *reason)
{
    struct data_progress *p = arg;

    data_progress_end(p);
    if (!p->quiet)
        fprintf(stderr, "gust: row left out: %s: %s\n", place, reason);
}

void data_progress_result(struct data_progress *p, const struct import_result *r, const char *where)
{
    data_progress_end(p);
    if (p->quiet)
        return;
    if (r->reused) {
        fprintf(stderr, "gust: nothing to import: %s was made from the same files and options\n",
                where);
        return;
    }
    fprintf(stderr, "gust: %s rows of %s imported in %s, %.0f MB/s", text_count(r->rows).s,
            transform_format_name(r->format), text_seconds(r->seconds).s,
            (double)r->text_bytes / 1e6 / fmax(r->seconds, 1e-9));
    if (r->bad_rows)
        fprintf(stderr, "; %s left out", text_count(r->bad_rows).s);
    fprintf(stderr, "\n");
}

size_t data_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    size_t all = pages > 0 && size > 0 ? (size_t)pages * (size_t)size : 0;

    return MIN(MAX(all / 8, 256 * MIB), 1024 * MIB);
}

unsigned data_threads(void)
{
    cpu_set_t cpus;

    if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
        return 1;
    return (unsigned)MIN(MAX(CPU_COUNT(&cpus), 1), THREADS_MAX);
}
