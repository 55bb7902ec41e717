"""A team on the workers of a Dask cluster: one actor per worker, which holds that worker's shards.

Calls go straight from the client to the workers, on connections the cluster already has; nothing new listens. A worker
that dies takes its shards with it: they are built again from their source, on a worker that is left or has come back,
and asked once more. A shard's state decides only what it reads, so the answers are the same.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.problem import check_weights, rows_of
from separatrix.shards.files import is_path, open_files
from separatrix.shards.labels import HeldLabels, LabelSlice
from separatrix.shards.layout import align, thin
from separatrix.shards.messages import ClusterError
from separatrix.shards.shard import Shard
from separatrix.shards.sources import Held, Joined, Slice
from separatrix.shards.team import Sharded

TICK = 0.25  # seconds between two looks at whether a silent worker is still there
TRIES = 12  # times a member is built again during one question
SPARE = 5.0  # seconds to wait for a worker to come back before a survivor takes over its shards
WAIT = 60.0  # and for any worker at all


@dataclass(frozen=True)
class Part:
    """The source of one shard: a file, or what a Dask collection computes."""

    first: int
    last: int
    rows: Any
    labels: Any
    weight: Any


class Member:
    """The shards of one worker; lives there."""

    def __init__(self, parts: Sequence[Part], data: Sequence[Any], total: int) -> None:
        from distributed import get_worker

        threads = int(get_worker().state.nthreads)
        self.shards = [make_shard(part, held, total, threads) for part, held in zip(parts, data, strict=True)]

    def ask(self, method: str, args: tuple[Any, ...]) -> list[Any]:
        """The answers of all shards."""
        return [getattr(shard, method)(*args) for shard in self.shards]

    def ask_one(self, k: int, method: str, args: tuple[Any, ...]) -> Any:
        """The answer of one shard, counted from the worker's first."""
        return getattr(self.shards[k], method)(*args)


def make_shard(part: Part, held: Any, total: int, threads: int) -> Shard:
    """A shard on this worker: of a file, or of rows that were computed here, which stay where they are."""
    if held is None:
        rows, y = Slice(part.rows, part.first, part.last), LabelSlice(part.labels, part.first, part.last)
        return Shard(rows, y, part.weight, part.first, total, threads=threads)
    chunks = [hold(X) for X in held[0]]
    n = sum(chunk.n for chunk in chunks)
    if n != part.last - part.first:
        raise ValueError(f"X has {n} rows where {part.last - part.first} were announced (from row {part.first}).")
    source = chunks[0] if len(chunks) == 1 else Joined(chunks)
    values = [np.asarray(y) for y in held[1]]
    labels = HeldLabels(values[0] if len(values) == 1 else np.concatenate(values))
    return Shard(source, labels, part.weight, part.first, total, threads=threads)


def hold(X: Any) -> Held:
    """One chunk as a source."""
    arrays, n, d, _ = rows_of(X)
    short = len(arrays) == 1 and getattr(X, "dtype", None) in (np.float32, np.float16)
    return Held(arrays, n, d, short)


@dataclass
class Seat:
    """Where a member is, and which shards it has."""

    shards: range
    address: str = ""
    future: Any = None
    failures: int = 0

    @property
    def lost(self) -> bool:
        """Whether the scheduler knows that the member is gone."""
        return self.future is None or self.future.status in ("error", "cancelled", "lost")


