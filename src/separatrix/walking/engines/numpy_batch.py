"""Engine `numpy`: the definition itself, for rows in memory. It needs nothing compiled, and takes any method."""

from __future__ import annotations

from math import inf, isinf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core import definition
from separatrix.data.memory import HeldRows
from separatrix.data.rows import Vector
from separatrix.walking import watch
from separatrix.walking.definition import Definition, Frame
from separatrix.walking.engines.base import (
    Opening,
    at_start,
    measure,
    opening_of,
    opens,
    over_at_once,
    rule_of,
    start,
    unit_of,
    unit_step,
    unshift,
)
from separatrix.walking.methods import Plan
from separatrix.walking.trace import Measure


class NumpyEngine:
    """One run of the definition, step by step."""

    name = "numpy"
    seen_wrong = False

    def __init__(self, rows: HeldRows, method: Plan, theta0: Vector | None, *, kind: Any = np.float64) -> None:
        self.rows, self.method = rows, method
        self.rule = rule_of(rows, method)
        X = rows.X.toarray() if rows.sparse else rows.X
        X = X.astype(np.float32) if kind == np.float32 else X
        Phi = start(rows, method, theta0).astype(kind)
        frame = Frame(rows.size, unit_of(rows, method), rows.scale)
        self.run = Definition(method, self.rule, X, rows.sign, rows.weight, rows.bias, Phi, frame)
        self.opening: Opening | None = None
        if opens(method, theta0):
            self.opening = opening_of(NumpyEngine(rows, unit_step(method), theta0, kind=kind))

    @property
    def t(self) -> int:
        """Updates made."""
        return self.run.t

    @property
    def epoch(self) -> int:
        """Every update reads all rows."""
        return self.run.t

    @property
    def errors(self) -> int:
        """Wrong rows at this iterate."""
        return self.run.errors

    def advance(self, steps: int, stop: bool, epoch: float = inf) -> None:
        """Up to `steps` updates, `epoch` in all; with `stop`, none once no row is wrong."""
        end = self.t + int(min(steps, max(epoch - self.t, 0)))
        if over_at_once(self, end, stop):
            return
        while self.t < end and self.run.finite and not (stop and self.errors == 0):
            if self.run.repeats() and stop:
                return
            self.run.advance()

    @property
    def last_step(self) -> Vector:
        """The step that led to Φ, a copy."""
        return self.run.step.copy()

    def begin_at(self, Phi: Vector) -> None:
        """Φ_1, where the first step does not begin at Φ_0."""
        self.run.begin_at(Phi)

    def use_threads(self, count: int) -> None:
        """NumPy's loops have one."""

    def phi(self) -> Vector:
        """φ_t in the problem's own scale."""
        return np.asarray(self.run.Phi.astype(np.float64) / unit_of(self.rows, self.method) * self.rows.scale)

    def check(self) -> bool:
        """Whether every row is right: its margins are direct products."""
        return self.errors == 0

    def measure(self) -> Measure:
        """The numbers of this iterate."""
        run = self.run
        low = run.m[run.s > 0].min()
        total = definition.pull(run.X, run.sign, run.bias, run.w).astype(np.float64)
        grad = definition.norm(total[:-1]) * unshift(self.rule, low)
        m, length = run.m.astype(np.float64), definition.norm(run.Phi.astype(np.float64))
        found = measure(self.rows, self.method, self.rule, m, run.active, float(low), length, grad)
        return at_start(self, found)

    @property
    def tie(self) -> tuple[int, int] | None:
        """The first t and row with a margin of 0."""
        return self.run.tie

    @property
    def cycle(self) -> tuple[int, int] | None:
        """The iterate that came back, and after how many steps."""
        return watch.cycle_of(self.run.watch)

    def average(self) -> Vector | None:
        """None: that is for the perceptron's sweeps."""
        return None

    def save(self) -> dict[str, NDArray[Any]]:
        """Φ, the stretch it is on, and the last wrong set."""
        run = self.run
        known = np.zeros(0, dtype=np.int64) if run.last is None else run.last
        scalars = {"t": run.t, "k": run.k, "half": run.half, "stepped": run.last is not None}
        scalars |= dict(zip(("tie_t", "tie_row"), run.tie or (0, 0), strict=True))
        state = {"phi": run.Phi, "base": run.base, "step": run.step, "last": known}
        state |= {f"memory.{name}": value for name, value in run.memory.items()}  # of a method of the user's own
        state |= watch.save(run.watch, run.watch.mark)
        return state | {name: np.array(value) for name, value in scalars.items()}

    def load(self, state: dict[str, NDArray[Any]]) -> None:
        """Back to a saved state."""
        run = self.run
        run.Phi, run.base, run.step = (state[name].copy() for name in ("phi", "base", "step"))
        run.t, run.k, run.half = int(state["t"]), int(state["k"]), bool(state["half"])
        run.last = state["last"].copy() if isinf(self.rule.gamma) and state["stepped"] else None
        run.tie = (int(state["tie_t"]), int(state["tie_row"])) if state["tie_t"] else None
        run.memory = {name: state[f"memory.{name}"].copy() for name in run.memory}
        watch.load(run.watch, run.watch.mark, state)
        run.look()

    def stats(self) -> dict[str, int]:
        """Rows read so far."""
        return {"rows_read": self.rows.n * (self.t + 1)}
