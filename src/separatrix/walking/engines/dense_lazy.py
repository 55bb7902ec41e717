"""Engines `dense` and `lazy`: margins by direct products, of every row or of the rows that are due.

The two take the same steps to the last bit: a row is left out only while its margin cannot have come down to where it
would get a weight (see `core.batch.due_rows`), and all sums run in one canonical order. Where nearly every row has a
weight, both do margins, weights and sum in one pass over the data.
"""

from __future__ import annotations

from math import inf, isinf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core import batch
from separatrix.core.rows import norm
from separatrix.data.memory import HeldRows
from separatrix.data.rows import Vector
from separatrix.data.sheet import Sheet
from separatrix.walking.engines.base import measure, rule_of, start, unit_of, unshift
from separatrix.walking.methods import Method
from separatrix.walking.trace import Measure

SAVED = ("phi", "base", "step")
SAVED_SCALARS = ("t", "k", "half", "n_last", "fused")


class DirectEngine:
    """Φ and the margins of the rows; `lazy` says whether rows that cannot matter are left out."""

    seen_wrong = False

    def __init__(self, rows: HeldRows, method: Method, theta0: Vector | None, *, lazy: bool) -> None:
        self.name = "lazy" if lazy else "dense"
        self.rows, self.method, self.lazy = rows, method, lazy
        self.sheet = Sheet(rows)
        self.rule = rule_of(rows, method)
        n, D = rows.n, rows.d + 1
        self.state = batch.State(
            phi=start(rows, method, theta0),
            base=np.zeros(D),
            step=np.zeros(D),
            anchor=np.zeros(D),
            m=np.zeros(n),
            reach=np.zeros(n),
            far=np.zeros(n),
            w=np.zeros(n),
            active=np.zeros(n, dtype=np.int64),
            last=np.zeros(n, dtype=np.int64),
            due=np.zeros(n, dtype=np.int64),
            starts=self.sheet.starts,
            parts=self.sheet.parts,
            found=np.zeros((len(self.sheet.parts), 4)),
            total=np.zeros(D + 1),
            c=np.zeros(1, dtype=batch.CONTROL),
        )
        self.c = self.state.c[0]
        self.c["n_last"] = -1
        self.c["length"] = norm(self.state.phi)
        self.c["half"] = isinf(method.gamma) and not self.state.phi.any()

    @property
    def t(self) -> int:
        """Updates made."""
        return int(self.c["t"])

    @property
    def epoch(self) -> int:
        """Every update reads all rows."""
        return self.t

    @property
    def errors(self) -> int:
        """Wrong rows at this iterate."""
        return int(self.c["errors"])

    def advance(self, steps: int, stop: bool, epoch: float = inf) -> None:
        """Up to `steps` updates, `epoch` in all; with `stop`, none once no row is wrong."""
        steps = int(min(steps, max(epoch - self.t, 0)))
        batch.advance(self.sheet.data, self.rule, self.state, steps, stop, self.lazy)

    def use_threads(self, count: int) -> None:
        """Run the kernels on this many threads."""
        self.sheet.use_threads(count)

    def phi(self) -> Vector:
        """φ_t in the problem's own scale."""
        return np.asarray(self.state.phi / unit_of(self.rows, self.method) * self.rows.scale)

    def check(self) -> bool:
        """Whether every row is right, by a direct product with the raw rows."""
        self.c["evaluated"], self.c["anchored"], self.c["safe"] = False, False, 0
        self.c["many"] = False  # float32 rows are checked in float64
        self.advance(0, False)
        return self.errors == 0

    def measure(self) -> Measure:
        """The numbers of this iterate."""
        st, c = self.state, self.c
        low = float(c["low"])
        if self.errors == 0 and isinf(self.rule.gamma):  # rows right by the bound alone have not been looked at
            low = self.sheet.lowest(st.phi)
        batch.gradient(self.sheet.data, st)
        batch.list_fused(self.sheet.data, self.rule, st)
        grad = norm(st.total[:-1]) * unshift(self.rule, low)
        active = st.active[: c["n_active"]]
        return measure(self.rows, self.method, self.rule, st.m, active, low, norm(st.phi), grad)

    def average(self) -> Vector | None:
        """None: that is for the perceptron's sweeps."""
        return None

    def save(self) -> dict[str, NDArray[Any]]:
        """Φ, the stretch it is on, and the last wrong set; margins are computed anew."""
        state = {name: getattr(self.state, name).copy() for name in SAVED}
        state["last"] = self.state.last[: max(0, self.c["n_last"])].copy()
        state |= {name: np.array(self.c[name]) for name in SAVED_SCALARS}
        return state

    def load(self, state: dict[str, NDArray[Any]]) -> None:
        """Back to a saved state."""
        for name in SAVED:
            getattr(self.state, name)[:] = state[name]
        self.state.last[: len(state["last"])] = state["last"]
        for name in SAVED_SCALARS:
            self.c[name] = state[name][()]
        self.c["stride"], self.c["length"] = norm(self.state.step), norm(self.state.phi)
        self.c["evaluated"] = self.c["anchored"] = self.c["ready"] = False
        self.c["safe"], self.c["many"] = 0, self.c["fused"]  # the pass at this iterate is the one it was

    def stats(self) -> dict[str, int]:
        """Rows read so far."""
        return {"rows_read": int(self.c["rows_read"])}
