"""Files of rows → shards in this process that stay below a memory limit."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from separatrix.core.definition import BLOCK
from separatrix.core.threads import threads
from separatrix.data.arrays import check_weights
from separatrix.data.labels import Labels
from separatrix.data.rows import Vector
from separatrix.data.sources import Source
from separatrix.shards.layout import leaves
from separatrix.shards.shard import PIECE, Shard
from separatrix.shards.sharded import ShardedRows

WORK = 120 << 20  # bytes for modules loaded on the way and for small arrays
LAZY, PLAIN = 18, 3  # bytes kept per row: with bounds on its margin, or sign and side alone


class Local:
    """Shards in this process."""

    name = "files"

    def __init__(self, shards: Sequence[Shard]) -> None:
        self.shards = list(shards)
        self.begun_by: Any = None
        self.bounds = [s.first for s in self.shards] + [self.shards[-1].total]

    def ask(self, method: str, *args: Any) -> list[Any]:
        """The answers of all shards, one after the other: each has threads of its own."""
        return [getattr(shard, method)(*args) for shard in self.shards]

    def ask_one(self, k: int, method: str, *args: Any) -> Any:
        """The answer of shard k."""
        return getattr(self.shards[k], method)(*args)

    def rebuilt(self, restore: Callable[[int], None] | None) -> None:
        """Nothing is lost here that this process would outlive."""

    def close(self) -> None:
        """End their threads."""
        for shard in self.shards:
            shard.close()


def open_pieces(
    rows: Source, labels: Labels, sample_weight: Any, limit: int, *, fit_intercept: bool, intercept_scaling: Any
) -> ShardedRows:
    """Rows of files, read piece by piece within `limit` bytes."""
    team = local_team(rows, labels, sample_weight, limit)
    return ShardedRows.of(team, rows.d, fit_intercept=fit_intercept, intercept_scaling=intercept_scaling)


def local_team(rows: Source, labels: Labels, sample_weight: Any, limit: int) -> Local:
    """One shard for all rows, with bounds on their margins if there is memory for them."""
    count = threads()
    weight: Vector | None = None if sample_weight is None else check_weights(sample_weight, rows.n)
    per_row = 8 if weight is not None else 0
    block, runs = BLOCK * rows.d * rows.dtype.itemsize, len(leaves(0, rows.n, rows.n, rows.breaks)[1])
    fixed = WORK + count * block + max(4, 2 * count) * max(PIECE, block) + 16 * (rows.d + 2) * runs
    used = resident()
    budget = limit - used - fixed
    if (PLAIN + per_row) * rows.n > budget:
        needed = used + fixed + (PLAIN + per_row) * rows.n
        raise ValueError(
            f"memory_limit={limit:,} bytes is too little for {rows.n:,} rows of {rows.d:,} columns: keeping a "
            f"side for every row takes {needed:,}, {used:,} of which this process holds already; raise it, or use a "
            "cluster."
        )
    lazy = (LAZY + per_row) * rows.n <= budget
    return Local([Shard(rows, labels, weight, 0, rows.n, lazy=lazy, threads=count)])


def resident() -> int:
    """Bytes of this process in memory now; a guess where the system does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 250 << 20
