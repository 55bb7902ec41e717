"""The row-at-a-time perceptron's face: φ⁺ = φ + z_j for one wrong row j, in one of three orders (`sweep.hpp`)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from math import inf

import numpy as np

from separatrix.core.library import POINTER, Perceptron, Sweep, Watch, address, core
from separatrix.core.rows import Index, Stored, Vector, aligned


class Walker:
    """One perceptron on rows in memory: φ, and for `lazy` a lower bound on every margin.

    Attributes
    ----------
    phi : φ, with d + 1 entries
    bound : a lower bound on the margin of row i is bound_i - r_i·away, away = ‖φ - anchor‖; empty unless lazy
    late : Σ v_j z_j over the updates, v_j the rows visited before each; empty unless `average`
    c : the counters (`Sweep` in records.hpp)
    mark, watch : for a φ that comes back (`Watch` there)
    """

    def __init__(
        self, stored: Stored, sign: Vector, r: Vector, phi: Vector, *, lazy: bool, average: bool, most_wrong: bool
    ) -> None:
        n, D = stored.n, stored.d + 1
        for vector, size in ((sign, n), (r, n), (phi, D)):
            if vector.dtype != np.float64 or vector.shape != (size,):
                raise ValueError(f"the core takes {size} numbers of float64, got {vector.dtype} of {vector.shape}.")
        self.stored, self.lazy, self.phi = stored, lazy, aligned(D)
        self.phi[:] = phi
        self.bound = np.full(n if lazy else 0, -inf)
        self.late = np.zeros(D if average and not most_wrong else 0)
        self.record = Perceptron()
        self.record.point(sign=sign, r=r, phi=self.phi, anchor=aligned(D), bound=self.bound)
        self.record.point(late=self.late if len(self.late) else None, m=np.zeros(n if most_wrong else 0))
        self.c: Sweep = self.record.at
        self.mark = np.zeros(D)
        self.watch: Watch = self.record.watch
        self.watch.point(mark=self.mark)
        self.set_anchor()

    def set_anchor(self) -> None:
        """Measure distances from here."""
        core().set_anchor(ctypes.byref(self.record), len(self.phi))

    def forget(self) -> None:
        """Pass no row by until it was seen again."""
        self.bound[:] = -inf

    def sweep(self, order: Index | None, steps: int) -> None:
        """Go on through this sweep until it ends, `steps` updates are made, or every row was right in turn.

        `order` lists the rows in this sweep's order; None: as they are stored.
        """
        where = _place(order, self.stored.n)
        core().sweep(ctypes.byref(self.stored.record), ctypes.byref(self.record), where, steps, self.lazy)

    def most_wrong(self, every: Index, steps: int, threads: int, *, stop: bool) -> None:
        """Up to `steps` updates, each with the row of smallest margin (the lowest index on ties), while that is ≤ 0.

        With `stop` none is made once φ has come back.
        """
        stored, where = self.stored, _place(every, self.stored.n)
        ends = steps, stop, self.lazy, threads, stored.width
        core().most_wrong(ctypes.byref(stored.record), ctypes.byref(self.record), where, *ends)


def sweep_all(walkers: Sequence[Walker], order: Index | None, lo: int, hi: int, threads: int) -> None:
    """Places lo to hi of one sweep for several perceptrons on the same rows; a few rows at a time stay in the cache."""
    first = walkers[0]
    if any(w.stored.arrays[0] is not first.stored.arrays[0] or w.lazy != first.lazy for w in walkers):
        raise ValueError("perceptrons that sweep together have the same rows and the same engine.")
    if not 0 <= lo <= hi <= first.stored.n:
        raise ValueError(f"places of a sweep must lie in 0 … {first.stored.n}, got {lo} … {hi}.")
    each = (POINTER * len(walkers))(*(ctypes.addressof(w.record) for w in walkers))
    where = _place(order, first.stored.n)
    core().sweep_all(ctypes.byref(first.stored.record), each, len(walkers), where, first.lazy, lo, hi, threads)


def reached(c: Sweep, D: int) -> float:
    """How far φ (of D entries) is from the anchor, and slack for the rounding of dot products and distances."""
    return float(core().reached(ctypes.byref(c), D))


def _place(order: Index | None, n: int) -> int | None:
    """Where an order of n rows is."""
    if order is None:
        return None
    if order.dtype != np.int64 or order.shape != (n,):
        raise ValueError(f"an order of {n} rows has so many int64, got {order.dtype} of shape {order.shape}.")
    if n and not (0 <= order.min() and order.max() < n):
        raise ValueError(f"row numbers must lie in 0 … {n - 1}, got {order.min()} … {order.max()}.")
    return address(order)
