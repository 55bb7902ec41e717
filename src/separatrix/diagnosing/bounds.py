"""What separated data still say: one-sided bounds on infinite coefficients and on fitted values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.data.rows import Index, Vector
from separatrix.diagnosing.choices import Classes, Sets
from separatrix.diagnosing.climbing import CLOSE, Climb, climb
from separatrix.diagnosing.fit import QUASI, Fit
from separatrix.diagnosing.hazards import Hazards
from separatrix.diagnosing.likelihood import Binomial, Counts, Intervals, Likelihood, Terms, likelihood
from separatrix.diagnosing.links import log_between, log_up
from separatrix.models.conditions import Matrix, below, times
from separatrix.models.model import Model

LEVEL = 0.95
SHOWN = 20  # rows of a printed result
DOUBLINGS = 200
EXACT = 1e-10  # of a bound, beside its own size


def one_sided(model: Model, fit: Fit, name: str, sign: str, level: float = LEVEL) -> float:
    """The bound of an infinite coefficient: at least (+) or at most (-) so much, with this confidence.

    The profile likelihood, max of ℓ over all other coefficients, rises towards the supremum as the coefficient runs
    off. The bound is where it is z²/2 below, z the normal quantile of the level: one-sided, 1.645 for 95 %.

    fit : of the reduced model, whose maximum is the supremum
    name : the coefficient
    sign : "+" where it runs to +∞, "-" where it runs to -∞

    NaN where no maximum was found on the way. A cauchit's likelihood is not concave: there the maxima are those near
    the direction of recession. PPML and fractions are taken as if they had the spread of the likelihood.
    """
    from scipy.special import ndtri

    _check_level(level)
    if sign not in ("+", "-"):
        raise ValueError(f'sign must be "+" or "-", got {sign!r}; a coefficient that is not determined has no bound.')
    if name not in model.coefficients:
        raise ValueError(f"there is no coefficient {name!r}.")
    c = np.zeros(len(model.coefficients))
    c[model.coefficients.index(name)] = 1.0 if sign == "+" else -1.0
    whole = likelihood(model, dispersion=fit.dispersion)
    space = np.eye(len(c))[:, fit.reduced.free]
    found = lowest(whole, fit, space, c, fit.log_likelihood - float(ndtri(level)) ** 2 / 2)
    return found if sign == "+" else -found


@dataclass(frozen=True, eq=False, repr=False)
class FittedBounds:
    """One-sided bounds on what the model says of separated observations.

    Attributes
    ----------
    rows : ndarray of int
        The observations, by their position in the data given.
    observations : ndarray of int
        The same by their place in the model.
    quantity : str
        What is bounded: the probability of the second outcome, that of the observed outcome, or the mean.
    low : ndarray of float
        At least so much.
    high : ndarray of float
        At most so much.
    level : float
        The confidence.
    message : str
        How they were found, or why there are none.
    """

    rows: Index
    observations: Index
    quantity: str
    low: Vector
    high: Vector
    level: float
    message: str

    def __str__(self) -> str:
        head = f"{self.quantity}, one-sided bounds at {100 * self.level:g} %: {self.message}"
        found = zip(self.rows, self.low, self.high, strict=True)
        lines = [f"row {row}: {low:.6g} to {high:.6g}" for row, low, high in found]
        more = [f"and {len(lines) - SHOWN:,} more, in rows, low and high"] if len(lines) > SHOWN else []
        return "\n".join([head, *lines[:SHOWN], *more])

    __repr__ = __str__


def fitted_bounds(
    model: Model, fit: Fit, separated: Index, theta: Vector | None = None, level: float = LEVEL
) -> FittedBounds:
    """Bounds on the fitted values of separated observations (after Geyer 2009).

    At the reduced estimate b̂ all b̂ + γ fit what is left equally well, γ in the null space of what is left; they differ
    in the probability that the separated observations are as they were observed, exp(ℓ(b̂ + γ) - sup ℓ). Where that is
    below α = 1 - level the data speak against γ. Over the others each linear predictor has a least value: one
    root where the null space is a line, else a convex problem, solved by Newton's method on every plane zᵀb = v and a
    root in v. Several predictors of one observation are bounded each by itself, which is on the safe side. Of matched
    sets, of times and of a cauchit, whose likelihood is not concave, there are none unless the null space is a line.

    separated : those to bound, by their place in the model
    theta : the direction, unless it is to be that of the reduced model
    """
    _check_level(level)
    separated = np.asarray(separated, dtype=np.int64)
    whole, free = likelihood(model, dispersion=fit.dispersion), fit.reduced.null.shape[1]
    floor = fit.log_likelihood + float(np.log1p(-level))  # ℓ(b̂ + γ) - sup ℓ ≥ log α
    direction = fit.reduced.theta if theta is None else np.asarray(theta, dtype=np.float64)
    end = _along(whole, fit.b, direction, floor) if free == 1 and len(separated) else None
    message = "along the one direction that is free" if free == 1 else f"over the {free} directions that are free"
    if fit.reduced.model.name in QUASI:
        message += ", as if the outcome had the spread of the likelihood"
    low, high = np.zeros(len(separated)), np.ones(len(separated))
    if end is None and len(separated) and (isinstance(whole, Sets | Hazards) or model.link == "cauchit"):
        message = "none: for this model they are worked out along one free direction only"
        separated, low, high = separated[:0], low[:0], high[:0]
    elif isinstance(whole, Terms):
        low, high = _of_terms(model, whole, fit, separated, direction, floor, end)
    elif isinstance(whole, Intervals):
        low = _of_intervals(whole, fit, separated, floor, end)
    elif isinstance(whole, Classes):
        low = _of_classes(whole, fit, separated, floor, end)
    elif end is not None:
        low = _of_members(whole, separated, end)
    open_ended = np.isnan(low) | np.isnan(high)
    if open_ended.any():
        message += f"; for {int(open_ended.sum())} no maximum was found, and no bound is given"
        low = np.where(open_ended, 0.0, low)
        high = np.where(open_ended, np.inf if model.family == "counts" else 1.0, high)
    quantity = "the probability of the observed outcome"
    if model.family in ("binary", "grouped"):
        quantity = f"the probability of {model.classes[1] if len(model.classes) == 2 else 'success'}"
    elif model.family == "counts":
        quantity = "the mean"
    return FittedBounds(fit.reduced.places[separated], separated, quantity, low, high, level, message)


def _check_level(level: float) -> None:
    if not 0.5 < level < 1:
        raise ValueError(f"level must be between 0.5 and 1, got {level}.")


# The least value of a linear predictor where the likelihood is high enough.


def lowest(whole: Likelihood, fit: Fit, space: Matrix, c: Vector, floor: float) -> float:
    """The least cᵀb over b̂ + span(space) with ℓ(b) ≥ floor: the v at which max {ℓ(b): cᵀb = v} is the floor.

    That maximum is concave in v (but for a cauchit's) and rises with it; its slope is that of ℓ along any e with
    cᵀe = 1. So tangents lead to the root, from the left after the first; where one leads astray the bracket is halved.
    NaN where no maximum was found.
    """
    theta, inner = fit.reduced.theta, space.T @ c
    if not c @ theta > 0:
        raise ValueError("along the direction of recession this does not run off, so it has no one-sided bound.")
    plane = Plane(whole, fit.b, c, theta / (c @ theta), space @ (inner / (inner @ inner)), _across(space, inner))
    b = _inside(whole, fit.b, theta, floor)
    v, bottom, top, step = float(c @ b), -np.inf, np.inf, max(1.0, float(c @ (b - fit.b)))
    for _ in range(DOUBLINGS):
        found = plane.highest(v, b)
        b, v = found.b, float(c @ found.b)
        height, slope = found.value - floor, float(whole.gradient(b) @ plane.e)
        if abs(height) <= CLOSE or top - bottom <= EXACT * (1 + abs(v)):
            return v
        bottom, top = (bottom, v) if height > 0 else (v, top)
        if top == np.inf:
            return np.nan
        guess = v - height / slope if slope > 0 else np.nan
        if bottom == -np.inf:
            guess, step = max(guess, top - step) if guess < top else top - step, 2 * step
        v = guess if bottom < guess < top else (bottom + top) / 2
    return np.nan


def _across(space: Matrix, inner: Vector) -> Matrix:
    """Directions of the space along which cᵀb does not change."""
    return np.asarray(space @ np.linalg.qr(inner[:, None], mode="complete")[0][:, 1:])


@dataclass(frozen=True, eq=False)
class Plane:
    """The planes cᵀb = v: a line b̂ + sθ across them, a direction e with cᵀe = 1 and the directions `rest` within."""

    whole: Likelihood
    b: Vector
    c: Vector
    theta: Vector
    e: Vector
    rest: Matrix

    def highest(self, v: float, near: Vector) -> Climb:
        """The maximum over the plane at v, from the line; where that is not allowed on one on the way from nearby."""
        start, move = self.b + (v - float(self.c @ self.b)) * self.theta, v - float(self.c @ near)
        while not np.isfinite(self.whole.value(start)):
            start, move = near + move * self.e, move / 2
        return climb(self.whole, start, self.rest)


def _inside(whole: Likelihood, b: Vector, theta: Vector, floor: float) -> Vector:
    """b + sθ with ℓ above the floor."""
    s = 1.0
    for _ in range(DOUBLINGS):
        if whole.value(b + s * theta) > floor:
            return np.asarray(b + s * theta)
        s *= 2
    raise ArithmeticError("the likelihood did not reach its supremum; the direction given is not one of recession.")


def _along(whole: Likelihood, b: Vector, theta: Vector, floor: float) -> Vector:
    """The b + sθ whose ℓ is the floor."""
    from scipy.optimize import brentq

    def above(s: float) -> float:
        return max(whole.value(b + s * theta), -1e300) - floor

    top, bottom = 1.0, -1.0
    for _ in range(DOUBLINGS):
        top = top if above(top) > 0 else 2 * top
        bottom = bottom if above(bottom) < 0 else 2 * bottom
    if not above(bottom) < 0 < above(top):
        raise ArithmeticError("the likelihood does not rise from below; the direction given is not one of recession.")
    return np.asarray(b + brentq(above, bottom, top, xtol=EXACT, rtol=EXACT) * theta)


def _least(whole: Likelihood, fit: Fit, Z: Any, floor: float, end: Vector | None) -> Vector:
    """The least zᵀb for every row of Z; rows that do the same in the null space are solved once."""
    if end is not None:
        return np.asarray(Z @ end)
    null, base = fit.reduced.null, np.asarray(Z @ fit.b)
    inner, which = np.unique(np.asarray(Z @ null), axis=0, return_inverse=True)
    first = np.unique(which.ravel(), return_index=True)[1]
    found = np.empty(len(inner))
    for k, at in enumerate(first):
        z = Z[[at]]
        z = z.ravel() if isinstance(z, np.ndarray) else z.toarray().ravel()
        found[k] = lowest(whole, fit, null, z, floor) - base[at]
    return np.asarray(base + found[which.ravel()])


# From linear predictors to fitted values.


def _of_terms(
    model: Model, whole: Terms, fit: Fit, separated: Index, theta: Vector, floor: float, end: Vector | None
) -> tuple[Vector, Vector]:
    """F(η) or e^η; of several steps the product of their factors."""
    gone = np.flatnonzero(whole.gone(separated, theta))
    B, counted = whole.B[gone], isinstance(whole.outcome, Counts)
    sign = -np.ones(len(gone))
    if isinstance(whole.outcome, Binomial):
        sign = np.where(whole.outcome.won[gone] > 0, 1.0, -1.0)
    eta = whole.B @ fit.b + whole.offset
    eta[gone] = sign * _least(whole, fit, times(B, sign), floor, end) + whole.offset[gone]
    low, high = np.zeros(len(separated)), np.ones(len(separated))
    if isinstance(whole.outcome, Binomial) and model.family == "sequential":
        each = np.bincount(whole.observation, whole.outcome.at(eta).value, model.n)
        return np.exp(each[separated]), high
    place = np.searchsorted(whole.observation[gone], separated)
    eta, sign = eta[gone][place], sign[place]
    fitted = np.exp(eta) if counted else np.exp(log_up(model.link, eta).value)
    return np.where(sign > 0, fitted, low), np.where(sign > 0, high, fitted)


def _of_intervals(whole: Intervals, fit: Fit, separated: Index, floor: float, end: Vector | None) -> Vector:
    """F(h) - F(l)."""
    limit, (H, L) = fit.likelihood, whole.ends
    if not isinstance(limit, Intervals):
        raise TypeError("the fit is of another model.")
    asked = np.isin(np.arange(len(whole.code)), separated)
    up, down = (
        np.flatnonzero(asked & one & ~other) for one, other in ((whole.upper, limit.upper), (whole.lower, limit.lower))
    )
    high = np.where(whole.upper, H @ fit.b - whole.offset, np.inf)
    low = np.where(whole.lower, L @ fit.b - whole.offset, -np.inf)
    found = _least(whole, fit, below(H[up], times(L[down], -np.ones(len(down)))), floor, end)
    high[up] = found[: len(up)] - whole.offset[up]
    low[down] = -found[len(up) :] - whole.offset[down]
    return np.exp(log_between(whole.link, high, low).value)[separated]


def _of_classes(whole: Classes, fit: Fit, separated: Index, floor: float, end: Vector | None) -> Vector:
    """1/Σ_c e^(u_c - u_y): at the estimate for classes that stay open, at the least u_y - u_c for those that close."""
    limit = fit.likelihood
    if not isinstance(limit, Classes):
        raise TypeError("the fit is of another model.")
    total = np.ones(len(whole.code))
    asked = np.isin(np.arange(len(whole.code)), separated)
    for c, share in enumerate(whole.share):
        Z, at = whole.against(c)
        mine, closed = asked[at], ~limit.open[at, c]
        Z, at, closed = Z[mine], at[mine], closed[mine]
        margin = np.asarray(Z @ fit.b)
        margin[closed] = _least(whole, fit, Z[closed], floor, end)
        total[at] += np.exp(-margin - whole.offset[at] * (whole.share[whole.code[at]] - share))
    return 1 / total[separated]


def _of_members(whole: Likelihood, separated: Index, end: Vector) -> Vector:
    """The chance of a set's cases, or of an event among those at risk, at the end of the one direction."""
    if isinstance(whole, Sets):
        inside = [np.flatnonzero(whole.group == whole.group[at]) for at in separated]
        return np.array([np.exp(whole.only(members, one=True).value(end)) for members in inside])
    if isinstance(whole, Hazards):
        return np.exp(whole.each(end))[separated]
    raise TypeError(f"there are no fitted values of a {type(whole).__name__}.")
