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

CHUNK = 1024  # rows made float64 at a time


class ScaledRows:
    """The rows of a problem, row i times rho_i and column j times kappa_j, and the products a Newton step needs."""

    def __init__(self, problem: HeldRows, rho: Vector | None = None, kappa: Vector | None = None) -> None:
        self.problem = problem
        self.rho = np.ones(problem.n) if rho is None else rho
        self.kappa = np.ones(problem.d + 1) if kappa is None else kappa
        self.sheet = Sheet(replace(problem, sign=problem.sign * self.rho, r=problem.r * self.rho))
        self.sign = self.sheet.problem.sign
        self.n, self.d = problem.n, problem.d
        self.D = self.d + (problem.bias > 0)  # unknowns; vectors have d + 1 entries all the same
        self.csr: Any = problem.X if problem.sparse else None
        if not problem.sparse:  # between two calls of BLAS its threads still spin: ours would wait for a core
            self.sheet.use_threads(1)

    def margins(self, theta: Vector, idx: Index | None = None) -> Vector:
        """Zθ, or its entries idx alone."""
        if idx is None and not self.problem.sparse and self.problem.arrays[0].dtype == np.float64:
            v = theta * self.kappa
            m: Vector = self.problem.arrays[0] @ v[:-1]
            m += self.problem.bias * v[-1]
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
            A = self.problem.arrays[0][idx].astype(np.float64)
        Z = np.empty((len(idx), self.D))
        np.multiply(A, self.kappa[: self.d], out=Z[:, : self.d])
        if self.D > self.d:
            Z[:, self.d] = self.problem.bias * self.kappa[self.d]
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
        for lo in range(0, len(idx), CHUNK):
            B = self.block(idx[lo : lo + CHUNK])
            H += B.T @ B
        return H

    def inner(self, rows: Index, columns: Index) -> Matrix:
        """Z_rows Z_columnsᵀ without the intercept's share."""
        if self.csr is not None:
            return np.asarray((self.sparse_block(rows) @ self.sparse_block(columns).T).toarray())
        G = np.empty((len(rows), len(columns)))
        same = rows is columns
        for hi in range(0, len(columns), CHUNK):
            right = self.block(columns[hi : hi + CHUNK])[:, : self.d]
            for lo in range(hi if same else 0, len(rows), CHUNK):
                left = right if same and lo == hi else self.block(rows[lo : lo + CHUNK])[:, : self.d]
                G[lo : lo + CHUNK, hi : hi + CHUNK] = left @ right.T
                if same and lo > hi:
                    G[hi : hi + CHUNK, lo : lo + CHUNK] = G[lo : lo + CHUNK, hi : hi + CHUNK].T
        return G


def unit_powers(sizes: Vector) -> Vector:
    """Powers of two that bring these sizes to between ½ and 1; 1 for zero."""
    power = np.clip(np.frexp(np.where(sizes > 0, sizes, 1.0))[1], -1000, 1000)
    return np.where(sizes > 0, np.ldexp(1.0, -power), 1.0)


def equilibrated(problem: HeldRows) -> ScaledRows:
    """Rows of length about 1 and columns of size about 1, by powers of two; as they are where they are even."""
    rho = unit_powers(problem.r)
    size = np.zeros(problem.d + 1)
    for lo in range(0, problem.n, 2048):
        part = slice(lo, min(lo + 2048, problem.n))
        scale = abs(problem.sign[part]) * rho[part]
        if problem.sparse:
            from scipy.sparse import diags_array

            A = diags_array(scale) @ problem.X[part].astype(np.float64)
            top = abs(A).max(axis=0).toarray().ravel()
        else:
            with np.errstate(over="ignore"):
                top = (abs(problem.arrays[0][part]) * scale[:, None]).max(axis=0)
        size[:-1] = np.maximum(size[:-1], top)
        size[-1] = max(size[-1], float(scale.max()) * problem.bias)
    used = size[size > 0]
    if len(used) and used.min() * 1024 > used.max() and problem.r.min() * 1024 > problem.r.max():
        return ScaledRows(problem)
    return ScaledRows(problem, rho, unit_powers(size))
