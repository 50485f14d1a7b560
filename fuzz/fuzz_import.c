/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of any kind, packed or not: refused with a sentence, or a data set in which every block is
 * sound and whose transform can be read. The first byte chooses the format and the options.
 */
#include <assert.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct objects *objects, struct heap *heap)
{
    struct error err = { 0 };
    struct transform t;
    struct dataset d;
    struct buf text;
    int rc = dataset_open(&d, objects, "data", heap, &err);

    assert(rc == 0);
    rc = dataset_verify(&d, &err);
    assert(rc == 0);
    buf_init(&text, heap, MIB);
    rc = dataset_transform(&d, &text, &err);
    assert(rc == 0);
    rc = transform_decode(&t, heap, buf_slice(&text), &err);
    assert(rc == 0);
    transform_release(&t);
    buf_release(&text);
    dataset_close(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const wishes[] = { NULL, "classes", "numbers", NULL };
    char path[64];
    const char *in = path;
    struct import_result result;
    struct objects *objects;
    struct error err = { 0 };
    struct heap heap;
    int fd, rc;

    if (size < 1)
        return 0;
    fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data + 1, size - 1) != (ssize_t)(size - 1))
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    heap_init(&heap, 512 * MIB);
    rc = objects_open("memory:fuzz", &(struct objects_open){ .heap = &heap }, &objects, NULL);
    assert(rc == 0);
    {
        struct import_options o = {
            .inputs = &in,
            .input_count = 1,
            .format = (data[0] & 7) < TRANSFORM_FORMATS ? data[0] & 7 : -1,
            .labels = wishes[data[0] >> 3 & 3],
            .scale = (data[0] >> 5) % SCALES,
            .scale_set = true,
            .hash_width = 1000,
            .held_out = 0.1,
            .bad_rows = 1000,
            .lanes = 4,
            .memory_bytes = 64 * KIB,
            .threads = 1,
        };

        if (import_run(objects, "data", &heap, &o, &result, &err) == 0)
            check(objects, &heap);
        else
            assert(err.code && err.text[0]);
    }
    objects_close(objects);
    close(fd);
    assert(heap.used_bytes == 0);
    heap_release(&heap);
    return 0;
}
