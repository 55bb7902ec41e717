"""The core's face for rows that are elsewhere: one iterate over rows in an array, or in a file, a block at a time."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from separatrix.core.definition import BLOCK
from separatrix.core.library import Ask, Bounds, Facts, Sweep, address, core
from separatrix.core.rows import Index, Stored, Vector

ERRORS, ACTIVE, LOW, LOSS, LOST, CHANGED, READ, TIE = range(8)  # what is counted in a leaf
COUNTS = 8
DONE, EVALUATE, PULL, FORESEE = range(4)  # what `walk` ends with: nothing, or a question about the rows
KINDS = {"sign": np.int8, "s": np.float64, "r": np.float32, "reach": np.float32, "far": np.float32, "wrong": np.uint8}


def keep(n: int, **arrays: NDArray[Any] | None) -> Facts:
    """What is kept of n rows: sign, s, r, reach, far, wrong; None where a thing is not wanted."""
    for name, array in arrays.items():
        if array is not None and (array.dtype != KINDS[name] or array.shape != (n,)):
            raise ValueError(f"{name} of {n} rows must be {KINDS[name].__name__}, got {array.dtype} {array.shape}.")
    facts = Facts()
    facts.point(**arrays)
    return facts


def vector(phi: Any, size: int) -> Vector:
    """φ as the core takes it; what comes over a wire need not be aligned."""
    v = np.require(phi, np.float64, ["C", "A"])
    if v.shape != (size,):
        raise ValueError(f"φ must have {size} entries, got shape {v.shape}.")
    return v


def copied(ask: Ask, **changed: float) -> Ask:
    """The same question with some numbers changed; it points where the first one does."""
    own = Ask.from_buffer_copy(ask)
    for name, value in changed.items():
        setattr(own, name, value)
    return own


def _leaves(facts: Facts, stored: Stored, edges: Index, sums: Vector, found: Vector) -> tuple[int, ...]:
    """Where edges, sums and counts of leaves are, checked."""
    count, n = len(edges) - 1, len(facts.arrays["sign"])
    shapes = (count, stored.d + 2), (count, COUNTS)
    if edges.dtype != np.int64 or not 0 <= edges[0] <= edges[-1] <= n or (np.diff(edges) < 0).any():
        raise ValueError(f"edges of leaves must rise within {n} rows, got {edges}.")
    for values, shape in zip((sums, found), shapes, strict=True):
        if values.dtype != np.float64 or values.shape != shape:
            raise ValueError(f"the core takes {shape} numbers of float64, got {values.dtype} of shape {values.shape}.")
    return address(edges), count, address(sums), address(found)


def pass_held(
    stored: Stored, first: int, facts: Facts, ask: Ask, edges: Index, sums: Vector, found: Vector, begin: bool
) -> None:
    """The leaves between these edges over rows in an array, whose first is row `first` of the shard.

    A leaf is a run of whole blocks, rows edges[leaf] … edges[leaf+1]-1; its sum goes to sums[leaf], what is counted to
    found[leaf]. A leaf may come in pieces, and only the first of them begins it.
    """
    where, count, to, counts = _leaves(facts, stored, edges, sums, found)
    if not first <= edges[0] <= edges[-1] <= first + stored.n:
        raise ValueError(f"rows {edges[0]} … {edges[-1] - 1} are not among {stored.n} from {first} on.")
    part, told = np.empty(stored.d + 2), (ctypes.byref(facts), ctypes.byref(ask))
    core().shard_held(ctypes.byref(stored.record), first, *told, where, count, bool(begin), address(part), to, counts)


def pass_file(
    block: Stored, file: int, start: int, facts: Facts, ask: Ask, edges: Index, sums: Vector, found: Vector
) -> bool:
    """The same over a file of rows in the machine's own floats, row 0 of the shard at byte `start`.

    Only the rows that are due are read, each to its place in `block`. True if they were all there.
    """
    where, count, to, counts = _leaves(facts, block, edges, sums, found)
    _check_block(block)
    part, told = np.empty(block.d + 2), (ctypes.byref(facts), ctypes.byref(ask))
    record = ctypes.byref(block.record)
    return bool(core().shard_file(record, file, start, *told, where, count, address(part), to, counts))


def _check_block(block: Stored) -> None:
    if block.sparse or block.n < BLOCK or not block.arrays[0].flags.writeable:
        raise ValueError(f"rows of a file are put into an array of {BLOCK} rows, got {block.n}.")


def nothing(sums: Vector, found: Vector) -> None:
    """What a pass finds where no row is due."""
    sums[:] = 0.0
    found[:] = 0.0
    found[:, LOW] = found[:, TIE] = np.inf


def _check_span(facts: Facts, lo: int, hi: int) -> None:
    if not 0 <= lo <= hi <= len(facts.arrays["sign"]):
        raise ValueError(f"rows {lo} … {hi - 1} are not among {len(facts.arrays['sign'])}.")


def any_due(facts: Facts, ask: Ask, lo: int, hi: int) -> bool:
    """Whether a row of lo … hi-1 is due: a group of rows that must be read whole may be left alone if none is."""
    _check_span(facts, lo, hi)
    return bool(core().shard_any_due(ctypes.byref(facts), ctypes.byref(ask), lo, hi))


def count_wrong(facts: Facts, lo: int, hi: int, reach: float) -> int:
    """How many rows of lo … hi-1 the perceptron may find wrong within `reach` of their anchor."""
    _check_span(facts, lo, hi)
    return int(core().shard_count_wrong(ctypes.byref(facts), lo, hi, reach))


def products(rows: tuple[Any, ...], d: int, sign: NDArray[np.int8], unit: float, bias: float, phi: Vector) -> Vector:
    """m_i = sign_i (a_iᵀφ + bias φ_d) of rows in an array, all of them."""
    m = np.empty(len(sign))
    Stored(rows, d, bias).margins(sign.astype(np.float64) * unit, vector(phi, d + 1), m, np.arange(len(sign)))
    return m


def horizon(m: Vector, q: Vector, r: Vector, off: float, per_step: float) -> float:
    """How often a step can be taken before a row changes sides: margins m, q along the step, norms r.

    Rounding is given slack, r_i·off in m and r_i·per_step in q.
    """
    m, q, r = (np.ascontiguousarray(v, dtype=np.float64) for v in (m, q, r))
    if not len(m) == len(q) == len(r):
        raise ValueError(f"{len(m)} margins, {len(q)} along the step and {len(r)} norms do not belong together.")
    return float(core().shard_horizon(address(m), address(q), address(r), len(m), off, per_step))


def begin_look(bounds: Bounds, phi: Vector, length: float, *, fresh: bool, lazy: bool) -> None:
    """Before a look at Φ of this length: how far it is from where rows were seen, and whether to take all of them."""
    core().look_begins(ctypes.byref(bounds), address(phi), length, fresh, lazy)


def end_look(bounds: Bounds, phi: Vector, read: int, *, lazy: bool) -> None:
    """After it, `read` rows having been read: where distances are now measured from."""
    core().look_ends(ctypes.byref(bounds), address(phi), read, lazy)


class Walk(NamedTuple):
    """The perceptron on rows elsewhere: φ, which moves, and how far it may go."""

    facts: Facts
    phi: Vector
    anchor: Vector
    unit: float  # 1/scale
    at: Sweep
    n: int  # rows in all shards: so many right in turn, and all are
    steps: int  # updates
    lazy: bool

    def told(self, d: int, lo: int, hi: int) -> tuple[Any, ...]:
        """What the core is told of it."""
        _check_span(self.facts, lo, hi)
        for v in (self.phi, self.anchor):
            if v.dtype != np.float64 or v.shape != (d + 1,):
                raise ValueError(f"φ must have {d + 1} numbers of float64, got {v.dtype} of shape {v.shape}.")
        where = ctypes.byref(self.facts), address(self.phi), address(self.anchor), self.unit
        return *where, ctypes.byref(self.at), self.n, self.steps, self.lazy, lo, hi


def sweep_held(stored: Stored, first: int, walk: Walk, lo: int, hi: int) -> int:
    """The perceptron on through rows lo … hi-1 of the shard, in an array whose first is row `first`; the next row."""
    if not first <= lo <= hi <= first + stored.n:
        raise ValueError(f"rows {lo} … {hi - 1} are not among {stored.n} from {first} on.")
    return int(core().shard_sweep_held(ctypes.byref(stored.record), first, *walk.told(stored.d, lo, hi)))


def sweep_file(block: Stored, file: int, start: int, walk: Walk, lo: int, hi: int) -> int:
    """The same over a file; -1 if a row was not there."""
    _check_block(block)
    return int(core().shard_sweep_file(ctypes.byref(block.record), file, start, *walk.told(block.d, lo, hi)))


def reached(at: Sweep, D: int) -> float:
    """How far φ (of D entries) is from the anchor, and slack for the rounding of dot products and distances."""
    return float(core().reached(ctypes.byref(at), D))
