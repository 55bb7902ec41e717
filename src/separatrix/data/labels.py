"""Labels: checked and told apart here; kept in an array, in npy files, or in a column of Parquet files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from separatrix.data.columns import listed
from separatrix.data.rows import Vector
from separatrix.data.sources import Binary, Parquet, parquet_reader, row_groups
from separatrix.reporting.plain import LONG, plain


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
        raise ValueError(f"there is no file {name}; check the path.")
    parquet = parquet_reader()
    try:
        names = parquet.ParquetFile(name).schema_arrow.names
    except Exception as error:
        raise ValueError(f"{name} is no Parquet file that can be read ({error}).") from None
    if target not in names:
        raise ValueError(f"{name} has no column {target!r}; columns: {listed([str(n) for n in names])}.")
    return Parquet(name, [n for n in names if n != target]), ParquetLabels(name, target)


def numbers_alone(path: str | os.PathLike[str], target: Any) -> bool:
    """Whether the columns of a Parquet file beside its labels are all numbers, so that rows can be read in place."""
    if not isinstance(target, str) or not Path(path).is_file():
        return True  # which is complained about where rows are read in place
    try:
        schema = parquet_reader().ParquetFile(path).schema_arrow
    except ImportError:
        return False  # a library for frames may read it
    except Exception:  # no Parquet file: told there, too
        return True
    from pyarrow import types

    kinds = [schema.field(name).type for name in schema.names if name != target]
    return all(types.is_integer(kind) or types.is_floating(kind) for kind in kinds)


def join_labels(found: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Different labels of several pieces, ascending; numbers and text would be taken for one another."""
    kinds = {"n" if labels.dtype.kind in "biuf" else labels.dtype.kind for labels in found}
    try:
        if len(kinds) == 1:
            return np.unique(np.concatenate(found))
    except TypeError:
        pass
    raise ValueError("y mixes labels that cannot be ordered (numbers and text, say); use one type.")


def read_labels(y: Any, first: int = 0) -> tuple[NDArray[Any], NDArray[Any]]:
    """One label per row and the classes in order; shape, missing labels and mixed types are complained about here.

    Rows are counted from `first`.
    """
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim == 0 and labels.dtype.kind == "U":
        raise ValueError(
            f"y must be one label per row, got the name {str(labels)!r}; pass the column itself, as df[name]."
        )
    if labels.ndim != 1:
        hint = "; of 0/1 columns per class give y.argmax(axis=1)" if labels.ndim == 2 else ""
        raise ValueError(f"y must be one label per row, got shape {labels.shape}{hint}.")
    if labels.dtype.kind == "f" and (gaps := np.flatnonzero(np.isnan(labels))).size:
        raise ValueError(f"y is missing at row {first + int(gaps[0])}; drop the row or give it a label.")
    for i, v in enumerate(labels if labels.dtype.kind == "O" else ()):
        try:
            missing = v is None or bool(v != v)
        except TypeError:  # pandas' NA is neither equal nor unequal
            missing = True
        if missing:
            raise ValueError(f"y is missing at row {first + i}; drop the row or give it a label.")
    if labels.dtype.kind in "iufb" and len(labels):
        ends = labels.min(), labels.max()
        if ((labels == ends[0]) | (labels == ends[1])).all():  # two labels need no sorting
            return labels, np.unique(np.array(ends))
    try:
        return labels, np.unique(labels)
    except TypeError:
        raise ValueError("y mixes labels that cannot be ordered (numbers and text, say); use one type.") from None


def signs_of(y: Any, n: int) -> tuple[Vector, NDArray[Any]]:
    """y_i = ±1 for n rows, and the two classes."""
    labels, classes = read_labels(y)
    if len(labels) != n:
        raise ValueError(f"X has {n} rows but y has {len(labels)} labels; give one label per row.")
    classes = pick_classes(classes)
    return np.where(labels == classes[1], 1.0, -1.0), classes


def label(value: Any) -> str:
    """A class as people write it: 1, not 1.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def pick_classes(classes: NDArray[Any]) -> NDArray[Any]:
    """The two classes, or one sentence on how many there are."""
    if len(classes) != 2:
        shown = ", ".join(plain(label(c), LONG) for c in classes[:5]) + (", …" if len(classes) > 5 else "")
        plural = "class" if len(classes) == 1 else "classes"
        more = "; diagnose() takes more" if len(classes) > 2 else "; give rows of both"
        if len(classes) > 5 and classes.dtype.kind in "iuf":
            more = f"; make two of them, as in y > {classes[len(classes) // 2]:g}, or see what diagnose() takes"
        raise ValueError(f"y has {len(classes)} {plural} ({shown}); separation is between exactly two{more}.")
    return classes
