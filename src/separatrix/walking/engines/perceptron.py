"""The row-at-a-time perceptron on rows in memory: `dense` reads every row it meets, `lazy` those that may be wrong.

The two take the same steps to the last bit, and so does the definition in `numpy_perceptron`. On columns of G it walks
in `gram_sweep`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core.rows import norm
from separatrix.core.sweep import Walker, sweep_all
from separatrix.data.memory import HeldRows
from separatrix.data.rows import Index, Vector
from separatrix.data.sheet import Sheet
from separatrix.walking import watch
from separatrix.walking.engines.base import measure, rule_of, start
from separatrix.walking.methods import Method
from separatrix.walking.trace import Measure

SCALARS = ("t", "epoch", "position", "clean")
WORK = 1 << 28  # entries of rows that several perceptrons read in some tenths of a second


def sweep_order(method: Method, n: int, seed: int, epoch: int) -> Index:
    """The rows in this sweep's order: cyclic, or a fresh permutation that depends on the seed and the sweep alone."""
    if method.order == "random":
        return np.random.default_rng([seed, epoch]).permutation(n)
    return np.arange(n)


class SweepEngine:
    """φ and, for `lazy`, a lower bound on every margin."""

    def __init__(
        self,
        rows: HeldRows,
        method: Method,
        theta0: Vector | None,
        *,
        lazy: bool,
        seed: int,
        average: bool = False,
        watching: bool = True,
    ) -> None:
        self.name = "lazy" if lazy else "dense"
        self.rows, self.method, self.lazy, self.seed = rows, method, lazy, seed
        self.sheet = Sheet(rows)
        self.state = Walker(
            self.sheet.stored,
            rows.sign,
            rows.r,
            start(rows, method, theta0) + 0.0,  # no -0
            lazy=lazy,
            average=average,
            most_wrong=method.order == "most-wrong",
        )
        self.c, self.watch = self.state.c, self.state.watch
        self.watch.on = watching and watch.watched(method)
        self.order = self.order_at(0)
        self.wrong_at = -1  # an update at which `measure` saw a wrong row
        self.doubted_at = -1  # one at which `check` did

    def order_at(self, epoch: int) -> Index | None:
        """The rows in the order of this sweep; None: as they are stored."""
        return sweep_order(self.method, self.rows.n, self.seed, epoch) if self.method.order == "random" else None

    @property
    def t(self) -> int:
        """Updates made."""
        return int(self.c.t)

    @property
    def epoch(self) -> int:
        """Sweeps finished; with the most wrong row each time every update is one."""
        return self.t if self.method.order == "most-wrong" else int(self.c.epoch)

    @property
    def errors(self) -> int | None:
        """0 once every row was right in turn; before that only a full pass could tell."""
        return 0 if self.c.clean >= self.rows.n else None

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

    def advance(self, steps: int, stop: bool, epoch: float = inf) -> None:
        """Up to `steps` updates, or until every row is right or `epoch` sweeps are finished."""
        end = self.t + steps
        if self.method.order == "most-wrong":
            most = int(min(steps, max(epoch - self.t, 0)))
            self.state.most_wrong(self.sheet.every, most, self.sheet.threads, stop=stop)
        while (
            self.method.order != "most-wrong"
            and self.errors != 0
            and self.t < end
            and self.epoch < epoch
            and not (stop and self.watch.period)
        ):
            self.sweep_on(end - self.t)
            if not stop and self.order is not None and self.errors == 0:
                self.check()  # n rows in a row need not be all rows where the order has changed
        if not stop and self.errors == 0:
            self.c.t = end  # a perceptron that is right stays where it is

    def sweep_on(self, steps: int, following: Index | None = None) -> None:
        """Go on through this sweep, for so many updates; `following` is the next one's order, if at hand."""
        epoch = self.epoch
        self.state.sweep(self.order, steps)
        if self.epoch > epoch:
            self.order = self.order_at(self.epoch) if following is None else following

    def use_threads(self, count: int) -> None:
        """Run the kernels on this many threads."""
        self.sheet.use_threads(count)

    def phi(self) -> Vector:
        """φ_t in the problem's own scale."""
        return np.asarray(self.state.phi * self.rows.scale)

    def check(self) -> bool:
        """Whether every row is right, by a direct product with the raw rows.

        Where a sweep that passes no row by then finds every row right again, its word is taken.
        """
        if self.doubted_at == self.t or self.sheet.lowest(self.state.phi) > 0:
            return True
        self.doubted_at = self.t
        self.state.forget()
        self.c.clean = 0
        return False

    def measure(self) -> Measure:
        """The numbers of this iterate, by a full pass over the data."""
        found = measure_directly(self.sheet, self.method, self.state.phi)
        self.wrong_at = self.t if found.errors else -1
        return found

    def average(self) -> Vector | None:
        """The mean of φ over all rows visited, if it was asked for: φ - (1/v) Σ v_j z_j."""
        if len(self.state.late) == 0:
            return None
        visited = max(1, self.rows.n * self.epoch + int(self.c.position))
        return np.asarray((self.state.phi - self.state.late / visited) * self.rows.scale)

    def save(self) -> dict[str, NDArray[Any]]:
        """φ, what its average needs, and the place in the sweep."""
        state = {name: np.array(getattr(self.c, name)) for name in SCALARS}
        state |= watch.save(self.watch, self.state.mark)
        return state | {"phi": self.state.phi.copy(), "late": self.state.late.copy()}

    def load(self, state: dict[str, NDArray[Any]]) -> None:
        """Back to a saved state."""
        self.wrong_at = self.doubted_at = -1
        self.state.phi[:], self.state.late[:] = state["phi"], state["late"]
        for name in SCALARS:
            setattr(self.c, name, int(state[name]))
        watch.load(self.watch, self.state.mark, state)
        self.state.set_anchor()
        self.state.forget()
        self.order = self.order_at(self.epoch)

    def stats(self) -> dict[str, int]:
        """Rows read so far, and sweeps begun."""
        return {"rows_read": int(self.c.rows_read), "epochs": begun(self.epoch, self.c.position)}


def begun(finished: int, position: int) -> int:
    """Sweeps begun: those finished, and the one under way."""
    return finished + bool(position > 0)


def measure_directly(sheet: Sheet, method: Method, Phi: Vector) -> Measure:
    """The numbers of Φ from scratch: all margins, the sum over the wrong rows."""
    m = sheet.margins(Phi)
    wrong = np.flatnonzero(m <= 0)
    grad = norm(sheet.sum(wrong, np.ones(sheet.rows.n))[:-1])
    return measure(sheet.rows, method, rule_of(sheet.rows, method), m, wrong, float(m.min()), norm(Phi), grad)


def sweep_together(engines: Sequence[SweepEngine]) -> None:
    """One sweep of each, a few rows at a time: on the same rows in the same order all but the first find them cached.

    All have the same rows and seed and stand before the same sweep. Each takes the very steps it would take alone.
    """
    first, n = engines[0], engines[0].rows.n
    following = first.order_at(first.epoch + 1)
    slices = max(1, first.rows.arrays[0].size * len(engines) // WORK)  # between two looks at the keyboard
    for k in range(slices):
        lo, hi = n * k // slices, n * (k + 1) // slices
        sweep_all([engine.state for engine in engines], first.order, lo, hi, first.sheet.threads)
    for engine in engines:
        engine.sweep_on(0, following)
