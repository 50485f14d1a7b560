/* SPDX-License-Identifier: Apache-2.0 */
/* Files of ratings: any text is refused, or becomes a data set in which every block is sound. */
#include <assert.h>

#include "data/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heap heap;
    struct objects *objects;
    struct error err = { 0 };
    struct dataset d;

    heap_init(&heap, 256 * MIB);
    if (objects_open("memory:fuzz", &(struct objects_open){ .heap = &heap }, &objects, NULL) == 0) {
        struct builder_options to = { .objects = objects,
                                      .prefix = "data",
                                      .heap = &heap,
                                      .lanes = 4,
                                      .memory_bytes = 64 * KIB };
        struct read_options o = { .train = { "fuzz", slice(data, size) }, .held_out = 0.1 };

        if (read_movielens(&to, &o, &err) == 0) {
            int rc = dataset_open(&d, objects, "data", &heap, &err);

            assert(rc == 0);
            rc = dataset_verify(&d, &err);
            assert(rc == 0);
            dataset_close(&d);
        } else {
            assert(err.code && err.text[0]);
        }
        objects_close(objects);
    }
    assert(heap.used_bytes == 0);
    heap_release(&heap);
    return 0;
}
