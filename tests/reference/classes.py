#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The figures of scikit-learn's logistic regression in tests/cli/quality.sh:

    pip install scikit-learn
    tests/reference/classes.py DATA/a9a/a9a DATA/a9a/a9a.t
    tests/reference/classes.py DATA/mushrooms/mushrooms DATA/mushrooms/mushrooms

C = 1 weighs w'w / 2 against the sum of the losses: l2 is 1 / examples where losses are averaged.
"""
import sys

from sklearn.datasets import load_svmlight_files
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

x, y, x_test, y_test = load_svmlight_files(sys.argv[1:3])
model = LogisticRegression(C=1.0, max_iter=100000, tol=1e-10).fit(x, y)
p = model.predict_proba(x_test)[:, 1]
print(f"l2 {1 / len(y):.6g}, log-loss {log_loss(y_test, p):.6f}, "
      f"accuracy {accuracy_score(y_test, model.predict(x_test)):.6f}, auc {roc_auc_score(y_test, p):.6f}")
