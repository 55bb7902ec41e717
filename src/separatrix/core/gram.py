"""The core's face for the gram engine: margins kept by columns of G = ZZᵀ, and the columns themselves.

The record is described in `records.hpp`, what is done with it in `gram.hpp` and `gram_columns.hpp`. There is no NumPy
twin: a path through remembered products is no definition, and `dense` walks without one.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core import library
from separatrix.core.library import Place, Signs, address, core
from separatrix.core.rows import Index, Stored, Vector
from separatrix.core.rule import Rule

DONE, COLUMNS, REFRESH = 0, 1, 2  # what a call ends with: finished, or a request
WORTH_IT = 2  # misses from which a row's column is worth computing
NEGLIGIBLE = 1e-14  # changes of weight below this part of the mean wait for the next refresh, at finite γ
BATCH = 128  # columns computed in one pass over the data at most,
ABREAST = 16  # of sparse rows so many at once, as in gram_columns.hpp


class Columns:
    """Columns of G into the slots of a table, and of its float32 copy where that has any."""

    def __init__(self, d: int) -> None:
        self.d = d
        self.vectors = np.empty((0, d + 1))
        self.scratch = np.empty(0)

    def compute(
        self,
        stored: Stored,
        sign: Vector,
        rows: Index,
        slots: Index,
        table: NDArray[Any],
        short: NDArray[Any],
        threads: int,
    ) -> None:
        """table[slots_j, i] = z_iᵀz_j for j = rows_0 … and every i; the bits do not depend on the company."""
        self._check(stored, sign, rows, slots, table, short)
        lib = core()
        wanted = min(-(-len(rows) // ABREAST) * ABREAST, BATCH)
        if len(self.vectors) < wanted:
            self.vectors = np.empty((wanted, self.d + 1))
        room = 0 if stored.sparse else lib.gram_room(self.d, threads)
        if len(self.scratch) < room:
            self.scratch = np.empty(room)
        copy = address(short) if len(short) else None
        for lo in range(0, len(rows), BATCH):
            batch, into = (np.ascontiguousarray(a[lo : lo + BATCH]) for a in (rows, slots))
            where = address(sign), address(batch), len(batch), address(into), table.itemsize, address(table), copy
            lib.gram_columns(ctypes.byref(stored.record), *where, address(self.vectors), address(self.scratch), threads)

    def _check(
        self, stored: Stored, sign: Vector, rows: Index, slots: Index, table: NDArray[Any], short: NDArray[Any]
    ) -> None:
        if stored.d != self.d or sign.dtype != np.float64 or sign.shape != (stored.n,):
            raise ValueError(f"columns take {self.d} entries and {stored.n} signs, got {stored.d} and {sign.shape}.")
        if table.dtype not in (np.float64, np.float32) or table.ndim != 2 or table.shape[1] != stored.n:
            raise ValueError(f"columns go to a table of {stored.n} numbers each, got {table.dtype} of {table.shape}.")
        if len(short) and (short.dtype != np.float32 or short.shape != table.shape):
            raise ValueError(f"the float32 copy must have the table's shape {table.shape}, got {short.shape}.")
        for index, most in ((rows, stored.n), (slots, len(table))):
            if index.dtype != np.int64 or index.shape != rows.shape or index.ndim != 1:
                raise ValueError(f"row and slot numbers must be as many int64, got {index.dtype} of {index.shape}.")
            if len(index) and not (0 <= index.min() and index.max() < most):
                raise ValueError(f"row and slot numbers must lie below {most}, got {index.min()} … {index.max()}.")


class State:
    """What the gram engine carries from one iteration to the next; `c` is the record, the arrays its fields' own."""

    def __init__(
        self,
        stored: Stored,
        signs: Signs,
        rule: Rule,
        H: int,
        table: NDArray[Any],
        short: NDArray[Any],
        slot: Index,
        used: Index,
        enough: Index,
    ) -> None:
        n, words = stored.n, -(-stored.n // 64)
        for index, size in ((slot, n), (enough, n), (used, len(table))):
            if index.dtype != np.int64 or index.shape != (size,):
                raise ValueError(f"the core takes {size} numbers of int64, got {index.dtype} of shape {index.shape}.")
        for name in ("sign", "s", "r"):
            array = signs.arrays[name]
            if array.dtype != np.float64 or array.shape != (n,):
                raise ValueError(f"the core takes {n} numbers of float64, got {array.dtype} of shape {array.shape}.")
        if table.shape[1:] != (n,) or short.shape[1:] != (n,) or len(short) not in (0, len(table)):
            raise ValueError(f"columns of {n} numbers were expected, got tables of {table.shape} and {short.shape}.")
        if table.dtype not in (np.float64, np.float32) or short.dtype != np.float32 or H < 1:
            raise ValueError(f"columns are float64 or float32, got {table.dtype} and {short.dtype} with {H} products.")
        self.kept = stored, signs  # the record holds copies of their records
        self.m, self.start, self.coef, self.w = (np.zeros(n) for _ in range(4))  # start: ZΦ_0
        self.base_m, self.base_coef, self.delta, self.old_drift = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(H)
        self.active, self.misses, self.need = (np.zeros(n, dtype=np.int64) for _ in range(3))
        self.old_w, self.old_q = np.zeros((H, n)), np.zeros((H, n))
        self.bits, self.old_bits = np.zeros(words, dtype=np.uint64), np.zeros((H, words), dtype=np.uint64)
        self.table, self.short, self.enough = table, short, enough
        parts, scratch, touched = stored.scratch()
        self.c = library.Gram(gamma=rule.gamma, cut=rule.cut, power=rule.power)
        self.c.rows, self.c.signs = stored.record, signs
        self.c.n, self.c.H, self.c.item, self.c.width = n, H, table.itemsize, stored.width
        self.c.near = self.c.stretch = -1
        names = ("m", "coef", "w", "base_m", "base_coef", "active", "bits", "old_w", "old_q", "old_bits", "old_drift")
        self.c.point(**{name: getattr(self, name) for name in (*names, "misses", "enough", "need", "delta")})
        self.c.point(table=table, shorter=short if len(short) else None, slot=slot, used=used, every=np.arange(n))
        self.c.point(parts=parts, scratch=scratch, touched=touched, total=np.zeros(stored.d + 2))

    def advance(self, end: int, stop: bool, threads: int) -> int:
        """Up to update `end`, fewer when `stop` and no row is wrong: DONE, or what the caller has to do first."""
        self.c.threads = threads
        return int(core().gram_advance(ctypes.byref(self.c), end, stop))

    def evaluate(self) -> bool:
        """Errors, active rows and weights at these margins; False when they have to be refreshed first."""
        return bool(core().gram_evaluate(ctypes.byref(self.c)))

    def product(self, threads: int) -> bool:
        """Gw of this iterate into the memory; False when columns have to be computed first."""
        self.c.threads = threads
        return bool(core().gram_product(ctypes.byref(self.c)))

    def refresh(self, phi0: Vector, phi: Vector, threads: int) -> None:
        """Φ from its coefficients, all margins anew."""
        for vector in (phi0, phi):
            if vector.dtype != np.float64 or vector.shape != (self.c.rows.d + 1,):
                raise ValueError(f"Φ has {self.c.rows.d + 1} numbers of float64, got {vector.dtype} of {vector.shape}.")
        self.c.threads = threads
        core().gram_refresh(ctypes.byref(self.c), address(phi0), address(phi))

    def sweep(self, order: Index, place: Place, end: int, late: Vector) -> int:
        """The row-at-a-time perceptron up to update `end` or the sweep's end; no order: the most wrong row."""
        if order.dtype != np.int64 or order.shape not in ((0,), (self.c.n,)):
            raise ValueError(f"an order has all {self.c.n} rows, or none, got {order.dtype} of {order.shape}.")
        if len(order) and not (0 <= order.min() and order.max() < self.c.n):
            raise ValueError(f"row numbers must lie in 0 … {self.c.n - 1}, got {order.min()} … {order.max()}.")
        if late.dtype != np.float64 or late.shape not in ((0,), (self.c.n,)):
            raise ValueError(f"late visits are counted for all {self.c.n} rows, or none, got {late.shape}.")
        counted = address(late) if len(late) else None
        where = address(order), len(order), ctypes.byref(place)
        return int(core().gram_sweep(ctypes.byref(self.c), *where, end, counted))
