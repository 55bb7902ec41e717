"""The four batch methods, as NumPy defines them: every engine takes these steps, bit for bit.

The iterate is kept as Φ = unit·φ, with unit = n^p where a method divides by N = n^p W^(1-p), W = Σw: then the batch
perceptron, p = 1, only ever adds whole rows, and whole numbers walk without rounding.

    m = ZΦ ,      w_i = s_i weight(m_i) ,      step = W^(p-1) Σ w_i z_i ,      Φ⁺ = Φ + step

With a schedule of step sizes φ = θ/γ_0, and a step is γ_t/γ_0 of that. At γ = ∞ the step stays the same while the wrong
set does; then Φ = base + k·step. Products, sums and exp are those of `core.definition`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from math import isinf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from separatrix.core.definition import exp, margins, pull
from separatrix.core.rule import Rule, divisor, underflow_shift
from separatrix.walking.methods import Plan, Vector
from separatrix.walking.own import At, begun_memory, checked_normaliser, checked_step
from separatrix.walking.watch import Watch, watched


class Frame(NamedTuple):
    """What turns Φ into the user's θ = γ scale/unit Φ, and Σ s_i."""

    size: float = 1.0
    unit: float = 1.0
    scale: float = 1.0


class Definition:
    """One run: the rows z_i = sign_i (a_i, bias), sample weights s_i, and where Φ is."""

    def __init__(
        self,
        method: Plan,
        rule: Rule,
        X: NDArray[Any],
        sign: Vector,
        s: Vector,
        bias: float,
        Phi: Vector,
        frame: Frame | None = None,
    ) -> None:
        self.method, self.rule, self.X, self.bias, self.Phi = method, rule, X, bias, Phi
        self.frame = frame or Frame()
        self.sign, self.s = sign.astype(Phi.dtype), s.astype(Phi.dtype)
        self.kept = slice(None) if (s > 0).all() else s > 0  # the others are as right as can be
        self.entries = len(Phi) if bias else len(Phi) - 1  # of the user's θ
        self.memory = {} if method.own is None else begun_memory(method.own, int((s > 0).sum()), self.entries)
        self.t = self.k = 0
        self.base, self.step = Phi.copy(), np.zeros_like(Phi)
        self.half = begins_half(method, Phi)
        self.last: NDArray[np.intp] | None = None  # the wrong set of the last step
        self.tie: tuple[int, int] | None = None  # the first t after the first step with a margin of 0, and the row
        self.watch = Watch(watched(method), Phi)
        self.look()

    @np.errstate(over="ignore", invalid="ignore")  # the loop looks for overflow
    def look(self) -> None:
        """Margins and weights at Φ."""
        self.finite = bool(np.isfinite(self.Phi).all())
        if not self.finite:  # the loop goes back from here
            return
        self.m = margins(self.X, self.sign, self.bias, self.Phi)  # m = ZΦ
        self.w = self.s / 2 if self.half else self.weights()
        ties = np.flatnonzero((self.m == 0) & (self.s > 0))
        if isinf(self.rule.gamma) and self.tie is None and self.t > 0 and len(ties):
            self.tie = self.t, int(ties[0])

    @property
    def x(self) -> Vector:
        """x_i = z_iᵀθ = γ m_i; m_i itself at γ = ∞."""
        m = self.m[self.kept]
        return m.copy() if isinf(self.rule.gamma) else m.dtype.type(self.rule.gamma) * m

    def weights(self) -> Vector:
        """s_i w_i; none past the cut, which past separation is measured from the smallest margin."""
        w, x = np.zeros_like(self.s), self.x
        shift = underflow_shift(self.rule, self.m[self.kept].min())
        w[self.kept] = exp(shift - x) if shift else self.method.weights(x, self.t)
        return np.where(self.m <= self.tau, self.s * w, 0)

    @property
    def active(self) -> NDArray[np.intp]:
        """The rows that pull."""
        return np.flatnonzero(self.w if isinf(self.rule.gamma) else (self.m <= self.tau) & (self.s > 0))

    @property
    def tau(self) -> float:
        """Margins beyond it have no weight."""
        kind = self.m.dtype.type
        low = max(0, self.m[self.s > 0].min())
        return float(kind(self.rule.cut) / kind(self.rule.gamma) + low) if not isinf(self.rule.gamma) else 0.0

    def begin_at(self, Phi: Vector) -> None:
        """Φ_1, where the first step does not begin at Φ_0."""
        self.Phi, self.t, self.half = Phi.copy(), 1, False
        self.look()

    @property
    def errors(self) -> int:
        """Wrong rows."""
        return int((self.m[self.s > 0] <= 0).sum())

    @property
    def turns(self) -> bool:
        """Whether the next step is a new one, which Φ alone determines."""
        return self.last is None or not np.array_equal(self.active, self.last)

    def repeats(self) -> bool:
        """Whether an iterate has come back, this one or an earlier one: the run then repeats itself for ever."""
        if self.errors == 0:
            self.watch.forget()
        elif not self.turns and not self.step.any():
            self.watch.stays(self.Phi, self.t)
        elif self.turns and not self.half:
            self.watch.came_back(self.Phi, self.t)
        return self.watch.period > 0

    @np.errstate(over="ignore", invalid="ignore")
    def advance(self) -> None:
        """Φ⁺ = Φ + step, whole or not at all: an error or Ctrl-C in a user's function leaves the iterate before it."""
        before = dict(vars(self))  # nothing below changes an array in place
        try:
            if self.turns:
                self.base, self.step, self.k = self.Phi, self.turn(), 0
                self.last = self.active if isinf(self.rule.gamma) and not self.half else None
            self.k += 1
            self.Phi = self.base + self.Phi.dtype.type(self.k) * self.step
            self.check_finite()
            self.t += 1
            self.half = False
            self.look()
        except BaseException:
            vars(self).update(before)
            raise

    def check_finite(self) -> None:
        """Complain about a user's step out of the numbers that there are."""
        own, frame = self.method.own, self.frame
        if own is None:
            return
        with np.errstate(over="ignore", invalid="ignore"):
            phi = self.Phi.astype(np.float64) / frame.unit * frame.scale
        if not np.isfinite(phi).all():
            raise ValueError(
                f"{own.name}: the step at t = {self.t} takes θ/γ out of {self.Phi.dtype}; is the step size too large?"
            )

    def turn(self) -> Vector:
        """(γ_t/γ_0) n^p/N Σ s_i w_i z_i; a method of the user's own may have another N, or a step of its own."""
        own, kind = self.method.own, self.Phi.dtype.type
        if own is not None and self.method.overrides("step"):
            step = np.zeros_like(self.Phi)
            at = At(self)
            with np.errstate(over="ignore"):  # see `check_finite`
                step[: self.entries] = checked_step(own, at, self.entries) / self.frame.scale  # here Φ = θ/scale
            self.memory = at.memory
            return step
        with np.errstate(over="ignore", invalid="ignore", divide="ignore") if own else nullcontext():
            total = pull(self.X, self.sign, self.bias, self.w)  # Σ w_i z_i, and behind it Σ w_i
        if own is not None and self.method.overrides("normaliser"):
            at = At(self)
            N = kind(checked_normaliser(own, at) / self.frame.unit)  # N/n^p
            self.memory = at.memory
        else:
            N = divisor(self.rule, total[-1], self.m[self.kept].min())  # W^(1-p)
        factor = kind(self.method.factor(self.t))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore") if own else nullcontext():
            return np.asarray(total[:-1] / N * factor)


def begins_half(method: Plan, Phi: Vector) -> bool:
    """Whether the first step has w_i = ½ for every row: from 0 all batch methods; else those of γ = ∞ where p > 0."""
    if not isinf(method.gamma) or method.order is not None:
        return False
    return not Phi.any() or (method.power > 0 and not method.logistic and not method.begun)


def walk(method: Plan, Z: Any, phi: Vector | None = None, s: Vector | None = None) -> Iterator[Vector]:
    """φ_0, φ_1, φ_2, …: a method on rows z_i given as they are, for those who compare."""
    from separatrix.data.memory import hold
    from separatrix.walking.engines.base import unit_of
    from separatrix.walking.engines.numpy_batch import NumpyEngine

    rows = hold(Z, np.ones(Z.shape[0]), signed=True, sample_weight=s)
    theta0 = None if phi is None else np.asarray(phi) * (1.0 if isinf(method.gamma) else method.gamma)
    engine = NumpyEngine(rows, method, theta0)
    while True:
        yield engine.run.Phi[:-1] / unit_of(rows, method) * rows.scale
        engine.advance(1, False)
