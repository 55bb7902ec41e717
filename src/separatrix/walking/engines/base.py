"""What every engine has: rows ready for the kernels, numbers for the trace, one protocol for the loop."""

from __future__ import annotations

import sys
from dataclasses import replace
from math import exp, frexp, isinf, nan
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from separatrix.core.definition import power as to_the
from separatrix.core.rule import Rule, underflow_shift
from separatrix.data.memory import HeldRows
from separatrix.data.rows import Index, Rows, Vector
from separatrix.data.sheet import Sheet
from separatrix.walking.methods import Method
from separatrix.walking.trace import Measure

LN2 = 0.6931471805599453


class Engine(Protocol):
    """Keeps the margins of one run up to date; the loop in `solve` drives it."""

    name: str

    @property
    def t(self) -> int:
        """Updates made."""

    @property
    def epoch(self) -> int:
        """Passes over the data finished: the perceptron's sweeps, or updates of a method that takes every row."""

    @property
    def errors(self) -> int | None:
        """Wrong rows at this iterate; None where that is not known, as in the perceptron's sweeps before they end."""

    @property
    def seen_wrong(self) -> bool:
        """Whether a direct product of the raw rows with φ itself has shown a wrong row at this iterate."""

    def advance(self, steps: int, stop: bool, epoch: float = ...) -> None:
        """Up to `steps` updates, but not past `epoch`; with `stop`, none once no row is wrong."""

    def use_threads(self, count: int) -> None:
        """Run the kernels on this many threads; no bit of the result depends on it."""

    def phi(self) -> Vector:
        """φ_t, with d + 1 entries, in the problem's own scale."""

    def check(self) -> bool:
        """Whether every row is right, by a direct product with the raw rows; if not, the engine goes on from that.

        Where its own products then say again that every row is right, so does this: the caller has the last word.
        """

    def measure(self) -> Measure:
        """The numbers of this iterate."""

    @property
    def tie(self) -> tuple[int, int] | None:
        """The first t after the first step at which a margin was exactly 0 at γ = ∞, and the first such row.

        None where there was none so far, at finite γ, and for the row-at-a-time perceptron.
        """

    @property
    def cycle(self) -> tuple[int, int] | None:
        """The first iterate seen to come back bit for bit while rows were wrong, and after how many updates.

        None where there was none so far, and where nobody watches (`walking/watch.py`).
        """

    def average(self) -> Vector | None:
        """The mean of φ over the rows that the perceptron's sweeps visited, where it was asked for; else None."""

    def save(self) -> dict[str, NDArray[Any]]:
        """Arrays from which `load` brings back this very state."""

    def load(self, state: dict[str, NDArray[Any]]) -> None:
        """Back to a saved state: the same bits follow as would have without the break."""

    def stats(self) -> dict[str, int]:
        """What the run has cost: rows and columns read."""


def rule_of(rows: Rows, method: Method) -> Rule:
    """The method in the kernels' units: Φ = unit·φ, gamma·ZΦ = γ·m̂."""
    # Dropped weights sum to under exp(-40) of Σ s_i w_i; ln(size/least) from above, by its exponent: no libm is asked.
    cut = 40.0 + LN2 * frexp(min(rows.size / rows.least, sys.float_info.max))[1]
    gamma = method.gamma if isinf(method.gamma) else min(max(product(rows, method), 1e-300), 1e300)
    return Rule(gamma, cut, method.power)


