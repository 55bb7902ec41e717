"""Engine `gram`: margins kept by columns of G = ZZᵀ, computed when first needed and shared by all runs on a problem.

Right where d is large and n moderate. At γ = ∞ float64 columns give the wrong sets of direct evaluation (a drift bound
asks for a refresh whenever it leaves a sign open). Float32 columns take half the memory: margins are then off by about
1e-7 of ‖z_i‖‖Φ‖, a row nearer to the plane than that may be judged wrongly, and every 100 iterations the margins start
afresh.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isinf
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from separatrix.core import gram
from separatrix.core.rows import norm
from separatrix.data.arrays import machine_memory
from separatrix.data.memory import HeldRows
from separatrix.data.rows import Index, Vector
from separatrix.data.sheet import Sheet
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
from separatrix.walking.engines.dense_lazy import DirectEngine
from separatrix.walking.methods import Plan
from separatrix.walking.trace import Measure

HISTORY = 32  # products remembered
SAVED = ("m", "start", "coef", "old_w", "old_q", "old_bits", "old_drift", "misses", "enough", "base_m", "base_coef")
SAVED_SCALARS = ("t", "held", "next", "drift", "length2", "since", "half", "patience", "tie_t", "tie_row")
SAVED_STRETCH = ("stretch", "k", "base_drift", "base_length2", "cross")
SAVED_PRODUCT = ("near", "asked", "n_need", "grad2")  # whether this iterate's product is already in the memory
SHORT_REFRESH = 100


@dataclass(frozen=True)
class Gram:
    """Options of the gram engine.

    Parameters
    ----------
    memory : float, optional
        Bytes for cached columns; by default a quarter of the machine's memory, at most 2 GB.
    dtype : {"float64", "float32"}, default="float64"
        The type of the columns: exact wrong sets, or half the memory.

    Raises
    ------
    ValueError
        If `memory` is not positive or `dtype` is another type.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y, _ = sx.planted(100, 50)
    >>> sx.solve(X, y, "batch-perceptron", engine=sx.Gram(dtype="float32", memory=500e6)).engine
    'gram'
    """

    memory: float | None = None
    dtype: str = "float64"

    def __post_init__(self) -> None:
        if self.dtype not in ("float64", "float32"):
            raise ValueError(f'Gram dtype must be "float64" or "float32", got {self.dtype!r}.')
        if self.memory is not None and not self.memory > 0:
            raise ValueError(f"Gram memory must be positive (bytes), got {self.memory!r}.")

    def slots(self, n: int, extra: int = 0) -> int:
        """How many columns fit.

        Parameters
        ----------
        n : int
            Entries of a column.
        extra : int, default=0
            Bytes per entry beside those of `dtype`.

        Returns
        -------
        int
            The number of columns, at most n.
        """
        memory = min(2e9, machine_memory() / 4) if self.memory is None else self.memory
        return min(n, int(memory // (n * (np.dtype(self.dtype).itemsize + extra))))


class Cache:
    """Columns of G for one problem, least recently used ones giving way.

    It holds no reference to the rows, so that both go when they do.
    """

    def __init__(self, n: int, d: int, slots: int, dtype: str) -> None:
        self.table = np.empty((slots, n), dtype=dtype)  # pages are only taken when written
        self.short = np.empty((0, n), dtype=np.float32)
        self.slot = np.full(n, -1, dtype=np.int64)
        self.owner = np.full(slots, -1, dtype=np.int64)
        self.used = np.full(slots, -1, dtype=np.int64)
        self.computed = 0  # columns, over the life of the cache
        self.ever = np.zeros(n, dtype=bool)  # rows whose column was computed
        self.enough = np.full(n, gram.WORTH_IT, dtype=np.int64)
        self.misses = np.zeros(n, dtype=np.int64)  # those of the last run
        self.columns = gram.Columns(d)

    def compute(self, sheet: Sheet, rows: Index, t: int) -> None:
        """Columns of these rows, in place of those unused for longest; those in use at t stay."""
        oldest = np.argsort(self.used, kind="stable")
        room = oldest[self.used[oldest] < t][: len(rows)]
        gone = self.owner[room]
        self.slot[gone[gone >= 0]] = -1
        self._fill(sheet, rows[: len(room)], room)
        self.used[room] = t

    def restore(self, sheet: Sheet, owner: Index, used: Index, t: int) -> None:
        """The columns that were held, each in its slot: what is evicted next depends on both; t is now."""
        self.slot[:], self.owner[:], self.used[:] = -1, -1, np.minimum(used, t)
        held = np.flatnonzero(owner >= 0)
        self._fill(sheet, owner[held], held)

    def _fill(self, sheet: Sheet, rows: Index, slots: Index) -> None:
        self.computed += len(rows)
        self.ever[rows] = True
        self.columns.compute(sheet.stored, sheet.rows.sign, rows, slots, self.table, self.short, sheet.threads)
        self.owner[slots], self.slot[rows] = rows, slots

    def shorten(self) -> None:
        """Keep the columns in float32 too, from now on."""
        if len(self.short) == 0 and self.table.dtype == np.float64:
            self.short = np.empty(self.table.shape, dtype=np.float32)
            held = np.flatnonzero(self.owner >= 0)
            self.short[held] = self.table[held]

    def begin(self) -> None:
        """A new run counts its iterations from 0, and computes no column that the last one did as often without.

        (A miss that comes when columns are asked for counts twice.)
        """
        self.used[self.owner >= 0] = 0
        without = ~self.ever & (self.misses > 0)
        self.enough[without] = np.maximum(self.enough[without], 2 * self.misses[without] + gram.WORTH_IT)


_caches: WeakKeyDictionary[HeldRows, Cache] = WeakKeyDictionary()


def shared_cache(sheet: Sheet, slots: int, dtype: str) -> Cache:
    """The columns of this problem, kept as long as the problem lives: a sweep over step sizes computes them once."""
    found = _caches.get(sheet.rows)
    if found is None or (len(found.owner), str(found.table.dtype)) != (slots, dtype):
        found = _caches[sheet.rows] = Cache(sheet.rows.n, sheet.rows.d, slots, dtype)  # in place of one of another size
    return found


def fill_columns(rows: HeldRows) -> None:
    """All columns of G at once: what a run then computes does not depend on the runs before it."""
    options, sheet = Gram(), Sheet(rows)
    columns = shared_cache(sheet, options.slots(rows.n), options.dtype)
    columns.compute(sheet, np.flatnonzero(columns.slot < 0)[: len(columns.owner)], 0)


class GramEngine:
    """Margins and coefficients of Φ; Φ itself is put together when asked for."""

    seen_wrong = False

    def __init__(self, rows: HeldRows, method: Plan, theta0: Vector | None, options: Gram) -> None:
        self.name = "gram"
        self.rows, self.method, self.options = rows, method, options
        self.sheet = Sheet(rows)
        self.rule = rule_of(rows, method)
        n, slots = rows.n, options.slots(rows.n)
        H = max(2, min(HISTORY, slots // 8))  # products take two columns each: a quarter of the columns' memory at most
        if slots < 1:
            raise ValueError(
                f"the gram engine has no memory for one column of {n} rows; raise Gram(memory=…) or use lazy."
            )
        self.cache = shared_cache(self.sheet, slots, options.dtype)
        self.cache.begin()
        self.computed_before = self.cache.computed
        finite = not isinf(method.gamma)
        if finite and options.slots(n, extra=4) >= slots:
            self.cache.shorten()
        self.phi0 = start(rows, method, theta0)
        self._phi = self.phi0.copy()
        columns = self.cache
        short = columns.short if finite else columns.short[:0]
        enough = columns.enough.copy()
        self.state = gram.State(
            self.sheet.stored, self.sheet.signs, self.rule, H, columns.table, short, columns.slot, columns.used, enough
        )
        columns.misses = self.state.misses
        self.c = self.state.c
        self.c.longest = rows.r[rows.weight > 0].max()
        exact = options.dtype == "float64"
        self.c.column_error = self.sheet.dot_error if exact else 0.0
        self.c.product_error = self.sheet.dot_error + self.sheet.sum_error
        self.c.tiny = gram.NEGLIGIBLE if finite else 0.0
        self.refresh()
        self.state.start[:] = self.state.m
        self.c.half = begins_half(method, self.phi0)
        self.opening: Opening | None = None
        if opens(method, theta0):
            self.opening = opening_of(DirectEngine(rows, unit_step(method), theta0, lazy=False))

    @property
    def t(self) -> int:
        """Updates made."""
        return int(self.c.t)

    @property
    def epoch(self) -> int:
        """Every update reads all rows."""
        return self.t

    @property
    def errors(self) -> int | None:
        """Wrong rows at this iterate."""
        return int(self.c.errors)

    def advance(self, steps: int, stop: bool, epoch: float = inf) -> None:
        """Up to `steps` updates, `epoch` in all; with `stop`, none once no row is wrong."""
        end = self.t + int(min(steps, max(epoch - self.t, 0)))
        short = self.options.dtype == "float32"
        if over_at_once(self, end, stop):
            return
        while True:
            upto = min(end, self.t + max(1, SHORT_REFRESH - self.c.since)) if short else end
            said = self.state.advance(upto, stop, self.sheet.threads)
            if said == gram.COLUMNS:
                self.compute_columns()
            elif said == gram.REFRESH or (short and self.c.since >= SHORT_REFRESH):
                self.refresh()
            elif self.t >= end or (stop and self.errors == 0):
                return

    @property
    def last_step(self) -> Vector:
        """Of Φ itself there is none here: openings are computed by direct products."""
        raise NotImplementedError

    def begin_at(self, Phi: Vector) -> None:
        """Φ_1, where the first step does not begin at Φ_0: no row has a coefficient yet."""
        self.phi0[:], self.c.t = Phi, 1
        self.refresh()
        self.state.start[:] = self.state.m

    def compute_columns(self) -> None:
        """The columns that the core has asked for."""
        self.cache.compute(self.sheet, self.state.need[: self.c.n_need].copy(), self.t)

    def refresh(self) -> None:
        """Φ from its coefficients, all margins anew."""
        self.state.refresh(self.phi0, self._phi, self.sheet.threads)

    def vector(self) -> Vector:
        """Φ, put together from its coefficients."""
        idx = np.flatnonzero(self.state.coef)
        return self.phi0 + self.sheet.sum(idx, self.state.coef)[:-1]

    def use_threads(self, count: int) -> None:
        """Run the kernels on this many threads."""
        self.sheet.use_threads(count)

    def phi(self) -> Vector:
        """φ_t in the problem's own scale."""
        return self.vector() / unit_of(self.rows, self.method) * self.rows.scale

    def check(self) -> bool:
        """Whether every row is right, by a direct product with the raw rows."""
        if self.sheet.lowest(self.vector()) > 0:
            return True
        self.refresh()
        self.advance(0, False)
        return self.errors == 0

    def measure(self) -> Measure:
        """The numbers of this iterate, without a pass over the data: ‖Φ‖² = coefᵀ(ZΦ + ZΦ_0) + ‖Φ_0‖², ‖Zᵀw‖² = wᵀGw.

        Where those squares have lost their digits to cancellation, the vectors are put together after all.
        """
        st, c, sheet = self.state, self.c, self.sheet
        while not st.product(sheet.threads):
            self.compute_columns()
        active = st.active[: c.n_active].copy()
        low, reach = float(c.low), float(c.longest)
        with np.errstate(over="ignore"):
            length2 = float(st.coef @ (st.m + st.start)) + float(self.phi0 @ self.phi0)
        precise = length2 > 1e-8 * (reach * np.abs(st.coef).sum()) ** 2
        length = float(np.sqrt(length2)) if precise else norm(self.vector())
        precise = c.grad2 > 1e-8 * (reach * c.sum) ** 2
        grad = float(np.sqrt(c.grad2)) if precise else norm(sheet.sum(active, st.w)[:-1])
        grad *= unshift(self.rule, low)
        found = measure(self.rows, self.method, self.rule, st.m, active, low, length, grad)
        return at_start(self, found)

    @property
    def tie(self) -> tuple[int, int] | None:
        """The first t and row with a margin of 0."""
        return (self.c.tie_t, self.c.tie_row) if self.c.tie_t else None

    @property
    def cycle(self) -> None:
        """None: Φ itself is not kept here, so nobody watches for its return."""
        return

    def average(self) -> Vector | None:
        """None: that is for the perceptron's sweeps."""
        return None

    def save(self) -> dict[str, NDArray[Any]]:
        """All but the columns themselves, which are computed anew from the list of their rows."""
        state = {name: getattr(self.state, name).copy() for name in SAVED}
        state |= {name: np.array(getattr(self.c, name)) for name in (*SAVED_SCALARS, *SAVED_STRETCH, *SAVED_PRODUCT)}
        return state | {"owner": self.cache.owner.copy(), "used": self.cache.used.copy()}

    def load(self, state: dict[str, NDArray[Any]]) -> None:
        """Back to a saved state."""
        for name in SAVED:
            getattr(self.state, name)[:] = state[name]
        self._set(state, (*SAVED_SCALARS, *SAVED_STRETCH))
        if self.opening is not None and self.c.t > 0:
            self.phi0[:] = self.opening.Phi
        if not np.isfinite(self.sheet.margins(self.vector())).all():  # no refresh would ever settle a sign
            raise ValueError("coef makes margins that float64 cannot hold")
        self.cache.restore(self.sheet, state["owner"], state["used"], int(state.get("sweep_t", state["t"])))
        self.c.evaluated = 0
        self.state.evaluate()
        self._set(state, SAVED_PRODUCT)

    def _set(self, state: dict[str, NDArray[Any]], names: tuple[str, ...]) -> None:
        for name in names:
            setattr(self.c, name, state[name].item())

    def stats(self) -> dict[str, int]:
        """Rows and columns read so far, columns held, and those of them that this run had to compute."""
        return {
            "rows_read": int(self.c.rows_read),
            "columns_read": int(self.c.columns_read),
            "columns": int((self.cache.owner >= 0).sum()),
            "columns_computed": self.cache.computed - self.computed_before,
        }
