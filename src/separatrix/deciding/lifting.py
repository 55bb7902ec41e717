"""From floats to rational numbers nearby that solve a linear system exactly: one square system, by p-adic lifting.

A pair in floats names the two sets; what is left to prove are two systems, Z_Bᵀλ = 0 and Z_Bθ = 0. As many unknowns as
the rank of Z_B are solved for (Dixon 1982, in FLINT), the others keep their floats. Whether the solution holds in the
equations that were not used, and has the right signs, is for the checker to say.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np

from separatrix.certify.reader import Reader, as_integers
from separatrix.data.rows import Index, Vector
from separatrix.deciding.exact import solve_system
from separatrix.deciding.scaling import Matrix

LIFTED = 250  # unknowns of the square system
SHORT = 30  # bits that floats keep: shorter numbers, shorter solutions


def near_weights(reader: Reader, B: Index, lam: Vector, rank: int) -> list[Fraction] | None:
    """λ on the rows B near these floats with Z_Bᵀλ = 0 in as many columns as the rank."""
    return _near(reader.dense(B, np.arange(reader.D)).T, lam, rank)


def near_theta(reader: Reader, B: Index, theta: Vector, rank: int) -> list[Fraction] | None:
    """θ near these floats with Z_Bθ = 0 in as many rows as the rank."""
    return _near(reader.dense(B, np.arange(reader.D)), theta, rank)


def _near(A: Matrix, x: Vector, rank: int) -> list[Fraction] | None:
    """x with Ax = 0 in independent rows of A."""
    if not 0 < rank <= min(LIFTED, *A.shape):
        return None
    rows, columns = _independent(A, abs(x), rank)
    top = float(abs(x).max())
    if not 0 < top < np.inf:
        return None
    share, power = np.frexp(x / top)
    found = [Fraction(float(v)) for v in np.ldexp(np.round(np.ldexp(share, SHORT)), power - SHORT)]
    others = np.setdiff1d(np.arange(A.shape[1]), columns)
    lines, right = [], []
    for i in rows:
        whole = as_integers(A[i])
        lines.append([whole[j] for j in columns])
        right.append(-sum((whole[j] * found[j] for j in others.tolist() if whole[j]), Fraction(0)))
    common = lcm(*(v.denominator for v in right))
    solution = solve_system(lines, [[int(v * common)] for v in right])
    if solution is None:
        return None
    for j, line in zip(columns, solution, strict=True):
        found[j] = line[0] / common
    return found


def _independent(A: Matrix, size: Vector, rank: int) -> tuple[list[int], list[int]]:
    """As many rows and columns as the rank of A; columns that are far from dependent where x is large.

    What rounding x moves, the columns chosen make up for; were they nearly dependent, or their x small, signs would
    turn. The rows are made orthonormal first: how far from dependent columns are is not to depend on the rows.
    """
    from scipy.linalg import qr

    top = abs(A).max(axis=1, keepdims=True)
    scaled = A / np.where(top > 0, top, 1.0)
    Q = qr(scaled.T, mode="economic", pivoting=True)[0][:, :rank].T
    columns = qr(Q * size, mode="economic", pivoting=True)[2][:rank].tolist()
    rows = qr(scaled[:, columns].T, mode="economic", pivoting=True)[2][:rank].tolist()
    return rows, columns
