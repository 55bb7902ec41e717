"""The raw rows as a checker reads them, and the exact sign of a row's product with a vector.

A sign is taken from a float64 product where the bound on its error allows, and from whole numbers otherwise: every
float64 is a whole number times a power of two, so products and sums of them are exact in Python's integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from math import fsum, inf, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core.constants import SMALLEST, UNIT
from separatrix.data.memory import HeldRows
from separatrix.data.rows import Index, Vector
from separatrix.data.sheet import Sheet

Signs = NDArray[np.int8]

ENTRIES = 4_000_000  # read at a time
FEW = 16  # a sixteenth of the columns: fewer are gathered rather than reading whole rows


def gamma(k: int) -> float:
    """The error of k roundings, relative to the sum of magnitudes: k u/(1 - k u), taken twice to be safe."""
    return 2.0 * k * UNIT


def as_integers(values: Sequence[Any] | Vector) -> list[int]:
    """Floats or Fractions times one positive number that makes them whole."""
    if isinstance(values, np.ndarray) and values.dtype == np.float64 and np.isfinite(values).all():
        share, power = np.frexp(values)  # share · 2⁵³ is whole
        whole = np.ldexp(share, 53).astype(np.int64)
        zeros = np.frexp((whole & -whole).astype(np.float64))[1] - 1  # at the end of its bits
        last = np.where(whole == 0, 0, power.astype(np.int64) - 53 + zeros)
        shift = last - min(0, int(last.min(initial=0)))
        return [p << k for p, k in zip((whole >> np.maximum(zeros, 0)).tolist(), shift.tolist(), strict=True)]
    ratios = [(f.numerator, f.denominator) if isinstance(f, Fraction) else float(f).as_integer_ratio() for f in values]
    common = lcm(*(q for _, q in ratios)) if ratios else 1
    return [p * (common // q) for p, q in ratios]


def nearest(value: Any) -> float:
    """The nearest float64, infinite beyond its range."""
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def as_floats(whole: list[int]) -> Vector:
    """Whole numbers as float64, divided by a power of two so that the largest is near 1."""
    shift = max((abs(v).bit_length() for v in whole), default=1)
    return np.array([float(Fraction(v, 1 << shift)) for v in whole])


def two_product(a: Vector, b: Vector) -> tuple[Vector, Vector]:
    """a·b = high + low without error (Dekker 1971), for products between 1e-290 and 1e290 and zeros."""
    split = 134217729.0  # 2²⁷ + 1
    high = a * b
    ca, cb = split * a, split * b
    a1, b1 = ca - (ca - a), cb - (cb - b)
    a2, b2 = a - a1, b - b1
    return high, ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2


def error_free_signs(A: Vector, part: list[int], v: Vector) -> Signs | None:
    """Exact signs of A·part by sums of error-free products; None where a factor is too long, large or small for it.

    v is part over a power of two, rounded.
    """
    if any((abs(p) // (p & -p)).bit_length() > 53 for p in part):  # without the zeros at the end of its bits
        return None
    size = np.concatenate([abs(A[A != 0]), abs(v)])
    if not (size.min() > 1e-140 and size.max() < 1e140):
        return None
    high, low = two_product(A, v)
    if A.shape[1] == 2:  # the two products cancel if and only if both halves do
        value = np.where((high[:, 0] == -high[:, 1]) & (low[:, 0] == -low[:, 1]), 0.0, 1.0)
        if not value.any():
            return np.zeros(len(A), dtype=np.int8)
    both = np.hstack([high, low])
    return np.sign([fsum(line) for line in both.tolist()]).astype(np.int8)  # fsum rounds the exact sum once


def whole_entries(values: Vector) -> tuple[NDArray[Any], int]:
    """Floats as Python's whole numbers times one power of two: the numbers, and the power."""
    m, e = np.frexp(values)
    whole, power = np.ldexp(m, 53).astype(np.int64), e.astype(np.int64) - 53
    trailing = np.where(whole == 0, 0, np.frexp((whole & -whole).astype(np.float64))[1] - 1)
    whole, power = whole >> trailing, np.where(whole == 0, 0, power + trailing)
    least = int(power.min(initial=0))
    found = whole.astype(object)
    shifted = np.flatnonzero(power > least)
    found[shifted] = found[shifted] << (power[shifted] - least).astype(object)
    return found, least


