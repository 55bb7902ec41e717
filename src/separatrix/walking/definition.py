"""The four batch methods, as NumPy defines them: every engine takes these steps, bit for bit.

The iterate is kept as Φ = unit·φ, with unit = n where a method divides by n and 1 where it divides by Σw: then the
batch perceptron only ever adds whole rows, and whole numbers walk without rounding.

    m = ZΦ ,      w_i = s_i weight(m_i) ,      step = (unit/N) Σ w_i z_i ,      Φ⁺ = Φ + step

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
from separatrix.core.rule import Rule
from separatrix.walking.methods import Method, Vector


class Definition:
    """One run: the rows z_i = sign_i (a_i, bias), sample weights s_i, and where Φ is."""

    def __init__(
        self, method: Method, rule: Rule, X: NDArray[Any], sign: Vector, s: Vector, bias: float, Phi: Vector
    ) -> None:
        self.method, self.rule, self.X, self.bias, self.Phi = method, rule, X, bias, Phi
        self.sign, self.s = sign.astype(Phi.dtype), s.astype(Phi.dtype)
        self.t = self.k = 0
        self.base, self.step = Phi.copy(), np.zeros_like(Phi)
        self.half = isinf(rule.gamma) and not Phi.any()  # from 0 the limit's first step has w_i = σ(0)
        self.last: NDArray[np.intp] | None = None  # the wrong set of the last step
        self.look()

    def look(self) -> None:
        """Margins and weights at Φ."""
        self.m = margins(self.X, self.sign, self.bias, self.Phi)  # m = ZΦ
        self.w = self.s / 2 if self.half else self.method.weights(self.m, self.s, self.rule)

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

    def advance(self) -> None:
        """Φ⁺ = Φ + step."""
        if self.last is None or not np.array_equal(self.active, self.last):
            total = pull(self.X, self.sign, self.bias, self.w)  # Σ w_i z_i, and behind it Σ w_i
            N = total[-1] if self.rule.normalized and total[-1] > 0 else total.dtype.type(1)  # unit/N = 1 where N = n
            self.base, self.step, self.k = self.Phi, total[:-1] / N, 0
            self.last = self.active if isinf(self.rule.gamma) and not self.half else None
        self.k += 1
        self.Phi = self.base + self.Phi.dtype.type(self.k) * self.step
        self.t += 1
        self.half = False
        self.look()


def walk(method: Method, Z: Any, phi: Vector | None = None, s: Vector | None = None) -> Iterator[Vector]:
    """φ_0, φ_1, φ_2, …: a method on rows z_i given as they are, for those who compare."""
    from separatrix.data.memory import hold
    from separatrix.walking.engines.base import rule_of, start, unit_of

    rows = hold(Z, np.ones(Z.shape[0]), signed=True, sample_weight=s)
    dense = rows.X.toarray() if rows.sparse else rows.X
    theta0 = None if phi is None else np.asarray(phi) * (1.0 if isinf(method.gamma) else method.gamma)
    run = Definition(method, rule_of(rows, method), dense, rows.sign, rows.weight, 0.0, start(rows, method, theta0))
    while True:
        yield run.Phi[:-1] / unit_of(rows, method) * rows.scale
        run.advance()
