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

from dataclasses import dataclass
from math import inf, isinf, isnan
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core.definition import exp
from separatrix.core.rule import Rule, underflow_shift
from separatrix.reporting.hints import did_you_mean

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
TEMPERED = "tempered-"  # names that begin so take a power
ORDERS = ("cyclic", "random", "most-wrong")


@dataclass(frozen=True)
class Method:
    """One entry of the table: which weights, and what they are divided by; or one row at a time, in some order."""

    name: str
    gamma: float = inf
    power: float = 1.0
    order: str | None = None  # the perceptron's choice of the next wrong row; None for the batch methods
    logistic: bool = False  # at γ = ∞ too, where it differs from a perceptron in its first step from θ_0 ≠ 0
    begun: bool = False  # θ_0 is an iterate to go on from: there is no first step

    def weights(self, m: Vector, s: Vector, rule: Rule) -> Vector:
        """s_i w_i at margins m = ZΦ, in the units of `rule`; past separation the cut is measured from the smallest."""
        if isinf(rule.gamma):
            return np.where(m <= 0, s, 0)  # w_i = 1[m_i ≤ 0]: only wrong rows pull
        m = np.where(s > 0, m, m.dtype.type(np.inf))  # rows left out are as right as can be
        gamma, low = m.dtype.type(rule.gamma), m.min()
        shift = underflow_shift(rule, low)
        w = exp(shift - gamma * m) if shift else 1 / (1 + exp(gamma * m))  # w_i = σ(-γ m_i)
        return np.where(m <= m.dtype.type(rule.cut) / gamma + max(0, low), s * w, 0)


def parse_method(
    name: str | Method, step_size: float | None = None, order: str = "cyclic", power: float | None = None
) -> Method:
    """The method of this name; `step_size` is γ in (0, ∞], for the logistic ones (1 when not given)."""
    if isinstance(name, Method):
        return name
    if not isinstance(name, str) or name not in TABLE:
        raise ValueError(f"unknown method {name!r}{did_you_mean(name, TABLE)}; methods: {', '.join(TABLE)}.")
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
            f"{name} takes no finite step_size, got {step_size!r}: its path only scales with it. "
            "Leave step_size out, or use lr-gd."
        )
    return Method(name, gamma, p, order if rowwise else None, logistic)


def _power(name: str, value: Any) -> float:
    if not name.startswith(TEMPERED):
        other = name.removeprefix("normalized-")
        hint = f"use {TEMPERED}{other}" if TEMPERED + other in TABLE else "leave it out"
        raise ValueError(f"power is for the tempered methods, got power={value!r} for {name}: {hint}.")
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_) or not 0 <= float(value) <= 1:
        raise ValueError(f"power must be a number from 0 to 1, got {value!r}.")
    return float(value)


def _step_size(value: Any) -> float:
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        raise ValueError(f"step_size must be a number in (0, ∞], got {value!r}.")
    if isnan(value) or value <= 0:
        raise ValueError(f"step_size must be positive, got {value!r}.")
    return float(value)
