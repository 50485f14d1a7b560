/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/model_command.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/text.h"

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int map_file(const char *path, struct slice *out, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
    struct stat st;
    void *at;

    if (fd < 0)
        return fail(err, errno == ENOENT ? E_NOT_FOUND : E_IO, "cannot read the model %s: %s", path,
                    strerror(errno));
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        rc = fail(err, E_INVALID, "%s is not a file", path);
    } else if (st.st_size == 0) {
        *out = slice("", 0);
    } else {
        at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (at == MAP_FAILED)
            rc = fail(err, E_IO, "cannot map %s: %s", path, strerror(errno));
        else
            *out = slice(at, (size_t)st.st_size);
    }
    close(fd);
    return rc;
}

int model_command_open(struct model_command *m, const char *path, struct error *err)
{
    char inside[4096];
    int rc;

    *m = (struct model_command){ 0 };
    heap_init(&m->heap, 0);
    if (is_folder(path)) {
        snprintf(inside, sizeof(inside), "%s/model.safetensors", path);
        path = inside;
    }
    rc = map_file(path, &m->bytes, err);
    if (rc)
        return rc;
    rc = predictor_open(&m->predictor, &m->heap, m->bytes, err);
    return rc ? fail(err, rc, "cannot use the model %s: %s", path, err->text) : 0;
}

void model_command_close(struct model_command *m)
{
    predictor_close(&m->predictor);
    if (m->bytes.size)
        munmap((void *)m->bytes.data, m->bytes.size);
    heap_release(&m->heap);
}

int model_input_open(struct model_input *in, struct model_command *m, const char *path,
                     enum dataset_split split, enum feed_labels labels, struct error *err)
{
    int rc;

    *in = (struct model_input){ 0 };
    if (!is_folder(path))
        return feed_open_file(&in->feed, &m->predictor, path, labels, err);
    rc = data_folder_open(&in->folder, path, false, err);
    if (!rc)
        rc = dataset_open(&in->set, in->folder.objects, DATA_PREFIX, &in->folder.heap, err);
    if (!rc)
        rc = feed_open_set(&in->feed, &m->predictor, &in->set, split, err);
    return rc ? fail(err, rc, "%s: %s", path, err->text) : 0;
}

void model_input_close(struct model_input *in)
{
    feed_close(&in->feed);
    if (in->folder.objects) {
        dataset_close(&in->set);
        data_folder_close(&in->folder);
    }
}

void model_command_note(const struct args_command *c, uint64_t rows, uint64_t rows_unknown)
{
    if (rows_unknown)
        fprintf(
            stderr,
            "%s: %s of %s rows have a user or an item that the model does not know; the mean and "
            "what is known of the other decide there\n",
            c->name, text_count(rows_unknown).s, text_count(rows).s);
}
