"""(X, y) → the problem: in memory, in files, or on a cluster."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from separatrix.data.memory import INTERCEPT_SCALE, Problem, make_problem
from separatrix.data.sources import Source, open_map
from separatrix.shards.local import (
    bytes_of,
    is_path,
    local_team,
    machine_memory,
    open_files,
    open_labels,
    paths_of,
    rows_in,
)
from separatrix.shards.sharded import Sharded


@contextmanager
def opened(
    X: Any,
    y: Any,
    *,
    memory_limit: Any = None,
    sample_weight: Any = None,
    fit_intercept: bool = False,
    intercept_scaling: Any = INTERCEPT_SCALE,
) -> Iterator[Problem | Sharded]:
    """Check (X, y) and wrap them, wherever the rows are; shards are let go of at the end.

    Arrays, frames and sparse matrices become a `Problem`. Files (the path of an .npy or .parquet file, or a list of
    them) are mapped where they take less than half of the machine's memory and no limit is set, and read piece by piece
    otherwise. Dask collections, and lists of files where a Dask client is at hand, are left to the cluster.
    """
    limit = None if memory_limit is None else bytes_of(memory_limit)
    problem = _open(X, y, limit, sample_weight, fit_intercept, intercept_scaling)
    try:
        yield problem
    finally:
        if isinstance(problem, Sharded):
            problem.team.close()


def _open(
    X: Any, y: Any, limit: int | None, sample_weight: Any, fit_intercept: bool, intercept_scaling: Any
) -> Problem | Sharded:
    intercept: dict[str, Any] = {"fit_intercept": fit_intercept, "intercept_scaling": intercept_scaling}
    client = dask_client(X)
    if client is not None:
        from separatrix.shards.dask import open_cluster

        return open_cluster(client, X, y, sample_weight, limit, **intercept)
    rows: Source
    if isinstance(X, np.memmap) and limit is not None:
        file = open_map(X)
        if file is None:
            raise ValueError(
                "this memory map has changes or an order that its file has not; save it and pass the path."
            )
        rows, labels = rows_in(file), open_labels(y)
        if labels.n != rows.n:
            raise ValueError(f"X has {rows.n} rows but y has {labels.n} labels.")
    elif is_path(X):
        rows, labels = open_files(X, y)
        if limit is None and rows.n * rows.d * rows.dtype.itemsize <= machine_memory() // 2:
            held = (
                np.load(paths_of(X)[0], mmap_mode="r", allow_pickle=False)
                if rows.place(0) and len(paths_of(X)) == 1
                else None
            )
            whole = rows.read(0, rows.n)[0] if held is None else held
            return make_problem(whole, labels.read(0, labels.n), sample_weight=sample_weight, **intercept)
    elif limit is not None:
        raise ValueError(
            "memory_limit is for rows in files; this X is in memory already: leave it out, or pass a path."
        )
    else:
        return make_problem(X, y, sample_weight=sample_weight, **intercept)
    team = local_team(rows, labels, sample_weight, limit or machine_memory() // 2)
    return Sharded(team, rows.d, rows.short, **intercept)


def dask_client(X: Any) -> Any:
    """The Dask client to hold these rows: that of the context for collections and lists of files, None otherwise."""
    dask, distributed = sys.modules.get("dask"), sys.modules.get("distributed")
    if dask is not None and dask.is_dask_collection(X):
        from separatrix.shards.dask import current_client

        return current_client()
    if distributed is not None and isinstance(X, list | tuple) and is_path(X):
        from separatrix.shards.dask import client_if_any

        return client_if_any()
    return None
