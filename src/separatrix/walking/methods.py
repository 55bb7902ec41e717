"""The five algorithms of the paper, as NumPy defines them.

With φ = θ/γ the four batch methods are one update,

    φ⁺ = φ + (1/N) Σ_i w_i z_i ,      w_i = weight(m̂_i) ,      m̂ = Zφ ,      N = n  or  Σ_i w_i

                                     |  N = n              |  N = Σ w_i
    ---------------------------------+---------------------+------------------------------
    w_i = σ(-γ m̂_i),  γ < ∞          |  lr-gd              |  normalized-lr-gd
    w_i = 1[m̂_i ≤ 0], γ = ∞          |  batch-perceptron   |  normalized-batch-perceptron

and the fifth, `perceptron`, adds one wrong row at a time: φ⁺ = φ + z_j for one j with m̂_j ≤ 0. γ enters only through
the weight, so no step size overflows, and γ = ∞ is simply allowed.

Source: A. Tyurin, "From Logistic Regression to the Perceptron Algorithm", AAAI-25.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, isinf, isnan
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.reporting.hints import did_you_mean

Vector = NDArray[np.float64]

#            name                          logistic  normalized  one row at a time
TABLE = {
    "lr-gd": (True, False, False),
    "normalized-lr-gd": (True, True, False),
    "batch-perceptron": (False, False, False),
    "normalized-batch-perceptron": (False, True, False),
    "perceptron": (False, False, True),
}
ORDERS = ("cyclic", "random", "most-wrong")


@dataclass(frozen=True)
class Method:
    """One entry of the table: which weights, and what they are divided by; or one row at a time, in some order."""

    name: str
    gamma: float = inf
    normalized: bool = False
    order: str | None = None  # the perceptron's choice of the next wrong row; None for the batch methods

    def log_weights(self, m: Vector) -> Vector:
        """ln w_i, at margins m = Zφ; logarithms, so that ratios survive where every w_i underflows."""
        if isinf(self.gamma):
            return np.where(m <= 0, 0.0, -inf)  # w_i = 1[m_i ≤ 0]: only wrong rows pull
        with np.errstate(over="ignore"):  # γ m_i = ±∞ gives w_i = 0 or 1
            return -np.logaddexp(0.0, self.gamma * m)  # w_i = 1 / (1 + exp(γ m_i))

    def step(self, Z: Any, phi: Vector, s: Vector, first: bool = False) -> Vector:
        """(1/N) Σ s_i w_i z_i: the batch update itself, with sample weights s_i."""
        log_w = self.log_weights(Z @ phi)
        if first:
            log_w = np.full(len(s), np.log(0.5))  # γ = ∞ from φ_0 = 0: the limit's first step has w_i = σ(0)
        if not self.normalized:
            return np.asarray(Z.T @ (s * np.exp(log_w)) / s.sum())  # N = n, or Σ s_i
        top = log_w[s > 0].max()
        w = s * np.exp(log_w - top) if top > -inf else 0 * s
        return np.asarray(Z.T @ w / max(w.sum(), 1e-300))  # N = Σ s_i w_i

    def walk(self, Z: Any, phi: Vector | None = None, s: Vector | None = None) -> Iterator[Vector]:
        """φ_0, φ_1, φ_2, …: the definition every engine is tested against."""
        n, d = Z.shape
        phi = np.zeros(d) if phi is None else np.asarray(phi, dtype=np.float64)
        s = np.ones(n) if s is None else s
        first = isinf(self.gamma) and not phi.any()
        while True:
            yield phi
            phi = phi + self.step(Z, phi, s, first)  # φ⁺ = φ + (1/N) Σ s_i w_i z_i
            first = False


def parse_method(name: str, step_size: float | None = None, order: str = "cyclic") -> Method:
    """The method of this name; `step_size` is γ in (0, ∞], for the logistic two (1 when not given)."""
    if not isinstance(name, str) or name not in TABLE:
        raise ValueError(f"unknown method {name!r}{did_you_mean(name, TABLE)}; methods: {', '.join(TABLE)}.")
    logistic, normalized, rowwise = TABLE[name]
    if order not in ORDERS:
        raise ValueError(f"unknown order {order!r}{did_you_mean(order, ORDERS)}; orders: {', '.join(ORDERS)}.")
    if order != "cyclic" and not rowwise:
        raise ValueError(f"order={order!r} is for the perceptron; {name} uses every row at once.")
    gamma = (1.0 if logistic else inf) if step_size is None else _step_size(step_size)
    if not logistic and not isinf(gamma):
        raise ValueError(
            f"{name} takes no finite step_size, got {step_size!r}: its path only scales with it. "
            "Leave step_size out, or use lr-gd."
        )
    return Method(name, gamma, normalized, order if rowwise else None)


def _step_size(value: Any) -> float:
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        raise ValueError(f"step_size must be a number in (0, ∞], got {value!r}.")
    if isnan(value) or value <= 0:
        raise ValueError(f"step_size must be positive, got {value!r}.")
    return float(value)
