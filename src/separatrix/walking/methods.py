"""The algorithms: the paper's five, and the family that has four of them at its ends.

With φ = θ/γ the four batch methods are one update,

    φ⁺ = φ + (1/N) Σ_i w_i z_i ,      w_i = weight(m̂_i) ,      m̂ = Zφ ,      N = n^p W^(1-p) ,      W = Σ_i w_i

                             |  p = 1: N = n      |  0 ≤ p ≤ 1                 |  p = 0: N = Σ w_i
    -------------------------+--------------------+----------------------------+-----------------------------
    w_i = σ(-γ m̂_i),  γ < ∞  |  lr-gd             |  tempered-lr-gd            |  normalized-lr-gd
    w_i = 1[m̂_i ≤ 0], γ = ∞  |  batch-perceptron  |  tempered-batch-perceptron |  normalized-batch-perceptron

and the paper's fifth, `perceptron`, adds one wrong row at a time: φ⁺ = φ + z_j for one j with m̂_j ≤ 0. γ enters only
through the weight, so no step size overflows, and γ = ∞ is simply allowed.

Starts. The batch perceptron's first step has w_i = ½ for every row, from whatever θ_0, and so have the tempered ones;
the normalized one, p = 0, has no such step. LR+GD at γ = ∞ is its own limit: φ_0 = θ_0/γ → 0, first weights
σ(-z_iᵀθ_0).

Source: A. Tyurin, "From Logistic Regression to the Perceptron Algorithm", AAAI-25; the powers between 0 and 1 are ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf, isinf, isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core.definition import exp
from separatrix.reporting.hints import did_you_mean
from separatrix.walking.own import Method, checked_weights, is_number

Vector = NDArray[Any]

POWER = 0.625  # of the tempered methods, when none is given; docs/reproduction.md says why this one

#            name                        logistic  power  one row at a time
TABLE = {
    "lr-gd": (True, 1.0, False),
    "normalized-lr-gd": (True, 0.0, False),
    "batch-perceptron": (False, 1.0, False),
    "normalized-batch-perceptron": (False, 0.0, False),
    "perceptron": (False, 1.0, True),
    "tempered-lr-gd": (True, POWER, False),
    "tempered-batch-perceptron": (False, POWER, False),
}
BESIDE = "; solve also takes those of separatrix.zoo and your own, as objects"
TEMPERED = "tempered-"  # names that begin so take a power
ORDERS = ("cyclic", "random", "most-wrong")


class Sigmoid(Method):
    """LR+GD: every row pulls, the more the wronger it is."""

    exponential_tail = True

    def weights(self, x: Vector) -> Vector:
        """w_i = σ(-x_i), x = γm̂."""
        return np.asarray(1 / (1 + exp(x)))


class Wrong(Method):
    """Its limit γ → ∞, the batch perceptron: only wrong rows pull."""

    exponential_tail = True

    def weights(self, x: Vector) -> Vector:
        """w_i = 1[m̂_i ≤ 0]."""
        return np.asarray(x <= 0)


SIGMOID, WRONG = Sigmoid(), Wrong()


@dataclass(frozen=True)
class Plan:
    """What one run does: an entry of the table or a method of one's own, its divisor and its step sizes."""

    name: str
    gamma: float = inf  # γ_0: φ = θ/γ_0
    power: float = 1.0
    order: str | None = None  # the perceptron's choice of the next wrong row; None for the batch methods
    logistic: bool = False  # at γ = ∞ too, where it differs from a perceptron in its first step from θ_0 ≠ 0
    begun: bool = False  # θ_0 is an iterate to go on from: there is no first step
    own: Method | None = None  # the user's; None for those of the table
    schedule: Callable[[int], float] | None = None  # γ_t; None where it is γ always

    @property
    def method(self) -> Method:
        """Whose weights these are."""
        return self.own or (WRONG if isinf(self.gamma) else SIGMOID)

    def weights(self, x: Vector, t: int) -> Vector:
        """w_i at margins x_i = z_iᵀθ_t (m̂_i at γ = ∞)."""
        return self.method.weights(x) if self.own is None else checked_weights(self.own, x, t)

    def factor(self, t: int) -> float:
        """γ_t/γ_0."""
        if self.schedule is None:
            return 1.0
        gamma = checked_gamma(self.schedule, t)
        if not 0 < (f := gamma / self.gamma) < inf:
            raise ValueError(f"step_size leaves float64: {gamma!r} at t = {t} over {self.gamma!r} at t = 0.")
        return f

    def overrides(self, name: str) -> bool:
        """Whether it is a method of the user's own that has this function."""
        return self.own is not None and overridden(self.own, name)


def overridden(method: Method, name: str) -> bool:
    """Whether the class of this method has a function of its own in the place of `Method`'s."""
    return getattr(type(method), name) is not getattr(Method, name)


