"""Where labels are kept: in an array, in npy files, in a column of Parquet files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from separatrix.data.sources import Binary, Parquet, parquet_reader, row_groups


class Labels(Protocol):
    """One label per row, somewhere."""

    @property
    def n(self) -> int:
        """Labels."""

    def read(self, lo: int, hi: int) -> NDArray[Any]:
        """Labels lo … hi-1."""


class HeldLabels:
    """Labels in an array."""

    def __init__(self, values: NDArray[Any]) -> None:
        self.values, self.n = values, len(values)

    def read(self, lo: int, hi: int) -> NDArray[Any]:
        """A view."""
        return self.values[lo:hi]


class BinaryLabels:
    """Labels in an npy file."""

    def __init__(self, file: Binary) -> None:
        if len(file.shape) != 1:
            raise ValueError(f"{file.path} must hold one label per row, got shape {file.shape}.")
        self.file, self.n = file, file.n

    def read(self, lo: int, hi: int) -> NDArray[Any]:
        """Labels lo … hi-1."""
        return self.file.raw(lo, hi)


class ParquetLabels:
    """One column of a Parquet file, of any type."""

    def __init__(self, path: str, column: str) -> None:
        self.path, self.column = path, column
        meta = parquet_reader().ParquetFile(path).metadata
        self.groups = row_groups(meta)
        self.n = int(meta.num_rows)

    def read(self, lo: int, hi: int) -> NDArray[Any]:
        """Labels lo … hi-1, from the row groups that have them."""
        a = int(np.searchsorted(self.groups, lo, side="right")) - 1
        b = int(np.searchsorted(self.groups, hi, side="left"))
        file = parquet_reader().ParquetFile(self.path)
        column = file.read_row_groups(list(range(a, b)), columns=[self.column]).column(0)
        return np.asarray(column.slice(lo - int(self.groups[a]), hi - lo).to_numpy())


class JoinedLabels:
    """Several sources one after the other."""

    def __init__(self, parts: Sequence[Labels]) -> None:
        self.parts = list(parts)
        self.starts = np.concatenate([[0], np.cumsum([p.n for p in parts])])
        self.n = int(self.starts[-1])

    def read(self, lo: int, hi: int) -> NDArray[Any]:
        """Labels lo … hi-1."""
        pieces = []
        for start, part in zip(self.starts, self.parts, strict=False):
            a, b = max(lo - int(start), 0), min(hi - int(start), part.n)
            if a < b:
                pieces.append(part.read(a, b))
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


class LabelSlice:
    """Labels first … last-1 of a source."""

    def __init__(self, source: Labels, first: int, last: int) -> None:
        self.source, self.first, self.n = source, first, last - first

    def read(self, lo: int, hi: int) -> NDArray[Any]:
        """Labels lo … hi-1 from here."""
        return self.source.read(lo + self.first, hi + self.first)


def open_parquet(path: str | os.PathLike[str], target: str) -> tuple[Parquet, Labels]:
    """The columns of a Parquet file but one, and that one: the labels."""
    name = os.fspath(path)
    if not Path(name).is_file():
        raise ValueError(f"there is no file {name}.")
    parquet = parquet_reader()
    try:
        names = parquet.ParquetFile(name).schema_arrow.names
    except Exception as error:
        raise ValueError(f"{name} is no Parquet file that can be read ({error}).") from None
    if target not in names:
        raise ValueError(f"{name} has no column {target!r}; columns: {', '.join(map(str, names[:8]))}.")
    return Parquet(name, [n for n in names if n != target]), ParquetLabels(name, target)


def join_labels(found: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Different labels of several pieces, ascending; numbers and text would be taken for one another."""
    kinds = {"n" if labels.dtype.kind in "biuf" else labels.dtype.kind for labels in found}
    try:
        if len(kinds) == 1:
            return np.unique(np.concatenate(found))
    except TypeError:
        pass
    raise ValueError("y mixes labels that cannot be ordered (numbers and text, say); use one type.")
