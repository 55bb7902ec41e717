"""Margin: the widest margin as a bracket, with the θ and the λ that prove its two ends.

For any θ and any λ ≥ 0 with Σλ = 1,

    min_i z_iᵀθ / ‖θ‖  ≤  μ  ≤  ‖Zᵀλ‖ .

Both ends are rounded outward by the error bounds of the sums they come from, so the bracket holds for the numbers as
stored. With an intercept, which is not part of ‖θ‖, λ sums to ½ in each class.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core.constants import SMALLEST, SPACING
from separatrix.core.rows import norm
from separatrix.data.memory import HeldRows
from separatrix.data.rows import Vector
from separatrix.data.sheet import Sheet
from separatrix.deciding.newton import WIDE, NewtonPath, onto_gordan
from separatrix.deciding.scaling import ScaledRows
from separatrix.reporting.status import Word

ZERO_SHARE = 1e-13  # an upper end below this share of R is zero to rounding


class MarginStatus(Word):
    """Why `max_margin` ended."""

    CONVERGED = "converged", "the bracket is as narrow as asked for"
    NO_MARGIN = "no-margin", "no margin beyond rounding; separate() says whether none exists, with a proof"
    ROUNDING = "rounding", "rounding keeps the bracket from closing further; it holds all the same"
    TIME_LIMIT = "time-limit", "the time limit was reached; the bracket holds all the same"
    STOPPED = "stopped", "stopped by the callback; the bracket holds all the same"
    PARTIAL = "partial", "as far as the verdict needed it; max_margin() narrows it"


@dataclass(frozen=True, eq=False, repr=False)
class Margin:
    """A bracket lower ≤ μ ≤ upper on the widest margin, and what proves it.

    Attributes
    ----------
    lower : float
        The lower end, in the units of X.
    upper : float
        The upper end, in the units of X.
    theta : ndarray
        Unit vector with every margin at least `lower` (the intercept, if any, last and beside the norm); where that is
        0, the one met on the way with the fewest rows on the wrong side.
    weights : ndarray
        The certificate λ, one weight per row, with ‖Zᵀλ‖ at most `upper`.
    status : MarginStatus
        Why it ended, with a sentence in `status.message`.
    n_steps : int
        Newton steps made.
    seconds : float
        The time it took.
    support : ndarray of int
        Rows with λ > 0.
    relative_gap : float
        The width of the bracket over its upper end.
    """

    lower: float
    upper: float
    theta: Vector
    weights: Vector
    status: MarginStatus
    n_steps: int
    seconds: float

    def copy(self) -> Margin:
        """The same with arrays of its own.

        Returns
        -------
        Margin
            The copy.
        """
        return replace(self, theta=self.theta.copy(), weights=self.weights.copy())

    @property
    def support(self) -> NDArray[np.intp]:
        """Rows that the upper end rests on: those with λ > 0."""
        return np.flatnonzero(self.weights)

    @property
    def relative_gap(self) -> float:
        """The width (upper - lower)/upper, 0 where both are 0."""
        return (self.upper - self.lower) / self.upper if self.upper > 0 else 0.0

    def __str__(self) -> str:
        return f"margin in [{self.lower:.10g}, {self.upper:.10g}] ({self.status}: {self.status.message})"

    __repr__ = __str__


@dataclass(frozen=True)
class Progress:
    """What a callback of `max_margin` sees after each Newton step.

    Attributes
    ----------
    step : int
        Steps made so far.
    lower : float
        The lower end of the bracket so far.
    upper : float
        Its upper end.
    seconds : float
        The time so far.
    """

    step: int
    lower: float
    upper: float
    seconds: float


class Bracket:
    """The best of both ends seen so far, in the problem's own scale."""

    def __init__(self, rows: HeldRows) -> None:
        self.rows = rows
        self.sheet = Sheet(rows)
        if not rows.sparse:
            self.sheet.use_threads(1)
        self.live = rows.weight > 0
        self.sides = (
            [self.live] if rows.bias == 0 else [self.live & (rows.sign > 0), self.live & (rows.sign < 0)]
        )
        self.lower, self.theta = 0.0, np.zeros(rows.d + 1)
        self.wrong = rows.n + 1  # rows on the wrong side of θ, while no θ separates
        self.upper, self.weights = inf, np.zeros(rows.n)

    def try_theta(self, theta: Vector, m: Vector | None = None) -> None:
        """min z_iᵀθ/‖θ‖, rounded down, over the best intercept; kept if it raises the lower end."""
        rows, w = self.rows, theta[:-1]
        length = float(norm(w))
        if not isfinite(length) or length == 0.0:
            return
        theta = theta / length
        m = self.sheet.margins(theta) if m is None else m / length
        wrong = int((m[self.live] <= 0).sum())
        if self.lower == 0 and wrong < self.wrong:
            self.wrong, self.theta = wrong, theta.copy()
        if rows.bias:  # moving the intercept adds to one class what it takes from the other
            plus, minus = (float(m[side].min()) for side in self.sides)
            theta[-1] += (minus - plus) / 2 / (rows.bias / rows.scale)
            m = self.sheet.margins(theta)
        size = float(norm(theta))
        low = float((m - self.sheet.dot_error * size * rows.r)[self.live].min()) - (rows.d + 1) * SMALLEST
        low -= abs(low) * (rows.d + 8) * SPACING  # ‖w‖ is 1 to rounding
        if low > self.lower:
            self.lower, self.theta = low, theta

    def try_weights(self, lam: Vector) -> None:
        """‖Zᵀλ‖, rounded up; kept if it lowers the upper end."""
        lam = np.where(self.live & (lam > 0), lam, 0.0)  # only λ ≥ 0 proves anything
        for side in self.sides:
            total = float(lam[side].sum())
            if not isfinite(total) or total <= 0.0:
                return
            lam[side] /= total * len(self.sides)
        idx = np.flatnonzero(lam)
        pull = self.sheet.sum(idx, lam)
        slack = self.sheet.sum_error * float(lam @ self.rows.r) + (len(idx) + 1) * self.rows.d * SMALLEST
        up = (float(norm(pull[:-2])) + slack) * (1.0 + (len(idx) + self.rows.d + 8) * SPACING)
        if up < self.upper:
            self.upper, self.weights = up, lam

    def take(self, known: Margin) -> None:
        """The θ and the λ of a bracket in the user's units, each held against the rows once more."""
        bias = self.rows.bias
        if known.theta.any():
            theta = known.theta
            self.try_theta(np.append(theta[:-1], theta[-1] / bias) if bias else np.append(theta, 0.0))
        self.try_weights(known.weights)

    def closed(self, rtol: float) -> bool:
        """Whether the bracket is narrow enough."""
        return self.lower > 0 and isfinite(self.upper) and self.upper - self.lower <= rtol * self.upper

    def margin(self, status: MarginStatus, steps: int, seconds: float) -> Margin:
        """The bracket in the user's units."""
        p = self.rows
        theta = p.unpad(self.theta)
        if p.bias:
            theta[-1] *= p.bias  # the intercept itself, whatever the constant column
        return Margin(
            lower=self.lower * p.scale,
            upper=self.upper * p.scale,
            theta=theta,
            weights=self.weights.copy(),
            status=status,
            n_steps=steps,
            seconds=seconds,
        )


