# SPDX-License-Identifier: Apache-2.0
"""The rows that `gust data export --format bin` wrote, as numpy and scipy see them."""
import numpy as np


def features(prefix, split):
    """A sparse matrix and the labels."""
    import scipy.sparse as sp

    def part(name, which=split):
        kind = {"f32": "<f4", "i32": "<i4", "i64": "<i8"}[name.split(".")[1]]
        return np.fromfile(f"{prefix}.{which}.{name}.bin", kind)

    labels, indices = part("y.f32"), part("indices.i32")
    width = 1 + max(int(part("indices.i32", which).max()) for which in ("train", "test"))
    return sp.csr_matrix((part("data.f32"), indices, part("indptr.i64")), shape=(labels.size, width)), labels


def ratings(prefix, split):
    """Columns u, i, r."""
    return np.fromfile(f"{prefix}.{split}.bin", np.dtype([("u", "<i4"), ("i", "<i4"), ("r", "<f4")]))


def log_loss(labels, p):
    p = np.clip(p, 1e-7, 1 - 1e-7)
    return float(-np.mean(np.where(labels > 0, np.log(p), np.log(1 - p))))
