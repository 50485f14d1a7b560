/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a trainer is opened with: the job's settings, memory, and a place for the first thing
 * that is wrong. The functions that trainers call on it are declared in gust.h.
 */
#ifndef GUST_MODEL_HOST_H
#define GUST_MODEL_HOST_H

#include "base/props.h"
#include "gust.h"

struct gust_host {
    const struct props
        *settings;     /* borrowed; the trainer's defaults are in it (model_defaults()) */
    struct heap *heap; /* where gust_alloc() takes memory */
    uint64_t seed;
    struct error error; /* the first refusal or bad setting; code 0 while there is none */
};

/* SETTINGS and HEAP outlive the trainer. */
void host_init(struct gust_host *h, const struct props *settings, struct heap *heap, uint64_t seed);

/*
 * Open TRAINER for DATA: refuses another ABI, calls its open, and reports a bad setting even
 * when the trainer did not. On success *SELF is to be closed by host_close().
 */
int host_open(struct gust_host *h, const struct gust_trainer *trainer, const struct gust_data *data,
              void **self, struct error *err);

/* SELF may be NULL. */
void host_close(const struct gust_trainer *trainer, void *self);

/*
 * The trainer's groups, checked: names, sizes, no more than GUST_GROUPS_MAX, private groups
 * keyed by column 0, column indices where there are such columns. *COUNT is set. E_INVALID.
 */
int host_groups(const struct gust_trainer *trainer, const void *self, const struct gust_data *data,
                struct gust_group *groups, unsigned *count, struct error *err);

/*
 * What of the COUNT groups is saved, checked: names that differ and can be a tensor's, columns
 * that exist and are in one field only, of groups that hold parameters. FIELDS has room for
 * GUST_FIELDS_MAX; *FIELD_COUNT is set. E_INVALID.
 */
int host_fields(const struct gust_trainer *trainer, const void *self,
                const struct gust_group *groups, unsigned count, struct gust_field *fields,
                unsigned *field_count, struct error *err);

/* Longest name of a field. */
#define HOST_FIELD_NAME_MAX 31

#endif
