/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model that a person takes away: model.safetensors. Its tensors are the trainer's fields
 * (include/gust.h), the original ids of users and items, and the optimiser's state; its metadata
 * hold all else that prediction needs:
 *
 *   gust_model        version of this form
 *   model             kind: "factorisation" ...
 *   step              updates that made it
 *   data_kind, data_id    what it was trained on
 *   data.dense ...    the facts of struct gust_data
 *   setting.rank ...  the job's settings
 *   transform         how raw lines become examples, as transform_encode() writes it, with %XX
 *                     for '%' and bytes above 126; absent when the data set was generated
 *
 *   user_ids, item_ids      I64: row R of the users' tensors belongs to user user_ids[R]
 *   optimiser.GROUP.SLOT    state of the optimiser for a shared group, for warm starts
 */
#ifndef GUST_CLIENT_MODEL_FILE_H
#define GUST_CLIENT_MODEL_FILE_H

#include "client/safetensors.h"
#include "objects/objects.h"
#include "worker/blueprint.h"

#define MODEL_FILE_VERSION 1u
#define MODEL_KEYS_MAX     2u

/* Read base STEP from OBJECTS and write the model as object NAME. */
int model_file_save(const struct blueprint *b, struct objects *objects, uint64_t step,
                    const char *name, struct error *err);

/* A model file that was read. */
struct model_file {
    struct heap *heap;
    struct safetensors file;
    const struct gust_trainer *trainer;
    struct props settings; /* of the job that made it, but for `kernels`: any CPU will do */
    struct gust_data data; /* what it was trained on */
    uint64_t seed;
    struct buf transform;            /* as transform_encode() writes it; size 0: there is none */
    const char *ids[MODEL_KEYS_MAX]; /* of key columns; use model_file_id() */
};

/*
 * Read FILE, whose bytes outlive M. E_FORMAT, E_UNSUPPORTED with a sentence: no safetensors file,
 * not one of Gust's, another version, an unknown kind of model, facts that do not agree, values
 * that are not finite.
 */
int model_file_open(struct model_file *m, struct heap *heap, struct slice file, struct error *err);
/* Accepts a zeroed model. */
void model_file_close(struct model_file *m);

/* The original id of row ROW of key column COLUMN. */
uint32_t model_file_id(const struct model_file *m, uint32_t column, uint64_t row);

/* Whether the rows of GROUP belong to users or items, and are known by their ids. */
bool model_file_is_keyed(const struct model_file *m, const struct gust_group *group);

#define MODEL_ROW_NEW UINT64_MAX

/* What model_file_fill() is to do. */
struct model_fill {
    const struct gust_group *groups;
    const struct gust_field *fields;
    unsigned field_count;
    unsigned group;       /* which to fill */
    uint64_t rows;        /* that the file has of it */
    const uint64_t *from; /* per row of the view: the file's row, or MODEL_ROW_NEW: left as it is;
                             NULL: row R of the group is row R of the file */
};

/* Fill the fields of the rows of V, which init has been called for. E_FORMAT when a tensor is
 * missing or has another shape. */
int model_file_fill(const struct model_file *m, const struct model_fill *f,
                    const struct gust_view *v, struct error *err);

/*
 * Likewise for slot SLOT of the optimiser's state, of which V has one column (PER_ROW) or as many
 * as the group. E_NOT_FOUND when the file has none that fits.
 */
int model_file_state(const struct model_file *m, const struct model_fill *f, unsigned slot,
                     bool per_row, const struct gust_view *v);

/* "user_ids" or "item_ids". */
const char *model_file_ids_name(uint32_t column);

/* "optimiser.GROUP.SLOT", in OUT of SAFETENSORS_NAME_MAX + 1 bytes. */
void model_file_state_name(char *out, const struct gust_group *group, unsigned slot);

#endif
