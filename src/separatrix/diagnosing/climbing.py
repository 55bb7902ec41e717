"""Newton's method on a log-likelihood, within a space of directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.data.rows import Vector
from separatrix.diagnosing.likelihood import Likelihood
from separatrix.models.conditions import Matrix

CLOSE = 1e-9  # half the squared Newton decrement, at which a last whole step is taken
STEPS = 200
HALVINGS = 60
ARMIJO = 1e-4
ROUNDING = 1e-12  # of ℓ, beside its size


@dataclass(frozen=True, eq=False)
class Climb:
    """Where a climb ended.

    b, value : the place and ℓ there
    steps : Newton steps made
    gap : half the squared decrement before the last step, an estimate of how much ℓ could still rise then
    """

    b: Vector
    value: float
    steps: int
    gap: float

    @property
    def converged(self) -> bool:
        """Whether the last step was made for good measure."""
        return self.gap <= CLOSE


def climb(likelihood: Likelihood, b: Vector, space: Any) -> Climb:
    """Maximise ℓ over b + span(space): steps p = (Sᵀ(-∇²ℓ)S)⁻¹ Sᵀ∇ℓ, halved until ℓ rises by a share of gᵀp.

    `space` holds directions in its columns, or the numbers of coefficients that may move. It stops where gᵀp/2, which
    is how much a parabola would still rise, is next to nothing; after that step is made the error is its square.
    """
    value, gap = likelihood.value(b), np.inf
    for steps in range(STEPS):
        g, H = _within(likelihood.gradient(b), -likelihood.hessian(b), space)
        if len(g) == 0:
            return Climb(b, value, steps, 0.0)
        p = _solved(H, g)
        rise = float(g @ p)
        gap = rise / 2
        move = _out(p, space, len(b))
        share = min(1.0, 2 * (1 + abs(value)) / rise) if rise > 0 else 1.0  # ℓ ≤ 0: far out H fades and p is too long
        if gap <= CLOSE:
            last = b + move
            reached = likelihood.value(last)
            if reached >= value - ROUNDING * (1 + abs(value)):
                return Climb(last, reached, steps + 1, gap)
            return Climb(b, value, steps, gap)
        for _ in range(HALVINGS):
            reached = likelihood.value(b + share * move)
            if reached >= value + ARMIJO * share * rise:
                break
            share /= 2
        else:
            return Climb(b, value, steps, gap)  # rounding: no step along p rises
        b, value = b + share * move, reached
    return Climb(b, value, STEPS, gap)


def information(likelihood: Likelihood, b: Vector, space: Any) -> Matrix:
    """-∇²ℓ(b) within the space."""
    return _within(likelihood.gradient(b), -likelihood.hessian(b), space)[1]


def _within(g: Vector, H: Matrix, space: Any) -> tuple[Vector, Matrix]:
    if space.ndim == 1:
        return g[space], H[np.ix_(space, space)]
    return space.T @ g, space.T @ H @ space


def _out(p: Vector, space: Any, size: int) -> Vector:
    if space.ndim == 2:
        return np.asarray(space @ p)
    full = np.zeros(size)
    full[space] = p
    return full


def _solved(H: Matrix, g: Vector) -> Vector:
    """Hp = g for a symmetric H, scaled to a unit diagonal; where it is not positive definite as much is added as helps.

    A cauchit's likelihood bends the wrong way in places, and far out every H fades.
    """
    from scipy.linalg import cho_factor, cho_solve

    size = abs(H.diagonal())
    kappa = 1 / np.sqrt(np.where(size > 0, size, 1.0))
    scaled, extra = H * kappa[:, None] * kappa, 0.0
    while True:
        try:
            factor = cho_factor(scaled + extra * np.eye(len(g)), check_finite=False)
            return np.asarray(kappa * cho_solve(factor, kappa * g, check_finite=False))
        except np.linalg.LinAlgError:
            extra = max(10 * extra, 1e-14)
