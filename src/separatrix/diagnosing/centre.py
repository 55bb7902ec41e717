"""An open cone seen from one of its points, however narrow: rows over their margins there, columns whitened.

    b_i = z_i/2^k_i ,  m_i = b_iᵀθ₀ between ½ and 1 ,   C = BP with CᵀC = I ,   θ = θ₀ + Pu  has margins  m + Cu .

The ball ‖u‖ < ½ lies in the cone (Dikin's ellipsoid). What it does not tell of a functional, the linear program

    min gᵀθ ,   m + Cu ≥ m/2

does: it ends at a point below zero, or at weights of rows that bound it. Floats name either, whatever P is; who asks
checks them exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from separatrix.certify.reader import Reader, as_integers, nearest
from separatrix.data.rows import Index, Vector
from separatrix.deciding.budget import Budget
from separatrix.deciding.pair import REFINED
from separatrix.deciding.scaling import Matrix
from separatrix.deciding.vertex import COLUMNS
from separatrix.deciding.whitening import Whitening, power_of_two, whiten_exactly, whole_numbers

CENTRED = 200_000  # entries of rows up to which they are looked at so
FAR = 1e6  # how far from the centre a point may be


@dataclass(frozen=True, eq=False)
class Centre:
    """θ₀, its margins m, C as above, and P = κ · whole · 2^power, a power of two κ for each row, and rounded."""

    theta: list[Fraction]
    m: Vector
    white: Whitening
    kappa: Vector
    P: Matrix

    def at(self, u: Vector) -> list[Fraction]:
        """θ₀ + Pu, exactly."""
        digits, power = whole_numbers(u[None, :])
        scale = power_of_two(int(power[0]) + self.white.power)
        step = [sum(p * v for p, v in zip(line, digits[0], strict=True)) * scale for line in self.white.whole]
        return [t + v * Fraction(k) for t, v, k in zip(self.theta, step, self.kappa.tolist(), strict=True)]

    def below(self, g: dict[int, Fraction], s: int, budget: Budget) -> tuple[Vector | None, Index]:
        """A point u with s·gᵀθ < 0, as far as floats tell, or else rows that may bound it."""
        from scipy.optimize import linprog

        none = np.empty(0, dtype=np.int64)
        h = s * sum((nearest(c) * self.P[j] for j, c in g.items()), np.zeros(self.P.shape[1]))
        size = float(np.linalg.norm(h))
        if not 0 < size < np.inf:
            return None, none
        h, here = h / size, nearest(s * sum((c * self.theta[j] for j, c in g.items()), Fraction(0))) / size
        if 1.05 * here + 0.1 < 0.5:
            return -(1.05 * max(here, 0.0) + 0.1) * h, none
        limit = {} if budget.left is None else {"time_limit": budget.left}
        answer = linprog(h, A_ub=-self.white.C, b_ub=self.m / 2, bounds=(-FAR, FAR), method="highs-ds", options=limit)
        if answer.x is None or answer.status != 0:
            return None, none
        fall = -float(h @ answer.x)
        if fall > here * (1 + 1e-9):
            return answer.x * min(1.0, 2 * here / fall), none  # half way back where it goes far
        return None, np.flatnonzero(answer.ineqlin.marginals < 0)


@np.errstate(all="ignore")  # extreme sizes overflow on the way; what is kept was found finite
def centre_of(reader: Reader, rows: Index, theta: list[Fraction]) -> Centre | None:
    """The cone of these rows seen from θ; None where rows are too many, too few, or of extreme sizes."""
    n, D = len(rows), reader.D
    if not D <= n or D > COLUMNS or n * D > CENTRED or n * D * D > REFINED:
        return None
    Z, target = reader.dense(rows, np.arange(D)), as_integers(theta)
    length = max(abs(t).bit_length() for t in target)
    digits, power = whole_numbers(Z)
    values = [sum(a * t for a, t in zip(line, target, strict=True)) for line in digits]
    if min(values) <= 0:
        return None
    m = np.array([nearest(Fraction(v, 1 << v.bit_length())) for v in values])
    B = np.ldexp(Z, length - power[:, None] - np.array([[v.bit_length()] for v in values]))
    kappa = np.exp2(-np.round(np.log2(abs(B).max(axis=0))))
    if not np.isfinite(B).all() or not np.isfinite(kappa).all():
        return None
    white = whiten_exactly(B * kappa)
    if white is None or not np.isfinite(P := kappa[:, None] * white.P).all():
        return None
    return Centre([Fraction(t, 1 << length) for t in target], m, white, kappa, P)