def exact_signs(Z: Any, part: Sequence[int]) -> Signs:
    """The signs of CSR rows times whole numbers."""
    filled = np.flatnonzero(np.diff(Z.indptr))
    out = np.zeros(Z.shape[0], dtype=np.int8)
    if len(filled) == 0:
        return out
    size = max(map(abs, part))
    if size < 2**53 and (Z.data == np.rint(Z.data)).all():
        top = float(abs(Z.data).max()) * int(np.diff(Z.indptr).max())
        if top < 2.0**53 / size:
            out[:] = np.sign(Z @ np.array([float(p) for p in part]))  # no rounding anywhere
            return out
    whole, _ = whole_entries(Z.data)
    factors = np.empty(len(part), dtype=object)
    factors[:] = part
    sums = np.add.reduceat(whole * factors[Z.indices], Z.indptr[filled])
    out[filled] = (sums > 0).astype(np.int8) - (sums < 0).astype(np.int8)
    return out


def relation_vector(D: int, j: int, terms: Mapping[int, Any]) -> list[Fraction]:
    """v with a_iᵀv = Σ c a_ik - a_ij, which is zero where column j is that combination."""
    v = [Fraction(0)] * D
    v[j] = Fraction(-1)
    for k, c in terms.items():
        v[k] = Fraction(c)
    return v


