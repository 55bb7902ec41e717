"""What every engine has: rows ready for the kernels, numbers for the trace, one protocol for the loop."""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import import_module
from math import exp, isinf, log, nan
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from separatrix.core.batch import EPS, Data, Rule
from separatrix.core.rows import BLOCK, evaluate_rows, sum_rows
from separatrix.data.memory import Problem, Vector
from separatrix.shards import Sharded
from separatrix.walking.methods import Method
from separatrix.walking.trace import Measure

Index = NDArray[np.int64]


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
    def errors(self) -> int:
        """Wrong rows at this iterate; for the perceptron's sweeps only 0 is exact, else it is not yet known."""

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

    def save(self) -> dict[str, NDArray[Any]]:
        """Arrays from which `load` brings back this very state."""

    def load(self, state: dict[str, NDArray[Any]]) -> None:
        """Back to a saved state: the same bits follow as would have without the break."""

    def stats(self) -> dict[str, int]:
        """What the run has cost: rows and columns read."""


class Sheet:
    """A problem's rows with the scratch memory that direct evaluation needs."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        n, d = problem.n, problem.d
        per_row = max(problem.nbytes / n, 1.0)
        # Partial sums take at most 1/32 of the rows' own memory: sparse rows in many columns get larger blocks.
        block = max(BLOCK, int(np.ceil(32 * 8 * (d + 2) / per_row)) if problem.sparse else BLOCK)
        width = max(1, round(problem.rows[0].size / n))
        self.every = np.arange(n)
        self.data = Data(
            rows=problem.rows,
            sign=problem.sign,
            s=problem.weight,
            r=problem.r,
            every=self.every,
            bias=problem.bias,
            block=block,
            width=width,
            short=problem.short,
            threads=threads(),
        )
        blocks = -(-n // block)
        self.starts = np.zeros(blocks + 1, dtype=np.int64)
        self.parts = np.zeros((blocks, d + 2))
        self.total = np.zeros(d + 2)
        # |fl(z·v) - z·v| ≤ dot_error ‖z‖‖v‖, by the most entries a row has, and ‖fl(Σwz) - Σwz‖ ≤ sum_error Σ|w|‖z‖, by
        # the most terms that one entry of the sum passes through.
        entries = int(np.diff(problem.rows[2]).max()) if problem.sparse else d
        self.dot_error = EPS * (entries + 8)
        self.sum_error = EPS * (min(block, n) + blocks + 8)

    def use_threads(self, count: int) -> None:
        """Let the kernels use one thread, or all of them."""
        self.data = self.data._replace(threads=count)

    def margins(self, phi: Vector, idx: Index | None = None) -> Vector:
        """Zφ by direct products; only at `idx` where given."""
        m = np.empty(self.problem.n)
        idx = self.every if idx is None else idx
        evaluate_rows(self.data, idx, len(idx), phi, m)
        return m

    def sum(self, idx: Index, w: Vector) -> Vector:
        """Σ w_i z_i over the rows idx (ascending); the last entry is Σ w_i."""
        sum_rows(self.data, idx, len(idx), w, self.starts, self.parts, self.total)
        return self.total

    def lowest(self, phi: Vector) -> float:
        """The smallest margin among rows with a weight."""
        return float(self.margins(phi)[self.problem.weight > 0].min())


def separates(problem: Problem | Sharded, phi: Vector) -> bool:
    """Whether φ puts every row with a weight on its right side, by direct products."""
    return (problem if isinstance(problem, Sharded) else Sheet(problem)).lowest(phi) > 0


def rule_of(problem: Problem | Sharded, method: Method) -> Rule:
    """The method in the kernels' units: Φ = unit·φ, gamma·ZΦ = γ·m̂."""
    cut = 40.0 + log(problem.size / problem.least)  # dropped weights sum to under exp(-40) of Σ s_i w_i
    gamma = method.gamma if isinf(method.gamma) else min(max(product(problem, method), 1e-300), 1e300)
    return Rule(gamma, cut, method.normalized)


