"""Elimination modulo a prime: columns that are independent there are independent.

Dense matrices are eliminated as they are. Of a sparse one, columns no two of which meet in a row (the levels of a fixed
effect, for instance) go first, each by one pivot row, and what is left of the rows is added up at random into few: the
rank of those is at most that of all, and nearly always the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.data.rows import Index

Matrix = NDArray[np.float64]

PRIME, STRIP = 8_388_593, 64  # the largest prime below 2**23, and columns eliminated at a time
MORE, SHARES = 20, 8  # rows beyond as many as columns that rows are added up into, and into how many of them each is
LIMB = 4096.0  # residues in two parts, so that sums of many products stay below 2**53


def never() -> bool:
    """It is never too late."""
    return False


def residues(A: Matrix) -> Matrix:
    """The entries modulo PRIME: each is m 2^e, and 2 has an inverse."""
    m, e = np.frexp(A)
    powers, place = np.unique(e.astype(np.int64) - 53, return_inverse=True)
    table = np.array([pow(2, int(k), PRIME) for k in powers])
    whole = np.ldexp(m, 53).astype(np.int64)
    return np.asarray(whole % PRIME * table[place.reshape(A.shape)] % PRIME, dtype=np.float64)


def independent_modulo_prime(M: Matrix, late: Callable[[], bool] = never) -> bool:
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


def reduce_modulo_prime(M: Matrix, late: Callable[[], bool] = never, *, width: int | None = None) -> Pivots | None:
    """The reduced echelon form of M in its place, pivots in the first `width` columns; None once it is too late.

    Gauss and Jordan, STRIP columns at a time: U records what the strip does to the rows, M_rest ← M_rest + U M_pivots.
    """
    n, D = M.shape
    width = D if width is None else width
    free = np.ones(n, dtype=bool)
    rows: list[int] = []
    columns: list[int] = []
    for lo in range(0, width, STRIP):
        if late():
            return None
        hi = min(lo + STRIP, width)
        P, U, fresh = M[:, lo:hi].copy(), np.zeros((n, hi - lo)), len(rows)
        for k in range(hi - lo):
            inside = np.flatnonzero(free & (P[:, k] != 0))
            if len(inside) == 0:
                continue
            i, q = int(inside[0]), len(rows) - fresh
            U[i, q] = 1.0
            inverse = pow(int(P[i, k]), -1, PRIME)
            P[i] = P[i] * inverse % PRIME
            U[i, : q + 1] = U[i, : q + 1] * inverse % PRIME
            f = P[:, k].copy()
            f[i] = 0.0
            hit = np.flatnonzero(f)
            P[hit, k:] = (P[hit, k:] - np.outer(f[hit], P[i, k:])) % PRIME
            U[hit, : q + 1] = (U[hit, : q + 1] - np.outer(f[hit], U[i, : q + 1])) % PRIME
            free[i] = False
            rows.append(i)
            columns.append(lo + k)
        new = rows[fresh:]
        M[:, lo:hi] = P
        if new and hi < D:
            pivot_rows = M[new, hi:]
            M[new, hi:] = 0.0
            M[:, hi:] = (M[:, hi:] + U[:, : len(new)] @ pivot_rows) % PRIME
    return Pivots(np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64))


@dataclass(frozen=True)
class Pivots:
    """Where the pivots of an elimination stand, in the order of the columns."""

    rows: Index
    columns: Index


@dataclass(frozen=True, eq=False)
class Disjoint:
    """Columns no two of which meet in a row, each with a pivot row, and what they leave of the other columns.

    columns, rows, pivots : column, row and residue of each pivot
    beside : the pivot rows at the other columns, residues
    factor : (n, columns): the multiple of each pivot row in every row
    others : the other columns
    rest : (n, others): the other columns once the multiples of the pivot rows are taken out
    """

    columns: Index
    rows: Index
    pivots: Matrix
    beside: Any
    factor: Any
    others: Index
    rest: Any

    def left(self, b: Matrix) -> Matrix:
        """Of residues b with one line per row, what is left once the multiples of the pivot rows are taken out."""
        return np.asarray((b - modulo(self.factor @ b[self.rows])) % PRIME)

    def back(self, b: Matrix, x: Matrix) -> Matrix:
        """The coefficients of these columns from those of the other ones, x; b is the right side at the pivot rows."""
        inverse = np.array([pow(int(p), -1, PRIME) for p in self.pivots], dtype=np.float64)
        return np.asarray((b - product(self.beside, x)) % PRIME * inverse[:, None] % PRIME)


def modulo(S: Any) -> Any:
    """Entries of a dense or sparse matrix modulo PRIME."""
    if isinstance(S, np.ndarray):
        return S % PRIME
    S.data %= PRIME
    S.eliminate_zeros()
    return S


def product(S: Any, x: Matrix) -> Matrix:
    """A sparse matrix of residues times residues, in two limbs."""
    high, low = np.floor(x / LIMB), x % LIMB
    return np.asarray(((S @ high) % PRIME * LIMB + S @ low) % PRIME)


def never_meeting(by_column: Any) -> Index:
    """Columns of CSC no two of which meet in a row, rare ones first."""
    start, taken, chosen = by_column.indptr, np.zeros(by_column.shape[0], dtype=bool), []
    for j in np.argsort(np.diff(start), kind="stable").tolist():
        inside = by_column.indices[start[j] : start[j + 1]]
        if len(inside) and not taken[inside].any():
            taken[inside] = True
            chosen.append(j)
    return np.array(chosen, dtype=np.int64)


def disjoint(Z: Any, first: Index) -> Disjoint:
    """Take out columns that never meet, rare ones first; Z is CSR of residues, the others keep the order `first`."""
    from scipy.sparse import csr_array

    D = Z.shape[1]
    by_column = Z.tocsc()
    columns = never_meeting(by_column)
    at = by_column.indptr[columns]
    rows, pivots = by_column.indices[at].astype(np.int64), by_column.data[at]
    inverse = np.array([pow(int(p), -1, PRIME) for p in pivots], dtype=np.float64)
    group = csr_array(by_column[:, columns])
    group.data = group.data * inverse[group.indices] % PRIME
    mine = np.zeros(D, dtype=bool)
    mine[columns] = True
    others = first[~mine[first]]
    rest = csr_array(by_column[:, others])
    beside = rest[rows]
    rest = modulo(csr_array(rest - modulo(group @ beside)))  # one entry in each row of `group`: nothing adds up
    return Disjoint(columns, rows, pivots, beside, group, others, rest)


def added_up(S: Any, seed: int) -> tuple[Matrix, Any]:
    """Rows of residues added up at random into few more than columns, and how; themselves where they are few."""
    from scipy.sparse import csr_array, eye_array

    n, width = S.shape
    few = width + MORE
    if n <= few:
        return np.asarray(S.toarray()), csr_array(eye_array(n))
    rng = np.random.default_rng(seed)
    shares = min(SHARES, few)
    to = rng.integers(0, few, size=(n, shares))
    how = rng.integers(1, PRIME, size=(n, shares)).astype(np.float64)
    T = csr_array((how.ravel(), (to.ravel(), np.repeat(np.arange(n), shares))), shape=(few, n))
    T = modulo(T)  # shares of one row that met were added
    high, low = S.copy(), S.copy()
    high.data, low.data = np.floor(S.data / LIMB), S.data % LIMB
    return np.asarray(((T @ high).toarray() % PRIME * LIMB + (T @ low).toarray()) % PRIME), T


def sparse_residues(Z: Any) -> Any:
    """A CSR matrix modulo PRIME."""
    from scipy.sparse import csr_array

    found = csr_array((residues(np.asarray(Z.data, dtype=np.float64)), Z.indices, Z.indptr), shape=Z.shape)
    found.eliminate_zeros()
    return found


def independent_sparse(Z: Any, late: Callable[[], bool] = never, *, seed: int = 0) -> bool:
    """Whether the columns of a CSR matrix are independent modulo PRIME, as far as that shows: True is proven."""
    if Z.shape[1] == 0:
        return True
    if Z.shape[0] < Z.shape[1]:
        return False
    split = disjoint(sparse_residues(Z), np.arange(Z.shape[1]))
    if len(split.others) == 0:
        return True
    return independent_modulo_prime(added_up(split.rest, seed)[0], late)
