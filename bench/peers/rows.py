# SPDX-License-Identifier: Apache-2.0
"""The rows that `gust data export --format bin` wrote, as numpy and scipy see them."""
import numpy as np


def features(prefix, split):
    """A sparse matrix and the labels."""
    import scipy.sparse as sp

    def part(name, kind):
        return np.fromfile(f"{prefix}.{split}.{name}", kind)

    labels = part("y", "<f4")
    width = int(np.fromfile(f"{prefix}.dims", "<i8")[0])
    data, indices, indptr = part("data", "<f4"), part("indices", "<i4"), part("indptr", "<i8")
    return sp.csr_matrix((data, indices, indptr), shape=(labels.size, width)), labels


def ratings(prefix, split):
    """Columns u, i, r."""
    return np.fromfile(f"{prefix}.{split}.bin", np.dtype([("u", "<i4"), ("i", "<i4"), ("r", "<f4")]))


def log_loss(labels, p):
    p = np.clip(p, 1e-7, 1 - 1e-7)
    return float(-np.mean(np.where(labels > 0, np.log(p), np.log(1 - p))))
