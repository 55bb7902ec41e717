"""Which blocks of rows a shard sums as one: the groups of the canonical sum that lie wholly in it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from separatrix.core.definition import BLOCK, GROUP
from separatrix.core.rows import LEVELS

Index = NDArray[np.int64]
GROUPED = GROUP * BLOCK  # rows: shards that begin at multiples of this send one sum for so many


def leaves(first: int, n: int, total: int, breaks: list[int]) -> tuple[Index, Index, Index]:
    """Edges, levels and numbers of the leaves of a shard: groups of blocks that lie wholly in it, single blocks else.

    A group that a break runs through is taken block by block, so that all but one block lie in one place.
    """
    end = -(-total // BLOCK)
    b, b1 = first // BLOCK, -(-(first + n) // BLOCK)
    inner = np.array(breaks) + first
    edges, levels, numbers = [0], [], []
    while b < b1:
        top = min(b + GROUP, end)
        whole = b % GROUP == 0 and top <= b1
        through = ((inner > b * BLOCK) & (inner < top * BLOCK) & (inner < first + n)).any()
        level = 1 if whole and not through else 0
        levels.append(level)
        numbers.append(b // GROUP if level else b)
        b = top if level else b + 1
        edges.append(min(b * BLOCK - first, n))
    return np.array(edges), np.array(levels), np.array(numbers)


def largest(level: int, number: int, b0: int, b1: int, end: int) -> tuple[int, int]:
    """The largest group that holds this one and lies in the blocks b0 … b1-1 of `end`."""
    while level < LEVELS - 1:
        size = GROUP ** (level + 1)
        up = number // GROUP
        if up * size < b0 or min((up + 1) * size, end) > b1:
            break
        level, number = level + 1, up
    return level, number


def align(starts: Sequence[int], n: int) -> list[int]:
    """These first rows, each moved to the nearest multiple of a block or of a group of blocks; and n."""
    size = n / max(1, len(starts))
    step = GROUPED if size >= 16 * GROUPED else BLOCK
    moved = sorted({min(round(s / step) * step, n) for s in starts} | {0, n})
    return [int(m) for m in moved]


def thin(starts: Sequence[int], n: int, most: int) -> list[int]:
    """At most so many of these first rows, the first among them, as evenly spread as they allow."""
    if len(starts) <= most:
        return list(starts)
    at = np.asarray(starts)
    return sorted({int(at[abs(at - n * k / most).argmin()]) for k in range(most)})
