/* SPDX-License-Identifier: Apache-2.0 */
/* What the `memory` object store offers the twin beyond the common interface. */
#ifndef GUST_OBJECTS_MEMORY_H
#define GUST_OBJECTS_MEMORY_H

#include "objects/objects.h"

/*
 * For the twin, which kills a function by dropping its heap and stack: close every handle that
 * was opened with ENV, and give back what it has mapped, without touching the handle itself.
 */
void objects_memory_forget(const struct env *env);

#endif
