"""The angle between an iterate and the direction of the widest margin, as an interval that is proven.

Let θ* be the unit vector of the widest margin μ, and u one with margin at least `lower`, where lower ≤ μ ≤ upper. Since
θ* = Zᵀλ/μ for some λ ≥ 0 with Σλ = 1, a unit vector θ with smallest margin m > 0 has

    cos ∠(θ, θ*) = Σ λ_i z_iᵀθ / μ ≥ m/μ ≥ m/upper .

So ∠(u, θ*) ≤ δ = arccos(lower/upper), and by the triangle inequality on the sphere

    ∠(θ, u) - δ  ≤  ∠(θ, θ*)  ≤  min(∠(θ, u) + δ, arccos(m/upper)) .

Every number is rounded outward. The bounds below count u = 2^-53 per rounded operation of k entries, and take more.
"""

from __future__ import annotations

from math import asin, atan2, frexp, isfinite, pi, sqrt
from typing import Any, Protocol

import numpy as np

from separatrix.core.constants import SMALLEST, SPACING, UNIT
from separatrix.core.rows import BLOCK, norm
from separatrix.data.rows import Rows, Vector

WAY_OUT = "pass angle=sx.max_margin(X, y)"


class Bracket(Protocol):
    """A margin known to lie between two numbers, with the unit vector and the weights that prove them."""

    @property
    def lower(self) -> float:
        """The end that `theta` proves."""

    @property
    def upper(self) -> float:
        """The end that `weights` prove."""

    @property
    def theta(self) -> Vector:
        """A unit vector u with z_iᵀu ≥ lower for every row."""

    @property
    def weights(self) -> Vector:
        """λ ≥ 0 with ‖Zᵀλ‖ ≤ upper Σλ."""


class Angle:
    """Intervals for ∠(θ, θ*) on some rows, from a bracket on their widest margin."""

    def __init__(self, rows: Rows, bracket: Bracket) -> None:
        """Both ends of the bracket are held against the rows; one of other rows is refused."""
        self.rows, (lower, self.upper) = rows, ends_of(bracket)
        self.k = rows.d + bool(rows.bias)
        # |fl(z·v) - z·v| for unit v, the rounding of R and of v included.
        self.error = 1.01 * UNIT * (rows.d + 12) * rows.R + (rows.d + 8) * SMALLEST * max(1.0, rows.scale)
        theta, lam = np.asarray(bracket.theta, dtype=np.float64), np.asarray(bracket.weights, dtype=np.float64)
        if theta.shape != (self.k,) or lam.shape != (rows.n,):
            raise ValueError(
                f"angle is a bracket on {lam.size:,} rows of {theta.size} entries, these are {rows.n:,} of {self.k}"
                f"{', the constant column included' if rows.bias else ''}: {self.way_out}."
            )
        if not (np.isfinite(theta).all() and theta.any() and np.isfinite(lam).all() and lam.any() and lam.min() >= 0):
            raise ValueError(f"angle needs a theta and weights λ ≥ 0 that are finite and not zero: {WAY_OUT}.")
        self.u = unit(theta)
        reached = float(rows.lowest(self.padded(self.u))) * rows.scale
        if reached + self.error < lower * (1 - (self.k + 8) * SPACING):
            raise ValueError(
                f"angle is a bracket on other rows: its theta has margin {reached:.6g} here, and its lower end is "
                f"{lower:.6g}; {self.way_out}."
            )
        pull = float(norm(rows.pull(lam / lam.sum()))) * rows.scale
        terms = min(BLOCK, rows.n) + -(-rows.n // BLOCK) + rows.n.bit_length() + self.k + 40
        if pull - 1.01 * UNIT * terms * rows.R > self.upper:
            raise ValueError(
                f"angle is a bracket on other rows: its weights prove μ ≤ {pull:.6g} here, and its upper end is "
                f"{self.upper:.6g}; {self.way_out}."
            )
        self.delta = arccos_above(lower, self.upper)  # ∠(u, θ*) is at most this

    @property
    def way_out(self) -> str:
        """Where a bracket on these rows comes from."""
        if not self.rows.bias:
            return f"{WAY_OUT} of the same rows"
        column = f"np.full(len(X), {self.rows.bias:g})"
        return f"the intercept is part of θ here, so pass angle=sx.max_margin(np.column_stack([X, {column}]), y)"

    def padded(self, v: Vector) -> Vector:
        """With the d + 1 entries that rows take."""
        return v if self.rows.bias else np.append(v, 0.0)

    def interval(self, phi: Vector) -> tuple[float, float]:
        """Lower and upper end of ∠(φ, θ*) in radians, φ with d + 1 entries; [0, π] at φ = 0."""
        v = self.rows.unpad(phi)
        if not v.any():
            return 0.0, pi
        v = unit(v)
        between, slack = angle_between(v, self.u), (4 * self.k + 64) * UNIT
        low, high = max(0.0, between - self.delta - slack), min(pi, between + self.delta + slack)
        m = float(self.rows.lowest(self.padded(v))) * self.rows.scale - self.error
        m -= abs(m) * (self.k + 8) * SPACING  # ‖v‖ is 1 to rounding
        if m > self.upper:
            raise ValueError(
                f"angle is a bracket on other rows: its upper end is {self.upper:.17g}, and an iterate here has margin "
                f"{m:.17g}; {self.way_out}."
            )
        return low, min(high, arccos_above(m, self.upper)) if m > 0 else high


def ends_of(bracket: Any) -> tuple[float, float]:
    """Both ends, or one sentence about what is no bracket."""
    try:
        lower, upper = float(bracket.lower), float(bracket.upper)
        bracket.theta, bracket.weights  # noqa: B018  # they are read later
    except (AttributeError, TypeError, ValueError):
        raise ValueError(f"angle must be a bracket on the margin, got {bracket!r:.60}: {WAY_OUT}.") from None
    if not (isfinite(lower) and isfinite(upper) and lower <= upper):
        raise ValueError(f"angle needs finite ends lower ≤ upper, got {lower!r} and {upper!r}: {WAY_OUT}.")
    if lower <= 0:
        raise ValueError(
            f"angle needs a bracket with a positive lower end, got {lower!r}: there is no direction of widest margin "
            "unless the rows separate, see separate()."
        )
    return lower, upper


def unit(v: Vector) -> Vector:
    """v/‖v‖: its direction is that of v to u, its length 1 to (k/2 + 3) u."""
    v = np.ldexp(v, -frexp(float(abs(v).max()))[1])
    return np.asarray(v / norm(v))


def angle_between(a: Vector, b: Vector) -> float:
    """2 atan2(‖a - b‖, ‖a + b‖) of vectors from `unit`, which is ∠(a, b) to (4k + 64) u at any angle.

    Lengths that differ by Δ ≤ (k + 6) u move the point (‖a + b‖, ‖a - b‖) by √2 Δ at distance 2 from 0, and the angle,
    twice that of the point, by 1.5 Δ. The two norms add (k + 6) u, the directions of a and b and atan2 at most 20 u.
    """
    return 2.0 * atan2(norm(a - b), norm(a + b))


def arccos_above(m: float, upper: float) -> float:
    """At least arccos(m/upper), 0 < m ≤ upper: 2 arcsin √((upper - m)/(2 upper)), exact where m is near upper."""
    # √h ≤ √½, where arcsin passes on 1.3 times a relative error; all operations together err by less than 8u.
    return 2.0 * asin(sqrt(0.5 * ((upper - m) / upper))) * (1.0 + 16 * SPACING)
