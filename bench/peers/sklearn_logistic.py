# SPDX-License-Identifier: Apache-2.0
"""sklearn_logistic.py PREFIX EPOCHS: scikit-learn's averaged SGD for logistic regression, one
thread, with the step size that reaches 0.441 first. Prints "seconds log_loss" after each
pass; the time is that of training alone."""
import sys, time

import numpy as np
from sklearn.linear_model import SGDClassifier

from rows import features, log_loss

prefix, epochs = sys.argv[1], int(sys.argv[2])
x, y = features(prefix, "train")
xt, yt = features(prefix, "test")
x, xt = x.astype(np.float64), xt.astype(np.float64)
model = SGDClassifier(loss="log_loss", alpha=1e-6, learning_rate="constant", eta0=0.03, average=True,
                      random_state=1)
seconds = 0.0
for _ in range(epochs):
    start = time.time()
    model.partial_fit(x, y, classes=[0, 1])
    seconds += time.time() - start
    p = 1 / (1 + np.exp(-model.decision_function(xt)))
    print("%.4f %.5f" % (seconds, log_loss(yt, p)), flush=True)
