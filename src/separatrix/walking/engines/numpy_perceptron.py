"""Engine `numpy` of the row-at-a-time perceptron: the definition that the compiled sweeps equal bit for bit.

φ⁺ = φ + z_j    for one j with z_jᵀφ ≤ 0:    the next in this sweep's order, or the one of smallest margin
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core import definition
from separatrix.data.memory import HeldRows
from separatrix.data.rows import Index, Vector
from separatrix.data.sheet import Sheet
from separatrix.walking import watch
from separatrix.walking.engines.base import start
from separatrix.walking.engines.perceptron import SCALARS, begun, measure_directly, sweep_order
from separatrix.walking.methods import Method
from separatrix.walking.trace import Measure

CHUNK = 64  # upcoming rows whose margins are computed at a time; no result depends on it


class NumpySweepEngine:
    """φ and the place in the sweep."""

    name = "numpy"

    def __init__(
        self, rows: HeldRows, method: Method, theta0: Vector | None, *, seed: int, average: bool = False
    ) -> None:
        self.rows, self.method, self.seed = rows, method, seed
        self.sheet = Sheet(rows)
        self.Phi = start(rows, method, theta0) + 0.0  # no -0
        self.late = np.zeros(rows.d + 1 if average and method.order != "most-wrong" else 0)
        self.t = self.sweeps = self.position = self.clean = self.rows_read = 0
        self.order = sweep_order(method, rows.n, seed, 0)
        self.watch = watch.Watch(watch.watched(method), self.Phi)
        self.wrong_at = self.doubted_at = -1  # updates at which `measure` and `check` saw a wrong row

    def margins(self, idx: Index) -> Vector:
        """m_i = z_iᵀφ = sign_i (a_iᵀφ + bias φ_d) of the rows idx."""
        self.rows_read += len(idx)
        X, tail = self.sheet.stored.dense(idx), self.rows.bias * self.Phi[-1]
        return np.asarray(self.rows.sign[idx] * (definition.dots(X, self.Phi[:-1]) + tail))

    def add(self, j: int, place: int) -> None:
        """φ += z_j, and late += v z_j, where v rows were visited before."""
        a = np.append(self.sheet.stored.dense(np.array([j]))[0].astype(np.float64), self.rows.bias)
        self.Phi += self.rows.sign[j] * a
        if len(self.late):
            self.late += self.rows.sign[j] * (float(self.sweeps) * self.rows.n + place) * a
        self.t += 1
        self.clean = 0

    def advance(self, steps: int, stop: bool, epoch: float = inf) -> None:
        """Up to `steps` updates, or until every row is right or `epoch` sweeps are finished."""
        end = self.t + steps
        if self.method.order == "most-wrong":
            self._most_wrong(min(end, epoch), stop)
        while (
            self.method.order != "most-wrong"
            and self.errors != 0
            and self.t < end
            and self.epoch < epoch
            and not (stop and self.watch.period)
        ):
            self._next_wrong()
            if not stop and self.method.order == "random" and self.errors == 0:
                self.check()  # n rows in a row need not be all rows where the order has changed
        if not stop and self.errors == 0:
            self.t = end  # a perceptron that is right stays where it is

    def _next_wrong(self) -> None:
        """Look at some rows of this sweep, up to the first wrong one; the sweep may end there."""
        n, p = self.rows.n, self.position
        idx = self.order[p : p + min(CHUNK, n - self.clean)]
        wrong = np.flatnonzero(self.margins(idx) <= 0)
        if len(wrong):
            self.add(int(idx[wrong[0]]), p + int(wrong[0]))
            self.position = p + int(wrong[0]) + 1
        else:
            self.clean += len(idx)
            self.position = p + len(idx)
        if self.position == n:
            self.position, self.sweeps = 0, self.sweeps + 1
            self.order = sweep_order(self.method, n, self.seed, self.sweeps)
            if self.errors != 0:
                self.watch.came_back(self.Phi, self.t)

    def _most_wrong(self, end: float, stop: bool) -> None:
        """Updates with the row of smallest margin, the lowest index on ties, while that is ≤ 0."""
        while True:
            m = self.margins(self.order)
            j = int(np.argmin(m))
            self.clean = self.rows.n if m[j] > 0 else 0
            if self.clean or self.t >= end:
                return
            self.watch.came_back(self.Phi, self.t)
            if stop and self.watch.period:
                return
            self.add(j, 0)

    @property
    def epoch(self) -> int:
        """Sweeps finished; with the most wrong row each time every update is one."""
        return self.t if self.method.order == "most-wrong" else self.sweeps

    @property
    def errors(self) -> int | None:
        """0 once every row was right in turn; before that only a full pass could tell."""
        return 0 if self.clean >= self.rows.n else None

    @property
    def tie(self) -> None:
        """None: that is for the batch methods."""
        return

    @property
    def cycle(self) -> tuple[int, int] | None:
        """The iterate that came back, and after how many updates."""
        return watch.cycle_of(self.watch)

    @property
    def seen_wrong(self) -> bool:
        """Whether `measure` has just seen a wrong row."""
        return self.wrong_at == self.t

    def use_threads(self, count: int) -> None:
        """NumPy's loops have one."""

    def phi(self) -> Vector:
        """φ_t in the problem's own scale."""
        return np.asarray(self.Phi * self.rows.scale)

    def check(self) -> bool:
        """Whether every row is right, by a direct product with the raw rows; see `SweepEngine.check`."""
        if self.doubted_at == self.t or self.sheet.lowest(self.Phi) > 0:
            return True
        self.doubted_at, self.clean = self.t, 0
        return False

    def measure(self) -> Measure:
        """The numbers of this iterate, by a full pass over the data."""
        found = measure_directly(self.sheet, self.method, self.Phi)
        self.wrong_at = self.t if found.errors else -1
        return found

    def average(self) -> Vector | None:
        """The mean of φ over all rows visited, if it was asked for: φ - (1/v) Σ v_j z_j."""
        visited = max(1, self.rows.n * self.epoch + self.position)
        return np.asarray((self.Phi - self.late / visited) * self.rows.scale) if len(self.late) else None

    def save(self) -> dict[str, NDArray[Any]]:
        """φ, what its average needs, and the place in the sweep."""
        place = zip(SCALARS, (self.t, self.sweeps, self.position, self.clean), strict=True)
        state = {name: np.array(value) for name, value in place} | watch.save(self.watch, self.watch.mark)
        return state | {"phi": self.Phi.copy(), "late": self.late.copy()}

    def load(self, state: dict[str, NDArray[Any]]) -> None:
        """Back to a saved state."""
        self.wrong_at = self.doubted_at = -1
        self.Phi, self.late = state["phi"].copy(), state["late"].copy()
        self.t, self.sweeps, self.position, self.clean = (int(state[name]) for name in SCALARS)
        watch.load(self.watch, self.watch.mark, state)
        self.order = sweep_order(self.method, self.rows.n, self.seed, self.sweeps)

    def stats(self) -> dict[str, int]:
        """Rows read so far, and sweeps begun."""
        return {"rows_read": self.rows_read, "epochs": begun(self.epoch, self.position)}
