"""Rows in, dot products and sums out: the core's face for rows in memory, by the compiled twin or the definition.

Rows come as a tuple, `(X,)` for a C-ordered dense array or `(data, indices, indptr)` for CSR, and `bias` is the value
of an appended constant column (0: none), so a vector that meets them always has d + 1 entries.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core import definition
from separatrix.core.definition import BLOCK as BLOCK
from separatrix.core.definition import GROUP as GROUP
from separatrix.core.library import Rows, address, library
from separatrix.core.threads import threads

LEVELS = 7  # of groups of the canonical sum: more blocks than any disk holds
LINE = 64  # bytes of a line of the cache, and of the widest register
AT_ONCE = 1 << 20  # entries that the definition takes at a time

Vector = NDArray[np.float64]
Index = NDArray[np.int64]


def aligned(size: int, kind: Any = np.float64) -> NDArray[Any]:
    """Zeros that begin where a line of the cache does: no register of them then lies across two."""
    each = np.dtype(kind).itemsize
    room = np.zeros(size + LINE // each, dtype=kind)
    first = -(room.ctypes.data // each) % (LINE // each)
    return room[first : first + size]


def norm(v: Vector) -> float:
    """‖v‖ without overflow or underflow on the way; NaN or infinity where v has one."""
    lib = library()
    v = np.ascontiguousarray(v, dtype=np.float64)
    return definition.norm(v) if lib is None else float(lib.norm(address(v), v.size))


def distance(a: Vector, b: Vector) -> float:
    """‖a - b‖."""
    lib = library()
    if a.shape != b.shape:
        raise ValueError(f"vectors of shapes {a.shape} and {b.shape} have no distance.")
    a, b = (np.ascontiguousarray(v, dtype=np.float64) for v in (a, b))
    return definition.distance(a, b) if lib is None else float(lib.distance(address(a), address(b), a.size))


class Stored:
    """Rows as they are stored, checked once: what the core multiplies and adds."""

    def __init__(self, arrays: tuple[NDArray[Any], ...], d: int, bias: float = 0.0) -> None:
        self.sparse = len(arrays) == 3
        if arrays[0].dtype not in (np.float32, np.float64):
            raise ValueError(f"the core takes float32 and float64 rows, got {arrays[0].dtype}.")
        if self.sparse and (arrays[1].dtype != arrays[2].dtype or arrays[1].dtype not in (np.int32, np.int64)):
            arrays = (arrays[0], arrays[1].astype(np.int64), arrays[2].astype(np.int64))
        if self.sparse and not _belong_together(*arrays):
            raise ValueError(f"CSR rows have entries, as many columns, and starts within them, got {_shapes(arrays)}.")
        if not self.sparse and (arrays[0].ndim != 2 or arrays[0].shape[1] != d):
            raise ValueError(f"rows of {d} columns must be a matrix of so many, got shape {arrays[0].shape}.")
        self.arrays, self.d, self.bias = arrays, d, float(bias)
        self.n = len(arrays[2]) - 1 if self.sparse else len(arrays[0])
        self.width = max(1, round(arrays[0].size / max(self.n, 1)))  # entries read per row
        self.record = Rows(n=self.n, d=d, item=arrays[0].itemsize, bias=self.bias)
        self.record.point(x=arrays[0])
        if self.sparse:
            self.record.index = arrays[1].itemsize
            self.record.point(columns=arrays[1], starts=arrays[2])
        self._scratch: tuple[NDArray[Any], ...] | None = None

    def scratch(self, kind: Any = np.float64) -> tuple[NDArray[Any], NDArray[Any], Index]:
        """A sum for each block (none for sparse rows), sums of groups, and columns touched (none for dense rows)."""
        blocks, lanes = 0 if self.sparse else -(-self.n // BLOCK), LINE // np.dtype(kind).itemsize
        return (
            aligned(blocks * -(-(self.d + 2) // lanes) * lanes, kind),
            np.zeros((LEVELS + 2, self.d + 2), dtype=kind),
            np.zeros(2 * self.d if self.sparse else 0, dtype=np.int64),
        )

    def norms(self) -> Vector:
        """‖a_i‖ of every row; a NaN or an infinity in row i shows there."""
        r, lib = np.empty(self.n), library()
        if lib is not None:
            lib.row_norms(ctypes.byref(self.record), threads(), self.width, address(r))
            return r
        for lo, X in self.pieces(np.arange(self.n)):
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                r[lo : lo + len(X)] = [definition.norm(x) for x in X]
        return r

    def margins(self, sign: Vector, phi: Vector, m: Vector, idx: Index, threads: int = 1) -> None:
        """m_i = sign_i (a_iᵀφ + bias φ_d) for i in idx."""
        self._check(sign, m, phi, idx)
        lib = library()
        if lib is not None:
            where = address(sign), address(idx), len(idx), address(phi)
            lib.row_margins(ctypes.byref(self.record), *where, threads, self.width, address(m))
            return
        tail = self.bias * phi[self.d]
        for lo, X in self.pieces(idx):
            here = idx[lo : lo + len(X)]
            m[here] = sign[here] * (definition.dots(X, phi[: self.d]) + tail)

    def spans(self, phi: Vector, idx: Index, threads: int = 1, *, moved: bool = False) -> Vector:
        """a_iᵀφ + bias φ_d and Σ|a_ik φ_k| + |bias φ_d|, i in idx; if `moved`, Σ|a_ik φ_k| of rounded entries too."""
        self._check(None, None, phi, idx)
        lib, out = library(), np.empty((2 + moved, len(idx)))
        if lib is not None:
            where = address(idx), len(idx), address(phi)
            sums = [address(out[k]) for k in range(len(out))] + [None] * (not moved)
            lib.row_spans(ctypes.byref(self.record), *where, threads, self.width, *sums)
            return out
        for lo, X in self.pieces(idx):
            out[:, lo : lo + len(X)] = definition.spans(X, self.bias, phi)[: len(out)]
        return out

    def sum(self, sign: Vector, idx: Index, w: Vector, threads: int = 1) -> Vector:
        """Σ w_i z_i over the rows idx (rising), and behind it Σ w_i."""
        self._check(sign, w, None, idx)
        if (idx[1:] <= idx[:-1]).any():
            raise ValueError("rows are summed in rising order, each once; got row numbers that do not rise.")
        lib, out = library(), np.empty(self.d + 2)
        if lib is not None:
            if self._scratch is None:
                self._scratch = self.scratch()
            scratch = [address(a) for a in self._scratch]
            where = address(sign), address(idx), len(idx), address(w)
            lib.row_sum(ctypes.byref(self.record), *where, *scratch, threads, address(out))
            return out
        some = np.zeros(self.n)
        some[idx] = w[idx]
        for k, column in enumerate((some * sign * self.bias, some)):
            out[self.d + k] = definition.sum_rows(column[:, None], np.where(some != 0, 1.0, 0.0))[0]
        X = self.dense(np.arange(self.n)) if self.sparse else self.arrays[0]
        out[: self.d] = definition.sum_rows(X, some * sign)
        return out

    def dense(self, idx: Index) -> NDArray[Any]:
        """These rows written out."""
        if not self.sparse:
            return np.asarray(self.arrays[0][idx])
        from scipy.sparse import csr_array

        return np.asarray(csr_array(self.arrays, shape=(self.n, self.d))[idx].toarray())

    def pieces(self, idx: Index) -> Iterator[tuple[int, NDArray[Any]]]:
        """The rows of idx written out, some at a time, each with its place in idx."""
        step = max(1, AT_ONCE // self.d)
        for lo in range(0, len(idx), step):
            yield lo, self.dense(idx[lo : lo + step])

    def _check(self, sign: Vector | None, values: Vector | None, phi: Vector | None, idx: Index) -> None:
        for vector, size in ((sign, self.n), (values, self.n), (phi, self.d + 1)):
            if vector is not None and (vector.dtype != np.float64 or vector.shape != (size,)):
                raise ValueError(f"the core takes {size} numbers of float64, got {vector.dtype} of {vector.shape}.")
        if idx.dtype != np.int64 or idx.ndim != 1:
            raise ValueError(f"row numbers must be int64 in one dimension, got {idx.dtype} of shape {idx.shape}.")
        if len(idx) and not (0 <= idx.min() and idx.max() < self.n):
            raise ValueError(f"row numbers must lie in 0 … {self.n - 1}, got {idx.min()} … {idx.max()}.")


def _belong_together(data: NDArray[Any], columns: NDArray[Any], starts: NDArray[Any]) -> bool:
    """Whether these can be the parts of CSR rows; what is in them was looked at where they came in."""
    one = data.ndim == columns.ndim == starts.ndim == 1
    return one and len(data) == len(columns) and len(starts) > 0 and starts[0] == 0 and starts[-1] <= len(data)


def _shapes(arrays: tuple[NDArray[Any], ...]) -> str:
    return ", ".join(str(array.shape) for array in arrays)


class Tree:
    """Rule 3 for sums that come one by one, in rising order: blocks, or groups of them that others have added up."""

    def __init__(self, width: int) -> None:
        self.sums = np.zeros((LEVELS + 1, width))
        self.at = [-1] * (LEVELS + 1)  # sums[g] is the sum so far of group at[g], the one of level g that is open

    def put(self, level: int, number: int, v: Vector) -> None:
        """Add group `number` of this level (0: a block) to the group that holds it."""
        holder = number
        for g in range(1, LEVELS):
            if g > level:
                holder //= GROUP
            if self.at[g] >= 0 and (g <= level or self.at[g] != holder):
                self._close(g)
        self.at[level + 1] = number // GROUP
        self.sums[level + 1] += v

    def _close(self, g: int) -> None:
        """Add the open group of level g to the one that holds it."""
        self.at[g + 1], self.at[g] = self.at[g] // GROUP, -1
        self.sums[g + 1] += self.sums[g]
        self.sums[g] = 0.0

    def finish(self, level: int = LEVELS) -> Vector:
        """The sum of the one group of this level that all were part of; the tree is then empty."""
        for g in range(1, level):
            if self.at[g] >= 0:
                self._close(g)
        out: Vector = self.sums[level].copy()
        self.sums[level], self.at[level] = 0.0, -1
        return out
