"""μ and what proves it, in Fractions: the point of the hull of the rows that is nearest to 0, by brute force.

    μ² = min ‖Zᵀλ‖² ,   λ ≥ 0 ,  Σλ = 1 ,  with an intercept Σλ = ½ in each class.

Some optimal λ has a support on which Zᵀλ and the sums determine it. So every small set of rows is tried: λ solves the
equations of the optimum there, is not negative, and no other row pulls less than those of its class.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np

F = Fraction


def solved(A, b):
    """x with Ax = b in Fractions, None where A is singular."""
    n, M = len(A), [[*row, v] for row, v in zip(A, b, strict=True)]
    for k in range(n):
        at = next((i for i in range(k, n) if M[i][k]), None)
        if at is None:
            return None
        M[k], M[at] = M[at], M[k]
        M[k] = [v / M[k][k] for v in M[k]]
        for i in range(n):
            if i != k and M[i][k]:
                M[i] = [a - M[i][k] * c for a, c in zip(M[i], M[k], strict=True)]
    return [row[-1] for row in M]


def squared_margin(X, y, intercept):
    """μ², exactly, for some ten rows and few columns."""
    Z = [[int(s) * F(float(v)) for v in a] for a, s in zip(X, y, strict=True)]
    side = [int(intercept and s < 0) for s in y]
    n, sides = len(Z), 1 + intercept
    G = [[sum(u * v for u, v in zip(p, q, strict=True)) for q in Z] for p in Z]
    for k in range(sides, len(Z[0]) + sides + 1):
        for S in combinations(range(n), k):
            E = [[F(side[i] == c) for i in S] for c in range(sides)]
            if not all(map(any, E)):
                continue
            K = [[G[i][j] for j in S] + [F(-(side[i] == c)) for c in range(sides)] for i in S]
            x = solved(K + [e + [F(0)] * sides for e in E], [F(0)] * k + [F(1, sides)] * sides)
            if x is None or min(x[:k]) < 0:
                continue
            if all(sum(g[j] * w for j, w in zip(S, x, strict=False)) >= x[k + c] for g, c in zip(G, side, strict=True)):
                return sum(x[k:]) / sides
    raise AssertionError("a hull has a nearest point")


def exact_ends(X, y, m, intercept):
    """What θ and λ prove, in Fractions: (min z_iᵀθ, ‖w‖², ‖Zᵀλ'‖²), λ' scaled to sum exactly to what it should."""
    A = [[F(float(v)) for v in a] for a in np.asarray(X)]
    theta, lam = [F(float(t)) for t in m.theta], [F(float(w)) for w in m.weights]
    w, b = (theta[:-1], theta[-1]) if intercept else (theta, F(0))
    lowest = min(int(s) * (sum(u * v for u, v in zip(a, w, strict=True)) + b) for a, s in zip(A, y, strict=True))
    for side in [1, -1] if intercept else [0]:
        inside = [i for i, s in enumerate(y) if side in (0, s)]
        total = sum(lam[i] for i in inside) * (2 if intercept else 1)
        for i in inside:
            lam[i] /= total
    pull = [sum(w * int(s) * v for w, s, v in zip(lam, y, column, strict=True)) for column in zip(*A, strict=True)]
    return lowest, sum(v * v for v in w), sum(v * v for v in pull)
