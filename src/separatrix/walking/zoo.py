"""The zoo: full-batch methods of others, each on one screen with its formula, its source and a bound.

Each is a `Method` for `solve`. The bound of each counts iterations from θ_0 = 0 to the first θ_t that separates the rows;
docs/zoo.md has the proofs, and says what could be checked against each paper.

    q_i = s_i exp(-x_i) / Σ_j s_j exp(-x_j) ,      x_i = z_iᵀθ ,      R = max ‖z_i‖ ,      μ = max_{‖θ‖ ≤ 1} min_i z_iᵀθ
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp as e_to
from math import expm1, floor, fsum, inf, log, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from separatrix.walking.own import At, Method, exp

Vector = NDArray[Any]

FAR = 40.0  # past it exp(-x) is below the last bit of 1: logistic and exponential loss are the same to rounding

__all__ = ["DualMomentumGD", "GrowingStepsGD", "NormalizedExpGD", "RiskAdaptiveGD", "SignGD", "SmoothPerceptron"]


class NormalizedExpGD(Method):
    """Normalized gradient descent on the exponential loss: θ⁺ = θ + γ Σ q_i z_i, at any γ.

    Also the risk-adaptive step of arXiv 2504.04105 for ℓ(x) = exp(-x), and the steepest descent of
    ψ = ln (1/n) Σ exp(-x_i), which is convex and R-Lipschitz: T ≤ R²/μ² + 2 ln(n)/(γμ²).
    """

    power = 0.0  # N = W

    def weights(self, x: Vector) -> Vector:
        """exp(-x_i), times a number that W has, too."""
        return exp(x.min() - x)

    def bound(self, n: int, R: float, mu: float) -> float:
        """R²/μ² + 2 ln(n)/(γμ²)."""
        return (R / mu) ** 2 + 2 * log(n) / (self.gamma * mu**2)


class RiskAdaptiveGD(Method):
    """Gradient descent whose step adapts to the risk: θ⁺ = θ - γ ∇ψ, with ψ = -ℓ⁻¹(f), f the mean logistic loss.

        θ⁺ = θ + (γ/N) Σ w_i z_i ,    w_i = σ(-x_i) ,    N = n (1 - e^(-f)) = n (1 - (Π (1 - w_i))^(1/n))

    Normalized LR+GD divides by W = n (1 - the arithmetic mean of 1 - w_i), this by one with the geometric mean: N ≥ W.
    Source: Zhang, Wu, Lin, Bartlett, arXiv 2504.04105. ψ is not convex, and no bound without n or γ holds (docs/zoo.md):
    T ≤ R²/μ² (1 + m + lx)²/(4(m + x)), with m = 1/n, x = 2/(γR²), l = 1 + ln 2n: at γ = 2l/R² about l R²/μ².
    """

    def weights(self, x: Vector) -> Vector:
        """σ(-x_i); far past separation exp(-x_i), times a number that N has, too."""
        low = x.min()
        return exp(low - x) if low > FAR else 1 / (1 + exp(x))

    def normaliser(self, at: At) -> float:
        """n (1 - (Π (1 - w_i))^(1/n)), with s_i/n in the place of 1/n where rows have weights."""
        return at.W if at.x.min() > FAR else at.n * loss_of_mean(at.x, at.s / at.n)

    def bound(self, n: int, R: float, mu: float) -> float:
        """R²/μ² (1 + m + lx)²/(4(m + x))."""
        m, x, least = 1 / n, 2 / (self.gamma * R**2), 1 + log(2 * n)
        return (R / mu) ** 2 * (1 + m + least * x) ** 2 / (4 * (m + x))


def loss_of_mean(x: Vector, q: Vector) -> float:
    """1 - Π σ(x_i)^(q_i), nothing cancelled, by square roots and `exp` alone: the same bits on every machine.

    For x < 0, σ(x) = eˣ σ(-x). What is left, v = σ(|x|), is raised to the power q by its binary digits, and
    1 - √v = (1 - v)/(1 + √v).
    """
    total = 1 - float(exp(np.array([fsum(q * np.minimum(x, 0))]))[0])  # 1 - Π exp(q_i x_i) over the wrong rows
    e = exp(-abs(x))
    v, w = 1 / (1 + e), e / (1 + e)  # w = 1 - v
    lost = np.where(q >= 1, w, 0.0)
    q = q - (q >= 1)
    while q.any():
        q, v = 2 * q, np.sqrt(v)
        w = w / (1 + v)
        lost = np.where(q >= 1, lost + w - lost * w, lost)  # 1 - (1 - lost)(1 - w)
        q = q - (q >= 1)
    for one in lost.tolist():
        total += one - total * one
    return total


class DualMomentumGD(Method):
    """Normalized gradient descent with momentum of the dual, whose margin tends to μ like 1/t².

        g_t = t/(t+1) (g_{t-1} + v_t) ,      θ_{t+1} = θ_t + γ (g_t + v_t) ,      v_t = Σ q_i z_i ,      γ ≤ 1/R²

    Source: Ji, Srebro, Telgarsky, arXiv 2107.00595: Nesterov's acceleration of min ½‖Σ q_i z_i‖² over the simplex.
    T is the least with T(T+3) > 4 ln(n)/(γμ²), and min_i z_iᵀθ_t/‖θ_t‖ ≥ μ - 4 ln(n)/(γμ t(t+3)) for every t ≥ 1 (ours).
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

    def bound(self, n: int, R: float, mu: float) -> float:
        """The least T with T(T+3) > 4 ln(n)/(γμ²), if γR² ≤ 1."""
        return least(4 * log(n) / (self.gamma * mu**2), 3) if self.gamma * R**2 <= 1 + 1e-12 else inf


