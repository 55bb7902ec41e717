"""A cone seen from one of its points, where it is neither narrow nor slanted, with a bound on every rounding.

Rows are divided by their margins at a point and columns whitened,

    C = D⁻¹ZP ,   CᵀC ≈ I ,   θ = Pψ ,   Cψ₀ = 1 .

C is a product to the last digit (`deciding.slices`), so that floats prove things of the cone {Zθ ≥ 0} whatever the
condition of Z: that a point ψ is inside, which sign θ_j has there, and that weights λ > 0 bound it. Where the residual
r = g - Cᵀλ is small,

    λ + C(CᵀC)⁻¹r   gives g exactly, and row i changes by at most  ‖C_i‖ ‖r‖/σ_min(C)² .

The point is centred for the functionals g_j, the rows of P, that are to be bounded: with c = Σ g_j it has the largest
product of margins among those with cᵀψ = n, and then Cᵀ1 = c.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Self

import numpy as np

from separatrix.certify.check import norm_above
from separatrix.certify.reader import gamma
from separatrix.data.rows import Index, Vector
from separatrix.deciding.budget import Budget
from separatrix.deciding.panels import cholesky, gram, triangle
from separatrix.deciding.scaling import Matrix
from separatrix.deciding.slices import product

NEVER = 1e-290  # more than what vanishes on the way
STEPS, CENTRED = 30, 0.01  # Newton steps to a centre, and λ² at which it is there
SHORT, ENOUGH = 1e-6, 0.1  # the shortest part of a step, and of what it promises
AWAY = 1e8  # how far from the point at hand a centre is looked for
FAINT = 1e-90  # of the largest coefficient, what is as good as 0
NEAR = 0.5  # how far CᵀC may be from I for the guess, before it is put right


@dataclass(frozen=True, eq=False)
class View:
    """C, P, ψ₀, and what bounds need.

    length : of the exact rows of C, from above
    error : of what rounding left of them, from above
    sigma : the least singular value of the exact C, from below
    """

    C: Matrix
    P: Matrix
    psi: Vector
    length: Vector
    error: Vector
    sigma: float

    @classmethod
    @np.errstate(all="ignore")  # extreme sizes overflow on the way; what is kept was found finite
    def of(cls, Z: Matrix, theta: Vector, budget: Budget) -> Self | None:
        """The cone of rows Z seen from near θ, which separates them; None where floats do not reach, or out of time.

        Coordinates of θ are powers of two off: signs are the same.
        """
        even = evened(Z, theta, budget)
        if even is None or budget.late:
            return None
        B, theta = even
        R = triangle(B, budget)
        P = None if R is None else inverse(R)
        first = None if P is None or budget.late else product(B, P, budget)
        if first is None:
            return None
        R = triangle(first.C, budget)
        T = None if R is None else inverse(R)
        if T is None:
            return None
        C, P = first.C @ T, first.B @ T
        psi = C.T @ (B @ theta)
        if not (C @ psi > 0).all():
            return None
        psi = centred(C, np.where(P @ psi < 0, -1.0, 1.0)[:, None] * P, psi, budget)
        m = C @ psi
        R = triangle(C / m[:, None], budget)
        T, scaled = None if R is None else inverse(R), shifted(B, -np.frexp(m)[1])
        last = None if T is None or scaled is None else product(scaled, P @ T, budget)
        if last is None or R is None:
            return None
        return cls.seen(*last, R @ psi)

    @classmethod
    def seen(cls, C: Matrix, P: Matrix, error: Vector, psi: Vector) -> Self | None:
        """Rows C = ZP, off by no more than the error, once they are over their margins at ψ; None where that fails."""
        m = C @ psi
        if not (np.isfinite(m).all() and (m > 0).all()):
            return None
        C = C / m[:, None]
        n, D = C.shape
        near = np.sqrt(np.einsum("ij,ij->i", C, C)) * (1 + gamma(D + 4)) + NEVER
        error = (error / m + gamma(1) * near) * (1 + 1e-9) + NEVER
        size = norm_above(C)
        defect = norm_above(C.T @ C - np.eye(D)) + gamma(n + 2) * size * size
        sigma = sqrt(1.0 - defect) * (1 - gamma(2)) - norm_above(error) if defect < NEAR else 0.0
        return cls(C, P, psi, near + error, error, sigma) if sigma > 0.1 else None

    def inside(self, U: Matrix) -> Matrix:
        """Whether each point, a row, is proven to be inside."""
        size = np.sqrt(np.einsum("ij,ij->i", U, U)) * (1 + 1e-9)
        lost = (gamma(self.C.shape[1] + 4) * self.length + self.error) * (1 + 1e-9)
        return np.asarray((U @ self.C.T > size[:, None] * lost + NEVER).all(axis=1) & np.isfinite(size))

    def signs(self, U: Matrix, G: Matrix) -> Matrix:
        """The sign of each functional at each point, points x functionals, where it is proven; else 0."""
        long_u, long_g = (np.sqrt(np.einsum("ij,ij->i", A, A)) * (1 + 1e-9) for A in (U, G))
        values = U @ G.T
        sure = abs(values) > gamma(U.shape[1] + 4) * long_u[:, None] * long_g + NEVER
        return np.where(sure, np.sign(values), 0.0)

    def bound(self, lam: Matrix, G: Matrix) -> Matrix:
        """Whether weights, a row for each functional, are proven to be near positive ones that give it exactly."""
        long_g, r = np.sqrt(np.einsum("ij,ij->i", G, G)), G - lam @ self.C
        lost = (gamma(len(self.C) + 4) * self.length + self.error) * (1 + 1e-9)
        left = np.sqrt(np.einsum("ij,ij->i", r, r)) + lam @ lost + gamma(2) * long_g
        change = np.outer(left * (1 + 1e-9) / self.sigma**2 + NEVER, self.length)
        return np.asarray((lam > change * (1 + 1e-9)).all(axis=1) & np.isfinite(lam).all(axis=1))


def evened(Z: Matrix, theta: Vector, budget: Budget) -> tuple[Matrix, Vector] | None:
    """Rows over their margins and columns over their sizes by powers of two, and θ of these; None of extreme sizes."""
    if len(Z) < len(theta) or not (np.isfinite(Z).all() and np.isfinite(theta).all() and theta.any()):
        return None
    B = shifted(Z, -np.frexp(abs(Z).max(axis=1))[1])
    if B is None:
        return None
    columns = np.frexp(abs(B).max(axis=0))[1]
    turned, theta = shifted(B.T, -columns), np.ldexp(theta, columns)
    theta = np.ldexp(theta, -np.frexp(abs(theta).max())[1])
    theta = np.where(abs(theta) > FAINT, theta, 0.0)
    if turned is None:
        return None
    margins = product(turned.T, theta[:, None], budget)
    if margins is None or not (margins.C[:, 0] > margins.error).all():
        return None
    B = shifted(turned.T, -np.frexp(margins.C[:, 0])[1])
    return None if B is None else (B, margins.B[:, 0])


def shifted(A: Matrix, power: Index) -> Matrix | None:
    """Rows times powers of two; None where that is not exact."""
    B = np.ldexp(A, power[:, None])
    return B if np.isfinite(B).all() and np.array_equal(np.ldexp(B, -power[:, None]), A) else None


def inverse(R: Matrix) -> Matrix | None:
    """R⁻¹ of a triangle; None where it is singular."""
    from scipy.linalg import lapack

    P, info = lapack.dtrtri(np.asfortranarray(R))
    return np.triu(P) if info == 0 and np.isfinite(P).all() else None


def centred(C: Matrix, G: Matrix, psi: Vector, budget: Budget) -> Vector:
    """The centre for these functionals, by Newton's method; ψ where that does not end."""
    c = (G / np.sqrt(np.einsum("ij,ij->i", G, G))[:, None]).sum(axis=0)
    if not float(c @ psi) > 0:
        return psi
    at = psi * (len(C) / float(c @ psi))
    most = AWAY * float(np.linalg.norm(at))
    for _ in range(STEPS):
        if budget.late or not float(np.linalg.norm(at)) < most:
            break
        at, square = towards_centre(C, c, at)
        if square < CENTRED:
            return at
        if not np.isfinite(square):
            break
    return psi


def towards_centre(C: Matrix, c: Vector, psi: Vector) -> tuple[Vector, float]:
    """A step of Newton's method to the largest Π c_iᵀψ on the plane of cᵀψ, and its decrement λ² before that, or ∞."""
    from scipy.linalg import cho_solve

    B = C / (C @ psi)[:, None]
    if not np.isfinite(B).all():  # ψ has come to an edge of the cone
        return psi, np.inf
    try:
        factor = cholesky(gram(B))
    except np.linalg.LinAlgError:
        return psi, np.inf
    up, across = cho_solve(factor, B.sum(axis=0)), cho_solve(factor, c)
    d = up - (c @ up) / (c @ across) * across
    change, step = B @ d, 1.0
    square = float(change @ change)
    while step > SHORT and not (step * change.min() > -1.0 and np.log1p(step * change).sum() > step * ENOUGH * square):
        step /= 2
    return np.asarray(psi + step * d if step > SHORT else psi), square
