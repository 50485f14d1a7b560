#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The figures for ratings in tests/cli/quality.sh: factorisation by alternating least squares.

    pip install numpy
    awk 'NR % 10 == 0' DATA/movietweetings-100k/ratings.dat >test.dat
    awk 'NR % 10 != 0' DATA/movietweetings-100k/ratings.dat >train.dat
    tests/reference/ratings.py train.dat test.dat L2 RANK ROUNDS

The objective is Gust's: half the squared error of mean + b_u + b_i + p_u.q_i, and for every rating
L2 / 2 times the squares of what it involves. Each side is solved exactly while the other rests.
"""
import sys

import numpy as np

L2, RANK, ROUNDS = float(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])


def read(name):
    rows = [line.split("::") for line in open(name)]
    return [r[0] for r in rows], [r[1] for r in rows], np.array([float(r[2]) for r in rows])


def number(ids):
    numbers = {name: n for n, name in enumerate(dict.fromkeys(ids))}
    return numbers, np.array([numbers[name] for name in ids])


def solve(own, other, own_of, other_of, rest):
    """Rows of OWN: factors, then the bias."""
    order = np.argsort(own_of, kind="stable")
    bounds = np.searchsorted(own_of[order], np.arange(len(own) + 1))
    for k in range(len(own)):
        chosen = order[bounds[k]:bounds[k + 1]]
        rows = other[other_of[chosen]]
        v = np.concatenate([rows[:, :RANK], np.ones((len(chosen), 1))], 1)
        own[k] = np.linalg.solve(v.T @ v + len(chosen) * L2 * np.eye(RANK + 1),
                                 v.T @ (rest[chosen] - rows[:, RANK]))


users, items, ratings = read(sys.argv[1])
user_numbers, user_of = number(users)
item_numbers, item_of = number(items)
mean = ratings.mean()
random = np.random.default_rng(0)
p = np.zeros((len(user_numbers) + 1, RANK + 1))  # the last row is for those that are not known
q = np.zeros((len(item_numbers) + 1, RANK + 1))
p[:-1, :RANK] = random.normal(0, 0.01, (len(p) - 1, RANK))
q[:-1, :RANK] = random.normal(0, 0.01, (len(q) - 1, RANK))
for _ in range(ROUNDS):
    solve(p[:-1], q, user_of, item_of, ratings - mean)
    solve(q[:-1], p, item_of, user_of, ratings - mean)
users, items, wanted = read(sys.argv[2])
pu = p[[user_numbers.get(u, -1) for u in users]]
qi = q[[item_numbers.get(i, -1) for i in items]]
guess = mean + pu[:, RANK] + qi[:, RANK] + (pu[:, :RANK] * qi[:, :RANK]).sum(1)
error = np.clip(guess, ratings.min(), ratings.max()) - wanted
print(f"rmse {np.sqrt((error ** 2).mean()):.6f}, mae {abs(error).mean():.6f}")
