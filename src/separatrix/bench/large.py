"""What large data cost: a cluster's overhead per iteration, and how iterations on files grow with the rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from separatrix.bench.planted import Files, make_files
from separatrix.bench.rivals import DASK, METHODS, WORKERS, cluster, tiny
from separatrix.data.problem import as_problem
from separatrix.plot import NAMES
from separatrix.reporting.table import Row, Table
from separatrix.theory import planted
from separatrix.walking.engines.sharded import ShardedEngine
from separatrix.walking.loop import Walk
from separatrix.walking.methods import parse_method
from separatrix.walking.run import Run
from separatrix.walking.trace import Recorder

MESSAGES = (10, 100, 1000)  # columns: a message has about as many numbers
ITERATIONS = 500
SKIPPED = 20  # iterations that are not counted, while connections and caches warm up
HELD = 20_000  # rows that the cluster has during that
LARGEST, COLUMNS, SIZES = 10_000_000, 20, 5
LIMIT = "1GB"


@dataclass(frozen=True)
class Overhead:
    """Milliseconds per iteration of the batch perceptron on a cluster, and those beyond the slowest shard's own."""

    columns: int
    rows: int
    iterations: int
    iteration_ms: float
    overhead_ms: float
    overhead_ms_90: float


@dataclass(frozen=True)
class Point:
    """A method on n rows in a file: medians of whole runs to separation, opening the file apart."""

    method: str
    n: int
    separated: bool
    iterations: int
    opening: float
    seconds: float
    rows_read: int

    @property
    def per_iteration(self) -> float:
        """Seconds per iteration."""
        return self.seconds / max(1, self.iterations)

    @property
    def read_per_iteration(self) -> float:
        """Rows read per iteration."""
        return self.rows_read / max(1, self.iterations)

    @property
    def per_million(self) -> float:
        """Seconds per million rows read."""
        return 1e6 * self.seconds / max(1, self.rows_read)


def overheads(
    client: Any, columns: Sequence[int] = MESSAGES, rows: int = HELD, iterations: int = ITERATIONS
) -> list[Overhead]:
    """The overhead for messages of several sizes, on the client's cluster."""
    return [overhead(client, d, rows, iterations) for d in columns]


