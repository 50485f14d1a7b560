# SPDX-License-Identifier: Apache-2.0
"""torch_logistic.py PREFIX EPOCHS: PyTorch, an embedding bag with SparseAdam, batches of 1024, one
thread. Prints "seconds log_loss" twice per pass; the time is that of training alone."""
import sys, time

import numpy as np
import torch

from rows import features, log_loss

BATCH = 1024
prefix, epochs = sys.argv[1], int(sys.argv[2])
torch.set_num_threads(1)
torch.manual_seed(8)
x, y = features(prefix, "train")
xt, yt = features(prefix, "test")
order = np.random.RandomState(1).permutation(x.shape[0])
x, y = x[order], torch.from_numpy(y[order])
weights = torch.nn.EmbeddingBag(x.shape[1], 1, mode="sum", sparse=True)
torch.nn.init.zeros_(weights.weight)
bias = torch.nn.Parameter(torch.zeros(1))
optimisers = [torch.optim.SparseAdam([weights.weight], lr=0.005), torch.optim.Adam([bias], lr=0.005)]


def tensors(m):
    return (torch.from_numpy(m.indices.astype(np.int64)), torch.from_numpy(m.data),
            torch.from_numpy(m.indptr.astype(np.int64)))


indices, values, starts = tensors(x)
test = tensors(xt)
batches = x.shape[0] // BATCH
seconds = 0.0
for _ in range(epochs):
    start = time.time()
    for k, b in enumerate(np.random.permutation(batches)):
        lo, hi = b * BATCH, (b + 1) * BATCH
        first, last = int(starts[lo]), int(starts[hi])
        for o in optimisers:
            o.zero_grad()
        z = weights(indices[first:last], starts[lo:hi] - first, per_sample_weights=values[first:last])
        loss = torch.nn.functional.binary_cross_entropy_with_logits(z.squeeze(1) + bias, y[lo:hi])
        loss.backward()
        for o in optimisers:
            o.step()
        if (k + 1) % (batches // 2) == 0:
            seconds += time.time() - start
            with torch.no_grad():
                z = weights(test[0], test[2][:-1], per_sample_weights=test[1]).squeeze(1) + bias
            print("%.4f %.5f" % (seconds, log_loss(yt, torch.sigmoid(z).numpy())), flush=True)
            start = time.time()
