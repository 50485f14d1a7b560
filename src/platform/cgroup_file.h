/* SPDX-License-Identifier: Apache-2.0 */
/* Reading, writing and removing in the control-group file systems, shared by cgroup*.c only. */
#ifndef GUST_PLATFORM_CGROUP_FILE_H
#define GUST_PLATFORM_CGROUP_FILE_H

#include "base/error.h"

/* Open DIR/FILE with FLAGS and close-on-exec. The descriptor, or E_IO. */
int cgroup_file_open(const char *dir, const char *file, int flags, struct error *err);

/* Write TEXT to DIR/FILE in one call, as the kernel wants it. */
int cgroup_file_write(const char *dir, const char *file, const char *text, struct error *err);

/* The start of DIR/FILE as a string of at most SIZE - 1 bytes. */
int cgroup_file_read(const char *dir, const char *file, char *out, size_t size, struct error *err);

/* Kill the members of the group DIR and remove it. Gives up after a tenth of a second. */
void cgroup_dir_remove(const char *dir);

#endif
