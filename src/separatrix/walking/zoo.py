"""The zoo: full-batch methods of others, each on one screen with its formula, its source and a bound.

Each is a `Method` for `solve`, and stands on docs/zoo.md with the proof of its bound and what could be checked against
its paper. `bound(n, R, mu)` is on the iterations from θ_0 = 0 to the first θ_t that separates the rows::

    x_i = z_iᵀθ ,   q_i = s_i exp(-x_i) / Σ_j s_j exp(-x_j) ,   R = max ‖z_i‖ ,   μ = max_{‖θ‖ ≤ 1} min_i z_iᵀθ

It is ∞ where the step size is out of the range that the proof needs. There γ = 1, the default, is on most data for the
methods that say γ ≤ or γ <: give a γ, or take `each`. A `Margin` may stand for mu.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from math import expm1, floor, fsum, inf, log, sqrt
from typing import Any, Protocol, TypeVar

import numpy as np

from separatrix.walking.own import At, Method, Vector, exp

FAR = 40.0  # past it exp(-x) is below the last bit of 1: logistic and exponential loss are the same to rounding
SLACK = 1 + 1e-12  # a step size at the end of its range is in it, however it was rounded

M = TypeVar("M")

__all__ = [
    "DualMomentumGD",
    "GrowingStepsGD",
    "NormalizedExpGD",
    "RiskAdaptiveGD",
    "SignGD",
    "SmoothPerceptron",
    "each",
]


class HasLower(Protocol):
    """A margin in an interval, as `max_margin` finds it."""

    @property
    def lower(self) -> float:
        """At most the margin."""


def of_margin(bound: Callable[[M, int, float, float], float]) -> Callable[[M, int, float, float | HasLower], float]:
    """A bound that takes a `Margin` in the place of μ, too, and then its lower end."""

    @wraps(bound)
    def taken(self: M, n: int, R: float, mu: float | HasLower) -> float:
        given: Any = mu
        return bound(self, n, R, getattr(given, "lower", given))

    return taken


class NormalizedExpGD(Method):
    """Normalized gradient descent on the exponential loss, at any step size.

        θ⁺ = θ + γ Σ q_i z_i

    It is the steepest descent of ψ = ln (1/n) Σ exp(-x_i), convex and R-Lipschitz, and so the risk-adaptive step of
    Zhang, Wu, Lin, Bartlett (arXiv 2504.04105) for the exponential loss. Bound: R²/μ² + 2 ln(n)/(γμ²).
    """

    power = 0.0  # N = W

    def weights(self, x: Vector) -> Vector:
        """exp(-x_i), times a number that W has, too."""
        return exp(x.min() - x)

    @of_margin
    def bound(self, n: int, R: float, mu: float) -> float:
        """R²/μ² + 2 ln(n)/(γμ²)."""
        return (R / mu) ** 2 + 2 * log(n) / (self.gamma * mu**2)


class RiskAdaptiveGD(Method):
    """Gradient descent with steps that adapt to the risk: θ⁺ = θ - γ∇ψ, ψ = -ℓ⁻¹(f), f the mean logistic loss.

        θ⁺ = θ + (γ/N) Σ w_i z_i ,   w_i = σ(-x_i) ,   N = n (1 - exp(-f)) = n (1 - (Π (1 - w_i))^(1/n))

    One minus a geometric mean, where Normalized LR+GD has one minus the arithmetic mean: W = n (1 - (1/n) Σ (1 - w_i)).
    Source: Zhang, Wu, Lin, Bartlett, arXiv 2504.04105. Bound, ours: R²/μ² (1 + m + lx)²/(4(m + x)) with m = 1/n,
    x = 2/(γR²), l = 1 + ln 2n; about l R²/μ² at γ = 2l/R². None without n or γ can hold: docs/zoo.md.
    """

    def weights(self, x: Vector) -> Vector:
        """σ(-x_i); far past separation exp(-x_i), times a number that N has, too."""
        low = x.min()
        return exp(low - x) if low > FAR else np.asarray(1 / (1 + exp(x)))

    def normaliser(self, at: At) -> float:
        """n (1 - (Π (1 - w_i))^(1/n)), with s_i/n in the place of 1/n where rows have weights."""
        return at.W if at.x.min() > FAR else at.n * one_minus_mean(at.x, at.s / at.n)

    @of_margin
    def bound(self, n: int, R: float, mu: float) -> float:
        """R²/μ² (1 + m + lx)²/(4(m + x))."""
        m, x, many = 1 / n, 2 / (self.gamma * R**2), 1 + log(2 * n)
        return (R / mu) ** 2 * (1 + m + many * x) ** 2 / (4 * (m + x))


def one_minus_mean(x: Vector, q: Vector) -> float:
    """1 - Π σ(x_i)^(q_i) by square roots and `exp` alone: nothing cancelled, the same bits on every machine.

    σ(x) = eˣ σ(-x) for x < 0. What is left, v = σ(|x|), is raised to the power q by the binary digits of q, with
    1 - √v = (1 - v)/(1 + √v), and 1 - ab = (1 - a) + (1 - b) - (1 - a)(1 - b).
    """
    e = exp(-abs(x))
    v, w = 1 / (1 + e), e / (1 + e)  # w = 1 - v
    lost = np.where(q >= 1, w, 0.0)
    q, deep = q - (q >= 1), fsum(q * np.minimum(x, 0))
    while q.any():
        q, v = 2 * q, np.sqrt(v)
        w = w / (1 + v)
        lost = np.where(q >= 1, lost + w - lost * w, lost)
        q = q - (q >= 1)
    total = 1 - float(exp(np.array([deep]))[0])
    for one in lost.tolist():
        total += one - total * one
    return total


class DualMomentumGD(Method):
    """Normalized gradient descent with momentum of the dual, whose margin tends to μ like 1/t².

        g_t = t/(t+1) (g_{t-1} + v_t) ,   θ_{t+1} = θ_t + γ (g_t + v_t) ,   v_t = Σ q_i z_i ,   γ ≤ 1/R²

    Source: Ji, Srebro, Telgarsky, arXiv 2107.00595: Nesterov's acceleration of min ½‖Σ q_i z_i‖² over the simplex.
    Bound, ours: the least T with T(T+3) > 4 ln(n)/(γμ²); and min_i x_i/‖θ_t‖ ≥ μ - 4 ln(n)/(γμ t(t+3)) at every t ≥ 1.
    The default γ = 1 is in this range only for short rows.
    """

    def memory(self, n: int, d: int) -> dict[str, Any]:
        """g_{-1} = 0."""
        return {"g": np.zeros(d)}

    def weights(self, x: Vector) -> Vector:
        """exp(-x_i), times a number that W has, too."""
        return exp(x.min() - x)

    def step(self, at: At) -> Vector:
        """γ (g_t + v_t)."""
        v = at.pull(at.w) / at.W
        at.memory["g"] = at.t / (at.t + 1) * (at.memory["g"] + v)
        return np.asarray(at.step_size * (at.memory["g"] + v))

    @of_margin
    def bound(self, n: int, R: float, mu: float) -> float:
        """The least T with T(T+3) > 4 ln(n)/(γμ²)."""
        return least(4 * log(n) / (self.gamma * mu**2), 3) if self.gamma * R**2 <= SLACK else inf


class SmoothPerceptron(Method):
    """The smooth perceptron: the smallest margin made smooth, less and less so, and climbed with acceleration.

        θ_1 = (1/n) Σ z_i ,   θ_{t+1} = (1-τ)(θ_t + τV_t) + τ² P_t ,   V_t = V_{t-1} + 2/(t+1) (P_t - V_{t-1})
        τ = 2/(t+2) ,   P_t = Σ p_i z_i ,   p_i ∝ s_i exp(-x_i/c_t) ,   c_t = 2/(γ t(t+1)) ,   γ ≤ 1/(2R²)

    Source: Soheili, Peña, SIAM J. Optim. 22 (2012), by Nesterov's excessive gap. Bound: the least T ≥ 1 with
    T(T+1) > 4 ln(n)/(γμ²), at γ = 1/(2R²) about 2√(2 ln n) R/μ. It begins at θ_1, whatever θ_0 is.
    The default γ = 1 is in this range only for short rows.
    """

    def memory(self, n: int, d: int) -> dict[str, Any]:
        """V_0, of which nothing is left in V_1."""
        return {"V": np.zeros(d)}

    def step(self, at: At) -> Vector:
        """θ_{t+1} - θ_t."""
        if at.t == 0:
            return np.asarray(at.pull(at.s) / at.n - at.theta)
        t, x, tau = at.t, at.x, 2 / (at.t + 2)
        p = at.s * exp((x.min() - x) / (2 / (at.step_size * t * (t + 1))))
        P = at.pull(p) / fsum(p)
        at.memory["V"] = V = at.memory["V"] + 2 / (t + 1) * (P - at.memory["V"])
        return np.asarray((1 - tau) * (at.theta + tau * V) + tau**2 * P - at.theta)

    @of_margin
    def bound(self, n: int, R: float, mu: float) -> float:
        """The least T ≥ 1 with T(T+1) > 4 ln(n)/(γμ²)."""
        return least(4 * log(n) / (self.gamma * mu**2), 1) if 2 * self.gamma * R**2 <= SLACK else inf


class SignGD(Method):
    """Sign gradient descent: the steepest descent of ψ = ln (1/n) Σ exp(-x_i) in the norm ‖θ‖∞, the largest entry.

        θ⁺ = θ + γ ‖v‖₁ sign(v) ,   v = Σ q_i z_i = -∇ψ ,   γ < 2/R₁² ,   R₁ = max ‖z_i‖₁

    Source: steepest descent in another norm is a textbook's; the margin in that norm, μ∞ = max_{‖θ‖∞ ≤ 1} min_i z_iᵀθ,
    is its implicit bias. Bound, ours: ψ falls by γ(1 - γR₁²/2) ‖v‖₁² or more, and ‖v‖₁ ≥ μ∞, so any
    T > ln(n)/(γ(1 - γR₁²/2) μ∞²) will do: 2 ln(n) R₁²/μ∞² at γ = 1/R₁². In `bound`, R is R₁ and mu is μ∞.
    The default γ = 1 is in this range only for short rows.
    """

    def weights(self, x: Vector) -> Vector:
        """exp(-x_i), times a number that W has, too."""
        return exp(x.min() - x)

    def step(self, at: At) -> Vector:
        """γ ‖v‖₁ sign(v)."""
        v = at.pull(at.w) / at.W
        return np.asarray(at.step_size * fsum(abs(v)) * np.sign(v))

    @of_margin
    def bound(self, n: int, R: float, mu: float) -> float:
        """The least whole T > ln(n)/(γ(1 - γR²/2) mu²)."""
        falls = self.gamma * (1 - self.gamma * R**2 / 2) * mu**2
        return floor(log(n) / falls) + 1.0 if falls > 0 else inf


@dataclass
class GrowingStepsGD(Method):
    """Gradient descent on the logistic loss with steps that grow by a formula, slowly enough to stay stable.

        θ⁺ = θ + (γ_t/n) Σ w_i z_i ,   γ_t = (e^y(t+1) - e^y(t))/μ² ,   (y(t) + 2)³ = 8 + 3t/(R²/μ² + ½)

    After Kale, Manupriya, Marion, Bach, Raj, arXiv 2602.18946, whose schedule could not be read: this one is ours. The
    loss falls all along, f(θ_t) ≤ (y² + 2(1 - e^-y))/(e^y - 1) at y = y(t), like exp(-(3tμ²/R²)^(1/3)). Bound: the
    first t with that below ln(2)/n, about R²/μ² (ln n)³/3. R may be larger and μ smaller than the data's.
    """

    R: float
    mu: float

    exponential_tail = True  # the bits of "lr-gd" with this schedule

    def y(self, t: float) -> float:
        """ln(1 + μ² Σ_{s<t} γ_s)."""
        return self.rises(0, t)

    def rises(self, s: float, t: float) -> float:
        """y(t) - y(s), as a³ - b³ over a² + ab + b², where nothing cancels however slow it is."""
        c = 3 / ((self.R / self.mu) ** 2 + 0.5)
        a, b = (8 + c * t) ** (1 / 3), (8 + c * s) ** (1 / 3)
        return float(c * (t - s) / (a * a + a * b + b * b))

    def step_size(self, t: int) -> float:
        """γ_t; `solve(X, y, "lr-gd", step_size=method.step_size)` has it in the compiled core."""
        return float(np.exp(self.y(t))) * expm1(self.rises(t, t + 1)) / self.mu**2

    @of_margin
    def bound(self, n: int, R: float, mu: float) -> float:
        """The first t with f(θ_t) < ln(2)/n for sure."""
        if R > self.R * SLACK or mu * SLACK < self.mu:
            return inf
        y = crossing(log(2) / n)
        return floor(((self.R / self.mu) ** 2 + 0.5) * ((y + 2) ** 3 - 8) / 3) + 1.0


def crossing(f: float) -> float:
    """The y with (y² + 2(1 - e^-y))/(e^y - 1) = f, from above; the left side falls."""
    low, y = 0.0, 700.0
    while y - low > 1e-9:
        mid = (low + y) / 2
        low, y = (low, mid) if mid**2 - 2 * expm1(-mid) < f * expm1(mid) else (mid, y)
    return y


Bounded = NormalizedExpGD | RiskAdaptiveGD | DualMomentumGD | SmoothPerceptron | SignGD | GrowingStepsGD


def least(c: float, k: int) -> float:
    """The least whole T ≥ 1 with T(T + k) > c."""
    return floor((sqrt(k * k + 4 * c) - k) / 2) + 1.0


def each(n: int, R: float, mu: float, *, R_sum: float) -> list[Bounded]:
    """One of each, with the step size that its bound asks for.

    Parameters
    ----------
    n : int
        The number of rows.
    R : float
        The longest row, max ‖z_i‖.
    mu : float
        The margin μ, or less.
    R_sum : float
        The largest sum of a row's absolute entries, max ‖z_i‖₁.

    Returns
    -------
    list of Method
        In the order of docs/zoo.md.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = sx.worst_case(1000)
    >>> methods = sx.zoo.each(1000, 1.25**0.5, 0.5, R_sum=1.5)
    >>> {method.name: sx.solve(X, y, method).n_iter for method in methods}  # doctest: +NORMALIZE_WHITESPACE
    {'normalized-exp-gd': 2, 'risk-adaptive-gd': 5, 'dual-momentum-gd': 7, 'smooth-perceptron': 8, 'sign-gd': 19,
     'growing-steps-gd': 1563}
    """
    return [
        NormalizedExpGD(2 * log(2 * n) / R**2),
        RiskAdaptiveGD(2 * (1 + log(2 * n)) / R**2),
        DualMomentumGD(1 / R**2),
        SmoothPerceptron(1 / (2 * R**2)),
        SignGD(1 / R_sum**2),
        GrowingStepsGD(R, mu),
    ]