def checked_gamma(schedule: Callable[[int], float], t: int) -> float:
    """γ_t of a schedule, or one sentence about it."""
    try:
        value = schedule(t)
        good = is_number(value) and 0 < float(value) < inf
    except OverflowError:
        raise ValueError(f"step_size is too large for a float at t = {t}; let it level off before.") from None
    if not good:
        raise ValueError(f"step_size must be finite and positive at every t, got {value!r:.40} at t = {t}.")
    return float(value)


def plan_of(
    method: str | Method,
    step_size: float | Callable[[int], float] | None = None,
    order: str = "cyclic",
    power: float | None = None,
) -> Plan:
    """What `solve` was asked for: a name of the table or a method of one's own, a step size or a schedule of them."""
    if isinstance(method, Method):
        return _plan_of_own(method, step_size, order, power)
    if isinstance(method, type) and issubclass(method, Method):
        raise ValueError(f"method is the class {method.__name__}; make one of it: {method.__name__}(…).")
    if not callable(step_size):
        return parse_method(method, step_size, order, power)
    if method in TABLE and not TABLE[method][0]:
        raise ValueError(f"{method} takes no step_size, got a function: leave it out, or use lr-gd.")
    return replace(parse_method(method, checked_gamma(step_size, 0), order, power), schedule=step_size)


def _plan_of_own(
    method: Method, step_size: float | Callable[[int], float] | None, order: str, power: float | None
) -> Plan:
    if order != "cyclic":
        raise ValueError(f"order={order!r} is for the perceptron; {method.name} uses every row at once.")
    if power is not None:
        raise ValueError(f"power is for the methods of the table, got {power!r}; {method.name} has it as an attribute.")
    if not any(overridden(method, name) for name in ("weights", "normaliser", "step_size", "step")):
        raise ValueError(
            f"{type(method).__name__} overrides none of weights, normaliser, step_size and step: it would be LR+GD; "
            'write one of them, or use "lr-gd".'
        )
    schedule: Callable[[int], float] | None = None
    if callable(step_size):
        schedule = step_size
    elif step_size is None and overridden(method, "step_size"):
        schedule = method.step_size
    if schedule is not None:
        gamma = checked_gamma(schedule, 0)
    else:
        gamma = _step_size(method.gamma if step_size is None else step_size)
    if isinf(gamma):
        raise ValueError(f"{method.name} takes finite step sizes, got ∞; with weights 1[x ≤ 0] the path only scales.")
    if not is_number(method.power) or not 0 <= method.power <= 1:
        raise ValueError(f"power must be a number from 0 to 1, got {method.power!r} of {method.name}.")
    divides = overridden(method, "normaliser") or overridden(method, "step")  # by what it likes
    return Plan(str(method.name), gamma, 1.0 if divides else float(method.power), own=method, schedule=schedule)


def parse_method(name: str, step_size: float | None = None, order: str = "cyclic", power: float | None = None) -> Plan:
    """The method of this name; `step_size` is γ in (0, ∞], for the logistic ones (1 when not given)."""
    if not isinstance(name, str) or name not in TABLE:
        raise ValueError(f"unknown method {name!r}{did_you_mean(name, TABLE)}; methods: {', '.join(TABLE)}{BESIDE}.")
    logistic, p, rowwise = TABLE[name]
    if order not in ORDERS:
        raise ValueError(f"unknown order {order!r}{did_you_mean(order, ORDERS)}; orders: {', '.join(ORDERS)}.")
    if order != "cyclic" and not rowwise:
        raise ValueError(f"order={order!r} is for the perceptron; {name} uses every row at once.")
    if power is not None:
        p = _power(name, power)
    gamma = (1.0 if logistic else inf) if step_size is None else _step_size(step_size)
    if not logistic and not isinf(gamma):
        raise ValueError(
            f"{name} takes no finite step_size, got {step_size!r}: its path only scales with it; "
            "leave step_size out, or use lr-gd."
        )
    return Plan(name, gamma, p, order if rowwise else None, logistic)


def _power(name: str, value: Any) -> float:
    if not name.startswith(TEMPERED):
        other = name.removeprefix("normalized-")
        hint = f"use {TEMPERED}{other}" if TEMPERED + other in TABLE else "leave it out"
        raise ValueError(f"power is for the tempered methods, got power={value!r} for {name}: {hint}.")
    if not is_number(value) or not 0 <= float(value) <= 1:
        raise ValueError(f"power must be a number from 0 to 1, got {value!r}.")
    return float(value)


def _step_size(value: Any) -> float:
    if not is_number(value):
        raise ValueError(f"step_size must be a number in (0, ∞], got {value!r}.")
    if isnan(value) or value <= 0:
        raise ValueError(f"step_size must be positive, got {value!r}.")
    return float(value)
