"""Sheet: rows in memory, ready for the core, with bounds on what its products and sums round off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from separatrix.core.constants import UNIT
from separatrix.core.library import Signs
from separatrix.core.rows import BLOCK, Stored
from separatrix.core.threads import threads
from separatrix.data.rows import Index, Vector

if TYPE_CHECKING:
    from separatrix.data.memory import HeldRows


class Sheet:
    """A problem's rows as the core takes them, and on how many threads it may work."""

    def __init__(self, rows: HeldRows) -> None:
        self.rows = rows
        n, d = rows.n, rows.d
        self.stored = Stored(rows.arrays, d, rows.bias)
        self.signs = Signs()
        self.signs.point(sign=rows.sign, s=rows.weight, r=rows.r)
        self.every = np.arange(n)
        self.threads = threads()
        # |fl(z·v) - z·v| ≤ dot_error ‖z‖‖v‖, by the most entries a row has, and ‖fl(Σwz) - Σwz‖ ≤ sum_error Σ|w|‖z‖, by
        # the most terms that one entry of the sum passes through.
        entries = int(np.diff(rows.arrays[2]).max()) if rows.sparse else d
        self.dot_error = UNIT * (entries + 8)
        self.sum_error = UNIT * (min(BLOCK, n) + -(-n // BLOCK) + 8)

    def use_threads(self, count: int) -> None:
        """Let the core use one thread, or all of them."""
        self.threads = count

    def margins(self, phi: Vector, idx: Index | None = None) -> Vector:
        """Zφ by direct products; only at `idx` where given."""
        m = np.empty(self.rows.n)
        phi = np.ascontiguousarray(phi, dtype=np.float64)
        self.stored.margins(self.rows.sign, phi, m, self.every if idx is None else idx, self.threads)
        return m

    def sum(self, idx: Index, w: Vector) -> Vector:
        """Σ w_i z_i over the rows idx (rising); the last entry is Σ w_i."""
        return self.stored.sum(self.rows.sign, idx, w, self.threads)

    def lowest(self, phi: Vector) -> float:
        """The smallest margin among rows with a weight."""
        return float(self.margins(phi)[self.rows.weight > 0].min())
