/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The `shm` store: one memory file per job, shared by processes of one machine. Survives the
 * SIGKILL of any process at any instant. See shm_internal.h for how.
 */
#ifndef GUST_PARAMS_SHM_H
#define GUST_PARAMS_SHM_H

#include "params/params.h"

/* What params_shm_check() found. */
struct params_shm_report {
    uint32_t handles; /* open handles of live owners */
    uint32_t seats;   /* contribution buffers that are taken, by live owners or by what they hold */
    uint32_t rooms_claimed;    /* pieces of results that are being written */
    uint32_t values, reserved; /* slots of the general part: visible; not yet */
    uint32_t entries;          /* log entries not yet read */
    size_t used_bytes;         /* of the general part, in whole cache lines */
    size_t general_bytes;      /* what there is of it */
    size_t total_bytes;        /* the whole file */
    uint64_t control_version;
};

int params_shm_create(const struct params_layout *layout, const struct params_open *open,
                      struct params **out, struct error *err);

/* FD is the inherited memory file; it stays the caller's and may be closed afterwards. */
int params_shm_open(const char *url, int fd, const struct params_open *open, struct params **out,
                    struct error *err);

/*
 * Take back what dead owners left, then walk everything and verify the invariants. E_MISMATCH,
 * saying which is broken. May run while others use the store.
 */
int params_shm_check(struct params *p, struct params_shm_report *out, struct error *err);

/* The size of the memory file that LAYOUT makes. E_LIMIT when it cannot be made at all. */
int params_shm_size(const struct params_layout *layout, size_t *out, struct error *err);

#endif
