"""Sheet: rows in memory, ready for the core, with bounds on what its products and sums round off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from separatrix.core.batch import Data
from separatrix.core.constants import UNIT
from separatrix.core.rows import BLOCK, evaluate_rows, sum_rows
from separatrix.core.threads import threads
from separatrix.data.rows import Index, Vector

if TYPE_CHECKING:
    from separatrix.data.memory import HeldRows


class Sheet:
    """A problem's rows with the scratch memory that direct evaluation needs."""

    def __init__(self, rows: HeldRows) -> None:
        self.rows = rows
        n, d = rows.n, rows.d
        per_row = max(rows.nbytes / n, 1.0)
        # Partial sums take at most 1/32 of the rows' own memory: sparse rows in many columns get larger blocks.
        block = max(BLOCK, int(np.ceil(32 * 8 * (d + 2) / per_row)) if rows.sparse else BLOCK)
        width = max(1, round(rows.arrays[0].size / n))
        self.every = np.arange(n)
        self.data = Data(
            rows=rows.arrays,
            sign=rows.sign,
            s=rows.weight,
            r=rows.r,
            every=self.every,
            bias=rows.bias,
            block=block,
            width=width,
            short=rows.short,
            threads=threads(),
        )
        blocks = -(-n // block)
        self.starts = np.zeros(blocks + 1, dtype=np.int64)
        self.parts = np.zeros((blocks, d + 2))
        self.total = np.zeros(d + 2)
        # |fl(z·v) - z·v| ≤ dot_error ‖z‖‖v‖, by the most entries a row has, and ‖fl(Σwz) - Σwz‖ ≤ sum_error Σ|w|‖z‖, by
        # the most terms that one entry of the sum passes through.
        entries = int(np.diff(rows.arrays[2]).max()) if rows.sparse else d
        self.dot_error = UNIT * (entries + 8)
        self.sum_error = UNIT * (min(block, n) + blocks + 8)

    def use_threads(self, count: int) -> None:
        """Let the kernels use one thread, or all of them."""
        self.data = self.data._replace(threads=count)

    def margins(self, phi: Vector, idx: Index | None = None) -> Vector:
        """Zφ by direct products; only at `idx` where given."""
        m = np.empty(self.rows.n)
        idx = self.every if idx is None else idx
        evaluate_rows(self.data, idx, len(idx), phi, m)
        return m

    def sum(self, idx: Index, w: Vector) -> Vector:
        """Σ w_i z_i over the rows idx (ascending); the last entry is Σ w_i."""
        sum_rows(self.data, idx, len(idx), w, self.starts, self.parts, self.total)
        return self.total

    def lowest(self, phi: Vector) -> float:
        """The smallest margin among rows with a weight."""
        return float(self.margins(phi)[self.rows.weight > 0].min())
