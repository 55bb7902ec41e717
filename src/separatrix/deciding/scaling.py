"""Rows and columns scaled by powers of two, which costs no digit, and the products that Newton steps need of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.data.memory import HeldRows
from separatrix.data.rows import Index, Vector
from separatrix.data.sheet import Sheet

Matrix = NDArray[np.float64]

AT_ONCE = 1024  # rows made float64 at a time


class ScaledRows:
    """The rows of a problem, row i times rho_i and column j times kappa_j, and the products a Newton step needs."""

    def __init__(self, rows: HeldRows, rho: Vector | None = None, kappa: Vector | None = None) -> None:
        self.rows = rows
        self.rho = np.ones(rows.n) if rho is None else rho
        self.kappa = np.ones(rows.d + 1) if kappa is None else kappa
        self.sheet = Sheet(replace(rows, sign=rows.sign * self.rho, r=rows.r * self.rho))
        self.sign = self.sheet.rows.sign
        self.n, self.d = rows.n, rows.d
        self.D = self.d + (rows.bias > 0)  # unknowns; vectors have d + 1 entries all the same
        self.csr: Any = rows.X if rows.sparse else None
        if not rows.sparse:  # between two calls of BLAS its threads still spin: ours would wait for a core
            self.sheet.use_threads(1)

    def margins(self, theta: Vector, idx: Index | None = None) -> Vector:
        """Zθ, or its entries idx alone."""
        if idx is None and not self.rows.sparse and self.rows.arrays[0].dtype == np.float64:
            v = theta * self.kappa
            m: Vector = self.rows.arrays[0] @ v[:-1]
            m += self.rows.bias * v[-1]
            m *= self.sign
            return m
        m = self.sheet.margins(theta * self.kappa, idx)
        return m if idx is None else m[idx]

    def sum(self, idx: Index, w: Vector) -> Vector:
        """Z_idxᵀ w, with d + 1 entries; w has one entry per row of idx."""
        full = np.zeros(self.n)
        full[idx] = w
        return self.sheet.sum(idx, full)[:-1] * self.kappa

    def block(self, idx: Index) -> Matrix:
        """Z_idx in float64, D columns."""
        if self.csr is not None:
            A = self.csr[idx].astype(np.float64).toarray()
        else:
            A = self.rows.arrays[0][idx].astype(np.float64)
        Z = np.empty((len(idx), self.D))
        np.multiply(A, self.kappa[: self.d], out=Z[:, : self.d])
        if self.D > self.d:
            Z[:, self.d] = self.rows.bias * self.kappa[self.d]
        Z *= self.sign[idx, None]
        return Z

    def sparse_block(self, idx: Index) -> Any:
        """Z_idx as CSR without the intercept."""
        from scipy.sparse import diags_array

        return diags_array(self.sign[idx]) @ self.csr[idx].astype(np.float64) @ diags_array(self.kappa[: self.d])

    def normal(self, idx: Index) -> Matrix:
        """Z_idxᵀ Z_idx."""
        if self.csr is not None and self.D == self.d:
            S = self.sparse_block(idx)
            return np.asarray((S.T @ S).toarray())
        H = np.zeros((self.D, self.D))
        for lo in range(0, len(idx), AT_ONCE):
            B = self.block(idx[lo : lo + AT_ONCE])
            H += B.T @ B
        return H

    def inner(self, rows: Index, columns: Index) -> Matrix:
        """Z_rows Z_columnsᵀ without the intercept's share."""
        if self.csr is not None:
            return np.asarray((self.sparse_block(rows) @ self.sparse_block(columns).T).toarray())
        G = np.empty((len(rows), len(columns)))
        same = rows is columns
        for hi in range(0, len(columns), AT_ONCE):
            right = self.block(columns[hi : hi + AT_ONCE])[:, : self.d]
            for lo in range(hi if same else 0, len(rows), AT_ONCE):
                left = right if same and lo == hi else self.block(rows[lo : lo + AT_ONCE])[:, : self.d]
                G[lo : lo + AT_ONCE, hi : hi + AT_ONCE] = left @ right.T
                if same and lo > hi:
                    G[hi : hi + AT_ONCE, lo : lo + AT_ONCE] = G[lo : lo + AT_ONCE, hi : hi + AT_ONCE].T
        return G


def unit_powers(sizes: Vector) -> Vector:
    """Powers of two that bring these sizes to between ½ and 1; 1 for zero."""
    power = np.clip(np.frexp(np.where(sizes > 0, sizes, 1.0))[1], -1000, 1000)
    return np.where(sizes > 0, np.ldexp(1.0, -power), 1.0)


def equilibrated(rows: HeldRows) -> ScaledRows:
    """Rows of length about 1 and columns of size about 1, by powers of two; as they are where they are even."""
    rho = np.minimum(unit_powers(rows.r), 2.0**1000 * min(rows.scale, 1.0))  # sign_i rho_i stays within float64
    size = np.zeros(rows.d + 1)
    for lo in range(0, rows.n, 2048):
        part = slice(lo, min(lo + 2048, rows.n))
        scale = abs(rows.sign[part]) * rho[part]
        if rows.sparse:
            from scipy.sparse import diags_array

            A = diags_array(scale) @ rows.X[part].astype(np.float64)
            top = abs(A).max(axis=0).toarray().ravel()
        else:
            with np.errstate(over="ignore"):
                top = (abs(rows.arrays[0][part]) * scale[:, None]).max(axis=0)
        size[:-1] = np.maximum(size[:-1], top)
        size[-1] = max(size[-1], float(scale.max()) * rows.bias)
    used = size[size > 0]
    if len(used) and used.min() * 1024 > used.max() and rows.r.min() * 1024 > rows.r.max():
        return ScaledRows(rows)
    return ScaledRows(rows, rho, unit_powers(size))
