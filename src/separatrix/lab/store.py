"""Finished work on disk: one npz per job, beside it the checkpoint of one under way.

A result is written whole to a temporary name and renamed, so a reader sees all of it or nothing, and two processes at
work on one folder can at worst do the same job twice. A lock, which goes when its process does, spares them even that.
"""

from __future__ import annotations

import errno
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.lab.spec import DataEntry
from separatrix.reporting.writing import whole
from separatrix.walking.checkpoint import UNREADABLE

try:
    import fcntl
except ImportError:  # no such locks on Windows
    fcntl = None  # type: ignore[assignment]  # a module, or nothing

FORMAT = "separatrix result 1"


@dataclass(frozen=True)
class Job:
    """One piece of work on the rows of one seed.

    kind : "walk", a run of a method, or the name of other `Work` that a kind of experiment has
    seed : of the random subsample, None for the first rows
    method, step_size : where the work has them
    limit : iterations at most
    power : of a tempered method
    options : what else the work depends on, in words that can be part of a file's name
    """

    kind: str
    data: DataEntry
    seed: int | None = None
    method: str = ""
    step_size: float = inf
    limit: int = 0
    power: float | None = None
    options: str = ""

    @property
    def name(self) -> str:
        """The file's name without its suffix."""
        end = f"-{self.options}" if self.options else ""
        if not self.method:
            return self.kind + end
        run = self.method if np.isinf(self.step_size) else f"{self.method}-{self.step_size:g}"
        run += "" if self.power is None else f"-p{self.power:g}"
        return (run if self.kind == "walk" else f"{self.kind}-{run}") + end

    @property
    def place(self) -> Path:
        """The file below the store's folder."""
        return Path(self.data.slug) / ("first" if self.seed is None else f"seed-{self.seed}") / f"{self.name}.npz"

    def describe(self) -> dict[str, Any]:
        """What identifies the work: the rows and what is done to them, not what the entry is called or may cost."""
        rows = asdict(self.data)
        kept = ("target", "classes", "rows", "scaling", "fraction", "repeat", "repeated")
        source = rows["digest"] or rows["source"]
        order: dict[str, Any] = {} if self.data.shuffle is None else {"shuffle": self.data.shuffle}
        made = {name: rows[name] for name in self.data.made}  # these three are absent from older results
        options = {"options": self.options} if self.options else {}
        step = "inf" if np.isinf(self.step_size) else float(self.step_size).hex()
        power = {} if self.power is None else {"power": float(self.power).hex()}
        return {
            "format": FORMAT,
            "kind": self.kind,
            "data": {"source": source} | {name: rows[name] for name in kept} | order | made,
            "seed": self.seed,
            "method": self.method,
            "step size": step,
            **power,
            **options,
        }


@dataclass(frozen=True)
class Result:
    """What a job left: plain facts, and columns.

    A fact "limit" is the budget it had; unless "separated" is true too, or "status" is "cycle", a larger budget may
    come to something else.
    """

    facts: Mapping[str, Any]
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)


class StoreError(OSError):
    """The folder cannot be written; what is finished in it is intact."""


class Store:
    """Results in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, job: Job) -> Path:
        """Where this job's result is, or will be."""
        return self.folder / job.place

    def checkpoint(self, job: Job) -> Path:
        """Where the state of this job under way is."""
        return self.path(job).with_suffix(".part")

    def read(self, job: Job) -> Result | None:
        """The finished result; None where there is none, it is torn, or it ran out of a smaller budget than this."""
        path = self.path(job)
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
                columns = {name: file[name] for name in file.files}
            header = json.loads(bytes(columns.pop("header")))
            facts, about = header["facts"], header["job"]
        except UNREADABLE:
            return None
        if about != json.loads(json.dumps(job.describe())):
            return None
        settled = facts.get("separated", False) or facts.get("status") == "cycle"
        if not settled and facts.get("limit", job.limit) < job.limit:
            return None
        return Result(facts, columns)

    def write(self, job: Job, result: Result) -> None:
        """Keep the result; the checkpoint is not needed any more."""
        header = json.dumps({"job": job.describe(), "facts": dict(result.facts)}).encode()
        buffer = io.BytesIO()
        np.savez_compressed(
            buffer, allow_pickle=False, header=np.frombuffer(header, dtype=np.uint8), **dict(result.columns)
        )
        write_whole(self.path(job), buffer.getvalue())
        self.checkpoint(job).unlink(missing_ok=True)

    @contextmanager
    def claim(self, job: Job) -> Iterator[bool]:
        """Whether this process may do the job now; another one at it is a no."""
        path = self.path(job)
        make_folder(path.parent)
        if fcntl is None:
            yield True
            return
        lock = path.with_suffix(".lock")
        with written(lock), open(lock, "w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                mine = False
            else:
                mine = True
            try:
                yield mine
            finally:
                if mine:
                    lock.unlink(missing_ok=True)


@contextmanager
def written(path: Path) -> Iterator[None]:
    """A disk that is full or may not be written, as one sentence."""
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreError(
                f"the disk is full: {path} was not written; free some space and run the same command again, "
                "finished runs are kept."
            ) from error
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST):
            raise StoreError(
                f"cannot write {path}: {error.strerror}; choose a folder that you may write with --out."
            ) from error
        raise


def make_folder(folder: Path) -> None:
    """The folder and those above it."""
    with written(folder):
        folder.mkdir(parents=True, exist_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write to a temporary name beside `path`, then rename: no reader ever sees half a file."""
    make_folder(path.parent)
    with written(path), whole(path) as file:
        file.write(content)
