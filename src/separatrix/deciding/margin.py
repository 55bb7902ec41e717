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
from math import frexp, inf, isfinite, ldexp, nextafter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core.constants import SMALLEST, SPACING, UNIT
from separatrix.core.rows import norm
from separatrix.data.memory import HeldRows
from separatrix.data.rows import Rows, Vector
from separatrix.data.sheet import Sheet
from separatrix.deciding.newton import WIDE, NewtonPath, onto_gordan
from separatrix.deciding.scaling import ScaledRows
from separatrix.reporting.status import Word

ZERO_SHARE = 1e-13  # an upper end below this share of the longest row is zero to rounding
LEAST_UP = 2.0**-8  # the factor on vectors that meet rows near float64's upper end
WORTH_THREADS = 10_000_000  # entries from which threads are worth while even where those of BLAS still spin


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


class Gauge:
    """Margins and sums of some rows with bounds on their rounding, in units that keep products clear of float64's ends.

    A product below 1e-308 loses up to SMALLEST, whatever its size. So vectors are multiplied by a power of two, `up`,
    that brings small rows near 1 and keeps the sums of the largest finite. This rounds nothing. Margins and ends are in
    units of 1/up, and go back to the user's rounded outward.
    """

    def __init__(self, rows: HeldRows) -> None:
        self.rows, self.d = rows, rows.d
        power = power_of(rows)
        self.up = ldexp(1.0, min(-power, 1000)) if power < 0 else 1.0 if rows.R < 1e300 else LEAST_UP
        self.unit = 1.0 / self.up
        self.sheet = Sheet(rows if rows.scale == 1.0 else replace(rows, sign=np.sign(rows.sign)))
        if not rows.sparse and rows.arrays[0].size < WORTH_THREADS:
            self.sheet.use_threads(1)
        # ‖a_i‖ ≤ scale · long_i + lost, the rounding of lengths below the normal range included.
        self.long = rows.r if rows.lengths is None else rows.lengths
        self.scale = rows.scale if rows.lengths is None else 1.0
        self.lost = 2 * SMALLEST * max(1.0, self.scale)

    def margins(self, theta: Vector) -> Vector:
        """Zθ."""
        return self.sheet.margins(theta * self.up)

    def lowest(self, theta: Vector, m: Vector, live: Any) -> float:
        """min z_iᵀθ/‖w‖ of a unit vector from its margins, rounded down."""
        # |m_i - z_iᵀθ| ≤ dot_error (‖a_i‖‖w‖ + bias |θ_d|), and each product may lose SMALLEST.
        size = float(norm(theta[:-1]) if self.rows.lengths is not None else norm(theta)) * self.up
        share = self.rows.bias * abs(float(theta[-1]) * self.up) if self.rows.lengths is not None else 0.0
        error = self.sheet.dot_error
        low = float((m - (error * size * self.scale) * self.long)[live].min())
        low -= error * (share + size * self.lost) + (self.d + 8) * SMALLEST
        return low - abs(low) * (self.d + 8) * SPACING  # ‖w‖ is 1 to rounding

    def pull(self, lam: Vector, sides: int) -> float:
        """‖Zᵀλ‖ for λ ≥ 0 whose entries, or those of each side, have the same sum to rounding; rounded up."""
        lam = lam * self.up
        idx = np.flatnonzero(lam)
        pull = self.sheet.sum(idx, lam)
        error = self.sheet.sum_error
        if sides > 1:  # the sum over one side may be off by its own rounding, which nothing cancels
            error += UNIT * (min(len(lam), 27) + len(lam).bit_length())
        reach = float(lam @ self.long) * self.scale + self.up * self.lost
        slack = error * reach + (len(idx) + 8) * self.d * SMALLEST
        size = (float(norm(pull[:-2])) + slack) * (1.0 + (len(idx) + self.d + 8) * SPACING)
        return nextafter(size, inf)

    def below(self, value: float) -> float:
        """A value ≥ 0 in the user's units, rounded down."""
        there = value * self.unit
        return nextafter(there, 0.0) if there * self.up > value else there

    def above(self, value: float) -> float:
        """A value ≥ 0 in the user's units, rounded up."""
        there = value * self.unit
        return nextafter(there, inf) if there * self.up < value else there


def power_of(rows: HeldRows) -> int:
    """The exponent of the longest row, without the constant column where that is known; 0 where squares keep clear."""
    top = rows.R if rows.lengths is None else float(rows.lengths.max())
    return 0 if top == 0 or 1e-60 < top < 1e60 else frexp(top)[1]


def unit_vector(theta: Vector) -> Vector | None:
    """θ with ‖w‖ = 1 to rounding, and of digits that any gauge keeps; None where float64 has no such vector."""
    top = float(abs(theta[:-1]).max(initial=0.0))
    if not 0.0 < top < inf:
        return None
    theta = np.ldexp(theta, -frexp(top)[1])
    theta = theta / norm(theta[:-1])
    theta = (theta * LEAST_UP) / LEAST_UP
    return theta if np.isfinite(theta).all() else None


def in_units(rows: Rows, theta: Vector, low: float) -> tuple[Vector, float]:
    """θ as the user has it, and what it proves if it proved `low`: the intercept is a number of its own there.

    The constant column is a power of two, as it is for margins and verdicts.
    """
    found = rows.unpad(theta)
    if rows.bias:
        found[-1] *= rows.bias
        if found[-1] / rows.bias != theta[-1]:  # it fell below the normal range, and was rounded
            low = max(0.0, low - SMALLEST)
    return found, low


