/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/job_data.h"

#include "cli/data_progress.h"
#include "data/inputs.h"

bool job_data_is_raw(const struct job_file *f)
{
    return !inputs_holds(f->data, IMPORT_PREFIX "/manifest");
}

/* What says how to import has no meaning for a data set. */
static int check_settings(const struct job_file *f, struct error *err)
{
    for (unsigned i = 0; setting_at(i); i++) {
        const struct setting *s = setting_at(i);

        if (strcmp(s->section, "data") == 0 && f->values[i].given &&
            !setting_listed("path|cache", s->name))
            return fail(err, E_INVALID,
                        "data.%s is about raw examples, and '%s' is a data set that was imported "
                        "before; leave it out, or name the raw files",
                        s->name, f->data);
    }
    return 0;
}

int job_data_check(const struct job_file *f, struct heap *heap, struct error *err)
{
    struct inputs inputs;
    int rc;

    if (!job_data_is_raw(f))
        return check_settings(f, err);
    inputs_init(&inputs, heap);
    rc = inputs_add(&inputs, f->data, false, err);
    if (!rc && f->test)
        rc = inputs_add(&inputs, f->test, true, err);
    inputs_release(&inputs);
    return rc;
}

int job_data_find(const struct job_file *f, struct env *env, struct heap *heap, bool quiet,
                  const volatile sig_atomic_t *stop, char out[JOB_DATA_PATH_MAX], struct error *err)
{
    const char *cache = job_file_effective(f, setting_find("data.cache"));
    struct import_options o;
    struct import_result result;
    struct data_progress progress;
    int rc = job_data_check(f, heap, err);

    if (rc)
        return rc;
    if (!job_data_is_raw(f)) {
        if (snprintf(out, JOB_DATA_PATH_MAX, "%s", f->data) >= JOB_DATA_PATH_MAX)
            return fail(err, E_LIMIT, "the path '%.60s...' is too long", f->data);
        return 0;
    }
    data_progress_init(&progress, quiet);
    job_file_import(f, &o);
    o.env = env;
    o.threads = data_threads();
    o.progress = data_progress_tell;
    o.bad = data_progress_bad;
    o.arg = &progress;
    o.stop = stop;
    rc = import_auto(f->data, cache, &o, heap, out, JOB_DATA_PATH_MAX, &result, err);
    data_progress_end(&progress);
    if (!rc && !quiet)
        data_progress_result(&progress, &result, out);
    return rc;
}