class SmoothPerceptron(Method):
    """The smooth perceptron: the perceptron's problem with the minimum over rows made smooth, and accelerated.

        θ_1 = (1/n) Σ z_i ;    θ_{t+1} = (1-τ)(θ_t + τV_t) + τ² P_t ,    τ = 2/(t+2) ,    V_t = V_{t-1} + 2/(t+1) (P_t - V_{t-1})
        P_t = Σ p_i z_i ,    p_i ∝ s_i exp(-x_i/c_t) ,    c_t = 2/(γ t(t+1)) ,    γ ≤ 1/(2R²)

    Source: Soheili, Peña, SIAM J. Optim. 22 (2012), by Nesterov's excessive gap; the schedule is that of Peña's own code.
    T is the least with T(T+1) > 4 ln(n)/(γμ²): at γ = 1/(2R²) at most 2√(2 ln n) R/μ, as the paper has it.
    """

    def memory(self, n: int, d: int) -> dict[str, Any]:
        """V_0, which has no weight in V_1."""
        return {"V": np.zeros(d)}

    def step(self, at: At) -> Vector:
        """θ_{t+1} - θ_t."""
        if at.t == 0:
            return np.asarray(at.pull(at.s) / at.n - at.theta)  # from any θ_0
        t, x, V = at.t, at.x, at.memory["V"]
        c = 2 / (at.step_size * t * (t + 1))
        p = at.s * exp((x.min() - x) / c)
        P = at.pull(p) / fsum(p)
        at.memory["V"] = V = V + 2 / (t + 1) * (P - V)
        tau = 2 / (t + 2)
        return np.asarray((1 - tau) * (at.theta + tau * V) + tau**2 * P - at.theta)

    def bound(self, n: int, R: float, mu: float) -> float:
        """The least T with T(T+1) > 4 ln(n)/(γμ²), if γR² ≤ ½."""
        return least(4 * log(n) / (self.gamma * mu**2), 1) if self.gamma * R**2 <= 0.5 + 1e-12 else inf


