"""What opening the data once saves: a sweep over step sizes on one Problem, and the same runs as separate calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from separatrix.bench.speed import Spread
from separatrix.data.problem import Problem
from separatrix.reporting.table import Row, Table
from separatrix.walking.run import Run
from separatrix.walking.solve import solve

STEP_SIZES = (10.0, 30.0, 100.0, 300.0, 1000.0)
ITERATIONS = 2_000


@dataclass(frozen=True)
class Sweep:
    """LR+GD at several step sizes on the same rows: seconds of all calls, both sides alternately."""

    data: str
    n: int
    d: int
    engine: str
    apart: Spread
    together: Spread
    ratio: Spread
    columns_apart: int
    columns_together: int


def measure(name: str, X: NDArray[Any], y: NDArray[Any], alternations: int, most: int = ITERATIONS) -> Sweep:
    """The five runs as five calls with X and y, and on one Problem."""

    def runs(rows: Any, labels: Any) -> list[Run]:
        return [solve(rows, labels, "lr-gd", step_size=g, max_iter=most, record=None) for g in STEP_SIZES]

    def together() -> list[Run]:
        with Problem(X, y) as problem:
            return runs(problem, None)

    solve(X, y, "lr-gd", step_size=STEP_SIZES[0], max_iter=5)  # what is compiled or loaded once is no one's
    sides: tuple[Callable[[], list[Run]], ...] = (lambda: runs(X, y), together)
    seconds: tuple[list[float], list[float]] = ([], [])
    found: list[list[Run]] = [[], []]
    for _ in range(alternations):
        for k, side in enumerate(sides):
            began = time.perf_counter()
            found[k] = side()
            seconds[k].append(time.perf_counter() - began)
    return Sweep(
        data=name,
        n=len(y),
        d=int(X.shape[1]),
        engine=found[1][0].engine,
        apart=Spread.of(seconds[0]),
        together=Spread.of(seconds[1]),
        ratio=Spread.of([a / b for a, b in zip(*seconds, strict=True)]),
        columns_apart=columns(found[0]),
        columns_together=columns(found[1]),
    )


def columns(runs: Iterable[Run]) -> int:
    """Columns of G that these runs computed."""
    return sum(run.stats.get("columns_computed", 0) for run in runs)


def table(sweeps: Sequence[Sweep]) -> Table:
    """One line per data set."""
    rows: list[Row] = [
        (
            s.data,
            f"{s.n:,} x {s.d:,}",
            s.engine,
            s.apart.median,
            s.together.median,
            str(s.ratio),
            s.columns_apart,
            s.columns_together,
        )
        for s in sweeps
    ]
    steps = ", ".join(f"{g:g}" for g in STEP_SIZES)
    return Table(
        "One Problem for a sweep over step sizes",
        ("data", "rows", "engine", "five calls s", "one Problem s", "ratio", "columns", "columns, one Problem"),
        rows,
        note=f"LR+GD at step sizes {steps}, {ITERATIONS:,} iterations each; ratio: median (least–most); columns of G "
        "that had to be computed.",
    )
