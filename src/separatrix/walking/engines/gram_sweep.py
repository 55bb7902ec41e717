"""The row-at-a-time perceptron in margin space: all margins, and one column of G per update."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core import gram
from separatrix.core.library import Place
from separatrix.data.memory import HeldRows
from separatrix.data.rows import Vector
from separatrix.walking.engines.gram import Gram, GramEngine
from separatrix.walking.engines.perceptron import measure_directly, sweep_order
from separatrix.walking.methods import Plan
from separatrix.walking.trace import Measure

SCALARS = ("t", "epoch", "position", "clean")


class GramSweepEngine(GramEngine):
    """All margins, and one column of G per update."""

    def __init__(
        self, rows: HeldRows, method: Plan, theta0: Vector | None, options: Gram, seed: int, average: bool = False
    ) -> None:
        super().__init__(rows, method, theta0, options)
        self.seed = seed
        self.late = np.zeros(rows.n if average and method.order != "most-wrong" else 0)
        self.p = Place()
        self.doubted_at = -1  # an update at which `check` saw a wrong row
        self._fresh_order()

    def _fresh_order(self) -> None:
        n, most_wrong = self.rows.n, self.method.order == "most-wrong"
        self.order = np.zeros(0, dtype=np.int64) if most_wrong else sweep_order(self.method, n, self.seed, self.epoch)

    @property
    def tie(self) -> None:
        """None: that is for the batch methods."""
        return

    @property
    def t(self) -> int:
        """Updates made."""
        return int(self.p.t)

    @property
    def epoch(self) -> int:
        """Sweeps finished; with the most wrong row each time every update is one."""
        return self.t if self.method.order == "most-wrong" else int(self.p.epoch)

    @property
    def errors(self) -> int | None:
        """0 once every row was right in turn."""
        return 0 if self.p.clean >= self.rows.n else None

    def advance(self, steps: int, stop: bool, epoch: float = inf) -> None:
        """Up to `steps` updates, or until every row is right or `epoch` sweeps are finished."""
        end = self.t + steps
        last = end if self.method.order != "most-wrong" else int(min(end, epoch))
        while self.errors != 0 and self.t < last and self.epoch < epoch:
            before = self.epoch
            said = self.state.sweep(self.order, self.p, last, self.late)
            if said == gram.COLUMNS:
                self.cache.compute(self.sheet, self.state.need[:1].copy(), self.t + 1)
            elif said == gram.REFRESH:
                self.refresh()
            if self.epoch > before and self.method.order != "most-wrong":
                self._fresh_order()
            if not stop and self.method.order == "random" and self.errors == 0:
                self.check()  # n rows in a row need not be all rows where the order has changed
        if not stop and self.errors == 0:
            self.p.t = end

    def check(self) -> bool:
        """Whether every row is right, by a direct product with the raw rows, or by the sweep that followed one."""
        if self.doubted_at == self.t or self.sheet.lowest(self.vector()) > 0:
            return True
        self.doubted_at = self.t
        self.refresh()
        self.p.clean = 0
        return False

    def measure(self) -> Measure:
        """The numbers of this iterate, by a full pass over the data."""
        return measure_directly(self.sheet, self.method, self.vector())

    def save(self) -> dict[str, NDArray[Any]]:
        """The gram state and the place in the sweep."""
        place = {f"sweep_{name}": np.array(getattr(self.p, name)) for name in SCALARS}
        return super().save() | place | {"late": self.late.copy()}

    def average(self) -> Vector | None:
        """The mean of φ over all rows visited, if it was asked for: φ - (1/v) Σ v_j z_j."""
        if len(self.late) == 0:
            return None
        visited = max(1, self.rows.n * self.epoch + int(self.p.position))
        Phi = self.vector()
        return np.asarray((Phi - self.sheet.sum(np.flatnonzero(self.late), self.late)[:-1] / visited) * self.rows.scale)

    def load(self, state: dict[str, NDArray[Any]]) -> None:
        """Back to a saved state."""
        super().load(state)
        self.doubted_at = -1
        self.late[:] = state["late"]
        for name in SCALARS:
            setattr(self.p, name, state[f"sweep_{name}"].item())
        self._fresh_order()

    def stats(self) -> dict[str, int]:
        """Rows and columns read so far, and sweeps begun."""
        return super().stats() | {"epochs": self.epoch + (self.p.position > 0)}