class SignGD(Method):
    """Sign gradient descent: the steepest descent of ψ = ln (1/n) Σ exp(-x_i) in the largest-entry norm.

        θ⁺ = θ + γ ‖v‖₁ sign(v) ,      v = Σ q_i z_i = -∇ψ ,      γ < 2/R₁² ,      R₁ = max ‖z_i‖₁

    Its margin is μ∞ = max_{‖θ‖∞ ≤ 1} min_i z_iᵀθ. ψ falls by γ(1 - γR₁²/2) ‖v‖₁² or more, and ‖v‖₁ ≥ μ∞, so
    T > ln(n)/(γ(1 - γR₁²/2) μ∞²) is enough: 2 ln(n) R₁²/μ∞² at γ = 1/R₁². In `bound`, R and mu are R₁ and μ∞.
    """

    def weights(self, x: Vector) -> Vector:
        """exp(-x_i), times a number that W has, too."""
        return exp(x.min() - x)

    def step(self, at: At) -> Vector:
        """γ ‖v‖₁ sign(v)."""
        v = at.pull(at.w) / at.W
        return np.asarray(at.step_size * fsum(abs(v)) * np.sign(v))

    def bound(self, n: int, R: float, mu: float) -> float:
        """The least whole T > ln(n)/(γ(1 - γR₁²/2) μ∞²), if γR₁² < 2; R is R₁, mu is μ∞."""
        falls = self.gamma * (1 - self.gamma * R**2 / 2) * mu**2
        return floor(log(n) / falls) + 1.0 if falls > 0 else inf


@dataclass
class GrowingStepsGD(Method):
    """Gradient descent on the logistic loss with steps that grow by a formula, and stay stable.

        θ⁺ = θ + (γ_t/n) Σ w_i z_i ,    γ_t = (e^y(t+1) - e^y(t))/μ² ,    (y(t) + √2)³ = 2√2 + 3t/(R²/μ² + ½)

    After arXiv 2602.18946 (Kale, Manupriya, Marion, Bach, Raj); its schedule could not be read, this one is ours. f falls
    all along, and f(θ_t) ≤ (y² + 2(1 - e^(-y)))/(e^y - 1), y = y(t): like exp(-(3tμ²/R²)^(1/3)). T is the first t with
    that below ln(2)/n, about R²/μ² (ln n)³/3. Any R from above and μ from below will do.
    """

    R: float
    mu: float

    name: ClassVar[str] = "growing-steps-gd"

    def y(self, t: float) -> float:
        """ln(1 + μ² Σ_{s<t} γ_s)."""
        return float((2 * sqrt(2) + 3 * t / ((self.R / self.mu) ** 2 + 0.5)) ** (1 / 3) - sqrt(2))

    def step_size(self, t: int) -> float:
        """γ_t."""
        return e_to(self.y(t)) * expm1(self.y(t + 1) - self.y(t)) / self.mu**2

    def bound(self, n: int, R: float, mu: float) -> float:
        """The first t at which f(θ_t) < ln(2)/n for sure, if the schedule's own R and μ are on the safe side."""
        if R > self.R * (1 + 1e-12) or mu < self.mu * (1 - 1e-12):
            return inf
        low, y = 0.0, 1e3  # y is on the far side of the crossing, and is what is left
        while y - low > 1e-9:
            mid = (low + y) / 2
            low, y = (low, mid) if (mid * mid - 2 * expm1(-mid)) / expm1(mid) < log(2) / n else (mid, y)
        return floor(((self.R / self.mu) ** 2 + 0.5) * ((y + sqrt(2)) ** 3 - 2 * sqrt(2)) / 3) + 1.0


def each(n: int, R: float, mu: float, R1: float) -> list[Method]:
    """One of each, with the step size that its bound asks for, for n rows with R = max ‖z_i‖ and R1 = max ‖z_i‖₁."""
    return [
        NormalizedExpGD(2 * log(2 * n) / R**2),
        RiskAdaptiveGD(2 * (1 + log(2 * n)) / R**2),
        DualMomentumGD(1 / R**2),
        SmoothPerceptron(1 / (2 * R**2)),
        SignGD(1 / R1**2),
        GrowingStepsGD(R, mu),
    ]


def least(c: float, k: int) -> float:
    """The least whole T with T(T + k) > c."""
    return floor((sqrt(k * k + 4 * c) - k) / 2) + 1.0
