"""The four batch methods, as NumPy defines them: every engine takes these steps, bit for bit.

The iterate is kept as Φ = unit·φ, with unit = n^p where a method divides by N = n^p W^(1-p), W = Σw: then the batch
perceptron, p = 1, only ever adds whole rows, and whole numbers walk without rounding.

    m = ZΦ ,      w_i = s_i weight(m_i) ,      step = W^(p-1) Σ w_i z_i ,      Φ⁺ = Φ + step

At γ = ∞ the step stays the same while the wrong set does; then Φ = base + k·step. Products, sums and exp are those of
`core.definition`.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isinf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core.definition import margins, pull
from separatrix.core.rule import Rule, divisor
from separatrix.walking.methods import Method, Vector
from separatrix.walking.watch import Watch, watched


class Definition:
    """One run: the rows z_i = sign_i (a_i, bias), sample weights s_i, and where Φ is."""

    def __init__(
        self, method: Method, rule: Rule, X: NDArray[Any], sign: Vector, s: Vector, bias: float, Phi: Vector
    ) -> None:
        self.method, self.rule, self.X, self.bias, self.Phi = method, rule, X, bias, Phi
        self.sign, self.s = sign.astype(Phi.dtype), s.astype(Phi.dtype)
        self.t = self.k = 0
        self.base, self.step = Phi.copy(), np.zeros_like(Phi)
        self.half = begins_half(method, Phi)
        self.last: NDArray[np.intp] | None = None  # the wrong set of the last step
        self.tie: tuple[int, int] | None = None  # the first t after the first step with a margin of 0, and the row
        self.watch = Watch(watched(method), Phi)
        self.look()

    def look(self) -> None:
        """Margins and weights at Φ."""
        self.m = margins(self.X, self.sign, self.bias, self.Phi)  # m = ZΦ
        self.w = self.s / 2 if self.half else self.method.weights(self.m, self.s, self.rule)
        ties = np.flatnonzero((self.m == 0) & (self.s > 0))
        if isinf(self.rule.gamma) and self.tie is None and self.t > 0 and len(ties):
            self.tie = self.t, int(ties[0])

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

    def advance(self) -> None:
        """Φ⁺ = Φ + step."""
        if self.turns:
            total = pull(self.X, self.sign, self.bias, self.w)  # Σ w_i z_i, and behind it Σ w_i
            N = divisor(self.rule, total[-1], self.m[self.s > 0].min())  # W^(1-p)
            self.base, self.step, self.k = self.Phi, total[:-1] / N, 0
            self.last = self.active if isinf(self.rule.gamma) and not self.half else None
        self.k += 1
        self.Phi = self.base + self.Phi.dtype.type(self.k) * self.step
        self.t += 1
        self.half = False
        self.look()


def begins_half(method: Method, Phi: Vector) -> bool:
    """Whether the first step has w_i = ½ for every row: from 0 all batch methods; else those of γ = ∞ where p > 0."""
    if not isinf(method.gamma) or method.order is not None:
        return False
    return not Phi.any() or (method.power > 0 and not method.logistic and not method.begun)


def walk(method: Method, Z: Any, phi: Vector | None = None, s: Vector | None = None) -> Iterator[Vector]:
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
