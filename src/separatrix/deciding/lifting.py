"""From floats to rational numbers nearby that solve a linear system exactly: one square system, by p-adic lifting.

A pair in floats names the two sets; what is left to prove are two systems, Z_Bᵀλ = 0 and Z_Bθ = 0. As many unknowns as
the rank of Z_B are solved for (Dixon 1982, in FLINT), the others keep their floats. Whether the solution holds in the
equations that were not used, and has the right signs, is for the checker to say.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from separatrix.certify.reader import Reader, as_integers
from separatrix.data.rows import Index, Vector
from separatrix.deciding.exact import solve_system
from separatrix.deciding.scaling import Matrix

LIFTED = 250  # unknowns of the square system
SHORT = 30  # bits that floats keep: shorter numbers, shorter solutions
NOTHING = 1e-10  # of the largest pivot, what rounding leaves of a dependent row


def near_weights(reader: Reader, B: Index, lam: Vector) -> list[Fraction] | None:
    """λ on the rows B near these floats with Z_Bᵀλ = 0 in as many columns as are independent."""
    A = reader.dense(B, np.arange(reader.D))
    return _near(A.T, lam)


def near_theta(reader: Reader, B: Index, theta: Vector) -> list[Fraction] | None:
    """θ near these floats with Z_Bθ = 0 in as many rows as are independent."""
    return _near(reader.dense(B, np.arange(reader.D)), theta)


def _near(A: Matrix, x: Vector) -> list[Fraction] | None:
    """x with Ax = 0 in independent rows of A."""
    rows, columns = _independent(A, abs(x))
    if not 0 < len(rows) <= LIFTED or len(rows) != len(columns):
        return None
    top = float(abs(x).max())
    if not 0 < top < np.inf:
        return None
    found = [Fraction(float(v)) for v in np.round(np.ldexp(x / top, SHORT))]
    others = np.setdiff1d(np.arange(A.shape[1]), columns)
    lines, right = [], []
    for i in rows:
        whole = as_integers(A[i])
        lines.append([whole[j] for j in columns])
        right.append([-sum(whole[j] * int(found[j]) for j in others.tolist() if whole[j])])
    solution = solve_system(lines, right)
    if solution is None:
        return None
    for j, line in zip(columns, solution, strict=True):
        found[j] = line[0]
    return found


def _independent(A: Matrix, size: Vector) -> tuple[list[int], list[int]]:
    """As many rows and columns as the rank of A, columns of large x first: their signs bear the change."""
    from scipy.linalg import qr

    top = abs(A).max(axis=1, keepdims=True)
    scaled = A / np.where(top > 0, top, 1.0)
    _, R, pivots = qr(scaled * (size + 1e-3 * size.max()), mode="economic", pivoting=True)
    diagonal = abs(R.diagonal())
    r = int((diagonal > NOTHING * diagonal.max(initial=0.0)).sum())
    columns = pivots[:r].tolist()
    rows = qr(scaled[:, columns].T, mode="economic", pivoting=True)[2][:r].tolist()
    return rows, columns