def overhead(client: Any, d: int, rows: int, iterations: int) -> Overhead:
    """Drive the engine one iteration at a time; wall time less the slowest shard's own, its sum before and after."""
    # A margin this small and rows this long keep the run from separating within a few iterations.
    X, y, _ = planted(rows, d, margin=0.01, offset=30.0, random_state=0)
    held = client.persist(
        import_module("dask.array").from_array(X.astype(np.float32), chunks=(-(-rows // WORKERS), -1))
    )
    walls: list[float] = []
    costs: list[float] = []
    with as_problem(held, y) as problem:
        shared: Any = problem.rows  # held by the cluster: this engine is theirs
        engine = ShardedEngine(shared, parse_method("batch-perceptron"), None, lazy=True)
        engine.advance(0, True)
        while engine.errors and len(walls) < SKIPPED + iterations:
            before, began = engine.slowest, time.perf_counter()
            engine.advance(1, True)
            walls.append(time.perf_counter() - began)
            costs.append(walls[-1] - (engine.slowest - before))
    skipped = SKIPPED if len(walls) > SKIPPED else len(walls) // 2
    wall, cost = 1e3 * np.array(walls[skipped:]), 1e3 * np.array(costs[skipped:])
    return Overhead(d, rows, len(wall), float(np.median(wall)), float(np.median(cost)), float(np.quantile(cost, 0.9)))


def measure_overheads() -> list[Overhead]:
    """The overheads on a cluster of this machine; none where Dask is not installed."""
    if any(find_spec(name) is None for name in DASK):
        return []
    with (
        TemporaryDirectory(prefix="separatrix-bench-", ignore_cleanup_errors=True) as folder,
        cluster(Path(folder)) as client,
    ):
        return overheads(client)


def overhead_table(found: Sequence[Overhead]) -> Table:
    """One line per size of message."""
    rows: list[Row] = [
        (o.columns, o.rows, o.iterations, o.iteration_ms, o.overhead_ms, o.overhead_ms_90) for o in found
    ]
    note = f"overhead: wall time of an iteration less the slowest shard's own; {WORKERS} processes of one thread."
    return Table(
        "A cluster's overhead: batch perceptron, one iteration at a time",
        ("columns", "rows", "iterations", "median ms/it", "median overhead ms", "90th percentile ms"),
        rows,
        note=note if found else f"{' and '.join(DASK)} are not installed: left out.",
    )


def sizes(largest: int = LARGEST) -> list[int]:
    """From a hundredth of the largest to the largest, half a decade apart."""
    return [round(largest * 10.0 ** (-k / 2)) for k in reversed(range(SIZES))]


def grow(n: int, repeats: int, columns: int = COLUMNS) -> list[Point]:
    """Every method on n rows, in a fresh process, so that its memory is its own; the file is gone in the end."""
    with (
        TemporaryDirectory(prefix="separatrix-bench-") as folder,
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process,
    ):
        files = make_files(Path(folder), "skew", n, columns)
        return [process.submit(point, files, method, repeats).result() for method in METHODS]


def point(files: Files, method: str, repeats: int) -> Point:
    """The measurement itself: medians of `repeats` runs, after one on a few rows that compiles."""
    few = files.folder / "few.npy"
    A, b = tiny(files.rows().shape[1])
    np.save(few, A)
    walk(few, b, method)
    runs = [walk(files.X, files.y, method) for _ in range(repeats)]
    first = runs[0][0]
    return Point(
        method,
        len(files.labels()),
        first.separated,
        first.n_iter,
        median(opening for _, opening in runs),
        median(run.seconds for run, _ in runs),
        first.stats["rows_read"],
    )


def walk(X: Path, y: Any, method: str) -> tuple[Run, float]:
    """A run to separation on a file read piece by piece, and the seconds until the file was open and surveyed."""
    began = time.perf_counter()
    with as_problem(X, y, memory_limit=LIMIT) as problem:
        opening = time.perf_counter() - began
        walker = Walk(problem.rows, parse_method(method), max_iter=10**9, recorder=Recorder(None, False))
        return walker.finish(), opening


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The exponent p of the best y ≈ c·xᵖ."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def slopes(points: Sequence[Point]) -> dict[str, dict[str, float]]:
    """By method, how iterations, seconds and rows per iteration, and seconds per million rows grow with n."""
    found = {}
    for method in dict.fromkeys(p.method for p in points):
        some = [p for p in points if p.method == method and p.rows_read and p.iterations]
        n = [p.n for p in some]
        columns = {
            "iterations": [float(p.iterations) for p in some],
            "per_iteration": [p.per_iteration for p in some],
            "read_per_iteration": [p.read_per_iteration for p in some],
            "per_million": [p.per_million for p in some],
        }
        if len(some) > 1:
            found[method] = {name: slope(n, values) for name, values in columns.items()}
    return found


def growth_table(points: Sequence[Point]) -> Table:
    """One line per method and size, and one per method with the exponents."""
    rows: list[Row] = []
    exponents = slopes(points)
    for method in dict.fromkeys(p.method for p in points):
        rows += [
            (
                NAMES[method],
                f"{p.n:,}",
                p.iterations,
                p.opening,
                p.seconds,
                p.per_iteration,
                p.read_per_iteration,
                p.per_million,
                "yes" if p.separated else "NO",
            )
            for p in points
            if p.method == method
        ]
        if method in exponents:
            e = exponents[method]
            shown = [f"n^{e[name]:.2f}" for name in ("per_iteration", "read_per_iteration", "per_million")]
            rows.append((NAMES[method], "grows as", f"n^{e['iterations']:.2f}", None, None, *shown, None))
    return Table(
        f"Growth: planted rows of {COLUMNS} float32 columns in a file, read within {LIMIT}, one machine",
        ("method", "n", "iterations", "opening s", "run s", "s/it", "rows read/it", "s/10⁶ rows", "separated"),
        rows,
        note="opening: the survey of all rows before the first iteration. The perceptron's iterations are its updates.",
        failures=tuple(f"{NAMES[p.method]} did not separate {p.n:,} rows" for p in points if not p.separated),
    )


def draw(points: Sequence[Point], path: Path) -> None:
    """Seconds and rows read per iteration, and seconds per million rows, against n, as a PNG file."""
    from separatrix.lab.figures import new_figure, saved
    from separatrix.lab.store import write_whole
    from separatrix.plot import COLOURS, DASHES, finish

    panels = (
        ("per_iteration", "seconds per iteration"),
        ("read_per_iteration", "rows read per iteration"),
        ("per_million", "seconds per million rows read"),
    )
    figure, axes = new_figure(len(panels))
    exponents = slopes(points)
    for ax, (name, label) in zip(axes, panels, strict=True):
        for method in dict.fromkeys(p.method for p in points):
            some = [p for p in points if p.method == method]
            growth = f", n^{exponents[method][name]:.2f}" if method in exponents else ""
            ax.plot(
                [p.n for p in some],
                [getattr(p, name) for p in some],
                "o" + DASHES.get(method, "-"),
                color=COLOURS[method],
                ms=4,
                lw=1.2,
                label=NAMES[method] + growth,
            )
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.legend(fontsize=7, frameon=False)
        finish(ax, "rows n", label)
    write_whole(path, saved(figure, "png"))
