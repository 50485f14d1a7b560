/* SPDX-License-Identifier: Apache-2.0 */
/* gust data info: what a data set holds and how it came about, for people and as JSON. */
#include <inttypes.h>

#include "base/json.h"
#include "cli/data_command.h"
#include "cli/text.h"
#include "data/format.h"
#include "data/transform.h"

#define CLASSES_SHOWN 20u

static void print_split(const struct dataset *d, enum dataset_split split)
{
    uint64_t rows = d->rows[split];

    printf("%-9s %s rows, %s, %.1f indices a row\n", format_split_name(split), text_count(rows).s,
           text_bytes((double)d->bytes[split]).s,
           rows ? (double)d->nonzeros[split] / (double)rows : 0.0);
}

/* Which columns there are and what becomes of them. */
static void print_columns(const struct transform *t)
{
    for (uint32_t i = 0; i < t->column_count; i++) {
        const struct transform_column *c = &t->columns[i];

        if (c->role == ROLE_IGNORE)
            continue;
        printf("column    %-20s %s", c->name, transform_role_name(c->role));
        if (c->role == ROLE_NUMERIC)
            printf(", %.6g to %.6g", c->min, c->max);
        printf("\n");
    }
}

static void print_transform(const struct transform *t)
{
    char name[TRANSFORM_NAME_MAX];

    printf("rows      from %s", transform_format_name(t->format));
    if (t->data.dense)
        printf(", numbers scaled by %s", transform_scale_name(t->scale));
    if (t->data.dims && t->format != TRANSFORM_LIBSVM)
        printf(", categories hashed into %s numbers", text_count(t->data.dims).s);
    printf("\n");
    if (t->classes && t->data.classes <= CLASSES_SHOWN) {
        printf("classes  ");
        for (uint32_t i = 0; i < t->data.classes; i++) {
            transform_class_name(t, i, name);
            printf(" %s", name);
        }
        printf("\n");
    }
    if (t->format == TRANSFORM_CSV)
        print_columns(t);
}

static void print_text(const struct dataset *d, const struct transform *t)
{
    const struct gust_data *g = &d->data;

    printf("kind      %s, id %016" PRIx64 "\n", d->manifest->kind, d->manifest->id);
    print_split(d, DATASET_TRAIN);
    print_split(d, DATASET_TEST);
    if (g->keys)
        for (uint32_t k = 0; k < g->keys; k++)
            printf("key %u     %s different ones\n", k, text_count(g->key_rows[k]).s);
    else
        printf("features  %u dense, %s dimensions%s\n", g->dense, text_count(g->dims).s,
               g->sparse ? ", with values" : "");
    if (g->classes)
        printf("labels    %u classes, mean %.4g\n", g->classes, g->label_mean);
    else
        printf("labels    %.4g to %.4g, mean %.4g\n", g->label_min, g->label_max, g->label_mean);
    printf("lanes     %u\n", d->lanes);
    if (t)
        print_transform(t);
    if (d->manifest->oracle_name[0])
        printf("planted   %s %.4f on the held-out rows\n", d->manifest->oracle_name,
               d->manifest->oracle);
}

static void write_split(struct json *w, const struct dataset *d, enum dataset_split split)
{
    json_open(w, format_split_name(split), '{');
    json_u64(w, "rows", d->rows[split]);
    json_u64(w, "bytes", d->bytes[split]);
    json_u64(w, "nonzeros", d->nonzeros[split]);
    json_close(w);
}

static void write_transform(struct json *w, const struct transform *t)
{
    char name[TRANSFORM_NAME_MAX];

    json_open(w, "transform", '{');
    json_str(w, "format", transform_format_name(t->format));
    json_str(w, "scale", transform_scale_name(t->scale));
    json_u64(w, "hash_width", t->format == TRANSFORM_LIBSVM ? 0 : t->data.dims);
    json_u64(w, "hash_seed", t->hash_seed);
    json_open(w, "classes", '[');
    for (uint32_t i = 0; t->classes && i < t->data.classes; i++) {
        transform_class_name(t, i, name);
        json_str(w, NULL, name);
    }
    json_close(w);
    json_open(w, "columns", '[');
    for (uint32_t i = 0; i < t->column_count; i++) {
        json_open(w, NULL, '{');
        json_str(w, "name", t->columns[i].name);
        json_str(w, "role", transform_role_name(t->columns[i].role));
        if (t->columns[i].role == ROLE_NUMERIC) {
            json_f64(w, "min", t->columns[i].min);
            json_f64(w, "max", t->columns[i].max);
        }
        json_close(w);
    }
    json_close(w);
    json_close(w);
}

