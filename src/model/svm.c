/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The linear support vector machine. With y = -1 or 1 the loss of an example is
 * max(0, 1 - y z), or its square with the setting `loss: squared-hinge`.
 */
#include "gust.h"
#include "math/linear.h"

static int svm_open(struct gust_host *h, const struct gust_data *data, void **self)
{
    const char *loss = gust_setting(h, "loss", "hinge");
    const char *level = gust_setting(h, "kernels", NULL);
    const struct kernels *kernels = kernels_named(level);
    struct linear *m;

    if (!kernels)
        return gust_refuse(h, "kernels: '%s' is no instruction level of this CPU", level);
    if (data->classes != 2)
        return gust_refuse(h, "a support vector machine needs labels of two classes, 0 and 1");
    m = gust_alloc(h, sizeof(*m));
    if (!m)
        return -1;
    linear_init(m, data, kernels);
    if (strcmp(loss, "hinge") == 0)
        m->loss = m->kernels->hinge;
    else if (strcmp(loss, "squared-hinge") == 0)
        m->loss = m->kernels->squared_hinge;
    else
        return gust_refuse(h, "loss: '%s' is neither 'hinge' nor 'squared-hinge'", loss);
    *self = m;
    return 0;
}

static const struct gust_default defaults[] = {
    { "optimiser", "adagrad" }, { "reduce", "sum" }, { "rate", "0.1" }, { "accumulator", "1" },
    { "l2", "1e-5" },           { "batch", "4096" }, { NULL, NULL },
};

static const struct gust_metric metrics[] = {
    { "hinge-loss", false },
    { "accuracy", true },
    { NULL, false },
};

const struct gust_trainer model_svm = {
    .abi = GUST_ABI,
    .name = "svm",
    .summary = "linear support vector machine, hinge or squared hinge (labels 0 and 1)",
    .kind = GUST_GRADIENT,
    .defaults = defaults,
    .metrics = metrics,
    .open = svm_open,
    .groups = linear_groups,
    .step = linear_step,
    .evaluate = linear_evaluate,
    .score = linear_score,
    .predict = linear_predict,
};
