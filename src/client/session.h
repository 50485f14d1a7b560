/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job on the embedded default: local functions, shared memory, a folder. Puts the parts
 * together that scheduler_run() needs, checks that they fit, and saves the model.
 */
#ifndef GUST_CLIENT_SESSION_H
#define GUST_CLIENT_SESSION_H

#include "client/scheduler.h"

struct session {
    struct heap *heap;
    struct env *env;
    struct objects *data_objects; /* of the data set */
    struct objects *objects;      /* of the job */
    struct dataset data;
    struct blueprint blueprint;
    struct need need; /* of the function that needs most */
    struct prices prices;
    struct meter meter;
    struct platform *platform;
    struct params *params;
    size_t store_bytes; /* of the parameter store, once trained */
    char data_url[512], objects_url[512];
};

/*
 * Open data set DATA_DIR and make the model that SETTINGS describe. OUT_DIR is where the job
 * lives; it is created (NULL: the session is for checking only). ENV and HEAP outlive the session.
 * Starts nothing.
 */
int session_open(struct session *s, struct env *env, struct heap *heap, const char *data_dir,
                 const char *out_dir, const struct props *settings, struct error *err);
void session_close(struct session *s);

/*
 * Fill in what JOB leaves at 0 (threads from memory, evaluation and bases once an epoch, comparison
 * of the common state) and check that it fits: workers and lanes, memory. E_LIMIT or E_INVALID with
 * a remedy.
 */
int session_check(struct session *s, struct job *job, struct error *err);

/* Train. May be called again: functions are reused while the session is open. */
int session_train(struct session *s, const struct job *job, const struct listener *listener,
                  const volatile int *interrupted, struct run *out, struct error *err);

/* Write model.safetensors from base run->base_step and remove all bases. */
int session_save(struct session *s, const struct run *run, struct error *err);

#endif
