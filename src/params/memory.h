/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The `memory` store: one process, many handles of threads or coroutines. The reference that
 * every other store must equal, and the store of the twin.
 */
#ifndef GUST_PARAMS_MEMORY_H
#define GUST_PARAMS_MEMORY_H

#include "params/params.h"

int params_memory_create(const struct params_layout *layout, const struct params_open *open,
                         struct params **out, struct error *err);

/* URL is "memory:<n>", as params_address() gave it. E_NOT_FOUND once the creator closed it. */
int params_memory_open(const char *url, int fd, const struct params_open *open, struct params **out,
                       struct error *err);

/*
 * For the twin, which kills a function by dropping its heap and stack: take every handle that
 * was opened with ENV out of its store, as close() would, without touching the handle itself.
 * Call it before ENV and the heap go.
 */
void params_memory_forget(const struct env *env);

#endif