@np.errstate(all="ignore")  # extreme scales overflow on the way; what is kept was found finite
def find_margin(
    rows: HeldRows,
    rtol: float,
    time_limit: float | None,
    callback: Callable[[Progress], Any] | None,
    known: Margin | None = None,
) -> Margin:
    """`max_margin` on rows in memory; `known` is a bracket on the same rows, whose ends are proven anew."""
    began = time.perf_counter()
    scaled, bracket = ScaledRows(rows), Bracket(rows)
    path, status = NewtonPath(scaled), MarginStatus.ROUNDING
    nothing = ZERO_SHARE * rows.R / rows.scale
    if known is not None:
        bracket.take(known)
        if bracket.closed(rtol):
            return bracket.margin(MarginStatus.CONVERGED, 0, time.perf_counter() - began)
    for step in path.steps_on():
        bracket.try_theta(step.theta, step.m)
        bracket.try_weights(step.u)
        if step.end_of_stage and step.lowest > 0.3 and (polished := step.polish()) is not None:
            bracket.try_theta(polished[0])
            bracket.try_weights(polished[1])
        outnumbered = scaled.D < min(len(step.active), WIDE)
        if step.end_of_stage and step.lowest <= 0 and outnumbered and step.reach > 1e4:
            B, lam = onto_gordan(scaled, step.active, step.u[step.active], step.normal)
            if (lam > 0).all():
                full = np.zeros(rows.n)
                full[B] = lam
                bracket.try_weights(full)
        seconds = time.perf_counter() - began
        if bracket.closed(rtol):
            status = MarginStatus.CONVERGED
        elif bracket.upper <= nothing and bracket.lower <= 0:
            status = MarginStatus.NO_MARGIN
        elif callback is not None and callback(
            Progress(step.steps, bracket.lower * rows.scale, bracket.upper * rows.scale, seconds)
        ):
            status = MarginStatus.STOPPED
        elif time_limit is not None and seconds > time_limit:
            status = MarginStatus.TIME_LIMIT
        else:
            continue
        break
    return bracket.margin(status, path.steps, time.perf_counter() - began)
