/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the compiled instruction levels this CPU can run. */
#include "math/kernels.h"

#include "base/util.h"

#if defined(__x86_64__)

extern const struct kernels kernels_sse2, kernels_avx2, kernels_avx512;

static bool has_sse2(void)
{
    return true;
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
}

static const struct level {
    const struct kernels *kernels;
    bool (*runs)(void);
} levels[] = {
    { &kernels_sse2, has_sse2 },
    { &kernels_avx2, has_avx2 },
    { &kernels_avx512, has_avx512 },
};

#else

extern const struct kernels kernels_plain;

static bool has_plain(void)
{
    return true;
}

static const struct level {
    const struct kernels *kernels;
    bool (*runs)(void);
} levels[] = {
    { &kernels_plain, has_plain },
};

#endif

const struct kernels *kernels_at(unsigned i)
{
    for (unsigned level = 0; level < ARRAY_SIZE(levels); level++)
        if (levels[level].runs() && i-- == 0)
            return levels[level].kernels;
    return NULL;
}

const struct kernels *kernels_best(void)
{
    const struct kernels *best = NULL;

    for (unsigned i = 0; kernels_at(i); i++)
        best = kernels_at(i);
    return best;
}

const struct kernels *kernels_named(const char *name)
{
    return name ? kernels_find(name) : kernels_best();
}

const struct kernels *kernels_find(const char *name)
{
    for (unsigned i = 0; kernels_at(i); i++)
        if (strcmp(kernels_at(i)->name, name) == 0)
            return kernels_at(i);
    return NULL;
}
