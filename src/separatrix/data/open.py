"""(X, y) → rows, wherever they are: in memory, in files that are read piece by piece, on a cluster.

Who opens what is not in memory is found by name and loaded when such data come, so that arrays bring in no code for
clusters.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.data.arrays import machine_memory
from separatrix.data.labels import BinaryLabels, HeldLabels, JoinedLabels, Labels, open_parquet
from separatrix.data.memory import hold
from separatrix.data.rows import Rows
from separatrix.data.sources import Binary, Joined, Source, open_map, open_npy

# The one arrow that points up: these functions give rows that keep the protocol of `rows`.
ELSEWHERE = {
    "files": "separatrix.shards.local:open_pieces",
    "cluster": "separatrix.shards.dask_collections:open_cluster",
    "client": "separatrix.shards.dask_collections:client_for",
}
UNITS = {"": 1, "B": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def elsewhere(what: str) -> Any:
    """The function that opens such data."""
    module, name = ELSEWHERE[what].split(":")
    return getattr(import_module(module), name)


def open_rows(
    X: Any, y: Any, *, memory_limit: Any, sample_weight: Any, fit_intercept: bool, intercept_scaling: Any
) -> Rows:
    """Check (X, y) and wrap them, wherever the rows are.

    Arrays, frames and sparse matrices are held in memory. Files (the path of an .npy or .parquet file, or a list of
    them) are mapped where they take less than half of the machine's memory and no limit is set, and read piece by piece
    otherwise. Dask collections, and lists of files where a Dask client is at hand, are left to the cluster.
    """
    limit = None if memory_limit is None else bytes_of(memory_limit)
    intercept: dict[str, Any] = {"fit_intercept": fit_intercept, "intercept_scaling": intercept_scaling}
    client = dask_client(X)
    if client is not None:
        found: Rows = elsewhere("cluster")(client, X, y, sample_weight, limit, **intercept)
        return found
    rows: Source
    if isinstance(X, np.memmap) and limit is not None:
        file = open_map(X)
        if file is None:
            raise ValueError(
                "this memory map has changes or an order that its file has not; save it and pass the path."
            )
        rows, labels = rows_in(file), open_labels(y)
        if labels.n != rows.n:
            raise ValueError(f"X has {rows.n} rows but y has {labels.n} labels; give one label per row.")
    elif is_path(X):
        rows, labels = open_files(X, y)
        if limit is None and rows.n * rows.d * rows.dtype.itemsize <= machine_memory() // 2:
            mapped = rows.place(0) and len(paths_of(X)) == 1
            held = np.load(paths_of(X)[0], mmap_mode="r", allow_pickle=False) if mapped else rows.read(0, rows.n)[0]
            return hold(held, labels.read(0, labels.n), sample_weight=sample_weight, **intercept)
    elif limit is not None:
        raise ValueError(
            "memory_limit is for rows in files; this X is in memory already: leave it out, or pass a path."
        )
    else:
        return hold(X, y, sample_weight=sample_weight, **intercept)
    pieces: Rows = elsewhere("files")(rows, labels, sample_weight, limit or machine_memory() // 2, **intercept)
    return pieces


def dask_client(X: Any) -> Any:
    """The Dask client to hold these rows: that of the context for collections and lists of files, None otherwise."""
    dask, distributed = sys.modules.get("dask"), sys.modules.get("distributed")
    if dask is not None and dask.is_dask_collection(X):
        return elsewhere("client")(needed=True)
    if distributed is not None and isinstance(X, list | tuple) and is_path(X):
        return elsewhere("client")(needed=False)
    return None


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
    if kinds == {""} and not any(Path(path).exists() for path in paths):
        raise ValueError(
            f"X names files, of which there is none, such as {paths[0]!r}; rows come first, then labels: (X, y)."
        )
    if kinds != {".npy"}:
        raise ValueError(f"{paths[0]}: rows are read in place from .npy and .parquet files; save others so first.")
    rows = join([rows_in(open_npy(path)) for path in paths], paths)
    labels = open_labels(y)
    if labels.n != rows.n:
        raise ValueError(f"X has {rows.n} rows but y has {labels.n} labels; give one label per row.")
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
    if values.ndim == 0:
        raise ValueError(f"y must be one label per row or the file that has them, got {y!r}.")
    return HeldLabels(values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values)
