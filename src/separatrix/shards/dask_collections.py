"""Dask arrays, frames and lists of files as rows that a cluster holds."""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any

import numpy as np

from separatrix.data.arrays import check_weights
from separatrix.data.open import is_path, open_files
from separatrix.reporting.hints import install
from separatrix.shards.actor import Part
from separatrix.shards.cluster import Remote, futures, is_dask
from separatrix.shards.layout import align, thin
from separatrix.shards.sharded import ShardedRows

MOST = 16  # shards on a worker, so that rows need not move; each costs a little per iteration


def is_frame(x: Any) -> bool:
    """Whether this is a Dask frame or a column of one."""
    frames = sys.modules.get("dask.dataframe")  # an object cannot be one unless its module is loaded
    return frames is not None and isinstance(x, frames.DataFrame | frames.Series)


def client_for(*, needed: bool) -> Any:
    """The Dask client of the context; where there is none, None or how to make one."""
    try:
        from distributed import default_client
    except ImportError:
        raise ImportError(f"Dask data need Dask's scheduler: {install('dask')}.") from None
    try:
        return default_client()
    except ValueError:
        if needed:
            way = "`from dask.distributed import Client; client = Client()` first"
            raise ValueError(f"Dask data need a client: {way}.") from None
        return None


def open_cluster(
    client: Any, X: Any, y: Any, sample_weight: Any, limit: int | None, *, fit_intercept: bool, intercept_scaling: Any
) -> ShardedRows:
    """Dask arrays, Dask frames or files as rows held by the cluster."""
    if limit is not None:
        raise ValueError("memory_limit is for files read here; Dask workers have limits of their own.")
    workers = max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
    if is_path(X):
        rows, labels = open_files(X, y)
        n, d = rows.n, rows.d
        starts, homes, chunks = [n * k // workers for k in range(workers)], [], []
    else:
        rows, labels = collections(X, y)
        n, d = (int(s) for s in rows.shape)
        chunks = [0, *(int(c) for c in np.cumsum(rows.chunks[0])[:-1])]
        homes = homes_of(client, rows)
        starts = [c for k, c in enumerate(chunks) if k == 0 or homes[k] != homes[k - 1]]
        if not all(homes) or len(starts) > MOST * workers:
            starts, homes = thin(chunks, n, workers), []
    weight = None
    if sample_weight is not None:
        weight = check_weights(sample_weight.compute() if is_dask(sample_weight) else sample_weight, n)
    bounds = align(starts, n)
    parts = []
    for lo, hi in pairwise(bounds):
        home = homes[int(np.searchsorted(chunks, (lo + hi) // 2, side="right")) - 1] if homes else ""
        weights = None if weight is None else weight[lo:hi]
        parts.append(Part(lo, hi, rows, labels, weights, tuple(homes), home, d))
    team = Remote(client, parts, n)
    try:
        return ShardedRows.of(team, d, fit_intercept=fit_intercept, intercept_scaling=intercept_scaling)
    except BaseException:
        team.close()
        raise


def homes_of(client: Any, rows: Any) -> list[str]:
    """The worker that has each chunk of a persisted array; empty where none has."""
    chunks = futures(rows)
    holders = client.who_has(chunks) if chunks else {}
    return [min(holders.get(chunk.key) or [""]) for chunk in chunks] or [""] * rows.numblocks[0]


def collections(X: Any, y: Any) -> tuple[Any, Any]:
    """A Dask array of rows, all columns in one chunk, and labels to slice, of as many rows."""
    import dask.array as da

    if isinstance(y, str):
        if not is_frame(X) or y not in X.columns:
            raise ValueError(f"y={y!r} must name a column of a Dask frame; give the labels of an array themselves.")
        X, y = X.drop(columns=y), X[y]
    if is_frame(X):
        X = X.to_dask_array(lengths=True)
    if is_frame(y):
        y = y.to_dask_array(lengths=True)
    if not isinstance(X, da.Array) or X.ndim != 2:
        raise ValueError(f"X must be a Dask array with rows and columns or a Dask frame, got {type(X).__name__}.")
    if np.isnan(X.shape[0]):
        X = X.copy().compute_chunk_sizes()
    if is_dask(y) and np.isnan(y.shape[0]):
        y = y.copy().compute_chunk_sizes()
    y = y if is_dask(y) else np.asarray(y)
    if 0 in X.shape:
        raise ValueError(f"X is empty: shape {X.shape}; it needs at least one row and one column.")
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.shape != (X.shape[0],):
        raise ValueError(f"X has {X.shape[0]} rows but y has shape {y.shape}.")
    return X.rechunk({1: -1}), y
