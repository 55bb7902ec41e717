"""Factorisations in panels of columns: between two of them deadlines are kept and Ctrl-C is heard."""

from __future__ import annotations

import numpy as np

from separatrix.data.rows import Vector
from separatrix.deciding.budget import Budget
from separatrix.deciding.scaling import Matrix

AT_ONCE = 200_000_000  # products up to which LAPACK is called once
REFLECTIONS = 128  # columns of a panel of QR: wider ones take no less time
PANEL = 512  # and of Cholesky
ROWS = 2048  # of a Gram matrix added at a time


class Reflections:
    """A = QR of at least as many rows as columns, Q a product of I - VTVᵀ, one per panel (Schreiber and Van Loan 1989).

    R is LAPACK's but for rounding; None once it is late.
    """

    def __init__(self, A: Matrix, budget: Budget, panel: int = REFLECTIONS) -> None:
        self.A, self.budget, self.panel = A, budget, panel
        self.blocks: list[tuple[int, Matrix, Matrix]] = []

    def triangle(self, *, keep: bool = False) -> Matrix | None:
        """R; `keep` what Q is made of."""
        from scipy.linalg import lapack

        D = self.A.shape[1]
        W = np.array(self.A, order="F")
        for lo in range(0, D, self.panel):
            if self.budget.late:
                return None
            hi = min(lo + self.panel, D)
            F, tau, _, _ = lapack.dgeqrf(W[lo:, lo:hi])
            W[lo:hi, lo:hi] = F[: hi - lo]
            V = np.asfortranarray(np.tril(F, -1))
            V[np.diag_indices(hi - lo)] = 1.0
            T = _joint(V, tau)
            W[lo:, hi:] -= V @ (T.T @ (V.T @ W[lo:, hi:]))
            if keep:
                self.blocks.append((lo, V, T))
        return np.triu(W[:D])

    def both(self) -> tuple[Matrix, Matrix] | None:
        """Q and R."""
        R = self.triangle(keep=True)
        if R is None:
            return None
        Q = np.eye(len(self.A), self.A.shape[1], order="F")
        while self.blocks:
            if self.budget.late:
                return None
            lo, V, T = self.blocks.pop()
            Q[lo:, lo:] -= V @ (T @ (V.T @ Q[lo:, lo:]))
        return np.ascontiguousarray(Q), R


def _joint(V: Matrix, tau: Vector) -> Matrix:
    """T of H_1 H_2 … = I - VTVᵀ: T⁻¹ is the upper triangle of VᵀV with 1/τ on its diagonal (Puglisi 1992)."""
    from scipy.linalg import lapack

    inverse = np.triu(V.T @ V, 1)
    with np.errstate(divide="ignore"):
        inverse[np.diag_indices(len(tau))] = 1.0 / tau  # no reflection: ∞, and its row and column of T are 0
    return np.asarray(np.triu(lapack.dtrtri(inverse)[0]))


def qr(A: Matrix, budget: Budget) -> tuple[Matrix, Matrix] | None:
    """Q and R of at least as many rows as columns; None once it is late."""
    if A.size * A.shape[1] <= AT_ONCE:
        Q, R = np.linalg.qr(A)
        return Q, R
    return Reflections(A, budget).both()


def triangle(A: Matrix, budget: Budget) -> Matrix | None:
    """R of at least as many rows as columns; None once it is late."""
    if A.size * A.shape[1] <= AT_ONCE:
        return np.asarray(np.linalg.qr(A, mode="r"))
    return Reflections(A, budget).triangle()


def gram(A: Matrix) -> Matrix:
    """AᵀA."""
    if A.size * A.shape[1] <= AT_ONCE:
        return np.asarray(A.T @ A)
    H = np.zeros((A.shape[1], A.shape[1]))
    for lo in range(0, len(A), ROWS):
        H += A[lo : lo + ROWS].T @ A[lo : lo + ROWS]
    return H


def cholesky(H: Matrix) -> tuple[Matrix, bool]:
    """L with LLᵀ = H in its lower triangle, for `cho_solve`; H is overwritten. LinAlgError where there is none."""
    from scipy.linalg import cho_factor

    if len(H) ** 3 <= 8 * AT_ONCE:
        L, lower = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
        return L, lower
    return cholesky_in_panels(H, PANEL), True


def cholesky_in_panels(H: Matrix, panel: int) -> Matrix:
    """The same, so many columns at a time."""
    from scipy.linalg import solve_triangular

    L = H.T if H.flags.c_contiguous else H  # H is symmetric, and LAPACK reads by columns
    for lo in range(0, len(L), panel):
        hi = min(lo + panel, len(L))
        L[lo:, lo:hi] -= L[lo:, :lo] @ L[lo:hi, :lo].T
        L[lo:hi, lo:hi] = np.linalg.cholesky(L[lo:hi, lo:hi])
        L[hi:, lo:hi] = solve_triangular(L[lo:hi, lo:hi], L[hi:, lo:hi].T, lower=True, check_finite=False).T
    return L