static void print_json(const struct dataset *d, const struct transform *t, struct heap *heap)
{
    const struct gust_data *g = &d->data;
    struct buf text;
    struct json w;
    char id[20];

    buf_init(&text, heap, MIB);
    json_init(&w, &text);
    json_open(&w, NULL, '{');
    json_str(&w, "kind", d->manifest->kind);
    snprintf(id, sizeof(id), "%016" PRIx64, d->manifest->id);
    json_str(&w, "id", id);
    write_split(&w, d, DATASET_TRAIN);
    write_split(&w, d, DATASET_TEST);
    json_u64(&w, "lanes", d->lanes);
    json_u64(&w, "dense", g->dense);
    json_bool(&w, "sparse", g->sparse);
    json_u64(&w, "dims", g->dims);
    json_open(&w, "keys", '[');
    for (uint32_t k = 0; k < g->keys; k++)
        json_u64(&w, NULL, g->key_rows[k]);
    json_close(&w);
    json_u64(&w, "classes", g->classes);
    json_f64(&w, "label_mean", g->label_mean);
    json_f64(&w, "label_min", g->label_min);
    json_f64(&w, "label_max", g->label_max);
    if (d->manifest->oracle_name[0]) {
        json_str(&w, "planted_metric", d->manifest->oracle_name);
        json_f64(&w, "planted", d->manifest->oracle);
    }
    if (d->manifest->source_key) {
        snprintf(id, sizeof(id), "%016" PRIx64, d->manifest->source_key);
        json_str(&w, "source_key", id);
        snprintf(id, sizeof(id), "%016" PRIx64, d->manifest->source_hash);
        json_str(&w, "source_hash", id);
    }
    if (t)
        write_transform(&w, t);
    json_close(&w);
    printf("%s\n", text.data);
    buf_release(&text);
}

/* T stays zeroed for data that were not imported. */
static int read_transform(struct dataset *d, struct transform *t, struct heap *heap,
                          struct error *err)
{
    struct buf text;
    int rc;

    buf_init(&text, heap, TRANSFORM_BYTES_MAX);
    rc = dataset_transform(d, &text, err);
    if (!rc)
        rc = transform_decode(t, heap, buf_slice(&text), err);
    else if (rc == E_NOT_FOUND)
        rc = 0;
    buf_release(&text);
    return rc;
}

int data_describe(struct data_folder *f, bool json, bool verify, struct error *err)
{
    struct transform t = { 0 };
    struct dataset d = { 0 };
    int rc = dataset_open(&d, f->objects, DATA_PREFIX, &f->heap, err);

    rc = rc ? rc : read_transform(&d, &t, &f->heap, err);
    if (!rc && verify)
        rc = dataset_verify(&d, err);
    if (!rc && json)
        print_json(&d, t.heap ? &t : NULL, &f->heap);
    if (!rc && !json)
        print_text(&d, t.heap ? &t : NULL);
    transform_release(&t);
    dataset_close(&d);
    return rc;
}

int data_info(int argc, char **argv)
{
    const char *folder = NULL;
    bool json = false, verify = false;
    const struct arg table[] = {
        { .name = "data",
          .kind = ARG_TEXT,
          .out = &folder,
          .value = "FOLDER",
          .help = "the data set",
          .required = true },
        { .name = "json", .kind = ARG_FLAG, .out = &json, .help = "for programs" },
        { .name = "verify", .kind = ARG_FLAG, .out = &verify, .help = "check every block" },
        { .name = NULL },
    };
    const struct args_command c = { .name = "gust data info",
                                    .summary = "Says what a data set holds.",
                                    .table = table };
    struct data_folder f;
    struct error err = { 0 };
    int status = args_parse(&c, argc, argv, NULL);

    if (status != ARGS_GO)
        return status;
    status = data_folder_open(&f, folder, false, &err) || data_describe(&f, json, verify, &err)
                 ? data_complain(&c, &err)
                 : 0;
    data_folder_close(&f);
    return status;
}