class Remote:
    """Shards on the workers of a cluster."""

    name = "dask"

    def __init__(self, client: Any, parts: Sequence[Part], total: int) -> None:
        self.client, self.parts, self.total = client, list(parts), total
        self.bounds = [p.first for p in parts] + [total]
        self.restore: Callable[[int], None] | None = None
        self.surveyed = False
        self.rebuilds = 0
        workers = sorted(self._workers())
        if not workers:
            raise ClusterError("the Dask cluster has no workers; start some, or scale it up.")
        self.seats = [Seat(shards) for shards in share(self.bounds, len(workers))]
        self.owner = [j for j, seat in enumerate(self.seats) for _ in seat.shards]
        for seat in self.seats:
            self._submit(seat, set())
        for seat in self.seats:
            if not self._built(seat):
                self._rebuild(seat)

    def rebuilt(self, restore: Callable[[int], None] | None) -> None:
        """Call this with the number of a shard that had to be built again, before it is asked anything."""
        self.restore = restore

    def ask(self, method: str, *args: Any) -> list[Any]:
        """The answers of all shards."""
        for seat in self.seats:
            seat.failures = 0
        answers = self._call(dict.fromkeys(range(len(self.seats)), ("ask", (method, args))))
        self.surveyed = self.surveyed or method == "survey"
        return [answer for j in range(len(self.seats)) for answer in answers[j]]

    def ask_one(self, k: int, method: str, *args: Any) -> Any:
        """The answer of shard k."""
        j = self.owner[k]
        return self._call({j: ("ask_one", (k - self.seats[j].shards.start, method, args))})[j]

    def close(self) -> None:
        """Let go of the actors."""
        if self.client.status == "running":
            self.client.cancel([seat.future for seat in self.seats if seat.future is not None])

    # Calls -----------------------------------------------------------------------------------------------------------

    def _call(self, wanted: dict[int, tuple[str, tuple[Any, ...]]]) -> dict[int, Any]:
        """Ask members at once; those that are lost are built again and asked again, while the others work on."""
        answers: dict[int, Any] = {}
        tasks = self._start(wanted)
        try:
            while tasks:
                got, lost = self._wait(tasks)
                answers.update(got)
                for j in sorted(lost):
                    self._rebuild(self.seats[j])
                    tasks.update(self._start({j: wanted[j]}))
        finally:
            for task in tasks.values():
                task.add_done_callback(lambda t: t.cancelled() or t.exception())
                self.client.loop.add_callback(task.cancel)
        return answers

    def _start(self, wanted: dict[int, tuple[str, tuple[Any, ...]]]) -> dict[int, Any]:
        from distributed.protocol.serialize import to_serialize

        async def call(seat: Seat, method: str, args: tuple[Any, ...]) -> Any:
            remote = self.client.rpc(seat.address)
            return await remote.actor_execute(
                function=method, actor=seat.future.key, args=[to_serialize(a) for a in args], kwargs={}
            )

        async def start() -> dict[int, Any]:
            return {j: asyncio.ensure_future(call(self.seats[j], *what)) for j, what in wanted.items()}

        self._check()
        found: dict[int, Any] = self.client.sync(start)
        return found

    def _wait(self, tasks: dict[int, Any]) -> tuple[dict[int, Any], set[int]]:
        """Take finished calls out of `tasks`; returns once one is lost or all have ended."""

        async def wait() -> tuple[dict[int, Any], set[int], BaseException | None]:
            answers: dict[int, Any] = {}
            lost: set[int] = set()
            while tasks and not lost and self.client.status == "running":
                await asyncio.wait(tasks.values(), timeout=TICK, return_when=asyncio.FIRST_COMPLETED)
                for j, task in list(tasks.items()):
                    if not task.done():
                        if self.seats[j].lost:  # a call to a worker that is gone may be silent for long
                            task.cancel()
                            lost.add(j)
                            del tasks[j]
                        continue
                    del tasks[j]
                    error = task.exception()
                    if error is None and task.result()["status"] == "OK":
                        answers[j] = task.result()["result"]
                    elif error is None:
                        return answers, lost, task.result()["exception"]  # the shard's own
                    elif isinstance(error, OSError | KeyError | asyncio.CancelledError):
                        lost.add(j)  # the connection broke, or the worker does not know its actor any more
                    else:
                        return answers, lost, error
            return answers, lost, None

        answers, lost, error = self.client.sync(wait)
        self._check()
        if error is not None:
            raise error
        return answers, lost

    def _check(self) -> None:
        if self.client.status != "running":
            raise ClusterError(
                "the Dask scheduler is gone; start a cluster, make a Client, and call again: "
                "with the same checkpoint= the run goes on from there."
            )

    # Members ---------------------------------------------------------------------------------------------------------

    def _workers(self) -> set[str]:
        self._check()
        try:
            info = self.client.sync(self.client.scheduler.identity, n_workers=-1, callback_timeout=5)
        except (TimeoutError, OSError, RuntimeError, AttributeError, asyncio.CancelledError) as error:
            raise ClusterError(f"the Dask scheduler does not answer ({error!r}).") from error
        return set(info["workers"])

    def _choose(self, dead: set[str]) -> str:
        """A worker without a member; if none comes up in time, the one with the fewest."""
        began = time.monotonic()
        while True:
            load = dict.fromkeys(sorted(self._workers() - dead), 0)
            for seat in self.seats:
                if seat.address in load:
                    load[seat.address] += 1
            waited = time.monotonic() - began
            best = min(load, key=lambda w: (load[w], w)) if load else None
            if best is not None and (load[best] == 0 or waited > SPARE):
                return best
            if best is None and waited > WAIT:
                raise ClusterError(f"the Dask cluster has had no worker for {WAIT:.0f} s; start some, and call again.")
            time.sleep(0.1)

    def _submit(self, seat: Seat, dead: set[str]) -> None:
        """Begin to build a member; `_built` waits for it."""
        seat.address = ""
        seat.address = self._choose(dead)
        parts = [self.parts[k] for k in seat.shards]
        data = [self._data(part, seat.address) for part in parts]
        specs = [p if held is None else replace(p, rows=None, labels=None) for p, held in zip(parts, data, strict=True)]
        seat.future = self.client.submit(
            Member,
            specs,
            data,
            self.total,
            actor=True,
            workers=[seat.address],
            allow_other_workers=False,
            key=f"separatrix-{uuid.uuid4().hex}",
        )

    def _data(self, part: Part, address: str) -> Any:
        """The rows and labels of a part of a collection, computed on that worker; None for files."""
        if not is_dask(part.rows):
            return None
        options: dict[str, Any] = {"workers": [address], "allow_other_workers": True}
        inside = [int(e) for e in np.cumsum(part.rows.chunks[0]) if part.first < e < part.last]
        edges = [part.first, *inside, part.last]
        pieces = [part.rows[lo:hi] for lo, hi in zip(edges[:-1], edges[1:], strict=True)]
        y = part.labels[part.first : part.last]
        X = self.client.compute(pieces, **options)
        return X, [self.client.compute(y, **options) if is_dask(y) else y]

    def _built(self, seat: Seat) -> bool:
        """Wait for a member; False if its worker went away meanwhile. One that is pinned there would wait for ever."""
        done = threading.Event()
        seat.future.add_done_callback(lambda _: done.set())
        while not done.wait(TICK):
            if seat.address not in self._workers():
                return False
        self._check()
        if seat.future.status == "finished":
            return True
        if seat.address in self._workers():
            error = seat.future.exception(timeout=5)
            if isinstance(error, ValueError | TypeError):
                raise error
            if not isinstance(error, RuntimeError | OSError):
                raise ClusterError(f"rows could not be brought to {seat.address}: {error!r}.") from error
        return False

    def _rebuild(self, seat: Seat) -> None:
        """Build a lost member again, with what its shards must know."""
        while True:
            seat.failures += 1
            if seat.failures > TRIES:
                raise ClusterError(f"a worker was lost {TRIES} times in a row; the last was {seat.address}.")
            dead = {seat.address}
            if seat.future is not None:
                seat.future.cancel()
            self._submit(seat, dead)
            if not self._built(seat):
                continue
            self.rebuilds += 1
            j = self.seats.index(seat)
            if self.surveyed:
                self._call({j: ("ask", ("survey", ()))})
            if self.restore is not None:
                for k in seat.shards:
                    self.restore(k)
            return


