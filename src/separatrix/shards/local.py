"""Files of rows → a team in this process that stays below a memory limit."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.core.rows import BLOCK
from separatrix.data.labels import BinaryLabels, HeldLabels, JoinedLabels, Labels, open_parquet
from separatrix.data.memory import Vector, check_weights
from separatrix.data.sources import Binary, Joined, Source, open_npy
from separatrix.shards.layout import leaves
from separatrix.shards.shard import PIECE, Shard
from separatrix.shards.sharded import Local

UNITS = {"": 1, "B": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
WORK = 120 << 20  # bytes for code compiled on the way and for small arrays
LAZY, PLAIN = 18, 3  # bytes kept per row: with bounds on its margin, or sign and side alone


def is_path(X: Any) -> bool:
    """Whether this names a file, or several."""
    if isinstance(X, list | tuple) and X:
        return all(isinstance(x, str | os.PathLike) for x in X)
    return isinstance(X, str | os.PathLike)


def paths_of(X: Any) -> list[str]:
    """The files named, one or several."""
    return [os.fspath(x) for x in X] if isinstance(X, list | tuple) else [os.fspath(X)]


def bytes_of(limit: Any) -> int:
    """A number of bytes, or text such as "1GB" (10⁹) and "1GiB" (2³⁰)."""
    if isinstance(limit, int | float) and not isinstance(limit, bool) and limit > 0:
        return int(limit)
    found = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]?)(i?)B?\s*", limit, re.IGNORECASE) if isinstance(limit, str) else None
    if found is None or found[1].count(".") > 1 or found[1] == "." or not float(found[1]) > 0:
        raise ValueError(f'memory_limit must be a number of bytes or text such as "1GB", got {limit!r}.')
    unit = UNITS[found[2].upper()]
    return int(float(found[1]) * (2 ** (10 * "KMGT".index(found[2].upper()) + 10) if found[3] and found[2] else unit))


def open_files(X: Any, y: Any) -> tuple[Source, Labels]:
    """The rows and labels in these files, checked for shape and type."""
    paths = paths_of(X)
    kinds = {Path(p).suffix.lower() for p in paths}
    if kinds <= {".parquet", ".pq"}:
        if not isinstance(y, str):
            raise ValueError(f"y must be the name of the label's column in the Parquet file, got {type(y).__name__}.")
        both = [open_parquet(path, y) for path in paths]
        for path, (table, _) in zip(paths, both, strict=True):
            if table.columns != both[0][0].columns:
                raise ValueError(f"{path} has other columns than {paths[0]}.")
        return join([table for table, _ in both], paths), JoinedLabels([labels for _, labels in both])
    if kinds != {".npy"}:
        raise ValueError(f"{paths[0]}: rows are read in place from .npy and .parquet files; save others so first.")
    rows = join([rows_in(open_npy(path)) for path in paths], paths)
    labels = open_labels(y)
    if labels.n != rows.n:
        raise ValueError(f"X has {rows.n} rows but y has {labels.n} labels.")
    return rows, labels


def rows_in(file: Binary) -> Binary:
    """The file, if it holds a table of numbers."""
    if len(file.shape) != 2 or not all(file.shape):
        raise ValueError(f"{file.path} must have rows and columns, got shape {file.shape}.")
    if np.dtype(file.kind).kind not in "fiub":
        raise ValueError(f"{file.path} must be numeric, got dtype {np.dtype(file.kind)}.")
    return file


def join(parts: Sequence[Source], paths: Sequence[str]) -> Source:
    """The parts one after the other, if they have the same columns."""
    for part, path in zip(parts, paths, strict=True):
        if part.d != parts[0].d:
            raise ValueError(f"{path} has {part.d} columns, {paths[0]} has {parts[0].d}.")
    if parts[0].d == 0 or not any(part.n for part in parts):
        raise ValueError(f"{paths[0]} is empty: {parts[0].n} rows of {parts[0].d} columns beside the labels.")
    return parts[0] if len(parts) == 1 else Joined(parts)


def open_labels(y: Any) -> Labels:
    """Labels in one or several npy files, or in an array."""
    named = is_path(y) and (not isinstance(y, list | tuple) or all(str(p).endswith(".npy") for p in y))
    if named:
        parts = [BinaryLabels(open_npy(path)) for path in paths_of(y)]
        return parts[0] if len(parts) == 1 else JoinedLabels(parts)
    values = np.asarray(y)
    return HeldLabels(values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values)


def local_team(rows: Source, labels: Labels, sample_weight: Any, limit: int) -> Local:
    """One shard for all rows, with bounds on their margins if there is memory for them."""
    from numba import get_num_threads

    count = int(get_num_threads())
    weight: Vector | None = None if sample_weight is None else check_weights(sample_weight, rows.n)
    per_row = 8 if weight is not None else 0
    block, runs = BLOCK * rows.d * rows.dtype.itemsize, len(leaves(0, rows.n, rows.n, rows.breaks)[1])
    fixed = WORK + count * block + max(4, 2 * count) * max(PIECE, block) + 16 * (rows.d + 2) * runs
    budget = limit - resident() - fixed
    if (PLAIN + per_row) * rows.n > budget:
        needed = resident() + fixed + (PLAIN + per_row) * rows.n
        raise ValueError(
            f"memory_limit={limit:,} bytes is too little for {rows.n:,} rows of {rows.d:,} columns: "
            f"it takes {needed:,} to keep a side for every row; raise it, or use a cluster."
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


def machine_memory() -> int:
    """Bytes of memory this machine has; a guess where the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 8 << 30
