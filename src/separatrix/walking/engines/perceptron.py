"""The row-at-a-time perceptron on each engine.

`dense` reads every row it meets, `lazy` only those that may have turned wrong, `gram` keeps all margins and adds one
column of G per update.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core import gram, gram_sweep, sweep
from separatrix.core.rows import norm
from separatrix.data.memory import HeldRows
from separatrix.data.rows import Index, Vector
from separatrix.data.sheet import Sheet
from separatrix.walking.engines.base import measure, rule_of, start
from separatrix.walking.engines.gram import Gram, GramEngine
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
        self, rows: HeldRows, method: Method, theta0: Vector | None, *, lazy: bool, seed: int, average: bool = False
    ) -> None:
        self.name = "lazy" if lazy else "dense"
        self.rows, self.method, self.lazy, self.seed = rows, method, lazy, seed
        self.sheet = Sheet(rows)
        self.rule = rule_of(rows, method)
        n = rows.n
        self.state = sweep.Sweep(
            phi=start(rows, method, theta0),
            m=np.zeros(n),
            anchor=np.zeros(rows.d + 1),
            reach=np.full(n, -np.inf),
            late=np.zeros(rows.d + 1 if average and method.order != "most-wrong" else 0),
            order=sweep_order(method, n, seed, 0),
            ahead=sweep.Ahead(np.zeros(4, dtype=np.int64), np.zeros(4, dtype=np.int64), np.zeros(4)),
            c=np.zeros(1, dtype=sweep.CONTROL),
        )
        self.c = self.state.c[0]
        self.wrong_at = -1  # an update at which `measure` saw a wrong row
        self.doubted_at = -1  # one at which `check` did
        sweep.set_anchor(self.state)

    @property
    def t(self) -> int:
        """Updates made."""
        return int(self.c["t"])

    @property
    def epoch(self) -> int:
        """Sweeps finished; with the most wrong row each time every update is one."""
        return self.t if self.method.order == "most-wrong" else int(self.c["epoch"])

    @property
    def errors(self) -> int | None:
        """0 once every row was right in turn; before that only a full pass could tell."""
        return 0 if self.c["clean"] >= self.rows.n else None

    @property
    def seen_wrong(self) -> bool:
        """Whether `measure` has just seen a wrong row."""
        return self.wrong_at == self.t

    def advance(self, steps: int, stop: bool, epoch: float = inf) -> None:
        """Up to `steps` updates, or until every row is right or `epoch` sweeps are finished."""
        end = self.t + steps
        if self.method.order == "most-wrong":
            sweep.most_wrong(self.sheet.data, self.state, int(min(steps, max(epoch - self.t, 0))), self.lazy)
        while self.method.order != "most-wrong" and self.errors != 0 and self.t < end and self.epoch < epoch:
            self.sweep_on(end - self.t)
        if not stop and self.errors == 0:
            self.c["t"] = end  # a perceptron that is right stays where it is

    def sweep_on(self, steps: int, following: Index | None = None) -> None:
        """Go on through this sweep, for so many updates; `following` is the next one's order, if at hand."""
        n, epoch = self.rows.n, self.epoch
        sweep.sweep(self.sheet.data, self.state, steps, self.lazy)
        if self.epoch > epoch:
            self.state.order[:] = sweep_order(self.method, n, self.seed, self.epoch) if following is None else following

    def use_threads(self, count: int) -> None:
        """Run the kernels on this many threads."""
        self.sheet.use_threads(count)

    def phi(self) -> Vector:
        """φ_t in the problem's own scale."""
        return np.asarray(self.state.phi * self.rows.scale)

    def check(self) -> bool:
        """Whether every row is right, by a direct product with the raw rows.

        A sweep that finds every row right again, after this saw a wrong one, sums in another order: no later one would
        differ, so its word is taken.
        """
        if self.doubted_at == self.t or self.sheet.lowest(self.state.phi) > 0:
            return True
        self.doubted_at = self.t
        self.state.reach[:] = -np.inf
        self.c["clean"] = 0
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
        visited = max(1, self.rows.n * self.epoch + int(self.c["position"]))
        return np.asarray((self.state.phi - self.state.late / visited) * self.rows.scale)

    def save(self) -> dict[str, NDArray[Any]]:
        """φ, what its average needs, and the place in the sweep."""
        state = {name: np.array(self.c[name]) for name in SCALARS}
        return state | {"phi": self.state.phi.copy(), "late": self.state.late.copy()}

    def load(self, state: dict[str, NDArray[Any]]) -> None:
        """Back to a saved state."""
        self.wrong_at = self.doubted_at = -1
        self.state.phi[:], self.state.late[:] = state["phi"], state["late"]
        for name in SCALARS:
            self.c[name] = state[name][()]
        sweep.set_anchor(self.state)
        self.state.reach[:] = -np.inf
        self.state.order[:] = sweep_order(self.method, self.rows.n, self.seed, self.epoch)

    def stats(self) -> dict[str, int]:
        """Rows read so far, and sweeps begun."""
        return {"rows_read": int(self.c["rows_read"]), "epochs": begun(self.epoch, self.c)}


