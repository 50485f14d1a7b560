/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands that use a model share: the model from its file, and examples from --data. */
#ifndef GUST_CLI_MODEL_COMMAND_H
#define GUST_CLI_MODEL_COMMAND_H

#include "cli/args.h"
#include "cli/data_command.h"
#include "client/feed.h"

/* A model file, mapped and made to answer. */
struct model_command {
    struct heap heap;
    struct slice bytes;
    struct predictor predictor;
};

/*
 * PATH is a model file, or the folder of a job, whose model.safetensors is meant. Errors name the
 * file. Close it in any case.
 */
int model_command_open(struct model_command *m, const char *path, struct error *err);
void model_command_close(struct model_command *m);

/* One of the things that --data named: a file, or a data set's folder. */
struct model_input {
    struct data_folder folder; /* objects NULL: it is a file */
    struct dataset set;
    struct feed feed;
};

/* Close it in any case. */
int model_input_open(struct model_input *in, struct model_command *m, const char *path,
                     enum dataset_split split, enum feed_labels labels, struct error *err);
void model_input_close(struct model_input *in);

/* "3 rows have users or items that the model does not know ..." on standard error, where there are
 * such. */
void model_command_note(const struct args_command *c, uint64_t rows, uint64_t rows_unknown);

#endif
