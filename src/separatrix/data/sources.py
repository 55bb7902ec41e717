"""Where rows are kept: in an array, in binary files, in Parquet files. Shapes and types are checked before use.

A source hands out rows lo … hi-1 as float32 or float64 by `read`. Files of the machine's own floats can also be read
row by row by the core, from an open file at a byte offset; `place` says where. Nothing is unpickled.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from separatrix.data.arrays import float_type
from separatrix.data.npy import NOT_NPY, npy_header
from separatrix.reporting.hints import install

Rows = tuple[Any, ...]
BATCH, BYTES = 32_768, 8 << 20  # rows of a Parquet file decoded at a time, and bytes


class Source(Protocol):
    """Rows somewhere."""

    @property
    def n(self) -> int:
        """Rows."""

    @property
    def d(self) -> int:
        """Columns."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the rows that are handed out: float32 or float64."""

    @property
    def breaks(self) -> list[int]:
        """The first rows of the places they are kept in, and n."""

    def place(self, row: int) -> tuple[int, int] | None:
        """An open file and the byte in it at which row 0 would begin, if rows of row's place can be read so."""

    def held(self, row: int) -> tuple[Rows, int] | None:
        """The array that has this row and the number of its first, if it is in memory."""

    def read(self, lo: int, hi: int) -> Rows:
        """Rows lo … hi-1, dense as `(X,)` or CSR as `(data, indices, indptr)`."""


class Held:
    """Rows in an array, dense or CSR."""

    def __init__(self, rows: Rows, n: int, d: int) -> None:
        self.rows, self.n, self.d = rows, n, d
        self.breaks = [0, n]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the entries."""
        kind: np.dtype[Any] = self.rows[0].dtype
        return kind

    def place(self, row: int) -> None:
        """None: no file."""

    def held(self, row: int) -> tuple[Rows, int]:
        """All of it."""
        return self.rows, 0

    def read(self, lo: int, hi: int) -> Rows:
        """A view."""
        if len(self.rows) == 3:
            data, indices, indptr = self.rows
            a, b = indptr[lo], indptr[hi]
            return data[a:b], indices[a:b], indptr[lo : hi + 1] - a
        return (self.rows[0][lo:hi],)


@dataclass(frozen=True)
class Binary:
    """An npy file, or what a memory map maps: entries of one type, row after row, from byte `start`."""

    path: str
    start: int
    kind: str  # the entries' type, as NumPy spells it
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        there, wanted = os.path.getsize(self.path), self.start + self.stride * self.n
        if there < wanted:
            raise ValueError(f"{self.path} is cut short: {there:,} bytes, {wanted:,} by its header; write it again.")

    @property
    def n(self) -> int:
        """Rows, or entries of a column."""
        return self.shape[0] if self.shape else 0

    @property
    def d(self) -> int:
        """Columns."""
        return self.shape[1]

    @property
    def stride(self) -> int:
        """Bytes per row."""
        return int(np.dtype(self.kind).itemsize * prod(self.shape[1:]))

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the rows that are handed out."""
        kind: np.dtype[Any] = np.dtype(float_type(np.dtype(self.kind)))
        return kind

    @property
    def breaks(self) -> list[int]:
        """One place."""
        return [0, self.n]

    @cached_property
    def file(self) -> int:
        """The open file; closed when nobody asks for it any more."""
        found = os.open(self.path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        weakref.finalize(self, os.close, found)
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "file"}

    def place(self, row: int) -> tuple[int, int] | None:
        """The file itself where its entries are this machine's floats."""
        native = np.dtype(self.kind) == self.dtype and np.dtype(self.kind).isnative
        try:
            return (self.file, self.start) if native and callable(getattr(os, "pread", None)) else None
        except OSError:  # more files than may be open at once
            return None

    def held(self, row: int) -> None:
        """None: not in memory."""

    def raw(self, lo: int, hi: int) -> NDArray[Any]:
        """Entries lo … hi-1 as stored."""
        count = (hi - lo) * self.stride // np.dtype(self.kind).itemsize
        got = np.fromfile(self.path, dtype=self.kind, count=count, offset=self.start + lo * self.stride)
        if len(got) < count:
            raise OSError(f"{self.path} ends before row {hi - 1}: it was cut while it was being read.")
        return got.reshape(hi - lo, *self.shape[1:])

    def read(self, lo: int, hi: int) -> Rows:
        """Rows lo … hi-1."""
        A = self.raw(lo, hi)
        float_type(A.dtype, A)
        return (np.ascontiguousarray(A, dtype=self.dtype),)


