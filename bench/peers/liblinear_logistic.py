# SPDX-License-Identifier: Apache-2.0
"""liblinear_logistic.py PREFIX: liblinear's logistic regression (-s 0 -c 0.1), one thread, at several
tolerances, on the files that `gust data export --format svm` wrote. Its program reads text, so the time of a run that
stops at once is taken off. Prints "seconds log_loss" for each tolerance."""
import os, subprocess, sys, tempfile, time

from rows import features, log_loss

import numpy as np

prefix = sys.argv[1]
folder = tempfile.mkdtemp()
model, output = os.path.join(folder, "model"), os.path.join(folder, "output")


def train(tolerance):
    start = time.time()
    subprocess.run(["liblinear-train", "-q", "-s", "0", "-c", "0.1", "-e", str(tolerance),
                    prefix + ".train.svm", model], check=True)
    return time.time() - start


labels = features(prefix, "test")[1]
reading = train(1e9)
for tolerance in (0.1, 0.01, 0.001):
    seconds = train(tolerance) - reading
    subprocess.run(["liblinear-predict", "-q", "-b", "1", prefix + ".test.svm", model, output], check=True)
    with open(output) as lines:
        column = lines.readline().split().index("1")
        p = np.array([float(line.split()[column]) for line in lines])
    print("%.4f %.5f" % (seconds, log_loss(labels, p)), flush=True)
