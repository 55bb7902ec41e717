"""Weights of rows that give a functional: in floats, or exactly; of few rows those of many functionals at once."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from separatrix.certify.reader import as_integers
from separatrix.data.rows import Vector
from separatrix.deciding.exact import solve_system
from separatrix.deciding.scaling import Matrix


def combination(rows: Matrix, target: Vector) -> Vector:
    """λ with λᵀ rows = target, in floats; rows and columns evened out first."""
    rho = 1.0 / abs(rows).max(axis=1)
    kappa = 1.0 / np.maximum(abs(rows * rho[:, None]).max(axis=0), 1e-300)
    return np.asarray(np.linalg.lstsq((rows * rho[:, None] * kappa).T, target * kappa)[0] * rho)


def solves(rows: list[list[Fraction]], floats: Matrix, target: list[Fraction]) -> bool:
    """Whether the one combination of independent rows that gives the target, if any does, has no negative weight."""
    from scipy.linalg import qr

    size, width = floats.shape
    scaled = floats / abs(floats).max(axis=1, keepdims=True)
    columns = qr(scaled, mode="economic", pivoting=True)[2][:size].tolist()
    whole = [as_integers([line[j] for line in rows] + [target[j]]) for j in columns]
    solution = solve_system([line[:size] for line in whole], [line[size:] for line in whole])
    if solution is None or any(line[0] < 0 for line in solution):
        return False
    lam = [line[0] for line in solution]
    return all(sum(w * line[j] for w, line in zip(lam, rows, strict=True) if w) == target[j] for j in range(width))


def signs_of_few(Z: Sequence[Sequence[int]], G: Sequence[dict[int, Fraction]], most: int) -> list[str] | None:
    """The sign of each functional over the open cone of D or D + 1 rows in whole numbers, D columns of rank D, exactly.

    The weights with Σ λ_i z_i = g lie on a line, λ = a + tν, where ν is the one relation of the rows (0 if there are D
    of them). By Farkas' lemma gᵀθ ≥ 0 throughout the cone if and only if some point of the line is ≥ 0, and gᵀθ ≤ 0 if
    and only if some is ≤ 0.
    None where the weights may have more bits than `most`, or the D rows that floats choose are dependent.
    """
    from flint import fmpz_mat
    from scipy.linalg import qr

    n, D = len(Z), len(Z[0])
    longest = sum(max(map(abs, z)).bit_length() for z in Z) + D * D.bit_length() // 2  # Hadamard's bound, in bits
    if not D <= n <= D + 1 or longest * D * max(D, len(G)) > most:
        return None
    floats = np.array([[float(Fraction(v, max(map(abs, z)))) for v in z] for z in Z])
    order = qr(floats.T, mode="economic", pivoting=True)[2].tolist() if n > D else [*range(n)]
    right: list[list[int]] = []  # a column for each functional, and the row left over
    for g in G:
        common = lcm(*(c.denominator for c in g.values()))
        right.append([int(g.get(j, 0) * common) for j in range(D)])
    right += [[-v for v in Z[i]] for i in order[D:]]
    try:
        X: Any = fmpz_mat([Z[i] for i in order[:D]]).transpose().solve(fmpz_mat(right).transpose())
    except ZeroDivisionError:
        return None
    numerators, q = X.numer_denom()
    lines = [[int(v) for v in line] for line in numerators.transpose().tolist()]
    nu = [*lines[len(G)], int(q)] if n > D else [0] * n
    signs = []
    for line in lines[: len(G)]:
        a = line + [0] * (n - D)
        signs.append("+" if reaches(a, nu) else "-" if reaches([-v for v in a], nu) else "either")
    return signs


def reaches(a: Sequence[int], nu: Sequence[int]) -> bool:
    """Whether a + tν ≥ 0 for some t: each entry of ν above 0 bounds t from below, each below 0 from above."""
    low: tuple[int, int] | None = None
    high: tuple[int, int] | None = None
    for v, rate in zip(a, nu, strict=True):
        if rate > 0:
            if low is None or -v * low[1] > low[0] * rate:
                low = -v, rate
        elif rate < 0:
            if high is None or v * high[1] < high[0] * -rate:
                high = v, -rate
        elif v < 0:
            return False
    return low is None or high is None or low[0] * high[1] <= high[0] * low[1]