class Parquet:
    """The columns of a Parquet file, decoded a batch at a time, and only from row groups that are wanted."""

    def __init__(self, path: str, columns: Sequence[str]) -> None:
        self.path, self.columns = path, list(columns)
        meta = self.file.metadata
        schema = self.file.schema_arrow
        self.groups = row_groups(meta)
        self.n, self.d = int(meta.num_rows), len(self.columns)
        kinds = [schema.field(name).type.to_pandas_dtype() for name in self.columns]
        for name, kind in zip(self.columns, kinds, strict=True):
            if np.dtype(kind).kind not in "fiub":
                raise ValueError(f"{path}: column {name!r} is {schema.field(name).type}; encode or drop it.")
        self.kinds = [np.dtype(k) for k in kinds]

    @cached_property
    def file(self) -> Any:
        """The open file; small buffers rather than whole row groups."""
        parquet = parquet_reader()
        return parquet.ParquetFile(self.path, pre_buffer=False, buffer_size=1 << 16)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("file", "stream")}

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """float32 where every column fits in it."""
        return np.result_type(*(float_type(k) for k in self.kinds))

    @property
    def breaks(self) -> list[int]:
        """Row groups."""
        return [int(g) for g in self.groups]

    def place(self, row: int) -> None:
        """None: rows must be decoded."""

    def held(self, row: int) -> None:
        """None: not in memory."""

    def read(self, lo: int, hi: int) -> Rows:
        """Rows lo … hi-1; going on where the last call ended costs nothing, else the row group is begun again."""
        out = np.empty((hi - lo, self.d), dtype=self.dtype)
        at = lo
        while at < hi:
            first, batch = self._batch(at)
            part = batch[at - first : hi - first]
            out[at - lo : at - lo + len(part)] = part
            at += len(part)
        return (out,)

    def _batch(self, row: int) -> tuple[int, NDArray[Any]]:
        """The decoded batch that has this row, and its own first row."""
        stream = self.__dict__.get("stream")
        if stream is None or row < stream.first:
            stream = self.__dict__["stream"] = _Stream(self, int(np.searchsorted(self.groups, row, side="right")) - 1)
        while row >= stream.first + len(stream.rows):
            ahead = int(np.searchsorted(self.groups, row, side="right")) - 1
            if ahead > stream.group:
                stream = self.__dict__["stream"] = _Stream(self, ahead)
            else:
                stream.advance()
        return stream.first, stream.rows


def row_groups(meta: Any) -> NDArray[np.int64]:
    """The first rows of a Parquet file's row groups, and n."""
    sizes = [meta.row_group(g).num_rows for g in range(meta.num_row_groups)]
    return np.cumsum([0, *sizes])


