/* SPDX-License-Identifier: Apache-2.0 */
#include "client/model_match.h"

#include "data/transform.h"

/* Whether two transforms turn the same line into the same example. */
static bool same_transform(const struct transform *a, const struct transform *b)
{
    if (a->format != b->format || a->labels != b->labels || a->data.classes != b->data.classes ||
        a->scale != b->scale || a->hash_seed != b->hash_seed || a->index_base != b->index_base ||
        a->column_count != b->column_count)
        return false;
    for (uint32_t c = 0; c < a->data.classes && a->classes; c++)
        if (a->classes[c].value != b->classes[c].value ||
            strcmp(a->classes[c].text, b->classes[c].text) != 0)
            return false;
    for (uint32_t c = 0; c < a->column_count; c++)
        if (a->columns[c].role != b->columns[c].role || a->columns[c].min != b->columns[c].min ||
            a->columns[c].max != b->columns[c].max ||
            strcmp(a->columns[c].name, b->columns[c].name) != 0)
            return false;
    return true;
}

static int refuse(struct error *err)
{
    return fail(err, E_INVALID,
                "the data set was not made in the way of the model's: classes, columns, scaling or "
                "hashing differ");
}

static int compare(const struct model_file *m, struct slice set, struct error *err)
{
    struct transform a = { 0 }, b = { 0 };
    int rc = transform_decode(&a, m->heap, buf_slice(&m->transform), err);

    rc = rc ? rc : transform_decode(&b, m->heap, set, err);
    if (!rc && !same_transform(&a, &b))
        rc = refuse(err);
    transform_release(&a);
    transform_release(&b);
    return rc;
}

int model_match(const struct model_file *m, struct dataset *d, struct error *err)
{
    struct error absent = { 0 };
    struct buf text;
    int rc;

    /* Ids and ratings are what they are; all else depends on how it was made. */
    if (d->data.keys && d->data.dense == 0 && d->data.ones == d->data.keys && !d->data.sparse)
        return 0;
    buf_init(&text, m->heap, TRANSFORM_BYTES_MAX);
    rc = dataset_transform(d, &text, &absent);
    if (rc == E_NOT_FOUND)
        rc = m->transform.size ? refuse(err) : 0;
    else if (rc)
        rc = fail(err, rc, "%s", absent.text);
    else
        rc = m->transform.size ? compare(m, buf_slice(&text), err) : refuse(err);
    buf_release(&text);
    return rc;
}