class GramSweepEngine(GramEngine):
    """All margins, and one column of G per update."""

    def __init__(
        self, rows: HeldRows, method: Method, theta0: Vector | None, options: Gram, seed: int, average: bool = False
    ) -> None:
        super().__init__(rows, method, theta0, options)
        self.seed = seed
        self.late = np.zeros(rows.n if average and method.order != "most-wrong" else 0)
        self.p = np.zeros(1, dtype=sweep.CONTROL)[0]
        self.doubted_at = -1  # an update at which `check` saw a wrong row
        self._fresh_order()

    def _fresh_order(self) -> None:
        n, most_wrong = self.rows.n, self.method.order == "most-wrong"
        self.order = np.zeros(0, dtype=np.int64) if most_wrong else sweep_order(self.method, n, self.seed, self.epoch)

    @property
    def t(self) -> int:
        """Updates made."""
        return int(self.p["t"])

    @property
    def epoch(self) -> int:
        """Sweeps finished; with the most wrong row each time every update is one."""
        return self.t if self.method.order == "most-wrong" else int(self.p["epoch"])

    @property
    def errors(self) -> int | None:
        """0 once every row was right in turn."""
        return 0 if self.p["clean"] >= self.rows.n else None

    def advance(self, steps: int, stop: bool, epoch: float = inf) -> None:
        """Up to `steps` updates, or until every row is right or `epoch` sweeps are finished."""
        end = self.t + steps
        last = end if self.method.order != "most-wrong" else int(min(end, epoch))
        while self.errors != 0 and self.t < last and self.epoch < epoch:
            before = self.epoch
            said = gram_sweep.sweep(self.sheet.data, self.state, self.order, self.p, last - self.t, self.late)
            if said == gram.COLUMNS:
                self.cache.compute(self.sheet, self.state.need[:1].copy(), self.t + 1)
            elif said == gram.REFRESH:
                self.refresh()
            if self.epoch > before and self.method.order != "most-wrong":
                self._fresh_order()
        if not stop and self.errors == 0:
            self.p["t"] = end

    def check(self) -> bool:
        """Whether every row is right, by a direct product with the raw rows, or by the sweep that followed one."""
        if self.doubted_at == self.t or self.sheet.lowest(self.vector()) > 0:
            return True
        self.doubted_at = self.t
        self.refresh()
        self.p["clean"] = 0
        return False

    def measure(self) -> Measure:
        """The numbers of this iterate, by a full pass over the data."""
        return measure_directly(self.sheet, self.method, self.vector())

    def save(self) -> dict[str, NDArray[Any]]:
        """The gram state and the place in the sweep."""
        place = {f"sweep_{name}": np.array(self.p[name]) for name in SCALARS}
        return super().save() | place | {"late": self.late.copy()}

    def average(self) -> Vector | None:
        """The mean of φ over all rows visited, if it was asked for: φ - (1/v) Σ v_j z_j."""
        if len(self.late) == 0:
            return None
        visited = max(1, self.rows.n * self.epoch + int(self.p["position"]))
        Phi = self.vector()
        return np.asarray(
            (Phi - self.sheet.sum(np.flatnonzero(self.late), self.late)[:-1] / visited) * self.rows.scale
        )

    def load(self, state: dict[str, NDArray[Any]]) -> None:
        """Back to a saved state."""
        super().load(state)
        self.doubted_at = -1
        self.late[:] = state["late"]
        for name in SCALARS:
            self.p[name] = state[f"sweep_{name}"][()]
        self._fresh_order()

    def stats(self) -> dict[str, int]:
        """Rows and columns read so far, and sweeps begun."""
        return super().stats() | {"epochs": begun(self.epoch, self.p)}


def begun(finished: int, c: Any) -> int:
    """Sweeps begun: those finished, and the one under way."""
    return finished + bool(c["position"] > 0)


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
    following = sweep_order(first.method, n, first.seed, first.epoch + 1)
    sign, phi, anchor, reach, late, c = (
        np.stack(arrays)
        for arrays in zip(
            *(
                (e.rows.sign, e.state.phi, e.state.anchor, e.state.reach, e.state.late, e.state.c[0])
                for e in engines
            ),
            strict=True,
        )
    )
    slices = max(1, first.rows.arrays[0].size * len(engines) // WORK)  # between two looks at the keyboard
    for k in range(slices):
        lo, hi = n * k // slices, n * (k + 1) // slices
        st, data = first.state, first.sheet.data
        sweep.sweep_all(data, sign, phi, anchor, reach, late, st.order, st.ahead, c, first.lazy, lo, hi)
    for k, engine in enumerate(engines):
        st = engine.state
        st.phi[:], st.reach[:], st.late[:], st.c[0] = phi[k], reach[k], late[k], c[k]
        engine.sweep_on(0, following)
