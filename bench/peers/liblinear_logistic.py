# SPDX-License-Identifier: Apache-2.0
"""liblinear_logistic.py PREFIX: liblinear's logistic regression (as scikit-learn carries it), C = 0.1,
one thread, at several tolerances. Prints "seconds log_loss" for each; the time is that of the fit alone."""
import sys, time

import numpy as np
from sklearn.linear_model import LogisticRegression

from rows import features, log_loss

x, y = features(sys.argv[1], "train")
xt, yt = features(sys.argv[1], "test")
x, xt = x.astype(np.float64), xt.astype(np.float64)
for tolerance in (0.1, 0.01, 0.001):
    model = LogisticRegression(solver="liblinear", C=0.1, tol=tolerance)
    start = time.time()
    model.fit(x, y)
    seconds = time.time() - start
    print("%.4f %.5f" % (seconds, log_loss(yt, model.predict_proba(xt)[:, 1])), flush=True)