class Reader:
    """Rows a_i with an intercept column of ones where asked for, and labels ±1."""

    def __init__(self, rows: HeldRows) -> None:
        self.n, self.d = rows.n, rows.d
        self.bias = 1.0 if rows.bias else 0.0  # a positive factor of one column proves nothing and disproves nothing
        self.D = self.d + (rows.bias > 0)
        self.y = np.where(rows.sign > 0, 1, -1).astype(np.int8)
        self.sparse = rows.sparse
        self.X: Any = rows.X
        self.sheet = Sheet(replace(rows, bias=self.bias))
        self.most = 1 + (int(np.diff(rows.arrays[2]).max()) if self.sparse else self.d)  # entries in a row
        self.long = rows.arrays[0].dtype == np.float64  # entries may have more than 24 bits
        self.step = max(1, ENTRIES // max(1, self.d if not self.sparse else self.X.nnz // self.n + 1))

    def dense(self, rows: Index, columns: Index) -> Vector:
        """Entries z_ij = y_i a_ij in float64, rows x columns; index d is the intercept."""
        A = np.empty((len(rows), len(columns)))
        inside = np.flatnonzero(columns < self.d)
        if self.sparse:
            A[:, inside] = self.X[rows][:, columns[inside]].toarray()
        elif np.array_equal(columns, np.arange(self.d)):
            A[:] = self.X[rows]
        else:
            A[:, inside] = self.X[np.ix_(rows, columns[inside])]
        A[:, columns == self.d] = self.bias
        A *= self.y[rows, None]
        return A

    def _csr(self, rows: Index) -> Any:
        """These rows as CSR; all of them in order without a copy."""
        return self.X if np.array_equal(rows, np.arange(self.n)) else self.X[rows]

    def csr(self, rows: Index, columns: Index | None = None) -> Any:
        """Entries z_ij that are not 0 as CSR in float64, rows x columns (all D where not given)."""
        from scipy.sparse import csr_array

        if not self.sparse:
            return csr_array(self.dense(rows, np.arange(self.D) if columns is None else columns))
        if columns is not None and FEW * len(columns) < self.D:
            Z = csr_array(self._by_column[:, columns])
            return Z if np.array_equal(rows, np.arange(self.n)) else Z[rows]
        Z = self._signed(rows)
        if columns is not None and not np.array_equal(columns, np.arange(self.D)):
            Z = csr_array(Z.tocsc()[:, columns])
        return Z

    @cached_property
    def _by_column(self) -> Any:
        """All rows as CSC."""
        return self._signed(np.arange(self.n)).tocsc()

    def _signed(self, rows: Index) -> Any:
        """These rows z_i as CSR, the intercept among them."""
        from scipy.sparse import csr_array, hstack

        Z = csr_array(self._csr(rows), dtype=np.float64, copy=True)
        Z.data *= np.repeat(self.y[rows], np.diff(Z.indptr))
        if self.D > self.d:
            Z = csr_array(hstack([Z, csr_array((self.bias * self.y[rows])[:, None])], format="csr"))
        Z.eliminate_zeros()
        return Z

    def row_bytes(self, rows: Index) -> frozenset[bytes]:
        """These rows z_i, each once, as bytes that equal rows share."""
        found: set[bytes] = set()
        for lo in range(0, len(rows), self.step):
            part = rows[lo : lo + self.step]
            if self.sparse:
                Z = self.csr(part)
                data, indices = Z.data + 0.0, Z.indices.astype(np.int64)
                ends = zip(Z.indptr[:-1].tolist(), Z.indptr[1:].tolist(), strict=True)
                found.update(indices[a:b].tobytes() + data[a:b].tobytes() for a, b in ends)
            else:
                A = self.dense(part, np.arange(self.D)) + 0.0  # no -0
                found.update(line.tobytes() for line in np.unique(A, axis=0))
        return frozenset(found)

    def zero(self, columns: Index, rows: Index | None = None) -> NDArray[np.bool_]:
        """The rows (of these) in which all these columns are zero."""
        rows = np.arange(self.n) if rows is None else rows
        clean = np.full(len(rows), not (len(columns) and columns.max() >= self.d))  # the intercept is nowhere zero
        if self.sparse:
            member = np.zeros(self.d + 1, dtype=bool)
            member[columns] = True
            part = self._csr(rows)
            hit = np.concatenate([[0], np.cumsum(member[part.indices] & (part.data != 0))])
            clean &= hit[part.indptr[1:]] == hit[part.indptr[:-1]]
            return clean
        for lo in range(0, len(rows), self.step):
            clean[lo : lo + self.step] &= ~self.dense(rows[lo : lo + self.step], columns).any(axis=1)
        return clean

    def integers(self, i: int, columns: Index) -> list[int]:
        """Row i at these columns as whole numbers, up to one positive factor."""
        return as_integers(self.dense(np.array([i]), columns)[0])

    def signs(self, v: Sequence[Any] | Vector, rows: Index | None = None) -> Signs:
        """The exact sign of z_iᵀv for each row (or for these), v of D floats or Fractions."""
        return self.signs_at(range(len(v)), v, rows)

    def signs_at(self, columns: Sequence[int], v: Sequence[Any] | Vector, rows: Index | None = None) -> Signs:
        """The same, v being zero but at these columns."""
        whole = as_integers(v)
        support = np.array([j for j, t in zip(columns, whole, strict=True) if t != 0], dtype=np.int64)
        rows = np.arange(self.n) if rows is None else rows
        out = np.zeros(len(rows), dtype=np.int8)
        if len(support) == 0:
            return out
        part = [t for t in whole if t != 0]
        floats = as_floats(part)
        for lo in range(0, len(rows), self.step):
            out[lo : lo + self.step] = self._block(rows[lo : lo + self.step], support, part, floats)
        return out

    def _block(self, rows: Index, support: Index, part: list[int], v: Vector) -> Signs:
        s, t = self._spans(rows, support, v)
        k = min(len(support), self.most) + 4
        # |s - zᵀv| ≤ γ_k Σ|z_j v_j|: fewer than k terms are not 0, and in whatever order they are added, no term is
        # rounded more often. Below the normal range each product and each entry of v may lose SMALLEST.
        lost = k * k * SMALLEST
        if abs(v).min() < 2.0**-1022:
            lost *= 1.0 + self._size(rows, support)
        with np.errstate(over="ignore", invalid="ignore"):
            sure = np.isfinite(t) & (abs(s) > gamma(k) * t + lost)
        out = np.where(sure, np.sign(s), 0).astype(np.int8)
        open_rows = np.flatnonzero(~sure)
        if len(open_rows) == 0:
            return out
        if self.sparse:
            out[open_rows] = exact_signs(self.csr(rows[open_rows], support), part)
            return out
        whole = self.dense(rows[open_rows], support)
        size = sum(map(abs, part))
        if size < 2**53 and (whole == np.rint(whole)).all() and abs(whole).max() < 2.0**52 / size:
            out[open_rows] = np.sign(whole @ np.array([float(p) for p in part]))  # no rounding anywhere
            return out
        fast = error_free_signs(whole, part, v)
        if fast is not None:
            out[open_rows] = fast
            return out
        for j in open_rows:
            row = self.integers(int(rows[j]), support)
            value = sum(a * b for a, b in zip(row, part, strict=True) if a)
            out[j] = (value > 0) - (value < 0)
        return out

    def _spans(self, rows: Index, support: Index, v: Vector) -> Vector:
        """z_iᵀv and Σ|z_ij v_j| in float64, v given on its support."""
        if not self.sparse and FEW * len(support) < self.D:  # not worth reading whole rows for
            A = self.dense(rows, support)
            with np.errstate(over="ignore", invalid="ignore", under="ignore"):
                return np.stack([A @ v, abs(A) @ abs(v)])
        full = np.zeros(self.d + 1)
        full[support] = v
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            return self.spans(full, rows)

    def spans(self, v: Vector, rows: Index, *, moved: bool = False) -> Vector:
        """z_iᵀv and Σ|z_ij v_j| of d + 1 numbers v; with `moved` also Σ|z_ij v_j| over rounded entries."""
        found = self.sheet.stored.spans(v, rows, self.sheet.threads, moved=moved)
        found[0] *= self.y[rows]
        return found

    def _size(self, rows: Index, support: Index) -> float:
        """The largest entry: what SMALLEST in v can grow to."""
        A = self.X[rows] if self.sparse else self.dense(rows, support)
        return max(1.0, float(abs(A).max()))
