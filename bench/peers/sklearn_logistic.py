# SPDX-License-Identifier: Apache-2.0
"""sklearn_logistic.py PREFIX EPOCHS: scikit-learn's averaged SGD for logistic regression, one
thread, on the arrays that `gust data export --format bin` wrote. After each pass prints
"seconds log_loss", training time only."""
import sys, time

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier


def load(prefix, split):
    part = lambda name, kind: np.fromfile(f"{prefix}.{split}.{name}", kind)
    indptr, indices = part("indptr", "<i8"), part("indices", "<i4")
    labels = part("y", "<f4")
    width = int(np.fromfile(f"{prefix}.dims", "<i8")[0])
    return sp.csr_matrix((part("data", "<f4").astype(np.float64), indices, indptr),
                         shape=(labels.size, width)), labels


def log_loss(y, p):
    p = np.clip(p, 1e-7, 1 - 1e-7)
    return float(-np.mean(np.where(y > 0, np.log(p), np.log(1 - p))))


prefix, epochs = sys.argv[1], int(sys.argv[2])
x, y = load(prefix, "train")
xt, yt = load(prefix, "test")
model = SGDClassifier(loss="log_loss", alpha=1e-6, learning_rate="constant", eta0=0.05, average=True,
                      random_state=1)
seconds = 0.0
for _ in range(epochs):
    start = time.time()
    model.partial_fit(x, y, classes=[0, 1])
    seconds += time.time() - start
    print("%.4f %.5f" % (seconds, log_loss(yt, 1 / (1 + np.exp(-model.decision_function(xt))))),
          flush=True)
