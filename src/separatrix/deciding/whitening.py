"""C = BP with orthonormal columns and P exact, for columns that depend on each other beyond the last digit of a float.

    C₀ = B ,   C_k = Q_k R_k ,   P_{k+1} = P_k R_k⁻¹ ,   C_{k+1} = B P_{k+1} ,

in floats but for the two products, which are of whole numbers: rounding P alone would cost C the condition of B times
2⁻⁵³. Each pass takes up to 16 digits off that condition.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from separatrix.data.rows import Index
from separatrix.deciding.scaling import Matrix

if TYPE_CHECKING:
    from flint import fmpz_mat

BITS = 53  # of a float
PASSES, NEARLY = 6, 0.1  # how often C is put right, and how far from the identity CᵀC may be in the end


class Whitening(NamedTuple):
    """C to rounding, and P as whole numbers times 2^power."""

    C: Matrix
    whole: list[list[int]]
    power: int

    @property
    def P(self) -> Matrix:
        """Rounded."""
        scale = power_of_two(self.power)
        return np.array([[float(v * scale) for v in line] for line in self.whole])


@np.errstate(all="ignore")  # extreme sizes overflow on the way; what is kept was found finite
def whiten_exactly(B: Matrix) -> Whitening | None:
    """C and P; None where columns are dependent or of extreme sizes."""
    from flint import fmpz_mat

    D = B.shape[1]
    digits, low = whole_numbers(B)
    exact, one, C = fmpz_mat(digits), np.eye(D), B
    P, power = fmpz_mat(D, D, [int(i == j) for i in range(D) for j in range(D)]), 0
    for _ in range(PASSES):
        R = np.asarray(np.linalg.qr(C, mode="r"))
        if len(R) < D or not abs(R.diagonal()).min() > 0 or not np.isfinite(T := np.linalg.solve(R, one)).all():
            return None
        turn, scale = whole_numbers(T.reshape(1, -1))
        P, power = P * fmpz_mat(D, D, turn[0]), power + int(scale[0])
        C = rounded(exact * P, low + power)
        if not np.isfinite(C).all():
            return None
        if abs(C.T @ C - one).max() < NEARLY:
            return Whitening(C, [[int(v) for v in line] for line in P.tolist()], power)
    return None


def whole_numbers(A: Matrix) -> tuple[list[list[int]], Index]:
    """Rows of floats as whole numbers times a power of two each."""
    share, power = np.frexp(A)
    top = np.iinfo(np.int32).max  # stands for the power of 0
    power = np.where(share == 0, top, power).astype(np.int64)
    low = power.min(axis=1)
    digits, shift = np.ldexp(share, BITS).astype(np.int64), np.where(share == 0, 0, power - low[:, None])
    lines = zip(digits.tolist(), shift.tolist(), strict=True)
    return [[a << e for a, e in zip(*line, strict=True)] for line in lines], np.where(low == top, 0, low - BITS)


def rounded(A: fmpz_mat, power: Index) -> Matrix:
    """Whole numbers times 2^power, a power for each row, as floats."""
    lines = [[int(v) for v in line] for line in A.tolist()]
    spare = [[max(abs(v).bit_length() - 64, 0) for v in line] for line in lines]
    top = [[float(v >> e) for v, e in zip(*both, strict=True)] for both in zip(lines, spare, strict=True)]
    return np.asarray(np.ldexp(np.array(top), np.array(spare) + power[:, None]))


def power_of_two(k: int) -> Fraction:
    """2^k."""
    return Fraction(1 << k) if k >= 0 else Fraction(1, 1 << -k)