class _Stream:
    """One row group, batch after batch."""

    def __init__(self, source: Parquet, group: int) -> None:
        self.source, self.group = source, group
        self.first, self.rows = int(source.groups[group]), np.empty((0, source.d), dtype=source.dtype)
        rows = min(BATCH, max(512, BYTES // (source.d * source.dtype.itemsize)))
        self.batches = source.file.iter_batches(rows, row_groups=[group], columns=source.columns)

    def advance(self) -> None:
        self.first += len(self.rows)
        batch = next(self.batches)
        rows = np.empty((batch.num_rows, self.source.d), dtype=self.source.dtype)
        for j, name in enumerate(self.source.columns):
            column = batch.column(batch.schema.get_field_index(name))
            if column.null_count:
                i = self.first + int(np.flatnonzero(np.asarray(column.is_null()))[0])
                raise ValueError(f"{self.source.path}: column {name!r} is empty in row {i}; fill it or drop the row.")
            values = column.to_numpy(zero_copy_only=False)
            float_type(values.dtype, values)
            rows[:, j] = values
        self.rows = rows


class Joined:
    """Several sources one after the other."""

    def __init__(self, parts: Sequence[Source]) -> None:
        self.parts = list(parts)
        self.starts = np.concatenate([[0], np.cumsum([p.n for p in parts])])
        self.n, self.d = int(self.starts[-1]), parts[0].d
        self.dtype = np.result_type(*(p.dtype for p in parts))

    @cached_property
    def breaks(self) -> list[int]:
        """Those of the parts."""
        return sorted({int(s) + b for s, p in zip(self.starts, self.parts, strict=False) for b in p.breaks})

    def _part(self, row: int) -> tuple[int, Source]:
        k = int(np.searchsorted(self.starts, row, side="right")) - 1
        return int(self.starts[k]), self.parts[k]

    def place(self, row: int) -> tuple[int, int] | None:
        """That of the part which has the row."""
        start, part = self._part(row)
        found = part.place(row - start) if part.dtype == self.dtype else None
        return None if found is None else (found[0], found[1] - start * self.d * self.dtype.itemsize)

    def held(self, row: int) -> tuple[Rows, int] | None:
        """That of the part which has the row."""
        start, part = self._part(row)
        found = part.held(row - start) if part.dtype == self.dtype else None
        return None if found is None else (found[0], found[1] + start)

    def read(self, lo: int, hi: int) -> Rows:
        """Rows lo … hi-1, from as many parts as have them."""
        pieces = []
        for start, part in zip(self.starts, self.parts, strict=False):
            a, b = max(lo - int(start), 0), min(hi - int(start), part.n)
            if a < b:
                pieces.append(part.read(a, b))
        return pieces[0] if len(pieces) == 1 and pieces[0][0].dtype == self.dtype else stack(pieces, self.dtype)


def stack(pieces: Sequence[Rows], dtype: np.dtype[Any]) -> Rows:
    """Rows of several pieces in one."""
    data = np.concatenate([p[0] for p in pieces]).astype(dtype, copy=False)
    if len(pieces[0]) == 1:
        return (data,)
    starts = np.cumsum([0, *(len(p[0]) for p in pieces)])
    ends = [p[2][1:] - p[2][0] + start for p, start in zip(pieces, starts, strict=False)]
    return data, np.concatenate([p[1] for p in pieces]), np.concatenate([[0], *ends])


class Slice:
    """Rows first … last-1 of a source, as a source."""

    def __init__(self, source: Source, first: int, last: int) -> None:
        self.source, self.first, self.n, self.d = source, first, last - first, source.d

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the rows that are handed out."""
        return self.source.dtype

    @property
    def breaks(self) -> list[int]:
        """Those that fall inside."""
        inside = [b - self.first for b in self.source.breaks if self.first < b < self.first + self.n]
        return [0, *inside, self.n]

    def place(self, row: int) -> tuple[int, int] | None:
        """That of the source, counted from here."""
        found = self.source.place(row + self.first)
        return None if found is None else (found[0], found[1] + self.first * self.d * self.dtype.itemsize)

    def held(self, row: int) -> tuple[Rows, int] | None:
        """That of the source, counted from here."""
        found = self.source.held(row + self.first)
        return None if found is None else (found[0], found[1] - self.first)

    def read(self, lo: int, hi: int) -> Rows:
        """Rows lo … hi-1 from here."""
        return self.source.read(lo + self.first, hi + self.first)


def open_npy(path: str | os.PathLike[str]) -> Binary:
    """An npy file by its header; nothing of it is mapped or unpickled."""
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            shape, fortran, dtype = npy_header(file)
            start = file.tell()
    except FileNotFoundError:
        raise ValueError(f"there is no file {name}; check the path.") from None
    except NOT_NPY as error:
        raise ValueError(f"{name} is no npy file that can be read ({error}).") from None
    if dtype.hasobject:
        raise ValueError(f"{name} holds pickled objects, which are never loaded; save plain numbers.")
    if fortran and len(shape) > 1:
        raise ValueError(f"{name} is in Fortran order; save np.ascontiguousarray(X) so that rows lie together.")
    return Binary(name, start, dtype.str, shape)


def open_map(array: Any) -> Binary | None:
    """What a memory map maps, if its rows lie in the file as they are; None where only memory has them."""
    root = array
    while isinstance(root.base, np.memmap):
        root = root.base
    if root.mode == "c" or root.filename is None or not array.flags.c_contiguous:
        return None
    offset = array.__array_interface__["data"][0] - root.__array_interface__["data"][0] + root.offset
    return Binary(str(root.filename), int(offset), array.dtype.str, array.shape)


def parquet_reader() -> Any:
    """pyarrow.parquet, or how to get it."""
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise ImportError(f"Parquet files are read by row groups with pyarrow: {install('frames')}.") from None
    return parquet
