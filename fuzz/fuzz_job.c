/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes: a job file is understood or refused with sentences, nothing else happens, and what
 * was understood obeys the table. After a zero byte follow assignments as --set takes them.
 */
#include "client/job_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void assign_all(struct job_file *f, const char *at, const char *end)
{
    char text[256];

    while (at < end) {
        size_t size = strnlen(at, (size_t)(end - at));

        snprintf(text, sizeof(text), "%.*s", (int)size, at);
        job_file_assign(f, text);
        at += MIN(size + 1, (size_t)(end - at));
    }
}

static void check_problems(const struct problems *p)
{
    for (unsigned i = 0; i < p->kept; i++) {
        if (!p->items[i].text[0])
            abort();
        for (const char *c = p->items[i].text; *c; c++)
            if ((unsigned char)*c < 32)
                abort();
    }
}

static void check_job(const struct job_file *f)
{
    const struct job *job = &f->job;

    if (!f->model || !f->data || !f->out || !props_find(&f->settings, "model"))
        abort();
    if (job->fleet.workers < 1 || job->fleet.workers > CONTROL_RANKS_MAX ||
        job->fleet.memory_mb < 128 || job->fleet.memory_mb > 10240 || job->timeout_ms < 1000)
        abort();
    if (!job->steps_max && !(job->epochs_max > 0) && !(job->seconds_max > 0))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    size_t file_size = zero ? (size_t)(zero - data) : size;
    struct job_file f;
    struct heap heap;

    heap_init(&heap, 0);
    job_file_init(&f, &heap);
    job_file_read(&f, slice(data, file_size), "job.yaml");
    if (zero)
        assign_all(&f, (const char *)zero + 1, (const char *)data + size);
    if (job_file_check(&f) == 0)
        check_job(&f);
    else if (f.problems.count == 0)
        abort();
    check_problems(&f.problems);
    job_file_release(&f);
    if (heap.blocks)
        abort();
    return 0;
}