def product(problem: Problem | Sharded, method: Method) -> float:
    """γ·scale²/unit, without overflow on the way."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.float64(method.gamma) / unit_of(problem, method) * problem.scale * problem.scale)


def unit_of(problem: Problem | Sharded, method: Method) -> float:
    """Φ = unit·φ: n where the step is divided by n, 1 otherwise."""
    return 1.0 if method.normalized or method.order else problem.size


def start(problem: Problem | Sharded, method: Method, theta0: Vector | None) -> Vector:
    """Φ_0: φ_0 = θ_0/γ at finite γ, θ_0 itself at γ = ∞."""
    phi = np.zeros(problem.d + 1)
    if theta0 is not None:
        gamma = 1.0 if isinf(method.gamma) else method.gamma
        with np.errstate(over="ignore"):
            phi[: len(theta0)] = theta0 / gamma * (unit_of(problem, method) / problem.scale)
        if not np.isfinite(phi).all():
            raise ValueError(
                f"theta0/step_size leaves float64 (largest entry {abs(theta0).max():.3g}, step {gamma:.3g})."
            )
    return phi


def measure(
    problem: Problem, method: Method, rule: Rule, m: Vector, active: Index, low: float, length: float, grad: float
) -> Measure:
    """The trace's numbers from the rows that have a weight: margins m at `active`, ‖Φ‖ and ‖Σ w_i z_i‖.

    Rows outside `active` are right and their weights below rounding, so they add nothing to errors, loss or gradient.
    """
    unit, size = unit_of(problem, method), problem.size
    s, x = problem.weight[active], m[active]
    wrong = x <= 0
    if isinf(rule.gamma):
        loss = float(np.sum(s * np.maximum(0.0, -x))) / size / unit * problem.scale * problem.scale
        theta_norm = length / unit * problem.scale
    else:
        with np.errstate(over="ignore"):
            loss = float(np.sum(s * np.logaddexp(0.0, -rule.gamma * x))) / size
        theta_norm = method.gamma * (length / unit * problem.scale)
    return Measure(
        errors=int(wrong.sum()),
        accuracy=1.0 - float(s[wrong].sum()) / size,
        loss=loss,
        grad_norm=grad / size * problem.scale,
        theta_norm=theta_norm,
        min_margin=low / length * problem.scale if length > 0 else nan,
    )


def unshift(rule: Rule, low: float) -> float:
    """Undo the factor by which the kernels enlarge weights that would all underflow."""
    x = rule.gamma * low if rule.normalized and not isinf(rule.gamma) and low > 0 else 0.0
    return exp(-x) if x > 600.0 else 1.0


def sharpness(sheet: Sheet, rule: Rule, Phi: Vector) -> float:
    """λ_max of ∇²f(θ) = (1/n) Σ σ'(z_iᵀθ) z_i z_iᵀ, by Lanczos on the rows with a curvature."""
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    problem = sheet.problem
    x = np.clip(rule.gamma * sheet.margins(Phi), -700.0, 700.0)
    curvature = problem.weight / (2.0 * np.cosh(x / 2.0)) ** 2  # σ'(x) = 1/(2 cosh(x/2))²
    idx = np.flatnonzero(curvature > 0)
    D = problem.d + 1

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
    return max(top, 0.0) / problem.size * problem.scale * problem.scale


@cache
def _thread_pool() -> bool:
    """Whether Numba has a thread pool that several Python threads may enter at once."""
    if (
        import_module("numba").config.THREADING_LAYER == "workqueue"
    ):  # the user's choice, and one that may not be entered twice
        return False
    for pool in ("omppool", "tbbpool"):
        try:
            import_module(f"numba.np.ufunc.{pool}")
        except ImportError:  # its library is not on this system
            continue
        return True
    return False


_forked = False


def _after_fork() -> None:
    global _forked
    _forked = True  # GNU OpenMP does not survive a fork: the child runs on one thread


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_after_fork)


def threads() -> int:
    """Threads the kernels may use; the result does not depend on it."""
    from numba import get_num_threads

    return 1 if _forked or not _thread_pool() else int(get_num_threads())
