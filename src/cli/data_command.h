/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `gust data`: each takes its own name as argv[0] and returns an exit status. */
#ifndef GUST_CLI_DATA_COMMAND_H
#define GUST_CLI_DATA_COMMAND_H

#include "cli/args.h"
#include "data/import.h"

/* A data set lies in its folder's object store under this name. */
#define DATA_PREFIX IMPORT_PREFIX

/* A folder as an object store. */
struct data_folder {
    struct heap heap;
    struct objects *objects;
};

/* E_NOT_FOUND when there is no such folder, unless CREATE. Close it in any case. */
int data_folder_open(struct data_folder *f, const char *path, bool create, struct error *err);
void data_folder_close(struct data_folder *f);

/* Report ERR as the command's and return its exit status. */
int data_complain(const struct args_command *c, const struct error *err);

/* Describe the data set in F for a person, or as JSON. */
int data_describe(struct data_folder *f, bool json, bool verify, struct error *err);

int data_info(int argc, char **argv);
int data_import(int argc, char **argv);
int data_export(int argc, char **argv);

#endif
