"""Products of matrices as if in four times the precision, whatever cancels: by slices that BLAS multiplies exactly.

With rows of A and columns of B over their largest entries, slices are whole numbers of β bits times one power of two,

    A ≈ A₁ + A₂ + A₃ ,   B = B₁ + B₂ + B₃ ,   2β + log₂ D ≤ 53 ,

so that every partial sum of A_k B_l is a whole number below 2⁵³: no rounding, in whatever order and with whatever
instructions it is added up (Ozaki, Ogita, Oishi and Rump 2012). The nine products are summed with what each sum loses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix.certify.reader import gamma
from separatrix.core.constants import UNIT
from separatrix.data.rows import Vector
from separatrix.deciding.budget import Budget
from separatrix.deciding.scaling import Matrix

SLICES, BITS = 3, 53
PAIRS = sorted(((k, other) for k in range(SLICES) for other in range(SLICES)), key=sum)  # the largest first
LARGEST = 1e100  # entries that are not 0 lie between this and its inverse
CASCADED = 2e-30  # of the sum of magnitudes, what a sum of nine with its losses loses: twice (8 u)² (Ogita et al. 2005)
PLAIN = 1e-11  # of a row's length, what a plain product may lose
AT_ONCE = 100_000  # entries of A that are sliced together


class Product(NamedTuple):
    """AB to rounding, B as it was multiplied, and for each row a bound on the length of what rounding left of it."""

    C: Matrix
    B: Matrix
    error: Vector


def product(A: Matrix, B: Matrix, budget: Budget) -> Product | None:
    """AB, B rounded to about 63 bits below the largest entry of each column; None of extreme sizes, or late.

    A plain product, where its bound says that little cancels.
    """
    if A.size == 0 or B.size == 0 or not (_moderate(A) and _moderate(B)):
        return None
    plain = _plain(A, B)
    if (plain.error <= PLAIN * np.sqrt(np.einsum("ij,ij->i", plain.C, plain.C))).all():
        return plain
    bits = (BITS - int(np.ceil(np.log2(max(A.shape[1], 2))))) // 2
    right, _ = sliced(B.T, bits)
    long_b = np.sum(np.abs(right), axis=(0, 2))  # of columns, entries summed
    C, error = np.empty((len(A), B.shape[1])), np.empty(len(A))
    step = max(1, AT_ONCE // A.shape[1])
    for lo in range(0, len(A), step):
        if budget.late:
            return None
        left, rest = sliced(A[lo : lo + step], bits)
        total, low, size = (np.zeros((len(rest), B.shape[1])) for _ in range(3))
        for k, other in PAIRS:
            part = left[k] @ right[other].T  # exact
            new = total + part
            back = new - total
            low += (total - (new - back)) + (part - back)
            total = new
            size += abs(part)
        C[lo : lo + step] = total + low
        lost = 2 * UNIT * abs(C[lo : lo + step]) + CASCADED * size + rest[:, None] * long_b
        error[lo : lo + step] = np.sqrt(np.einsum("ij,ij->i", lost, lost)) * (1 + 1e-9)
    return Product(C, (right[0] + right[1] + right[2]).T, error)


def _plain(A: Matrix, B: Matrix) -> Product:
    """In float64, |AB - fl(AB)| ≤ γ |A||B|."""
    lost = gamma(A.shape[1] + 2) * (abs(A) @ abs(B))
    return Product(A @ B, B, np.sqrt(np.einsum("ij,ij->i", lost, lost)) * (1 + 1e-9))


def sliced(A: Matrix, bits: int) -> tuple[list[Matrix], Vector]:
    """Slices of the rows, which add up exactly but for what is left, and the largest entry that this may be."""
    unit = np.ldexp(1.0, np.frexp(abs(A).max(axis=1))[1])
    parts, rest = [], A
    for _ in range(SLICES):
        unit = unit * 2.0**-bits
        round_to = 1.5 * 2.0 ** (BITS - 1) * unit[:, None]  # its last bit is the unit
        parts.append((rest + round_to) - round_to)
        rest = rest - parts[-1]
    return parts, abs(rest).max(axis=1)


def _moderate(A: Matrix) -> bool:
    """Whether nothing is infinite, NaN or of extreme size."""
    size = abs(A)
    return bool((size < LARGEST).all() and ((size > 1.0 / LARGEST) | (size == 0)).all())
