"""The Dask actor: what lives on a worker and answers for the rows that it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.data.arrays import rows_of, sound
from separatrix.data.labels import HeldLabels, LabelSlice
from separatrix.data.sources import Held, Joined, Slice
from separatrix.shards.shard import Shard


@dataclass(frozen=True)
class Part:
    """The source of one shard: a file, or what a Dask collection computes."""

    first: int
    last: int
    rows: Any
    labels: Any
    weight: Any
    homes: tuple[str, ...] = ()  # the workers that have the chunks in memory already
    home: str = ""  # the one that has most of these rows
    d: int = 0  # columns that a collection announces


class Member:
    """The shards of one worker; lives there."""

    def __init__(self, parts: Sequence[Part], data: Sequence[Any], total: int) -> None:
        from distributed import get_worker

        threads = int(get_worker().state.nthreads)
        self.shards = [make_shard(part, held, total, threads) for part, held in zip(parts, data, strict=True)]

    def ask(self, method: str, args: tuple[Any, ...]) -> list[Any]:
        """The answers of all shards."""
        return [getattr(shard, method)(*args) for shard in self.shards]

    def ask_one(self, k: int, method: str, args: tuple[Any, ...]) -> Any:
        """The answer of one shard, counted from the worker's first."""
        return getattr(self.shards[k], method)(*args)


def make_shard(part: Part, held: Any, total: int, threads: int) -> Shard:
    """A shard on this worker: of a file, or of rows that were computed here, which stay where they are."""
    if held is None:
        rows, y = Slice(part.rows, part.first, part.last), LabelSlice(part.labels, part.first, part.last)
        return Shard(rows, y, part.weight, part.first, total, threads=threads)
    chunks: list[Held] = []
    for X in held[0]:
        chunks.append(chunk(X, part.first + sum(held.n for held in chunks)))
    n = sum(held.n for held in chunks)
    for one in chunks:
        if one.d != part.d:
            raise ValueError(f"X has a chunk of {one.d} columns where {part.d} were announced (from row {part.first}).")
    if n != part.last - part.first:
        raise ValueError(f"X has {n} rows where {part.last - part.first} were announced (from row {part.first}).")
    source = chunks[0] if len(chunks) == 1 else Joined(chunks)
    values = np.concatenate([np.asarray(y) for y in held[1]])
    labels = HeldLabels(values[held[2] : held[2] + n])
    return Shard(source, labels, part.weight, part.first, total, threads=threads)


def cut(X: Any, lo: int, hi: int) -> Any:
    """Rows lo … hi-1 of a chunk; a matrix whose parts do not belong together is refused before SciPy cuts it."""
    return sound(X)[lo:hi]


def chunk(X: Any, first: int = 0) -> Held:
    """One chunk as a source; its rows are counted from `first` in complaints."""
    arrays, n, d, _ = rows_of(X, first)
    return Held(arrays, n, d)
