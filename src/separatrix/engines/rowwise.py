"""The row-at-a-time perceptron on each engine.

`dense` reads every row it meets, `lazy` only those that may have turned wrong, `gram` keeps all margins and adds one
column of G per update.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.engines.base import Index, Sheet, measure, rule_of, start
from separatrix.engines.gram import Gram, GramEngine
from separatrix.kernels import gram, sweep
from separatrix.kernels.rows import norm
from separatrix.methods import Method
from separatrix.problem import Problem, Vector
from separatrix.trace import Measure

SCALARS = ("t", "epoch", "position", "clean")


def sweep_order(method: Method, n: int, seed: int, epoch: int) -> Index:
    """The rows in this sweep's order: cyclic, or a fresh permutation that depends on the seed and the sweep alone."""
    if method.order == "random":
        return np.random.default_rng([seed, epoch]).permutation(n)
    return np.arange(n)


class SweepEngine:
    """φ and, for `lazy`, a lower bound on every margin."""

    def __init__(self, problem: Problem, method: Method, theta0: Vector | None, *, lazy: bool, seed: int) -> None:
        self.name = "lazy" if lazy else "dense"
        self.problem, self.method, self.lazy, self.seed = problem, method, lazy, seed
        self.sheet = Sheet(problem)
        self.rule = rule_of(problem, method)
        n = problem.n
        extended = np.zeros(problem.d + 2)
        extended[:-1] = start(problem, method, theta0)
        self.state = sweep.Sweep(
            phi=extended[:-1],
            m=np.zeros(n),
            anchor=np.zeros(problem.d + 1),
            reach=np.full(n, -np.inf),
            order=sweep_order(method, n, seed, 0),
            ones=np.ones(n),
            phi_and_count=extended,
            c=np.zeros(1, dtype=sweep.CONTROL),
        )
        self.c = self.state.c[0]
        sweep.set_anchor(self.state)

    @property
    def t(self) -> int:
        """Updates made."""
        return int(self.c["t"])

    @property
    def epoch(self) -> int:
        """Sweeps finished."""
        return int(self.c["epoch"])

    @property
    def errors(self) -> int:
        """0 once every row was right in turn; before that only a full pass could tell."""
        return 0 if self.c["clean"] >= self.problem.n else self.problem.n

    def advance(self, steps: int, stop: bool) -> None:
        """Up to `steps` updates, or until every row is right; past that nothing moves."""
        end = self.t + steps
        if self.method.order == "most-wrong":
            sweep.most_wrong(self.sheet.data, self.state, steps, self.lazy)
        while self.method.order != "most-wrong" and self.errors and self.t < end:
            epoch = self.epoch
            sweep.sweep(self.sheet.data, self.state, end - self.t, self.lazy)
            if self.epoch > epoch:
                self.state.order[:] = sweep_order(self.method, self.problem.n, self.seed, self.epoch)
        if not stop and self.errors == 0:
            self.c["t"] = end  # a perceptron that is right stays where it is

    def use_threads(self, count: int) -> None:
        """Run the kernels on this many threads."""
        self.sheet.use_threads(count)

    def phi(self) -> Vector:
        """φ_t in the problem's own scale."""
        return np.asarray(self.state.phi * self.problem.scale)

    def check(self) -> bool:
        """Whether every row is right, by a direct product with the raw rows."""
        if self.method.order == "most-wrong":
            right = self.sheet.lowest(self.state.phi) > 0
        else:
            right = sweep.check(self.sheet.data, self.state) > 0
        if not right:
            self.state.reach[:] = -np.inf
            self.c["clean"] = 0
        return right

    def measure(self) -> Measure:
        """The numbers of this iterate, by a full pass over the data."""
        return measure_directly(self.sheet, self.method, self.state.phi)

    def save(self) -> dict[str, NDArray[Any]]:
        """φ and the place in the sweep."""
        state = {name: np.array(self.c[name]) for name in SCALARS}
        return state | {"phi": self.state.phi.copy()}

    def load(self, state: dict[str, NDArray[Any]]) -> None:
        """Back to a saved state."""
        self.state.phi[:] = state["phi"]
        for name in SCALARS:
            self.c[name] = state[name][()]
        sweep.set_anchor(self.state)
        self.state.reach[:] = -np.inf
        self.state.order[:] = sweep_order(self.method, self.problem.n, self.seed, self.epoch)

    def stats(self) -> dict[str, int]:
        """Rows read so far, and sweeps finished."""
        return {"rows_read": int(self.c["rows_read"]), "epochs": self.epoch}


class GramSweepEngine(GramEngine):
    """All margins, and one column of G per update."""

    def __init__(self, problem: Problem, method: Method, theta0: Vector | None, options: Gram, seed: int) -> None:
        super().__init__(problem, method, theta0, options)
        self.seed = seed
        self.p = np.zeros(1, dtype=sweep.CONTROL)[0]
        self._fresh_order()

    def _fresh_order(self) -> None:
        most_wrong = self.method.order == "most-wrong"
        n = self.problem.n
        self.order = np.zeros(0, dtype=np.int64) if most_wrong else sweep_order(self.method, n, self.seed, self.epoch)

    @property
    def t(self) -> int:
        """Updates made."""
        return int(self.p["t"])

    @property
    def epoch(self) -> int:
        """Sweeps finished."""
        return int(self.p["epoch"])

    @property
    def errors(self) -> int:
        """0 once every row was right in turn."""
        return 0 if self.p["clean"] >= self.problem.n else self.problem.n

    def advance(self, steps: int, stop: bool) -> None:
        """Up to `steps` updates, or until every row is right; past that nothing moves."""
        end = self.t + steps
        while self.errors and (self.t < end):
            epoch = self.epoch
            said = gram.sweep(self.sheet.data, self.state, self.order, self.p, end - self.t)
            if said == gram.COLUMNS:
                self.cache.compute(self.sheet, self.state.need[:1].copy(), self.t + 1)
            elif said == gram.REFRESH:
                self.refresh()
            if self.epoch > epoch:
                self._fresh_order()
        if not stop and self.errors == 0:
            self.p["t"] = end

    def check(self) -> bool:
        """Whether every row is right, by a direct product with the raw rows."""
        right = self.sheet.lowest(self.vector()) > 0
        if not right:
            self.refresh()
            self.p["clean"] = 0
        return right

    def measure(self) -> Measure:
        """The numbers of this iterate, by a full pass over the data."""
        return measure_directly(self.sheet, self.method, self.vector())

    def save(self) -> dict[str, NDArray[Any]]:
        """The gram state and the place in the sweep."""
        return super().save() | {f"sweep_{name}": np.array(self.p[name]) for name in SCALARS}

    def load(self, state: dict[str, NDArray[Any]]) -> None:
        """Back to a saved state."""
        super().load(state)
        for name in SCALARS:
            self.p[name] = state[f"sweep_{name}"][()]
        self._fresh_order()

    def stats(self) -> dict[str, int]:
        """Rows and columns read so far, and sweeps finished."""
        return super().stats() | {"epochs": self.epoch}


def measure_directly(sheet: Sheet, method: Method, Phi: Vector) -> Measure:
    """The numbers of Φ from scratch: all margins, the sum over the wrong rows."""
    m = sheet.margins(Phi)
    wrong = np.flatnonzero(m <= 0)
    grad = norm(sheet.sum(wrong, np.ones(sheet.problem.n))[:-1])
    return measure(sheet.problem, method, rule_of(sheet.problem, method), m, wrong, float(m.min()), norm(Phi), grad)
