/* SPDX-License-Identifier: Apache-2.0 */
/* From a base to the model that a person takes away: model.safetensors. */
#ifndef GUST_CLIENT_MODEL_FILE_H
#define GUST_CLIENT_MODEL_FILE_H

#include "objects/objects.h"
#include "worker/blueprint.h"

/*
 * Read base STEP from OBJECTS and write the object NAME in the safetensors form: every
 * parameter group as a tensor, the job's settings as metadata.
 */
int model_file_save(const struct blueprint *b, struct objects *objects, uint64_t step,
                    const char *name, struct error *err);

#endif
