"""Elimination modulo a prime: columns that are independent there are independent."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

PRIME, STRIP = 8_388_593, 64  # the largest prime below 2**23, and columns eliminated at a time


def residues(A: Matrix) -> Matrix:
    """The entries modulo PRIME: each is m 2^e, and 2 has an inverse."""
    m, e = np.frexp(A)
    powers, place = np.unique(e.astype(np.int64) - 53, return_inverse=True)
    table = np.array([pow(2, int(k), PRIME) for k in powers])
    whole = np.ldexp(m, 53).astype(np.int64)
    return np.asarray(whole % PRIME * table[place.reshape(A.shape)] % PRIME, dtype=np.float64)


def independent_modulo_prime(M: Matrix, late: Callable[[], bool] = lambda: False) -> bool:
    """Whether elimination modulo PRIME finds a pivot in every column, unless it is too late; M is used up.

    Residues are below 2²³, so STRIP products of two of them sum to less than 2⁵³: float64 is exact throughout.
    """
    n, width = M.shape
    if n < width:
        return False
    for lo in range(0, width, STRIP):
        if late():
            return False
        hi = min(lo + STRIP, width)
        for k in range(lo, hi):
            pivots = np.flatnonzero(M[k:, k])
            if len(pivots) == 0:
                return False
            M[[k, k + pivots[0]]] = M[[k + pivots[0], k]]
            M[k + 1 :, k] = M[k + 1 :, k] * pow(int(M[k, k]), -1, PRIME) % PRIME
            M[k + 1 :, k + 1 : hi] = (M[k + 1 :, k + 1 : hi] - np.outer(M[k + 1 :, k], M[k, k + 1 : hi])) % PRIME
        for k in range(lo + 1, hi):
            M[k, hi:] = (M[k, hi:] - M[k, lo:k] @ M[lo:k, hi:]) % PRIME
        M[hi:, hi:] = (M[hi:, hi:] - M[hi:, lo:hi] @ M[lo:hi, hi:]) % PRIME
    return True