class Bracket:
    """The best of both ends seen so far, in the units of its gauge."""

    def __init__(self, rows: HeldRows) -> None:
        self.rows, self.gauge = rows, Gauge(rows)
        self.sheet = self.gauge.sheet
        live = rows.weight > 0
        self.live: Any = slice(None) if live.all() else live
        self.sides = [self.live] if rows.bias == 0 else [live & (rows.sign > 0), live & (rows.sign < 0)]
        self.lower, self.theta = 0.0, np.zeros(rows.d + 1)
        self.wrong = rows.n + 1  # rows on the wrong side of θ, while no θ separates
        self.upper, self.weights = inf, np.zeros(rows.n)

    @np.errstate(all="ignore")  # what leaves float64's range on the way proves nothing
    def try_theta(self, theta: Vector, m: Vector | None = None) -> None:
        """min z_iᵀθ/‖θ‖, rounded down, over the best intercept; kept if it raises the lower end.

        `m`, where it is known, is Zθ to rounding, in units of `scale`.
        """
        rows, gauge = self.rows, self.gauge
        length = float(norm(theta[:-1]))
        tried = unit_vector(theta)
        if tried is None:
            return
        theta = tried
        known = m is not None and gauge.up == rows.scale == 1.0
        m = m / length if m is not None and known else gauge.margins(theta)
        wrong = int(np.count_nonzero(m[self.live] <= 0))
        if self.lower == 0 and wrong < self.wrong:
            self.wrong, self.theta = wrong, theta.copy()
        if rows.bias:  # moving the intercept adds to one class what it takes from the other
            plus, minus = (float(m[side].min()) for side in self.sides)
            theta[-1] += (minus - plus) / 2 / rows.bias * gauge.unit
            theta[-1] = (theta[-1] * LEAST_UP) / LEAST_UP  # see unit_vector
            m = gauge.margins(theta)
        elif known:
            if not float(m[self.live].min()) > self.lower:
                return
            m = gauge.margins(theta)  # its rounding is bounded
        low = gauge.lowest(theta, m, self.live)
        if low > self.lower:
            self.lower, self.theta = low, theta

    @np.errstate(all="ignore")
    def try_weights(self, lam: Vector) -> None:
        """‖Zᵀλ‖, rounded up; kept if it lowers the upper end."""
        given, lam = lam, np.zeros(self.rows.n)
        lam[self.live] = np.maximum(given[self.live], 0.0)  # only λ ≥ 0 proves anything
        for side in self.sides:
            total = float(lam[side].sum())
            if not isfinite(total) or total <= 0.0:
                return
            lam[side] /= total
        if len(self.sides) > 1:
            lam *= 0.5
        lam = (lam * self.gauge.up) * self.gauge.unit
        size = self.gauge.pull(lam, len(self.sides))
        if size < self.upper:
            self.upper, self.weights = size, lam

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

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends in the user's units."""
        return self.gauge.below(self.lower), self.gauge.above(self.upper)

    def margin(self, status: MarginStatus, steps: int, seconds: float) -> Margin:
        """The bracket in the user's units."""
        theta, lower = in_units(self.rows, self.theta, self.gauge.below(self.lower))
        return Margin(
            lower=lower,
            upper=self.gauge.above(self.upper),
            theta=theta,
            weights=self.weights.copy(),
            status=status,
            n_steps=steps,
            seconds=seconds,
        )


def near_one(rows: HeldRows) -> ScaledRows:
    """The rows as Newton steps take them, of size near 1 by powers of two where products would leave float64."""
    power = power_of(rows)
    if power == 0:
        return ScaledRows(rows)
    half = power // 2  # 2^-power itself may not be a float64
    sign, kappa = np.ldexp(np.sign(rows.sign), half - power), np.full(rows.d + 1, ldexp(1.0, -half))
    r = np.ldexp(rows.r * rows.scale if rows.lengths is None else rows.lengths, -power)
    if rows.bias:
        kappa[-1] = ldexp(1.0, power - half - 2) / rows.bias  # a constant column of ¼
        r = np.hypot(r, 0.25)
    return ScaledRows(replace(rows, sign=sign, r=r), None, kappa)


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
    scaled, bracket = near_one(rows), Bracket(rows)
    path, status = NewtonPath(scaled), MarginStatus.ROUNDING
    gauge = bracket.gauge
    nothing = ZERO_SHARE * gauge.scale * float(gauge.long.max()) * gauge.up
    if known is not None:
        bracket.take(known)
        if bracket.closed(rtol):
            return bracket.margin(MarginStatus.CONVERGED, 0, time.perf_counter() - began)
    for step in path.steps_on():
        bracket.try_theta(step.theta * scaled.kappa, step.m)
        bracket.try_weights(step.u)
        if step.end_of_stage and step.lowest > 0.3 and (polished := step.polish()) is not None:
            bracket.try_theta(polished[0] * scaled.kappa)
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
        elif callback is not None and callback(Progress(step.steps, *bracket.ends, seconds)):
            status = MarginStatus.STOPPED
        elif time_limit is not None and seconds > time_limit:
            status = MarginStatus.TIME_LIMIT
        else:
            continue
        break
    return bracket.margin(status, path.steps, time.perf_counter() - began)
