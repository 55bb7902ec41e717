"""A team on the workers of a Dask cluster: one actor per worker (`actor.Member`), which holds that worker's shards.

Calls go straight from the client to the workers, on connections the cluster already has; nothing new listens. A worker
that dies takes its shards with it: they are built again from their source, on a worker that is left or has come back,
and asked once more. A shard's state decides only what it reads, so the answers are the same.
"""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from separatrix.data.rows import ClusterError
from separatrix.shards.actor import Member, Part, cut

TICK = 0.25  # seconds between two looks at whether a silent worker is still there
TRIES = 12  # times a member is built again during one question
SPARE = 5.0  # seconds to wait for a worker to come back before a survivor takes over its shards
WAIT = 60.0  # and for any worker at all


@dataclass
class Seat:
    """Where a member is, and which shards it has."""

    shards: list[int]
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
        self.begun_by: Any = None
        self.surveyed = False
        self.rebuilding = 0
        workers = sorted(self._workers())
        if not workers:
            raise ClusterError("the Dask cluster has no workers; start some, or scale it up.")
        # Rows that are on a worker already stay there; others are shared out in order.
        homes = [p.home for p in parts]
        if all(home in workers for home in homes):
            groups = [[k for k, home in enumerate(homes) if home == worker] for worker in workers]
            self.seats = [Seat(shards, worker) for shards, worker in zip(groups, workers, strict=True) if shards]
        else:
            self.seats = [Seat(list(shards)) for shards in share(self.bounds, len(workers))]
        self.owner = {k: (j, i) for j, seat in enumerate(self.seats) for i, k in enumerate(seat.shards)}
        try:
            for seat in self.seats:
                self._submit(seat, set())
            for seat in self.seats:
                if not self._built(seat):
                    self._rebuild(seat)
        except BaseException:  # rows that were refused on one worker are not held on the others
            self.close()
            raise

    def rebuilt(self, restore: Callable[[int], None] | None) -> None:
        """Call this with the number of a shard that had to be built again, before it is asked anything."""
        self.restore = restore

    def ask(self, method: str, *args: Any) -> list[Any]:
        """The answers of all shards."""
        self._forgive()
        answers = self._call(dict.fromkeys(range(len(self.seats)), ("ask", (method, args))))
        self.surveyed = self.surveyed or method == "survey"
        return [answers[j][i] for j, i in (self.owner[k] for k in range(len(self.parts)))]

    def ask_one(self, k: int, method: str, *args: Any) -> Any:
        """The answer of shard k."""
        self._forgive()
        j, i = self.owner[k]
        return self._call({j: ("ask_one", (i, method, args))})[j]

    def _forgive(self) -> None:
        """A new question, asked by the user of the team and not while a member is built again: count losses anew."""
        if not self.rebuilding:
            for seat in self.seats:
                seat.failures = 0

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
                    error = asyncio.CancelledError() if task.cancelled() else task.exception()
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
            waited = time.monotonic() - began
            load = dict.fromkeys(sorted(self._workers() - (dead if waited <= SPARE else set())), 0)
            for seat in self.seats:
                if seat.address in load:
                    load[seat.address] += 1
            best = min(load, key=lambda w: (load[w], w)) if load else None
            if best is not None and (load[best] == 0 or waited > SPARE):
                return best
            if best is None and waited > WAIT:
                raise ClusterError(f"the Dask cluster has had no worker for {WAIT:.0f} s; start some, and call again.")
            time.sleep(0.1)

    def _submit(self, seat: Seat, dead: set[str]) -> None:
        """Begin to build a member; `_built` waits for it."""
        if seat.future is not None or not seat.address:
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
        """The chunks of rows and labels of a part of a collection; None for files.

        Chunks that are on a worker are taken as they are, and pieces of them cut where they are; all else is computed
        where it is needed.
        """
        if not is_dask(part.rows):
            return None
        there, begins = futures(part.rows), np.cumsum([0, *part.rows.chunks[0]])
        edges = sorted({part.first, part.last, *(int(e) for e in begins if part.first < e < part.last)})
        X = []
        for lo, hi in pairwise(edges):
            k = int(np.searchsorted(begins, lo, side="right")) - 1
            where: dict[str, Any] = {
                "workers": [part.homes[k] if part.homes else address],
                "allow_other_workers": True,
            }
            chunk = there[k] if there else self.client.compute(part.rows.blocks[k], **where)
            if (lo, hi) != (begins[k], begins[k + 1]):
                chunk = self.client.submit(cut, chunk, lo - int(begins[k]), hi - int(begins[k]), **where)
            X.append(chunk)
        return X, *self._labels(part)

    def _labels(self, part: Part) -> tuple[list[Any], int]:
        """Chunks that have the labels of a part, and how many labels come before them."""
        y = part.labels
        if not is_dask(y):
            return [y[part.first : part.last]], 0
        there, begins = futures(y), np.cumsum([0, *y.chunks[0]])
        if not there:
            return [self.client.compute(y[part.first : part.last])], 0
        a = int(np.searchsorted(begins, part.first, side="right")) - 1
        b = int(np.searchsorted(begins, part.last, side="left"))
        return there[a:b], part.first - int(begins[a])

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
            if error is None:  # cancelled: rows that were scattered have no graph to compute them from
                raise ClusterError(
                    "rows were lost with their worker and cannot be computed again; give a collection that reads them "
                    "from a file, or scatter them again."
                )
            if type(error).__name__ != "KilledWorker" and "was lost" not in str(error):
                raise ClusterError(f"rows could not be brought to {seat.address}: {error!r}.") from error
        return False

    def _rebuild(self, seat: Seat) -> None:
        """Build a lost member again, with what its shards must know."""
        self.rebuilding += 1
        try:
            while True:
                seat.failures += 1
                if seat.failures > TRIES:
                    raise ClusterError(f"a worker was lost {TRIES} times in a row; the last was {seat.address}.")
                dead = {seat.address}
                if seat.future is not None:
                    seat.future.cancel()
                self._submit(seat, dead)
                if self._built(seat):
                    break
            if self.surveyed:
                self._call({self.seats.index(seat): ("ask", ("survey", ()))})
            if self.restore is not None:
                for k in seat.shards:
                    self.restore(k)
        finally:
            self.rebuilding -= 1


def is_dask(x: Any) -> bool:
    """Whether this is a Dask collection."""
    from dask.base import is_dask_collection

    return bool(is_dask_collection(x))


def futures(rows: Any) -> list[Any]:
    """The chunks of a persisted array, one after the other, as futures; none if it is not."""
    from distributed import futures_of

    there = {future.key: future for future in futures_of(rows)}
    keys = [key if isinstance(key, tuple) else key[0] for key in rows.__dask_keys__()]
    return [there[key] for key in keys] if there.keys() >= set(keys) else []


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
