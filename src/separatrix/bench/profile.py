"""The paper's runs against the same iterations in a plain NumPy loop, every run in a line.

Each run is made here on all threads, between two halves of LOOP iterations of the NumPy loop on the same rows; the
loop's whole run is its time per iteration times our count, since it makes the same updates. Perceptrons come first and
pay for the columns of G that they need; where finite steps go by columns, the rest are then computed, and that time is
shared by those runs. Lines are kept in a folder, so that an interrupted measurement continues.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from math import inf, isfinite, isnan, nan
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.bench.peers import numpy_loop
from separatrix.data.memory import HeldRows
from separatrix.datasets import available
from separatrix.lab.book import Book, quick_book
from separatrix.lab.jobs import on_columns, walk
from separatrix.lab.kinds import jobs_of
from separatrix.lab.samples import at_hand, sample
from separatrix.lab.store import Job, Store, write_whole
from separatrix.lab.workers import rows_of
from separatrix.plot import NAMES
from separatrix.reporting.table import Row, Table
from separatrix.walking.engines.gram import fill_columns
from separatrix.walking.methods import TABLE, parse_method

LOOP = 200  # iterations of the plain loop per run
PAUSE = 0.3  # seconds for other libraries' threads to stop spinning


@dataclass(frozen=True)
class Line:
    """One run: ours in seconds, its share of the columns' set-up, and seconds per iteration of the two halves."""

    data: str
    method: str
    step_size: float | str  # "inf" in a file
    iterations: int
    engine: str
    ours: float
    set_up: float
    halves: tuple[float, float]

    @property
    def loop(self) -> float:
        """Seconds that the plain loop would take for the same iterations."""
        return sum(self.halves) / 2 * self.iterations

    @property
    def ratio(self) -> float:
        """How many times faster ours is, set-up included."""
        return self.loop / (self.ours + self.set_up)


def groups(book: Book, data_dir: str | None = None) -> Iterator[list[Job]]:
    """The runs behind the figures, those on the same rows together; quick ones on the digits where no images are."""
    found = available(data_dir)
    book = book if found else quick_book(book)
    data = {name: at_hand(entry, found) for name, entry in book.data.items()}
    figures = [experiment for experiment in book.experiments.values() if experiment.kind == "curves"]
    jobs = {job.place: job for experiment in figures for job in jobs_of(experiment, data)}
    batch = [job for job in jobs.values() if not TABLE[job.method][2]]
    yield from (list(group) for _, group in groupby(sorted(batch, key=rows_of), key=rows_of))


def measure(jobs: Sequence[Job], folder: Path, data_dir: str | None = None) -> Iterator[Line]:
    """The lines of one group; results go to the store of the folder too."""
    store = Store(folder / "runs")
    known = [line for job in jobs if (line := read(folder, job)) is not None]
    if len(known) == len(jobs):
        yield from known
        return
    rows = sample(jobs[0].data, jobs[0].seed, data_dir)
    problem = rows.problem
    sharing = [job for job in jobs if on_columns(problem, parse_method(job.method, job.step_size))]
    Z = rows.X * np.where(rows.y == rows.y.max(), 1.0, -1.0)[:, None]
    share = nan
    for job in sorted(jobs, key=lambda job: isfinite(job.step_size)):
        line = read(folder, job)
        if line is None:
            if job in sharing and isnan(share):
                began = time.perf_counter()
                fill_columns(problem)
                share = (time.perf_counter() - began) / len(sharing)
            line = compare(job, problem, Z, share if job in sharing else 0.0, store)
            write_whole(place(folder, job), json.dumps(asdict(line)).encode())
        yield line


def compare(job: Job, problem: HeldRows, Z: Any, share: float, store: Store) -> Line:
    """Half of the loop, our run, the other half."""
    halves = [loop_seconds(job, Z)]
    time.sleep(PAUSE)
    result = walk(job, problem, None, lambda t: False)
    time.sleep(PAUSE)
    halves.append(loop_seconds(job, Z))
    store.write(job, result)
    title = f"{job.data.title or job.data.name}, n = {result.facts['n']:,}"
    step = "inf" if job.step_size == inf else job.step_size
    made, engine, ours = (result.facts[key] for key in ("n_iter", "engine", "seconds"))
    return Line(title, job.method, step, made, engine, ours, share, (halves[0], halves[1]))


def loop_seconds(job: Job, Z: Any) -> float:
    """Seconds per iteration of the plain loop, over half of LOOP."""
    began = time.perf_counter()
    numpy_loop(Z, gamma=job.step_size, power=TABLE[job.method][1], iterations=LOOP // 2)
    return (time.perf_counter() - began) / (LOOP // 2)


def place(folder: Path, job: Job) -> Path:
    """Where this run's line is kept."""
    return (folder / "speed" / job.place).with_suffix(".json")


def read(folder: Path, job: Job) -> Line | None:
    """A line that was measured before, with the same budget."""
    try:
        found = json.loads(place(folder, job).read_text(encoding="utf-8"))
        line = Line(**found | {"halves": tuple(found["halves"])})
    except (OSError, ValueError, KeyError, TypeError):
        return None
    stored = Store(folder / "runs").read(job)
    return line if stored is not None and stored.facts["n_iter"] == line.iterations else None


def tables(lines: Sequence[Line]) -> list[Table]:
    """Every run, and what they come to by data set and kind of step."""
    rows: list[Row] = [
        (
            line.data,
            NAMES[line.method],
            float(line.step_size),
            line.iterations,
            line.engine,
            line.ours + line.set_up,
            line.loop,
            line.ratio,
            1e3 * line.halves[0],
            1e3 * line.halves[1],
        )
        for line in lines
    ]
    names = ("data", "method", "step size", "iterations", "engine", "ours s", "NumPy s", "ratio", "NumPy ms", "and ms")
    every = Table(
        "The paper's runs against a plain NumPy loop",
        names,
        rows,
        note="NumPy s: its two times per iteration (last columns, before and after our run), averaged, times the count",
    )
    return [every, summary(lines)]


def summary(lines: Sequence[Line]) -> Table:
    """By data set: runs with large steps and perceptrons, smaller steps, and all together."""
    rows: list[Row] = []
    for data in dict.fromkeys(line.data for line in lines):
        for kind, large in (("perceptrons and step sizes from 10", True), ("smaller steps", False)):
            some = [line for line in lines if line.data == data and (float(line.step_size) >= 10) == large]
            if some:
                rows.append((data, kind, len(some), *totals(some), min(line.ratio for line in some)))
    rows.append(("all", "all", len(lines), *totals(lines), min((line.ratio for line in lines), default=inf)))
    return Table("Together", ("data", "runs", "number", "ours s", "NumPy s", "ratio", "least ratio"), rows)


def totals(lines: Sequence[Line]) -> tuple[float, float, float]:
    """Seconds of both sides and their ratio."""
    ours, loop = sum(line.ours + line.set_up for line in lines), sum(line.loop for line in lines)
    return ours, loop, loop / ours if ours > 0 else inf
