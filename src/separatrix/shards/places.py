"""In which array or file each run of leaves lies, so that the core can have the rows from there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from separatrix.data.sources import Source
from separatrix.shards.layout import Index


class Task(NamedTuple):
    """A run of leaves, and the array (with its first row) or the file (with the byte of row 0) that has them whole."""

    lo: int
    hi: int
    held: tuple[Any, int] | None
    file: tuple[int, int] | None

    @property
    def reads(self) -> bool:
        """Whether rows must be read before the core can have them."""
        return self.held is None and self.file is None


class Places:
    """The leaves of a shard, and where its source keeps them."""

    def __init__(self, source: Source, edges: Index, threads: int, piece: int) -> None:
        self.source, self.edges, self.threads, self.piece = source, edges, threads, piece
        self.count = len(edges) - 1
        self.breaks = np.array(source.breaks)

    def tasks(self) -> list[Task]:
        """Runs of leaves to share out."""
        return [self._joined(task) for task in self._runs()]

    def single(self) -> list[Task]:
        """Every leaf on its own."""
        return [self._joined(self._task(leaf, leaf + 1)) for leaf in range(self.count)]

    def _runs(self) -> Iterator[Task]:
        """Runs of leaves that are kept in one place, short enough to share them out evenly."""
        most = max(1, -(-self.count // (4 * self.threads)))
        lo = 0
        while lo < self.count:
            task = self._task(lo, lo + 1)
            while task.hi < self.count and task.hi - lo < most:
                following, both = self._task(task.hi, task.hi + 1), self._task(lo, task.hi + 1)
                long = both.reads and self.edges[both.hi] - self.edges[lo] > self.piece
                if long or not following.reads == both.reads == task.reads:
                    break
                task = both
            yield task
            lo = task.hi

    def _task(self, lo: int, hi: int) -> Task:
        """The leaves lo … hi-1: in one array, in one file, or to be read piece by piece."""
        first, last = int(self.edges[lo]), int(self.edges[hi])
        if np.searchsorted(self.breaks, first, side="right") == np.searchsorted(self.breaks, last - 1, side="right"):
            return Task(lo, hi, self.source.held(first), self.source.place(first))
        return Task(lo, hi, None, None)

    def _joined(self, task: Task) -> Task:
        """Blocks that lie across two arrays are put together once and for all."""
        first, last = int(self.edges[task.lo]), int(self.edges[task.hi])
        if not task.reads or self.source.held(first) is None or self.source.held(last - 1) is None:
            return task
        return task._replace(held=(self.source.read(first, last), first))
