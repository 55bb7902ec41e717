"""Engines `dense` and `lazy`: margins by direct products, of every row or of the rows that are due.

The two take the same steps to the last bit: a row is left out only while its margin cannot have come down to where it
would get a weight, and all sums run in one canonical order. The stepper and the rows' answers to it are compiled
(core/stepper.hpp, core/local.hpp).
"""

from __future__ import annotations

import ctypes
from math import inf, isinf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core.library import Local, Stepper, library
from separatrix.core.rows import BLOCK, Stored, aligned, norm
from separatrix.data.memory import HeldRows
from separatrix.data.rows import Index, Vector
from separatrix.data.sheet import Sheet
from separatrix.walking import watch
from separatrix.walking.definition import begins_half
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
from separatrix.walking.engines.schedule import walk_on
from separatrix.walking.methods import Plan
from separatrix.walking.trace import Measure

VECTORS = ("phi", "base", "step")
SCALARS = ("t", "k", "half", "stepped", "changed", "tie_t", "tie_row")
COUNTS = 8  # numbers found in each block


class DirectEngine:
    """Φ and the margins of the rows; `lazy` says whether rows that cannot matter are left out.

    `kind` is the type of the arithmetic: float64, or float32 for dense rows that are then held in it.
    """

    seen_wrong = False

    def __init__(
        self, rows: HeldRows, method: Plan, theta0: Vector | None, *, lazy: bool, kind: Any = np.float64
    ) -> None:
        self.name = "lazy" if lazy else "dense"
        self.rows, self.method, self.kind = rows, method, np.dtype(kind)
        self.sheet = Sheet(rows)
        self.rule = rule_of(rows, method)
        self.short = self.kind == np.float32
        self.stored = self.sheet.stored
        if self.short and self.stored.record.item == 8:
            self.stored = Stored((np.ascontiguousarray(rows.X, dtype=np.float32),), rows.d, rows.bias)
        self.vectors = {name: aligned(rows.d + 1, kind) for name in VECTORS}
        self.vectors["phi"][:] = start(rows, method, theta0)
        self.total = np.zeros(rows.d + 2, dtype=kind)
        half, length = begins_half(method, self.vectors["phi"]), norm(self.vectors["phi"])
        self.c = Stepper(D=rows.d + 1, gamma=self.rule.gamma, power=self.rule.power, length=length, half=half)
        self.c.point(**self.vectors, total=self.total)
        self.mark, self.watch = np.zeros(rows.d + 1, dtype=kind), self.c.watch
        self.watch.on = watch.watched(method)
        self.watch.point(mark=self.mark)
        self.local = self._local(lazy)
        self.opening: Opening | None = None
        if opens(method, theta0):
            self.opening = opening_of(DirectEngine(rows, unit_step(method), theta0, lazy=False, kind=kind))

    def _local(self, lazy: bool) -> Local:
        """What is kept of the rows from one iterate to the next."""
        n, D, blocks = self.rows.n, self.rows.d + 1, -(-self.rows.n // BLOCK)
        parts, scratch, touched = self.stored.scratch(self.kind)
        self.m, self.active = np.zeros(n, dtype=self.kind), np.zeros(n, dtype=np.int64)
        self.n_active = np.zeros(blocks, dtype=np.int64)
        bounds = np.zeros(n if lazy else 0)
        local = Local(cut=self.rule.cut, threads=self.sheet.threads, lazy=lazy, width=self.stored.width)
        local.rows, local.signs = self.stored.record, self.sheet.signs
        local.bounds.D, local.bounds.n = D, n
        self.anchors = np.zeros((2, D if lazy else 0))
        local.bounds.anchor, local.bounds.last = (a.ctypes.data for a in self.anchors)
        local.point(
            m=self.m,
            w=np.zeros(n, dtype=self.kind),
            reach=bounds,
            far=bounds.copy(),
            due=np.zeros(n, dtype=np.int64),
            active=self.active,
            n_due=np.zeros(blocks, dtype=np.int64),
            n_active=self.n_active,
            parts=None if self.rows.sparse else parts,
            valid=np.zeros(blocks, dtype=np.uint8),
            found=np.zeros((blocks, COUNTS)),
            scratch=scratch,
            touched=touched,
        )
        return local

    @property
    def Phi(self) -> Vector:
        """Φ in float64."""
        return np.asarray(self.vectors["phi"], dtype=np.float64)

    @property
    def t(self) -> int:
        """Updates made."""
        return int(self.c.t)

    @property
    def epoch(self) -> int:
        """Every update reads all rows."""
        return self.t

    @property
    def errors(self) -> int:
        """Wrong rows at this iterate."""
        return int(self.c.errors)

    def advance(self, steps: int, stop: bool, epoch: float = inf) -> None:
        """Up to `steps` updates, `epoch` in all; with `stop`, none once no row is wrong."""
        end = self.t + int(min(steps, max(epoch - self.t, 0)))
        if over_at_once(self, end, stop):
            return
        c, local, lib = ctypes.byref(self.c), ctypes.byref(self.local), library()
        walk_on(self.c, self.method, lambda upto: lib.walk(c, local, upto, stop, self.short), end, stop)

    @property
    def last_step(self) -> Vector:
        """The step that led to Φ, a copy."""
        return self.vectors["step"].copy()

    def begin_at(self, Phi: Vector) -> None:
        """Φ_1, where the first step does not begin at Φ_0."""
        self.vectors["phi"][:] = Phi
        self.c.t, self.c.length = 1, max(self.c.length, norm(self.vectors["phi"]))
        self.c.evaluated = self.c.ready = self.c.stepped = self.c.safe = self.local.bounds.anchored = 0

    def use_threads(self, count: int) -> None:
        """Run the core on this many threads."""
        self.sheet.use_threads(count)
        self.local.threads = count

    def phi(self) -> Vector:
        """φ_t in the problem's own scale."""
        return np.asarray(self.Phi / unit_of(self.rows, self.method) * self.rows.scale)

    def check(self) -> bool:
        """Whether every row is right, by a direct product with the raw rows."""
        self.c.evaluated = self.c.safe = self.local.bounds.anchored = 0
        self.advance(0, False)
        return self.errors == 0

    def pulling(self) -> Index:
        """The rows that have a weight: those of block b are listed from b·512 on."""
        at = np.arange(self.rows.n)
        block = at // BLOCK
        return np.asarray((block * BLOCK + self.active)[at % BLOCK < self.n_active[block]])

    def measure(self) -> Measure:
        """The numbers of this iterate."""
        active, low, m = self.pulling(), float(self.c.low), self.m
        if 1 < self.c.k <= self.c.safe:  # inside a foreseen stretch the wrong set is known, its margins are not
            m = self.sheet.margins(self.Phi, active)
            low = float(m[active].min(initial=inf))
        if self.errors == 0 and isinf(self.rule.gamma):  # rows right by the bound alone have not been looked at
            low = self.sheet.lowest(self.Phi)
        library().gradient(ctypes.byref(self.c), ctypes.byref(self.local), self.short)
        grad = norm(self.total[:-1]) * unshift(self.rule, self.kind.type(low))
        m = m.astype(np.float64, copy=False)
        found = measure(self.rows, self.method, self.rule, m, active, low, norm(self.Phi), grad)
        return at_start(self, found)

    @property
    def tie(self) -> tuple[int, int] | None:
        """The first t and row with a margin of 0."""
        return (self.c.tie_t, self.c.tie_row) if self.c.tie_t else None

    @property
    def cycle(self) -> tuple[int, int] | None:
        """The iterate that came back, and after how many steps."""
        return watch.cycle_of(self.watch)

    def average(self) -> Vector | None:
        """None: that is for the perceptron's sweeps."""
        return None

    def save(self) -> dict[str, NDArray[Any]]:
        """Φ, the stretch it is on, and the last wrong set; margins are computed anew."""
        state = {name: vector.copy() for name, vector in self.vectors.items()}
        last = {"last": self.pulling() if isinf(self.rule.gamma) else np.zeros(0, dtype=np.int64)}
        state |= last | watch.save(self.watch, self.mark)
        return state | {name: np.array(getattr(self.c, name)) for name in SCALARS}

    def load(self, state: dict[str, NDArray[Any]]) -> None:
        """Back to a saved state."""
        for name in VECTORS:
            self.vectors[name][:] = state[name]
        for name in SCALARS:
            setattr(self.c, name, int(state[name]))
        watch.load(self.watch, self.mark, state)
        block = state["last"] // BLOCK
        self.n_active[:] = np.bincount(block, minlength=len(self.n_active))
        first = np.cumsum(self.n_active) - self.n_active
        self.active[block * BLOCK + np.arange(len(block)) - first[block]] = state["last"] - block * BLOCK
        self.c.stride, self.c.length = norm(self.vectors["step"]), norm(self.vectors["phi"])
        self.c.evaluated = self.c.ready = self.c.safe = 0
        self.local.bounds.anchored = self.local.begun = 0
        self.local.arrays["valid"][:] = 0

    def stats(self) -> dict[str, int]:
        """Rows read so far."""
        return {"rows_read": int(self.local.rows_read)}