def is_dask(x: Any) -> bool:
    """Whether this is a Dask collection."""
    from dask.base import is_dask_collection

    return bool(is_dask_collection(x))


def is_frame(x: Any) -> bool:
    """Whether this is a Dask frame or a column of one."""
    frames = sys.modules.get("dask.dataframe")  # an object cannot be one unless its module is loaded
    return frames is not None and isinstance(x, frames.DataFrame | frames.Series)


def share(bounds: Sequence[int], workers: int) -> list[range]:
    """Consecutive shards for each worker, of nearly as many rows each."""
    shards, rows = len(bounds) - 1, bounds[-1]
    ends = [int(np.searchsorted(bounds, rows * (j + 1) / workers - 0.5 * rows / shards)) for j in range(workers)]
    ends[-1] = shards
    out, lo = [], 0
    for end in ends:
        hi = min(max(end, lo), shards)
        if hi > lo:
            out.append(range(lo, hi))
        lo = hi
    return out


def client_if_any() -> Any:
    """The Dask client of the context, or None."""
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None


def current_client() -> Any:
    """The Dask client of the context, or how to make one."""
    client = client_if_any()
    if client is None:
        raise ValueError("Dask data need a client: `from dask.distributed import Client; client = Client()` first.")
    return client


def open_cluster(
    client: Any, X: Any, y: Any, sample_weight: Any, limit: int | None, *, fit_intercept: bool, intercept_scaling: Any
) -> Sharded:
    """Dask arrays, Dask frames or files as a problem held by the cluster."""
    if limit is not None:
        raise ValueError("memory_limit is for files read here; Dask workers have limits of their own.")
    workers = max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
    if is_path(X):
        rows, labels = open_files(X, y)
        n, d, short = rows.n, rows.d, rows.short
        starts = [n * k // workers for k in range(workers)]
    else:
        rows, labels = collections(X, y)
        n, d = (int(s) for s in rows.shape)
        starts = thin([0, *(int(c) for c in np.cumsum(rows.chunks[0])[:-1])], n, workers)
        short = rows.dtype in (np.float32, np.float16)
    weight = None
    if sample_weight is not None:
        weight = check_weights(sample_weight.compute() if is_dask(sample_weight) else sample_weight, n)
    bounds = align(starts, n)
    parts = [
        Part(lo, hi, rows, labels, None if weight is None else weight[lo:hi])
        for lo, hi in zip(bounds[:-1], bounds[1:], strict=True)
    ]
    team = Remote(client, parts, n)
    return Sharded(team, d, short, fit_intercept=fit_intercept, intercept_scaling=intercept_scaling)


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
