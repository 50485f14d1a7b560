# SPDX-License-Identifier: Apache-2.0
"""torch_factorisation.py PREFIX SECONDS: PyTorch, biased matrix factorisation of rank 20 with dense
gradients and momentum (what MLLess compares itself with: batches of 6,250, step size 8, momentum 0.8), two threads.
Prints "seconds rmse" after each pass until SECONDS are over; the time is that of training alone."""
import sys, time

import numpy as np
import torch

from rows import ratings

prefix, limit = sys.argv[1], float(sys.argv[2])
BATCH, RANK = 6250, 20
torch.set_num_threads(2)
torch.manual_seed(8)
train, test = ratings(prefix, "train"), ratings(prefix, "test")
mean = float(train["r"].mean())


def columns(x):
    return (torch.from_numpy(np.ascontiguousarray(x["u"])).long(),
            torch.from_numpy(np.ascontiguousarray(x["i"])).long(),
            torch.from_numpy(np.ascontiguousarray(x["r"])) - mean)


u, i, r = columns(train)
tu, ti, tr = columns(test)
users = int(max(train["u"].max(), test["u"].max())) + 1
items = int(max(train["i"].max(), test["i"].max())) + 1
tables = [torch.nn.Embedding(n, k) for n, k in ((users, RANK), (items, RANK), (users, 1), (items, 1))]
for t in tables:
    torch.nn.init.normal_(t.weight, 0, 0.1)
optimiser = torch.optim.SGD([t.weight for t in tables], lr=8.0, momentum=0.8)


def predict(a, b):
    p, q, bp, bq = tables
    return (p(a) * q(b)).sum(1) + bp(a).squeeze(1) + bq(b).squeeze(1)


seconds = 0.0
while seconds < limit:
    order = torch.randperm(len(u))
    start = time.time()
    for at in range(0, len(u) - BATCH + 1, BATCH):
        pick = order[at:at + BATCH]
        optimiser.zero_grad()
        ((predict(u[pick], i[pick]) - r[pick]) ** 2).mean().backward()
        optimiser.step()
        if seconds + time.time() - start > limit:
            break
    seconds += time.time() - start
    with torch.no_grad():
        rmse = float(torch.cat([(predict(tu[a:a + 100000], ti[a:a + 100000]) - tr[a:a + 100000]) ** 2
                                for a in range(0, len(tu), 100000)]).mean().sqrt())
    print("%.4f %.5f" % (seconds, rmse), flush=True)
