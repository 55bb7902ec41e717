"""How cost per iteration and memory grow with n and d, engine by engine, each run in a process of its own."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from separatrix.data.memory import hold
from separatrix.reporting.table import Row, Table
from separatrix.theory import planted
from separatrix.walking.run import Run
from separatrix.walking.solve import solve

ENGINES = ("dense", "lazy", "gram")
ROWS = tuple((n, 256) for n in (1000, 2000, 4000, 8000, 16_000))
COLUMNS = tuple((2000, d) for d in (64, 256, 1024, 4096))
ITERATIONS = 300


def grid() -> Iterator[tuple[str, int, int]]:
    """Engine, n, d: first n grows, then d."""
    for sizes in (ROWS, COLUMNS):
        for engine in ENGINES:
            yield from ((engine, n, d) for n, d in sizes)


def measure(engine: str, n: int, d: int) -> dict[str, Any]:
    """One run in a fresh process, whose peak memory is then this run's."""
    command = [sys.executable, "-m", "separatrix.bench.growth", engine, str(n), str(d)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def table(results: list[dict[str, Any]]) -> Table:
    """One line per engine and size."""
    rows: list[Row] = [
        (
            r["engine"],
            r["n"],
            r["d"],
            r["data_mb"],
            r["iterations"],
            r["ms_per_iteration"],
            r["set_up_seconds"],
            r["peak_extra_mb"],
            None if r["peak_extra_mb"] is None else f"{100 * r['peak_extra_mb'] / r['data_mb']:.0f} %",
        )
        for r in results
    ]
    return Table(
        "Growth: batch perceptron on planted data, float64",
        ("engine", "n", "d", "data MB", "iterations", "ms/it", "set-up s", "extra MB", "of data"),
        rows,
        note="set-up: a run of one iteration; ms/it of gram has its columns in it; extra: peak memory beyond the data.",
    )


def run_one(engine: str, n: int, d: int) -> dict[str, Any]:
    """The measurement itself, in the child: set-up with one iteration, then all of them."""
    # A margin this small and rows this long keep the run from separating within a few iterations.
    X, y, _ = planted(n, d, margin=0.01, offset=30.0, random_state=0)
    small, labels, _ = planted(200, d, margin=0.01, offset=30.0, random_state=0)
    _run(small, labels, engine, ITERATIONS)  # loads what is loaded once
    hold(X, y)
    gc.collect()
    before = _reset_peak()
    began = time.perf_counter()
    first = _run(X, y, engine, 1)
    set_up = time.perf_counter() - began
    began = time.perf_counter()
    run = _run(X, y, engine, ITERATIONS)
    whole = time.perf_counter() - began
    peak = _status("VmHWM")
    return {
        "engine": engine,
        "n": n,
        "d": d,
        "data_mb": X.nbytes / 1e6,
        "iterations": run.n_iter,
        "ms_per_iteration": 1e3 * max(whole - set_up, 0.0) / max(1, run.n_iter - first.n_iter),
        "set_up_seconds": set_up,
        "peak_extra_mb": None if before is None or peak is None else (peak - before) / 1e6,
    }


def _run(X: Any, y: Any, engine: str, iterations: int) -> Run:
    return solve(X, y, "batch-perceptron", engine=engine, max_iter=iterations, record=None)


def _reset_peak() -> int | None:
    """Set the process's peak memory back to what it holds now, and return that; Linux only."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    return _status("VmRSS")


def _status(field: str) -> int | None:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(field + ":")), None)


if __name__ == "__main__":
    print(json.dumps(run_one(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