def product(rows: Rows, method: Method) -> float:
    """γ·scale²/unit, without overflow on the way."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.float64(method.gamma) / unit_of(rows, method) * rows.scale * rows.scale)


def unit_of(rows: Rows, method: Method) -> float:
    """Φ = unit·φ: n^p where the step is divided by n^p (Σw)^(1-p)."""
    return 1.0 if method.order else float(to_the(np.float64(rows.size), method.power))


def start(rows: Rows, method: Method, theta0: Vector | None) -> Vector:
    """Φ_0: φ_0 = θ_0/γ at finite γ, θ_0 itself at γ = ∞."""
    phi = np.zeros(rows.d + 1)
    if theta0 is not None:
        gamma = 1.0 if isinf(method.gamma) else method.gamma
        with np.errstate(over="ignore"):
            phi[: len(theta0)] = theta0 / gamma * (unit_of(rows, method) / rows.scale)
        if not np.isfinite(phi).all():
            raise ValueError(
                f"theta0/step_size leaves float64 (largest entry {abs(theta0).max():.3g}, step {gamma:.3g})."
            )
    return phi


class Opening(NamedTuple):
    """The first step of LR+GD at γ = ∞ from θ_0 ≠ 0, the limit of large γ: from φ_0 = 0, with weights σ(-z_iᵀθ_0).

    The iterate 0 is θ_0 itself, whose wrong rows those of every γ are.
    """

    Phi: Vector  # Φ_1
    grad_norm: float  # at θ_0


def opens(method: Method, theta0: Vector | None) -> bool:
    """Whether a run begins with such a step."""
    fresh = isinf(method.gamma) and method.logistic and not method.begun
    return fresh and theta0 is not None and bool(theta0.any())


def unit_step(method: Method) -> Method:
    """The same at γ = 1: its step from θ_0 is the opening."""
    return replace(method, gamma=1.0)


class Batch(Engine, Protocol):
    """An engine of the batch methods."""

    opening: Opening | None

    @property
    def last_step(self) -> Vector:
        """The step that led to Φ, a copy."""

    def begin_at(self, Phi: Vector) -> None:
        """Φ_1 is this, wherever Φ_0 was."""


def opening_of(first: Batch) -> Opening:
    """The first step of an engine at γ = 1 that stands at θ_0."""
    first.advance(0, False)
    grad = first.measure().grad_norm
    first.advance(1, False)
    return Opening(first.last_step, grad)


def over_at_once(engine: Batch, end: int, stop: bool) -> bool:
    """Make the opening step where one is due before update `end`; true if θ_0 ends the run by itself."""
    if engine.opening is None or engine.t > 0 or end < 1:
        return False
    engine.advance(0, stop)
    if stop and engine.errors == 0:
        return True
    engine.begin_at(engine.opening.Phi)
    return False


def at_start(engine: Batch, found: Measure) -> Measure:
    """These numbers; at θ_0 with the gradient of the opening step."""
    if engine.opening is None or engine.t > 0:
        return found
    return replace(found, grad_norm=engine.opening.grad_norm)


def measure(
    rows: HeldRows, method: Method, rule: Rule, m: Vector, active: Index, low: float, length: float, grad: float
) -> Measure:
    """The trace's numbers from the rows that have a weight: margins m at `active`, ‖Φ‖ and ‖Σ w_i z_i‖.

    Rows outside `active` are right and their weights below rounding, so they add nothing to errors, loss or gradient.
    """
    unit, size = unit_of(rows, method), rows.size
    s, x = rows.weight[active], m[active]
    wrong = x <= 0
    if isinf(rule.gamma):
        loss = float(np.sum(s * np.maximum(0.0, -x))) / size / unit * rows.scale * rows.scale
        theta_norm = length / unit * rows.scale
    else:
        with np.errstate(over="ignore"):
            loss = float(np.sum(s * np.logaddexp(0.0, -rule.gamma * x))) / size
        theta_norm = method.gamma * (length / unit * rows.scale)
    return Measure(
        errors=int(wrong.sum()),
        accuracy=1.0 - float(s[wrong].sum()) / size,
        loss=loss,
        grad_norm=grad / size * rows.scale,
        theta_norm=theta_norm,
        min_margin=low / length * rows.scale if length > 0 else nan,
    )


def unshift(rule: Rule, low: Any) -> float:
    """Undo the factor by which the core enlarges weights that would all underflow; `low` as in `underflow_shift`."""
    return exp(-underflow_shift(rule, low)) if low > 0 else 1.0


def sharpness(sheet: Sheet, rule: Rule, Phi: Vector) -> float:
    """λ_max of ∇²f(θ) = (1/n) Σ σ'(z_iᵀθ) z_i z_iᵀ, by Lanczos on the rows with a curvature."""
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    rows = sheet.rows
    x = np.clip(rule.gamma * sheet.margins(Phi), -700.0, 700.0)
    curvature = rows.weight / (2.0 * np.cosh(x / 2.0)) ** 2  # σ'(x) = 1/(2 cosh(x/2))²
    idx = np.flatnonzero(curvature > 0)
    D = rows.d + 1

    def hessian(v: Vector) -> Vector:
        q = sheet.margins(np.ravel(v), idx)
        return sheet.sum(idx, curvature * np.where(curvature > 0, q, 0.0))[:D].copy()

    if len(idx) == 0:
        return 0.0
    if D <= 3:
        H = np.column_stack([hessian(e) for e in np.eye(D)])
        top = float(np.linalg.eigvalsh((H + H.T) / 2)[-1])
    else:
        first = sheet.sum(idx, curvature)[:D].copy()
        v0 = first if first.any() else np.ones(D)
        operator = LinearOperator((D, D), matvec=hessian, dtype=np.float64)
        try:
            top = float(eigsh(operator, k=1, which="LA", v0=v0, tol=1e-9, return_eigenvectors=False)[0])
        except ArpackNoConvergence as stuck:
            top = float(stuck.eigenvalues[0]) if len(stuck.eigenvalues) else nan
    return max(top, 0.0) / rows.size * rows.scale * rows.scale
