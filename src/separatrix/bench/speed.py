"""Both sides alternately in one process: ours to separation and per iteration, against plain loops.

Ours is the whole of `solve()`, set-up included. A peer is timed over
some of its iterations, and its whole run is that time per iteration times our count: it makes the same updates. Between
the sides the process sleeps: threads of OpenBLAS and OpenMP spin for a while after their last call, and would be
counted against whoever comes next.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from math import inf
from statistics import median
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from separatrix.bench.peers import as_tensor, numpy_loop, torch_installed, torch_loop
from separatrix.data.memory import HeldRows, hold
from separatrix.datasets import available, load
from separatrix.reporting.table import Row, Table
from separatrix.theory import planted
from separatrix.walking.loop import Walk
from separatrix.walking.methods import Plan, parse_method
from separatrix.walking.run import Run
from separatrix.walking.solve import solve
from separatrix.walking.trace import Recorder

Loop = Callable[..., Any]  # called with iterations=k

PAUSE = 0.2  # seconds for other libraries' threads to stop spinning
PROBE = 0.4  # seconds a peer is timed for, at least
BUDGET = 100_000


@dataclass(frozen=True)
class Case:
    """One line of the suite; `iterations` is None for a run to separation, else a fixed number past it.

    `dtype` is how the rows are stored, `arithmetic` that of our products and sums.
    """

    method: str
    gamma: float = inf
    dtype: str = "float64"
    iterations: int | None = None
    arithmetic: Literal["float64", "float32"] = "float64"

    @property
    def budget(self) -> int:
        """Updates to make at most."""
        return BUDGET if self.iterations is None else self.iterations

    @property
    def stop(self) -> Literal["separated"] | None:
        """Whether separation ends the run."""
        return "separated" if self.iterations is None else None


SMALL_IMAGES = (
    Case("batch-perceptron"),
    Case("lr-gd", 100.0),
    Case("lr-gd", 10.0),
    Case("normalized-lr-gd", 100.0),
    Case("batch-perceptron", dtype="float32"),
    Case("lr-gd", 0.01, "float64", 500),  # every weight matters here: nothing to leave out
    Case("lr-gd", 0.01, "float32", 500),
    Case("lr-gd", 0.01, "float32", 500, "float32"),
)
LARGE_IMAGES = (Case("batch-perceptron", iterations=20_000),)


@dataclass(frozen=True)
class Spread:
    """Median, least and largest of the alternations."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        """The spread of these values."""
        return cls(median(values), min(values), max(values))

    def __str__(self) -> str:
        return f"{self.median:.3g} ({self.least:.3g}–{self.most:.3g})"


@dataclass(frozen=True)
class Result:
    """One case against one peer.

    fixed : whether `iterations` was asked for; otherwise it is the count to separation, if `separated`
    seconds : whole run of ours, set-up included
    set_up : the part of it that a second run on the same problem saves (cached columns of the gram engine)
    ours_ms, peer_ms : per iteration; ours without what `set_up` counts
    run_ratio : the peer's time to the same count, extrapolated, over `seconds`
    step_ratio : per iteration
    traffic : bytes of rows and columns our run reads per iteration, by its own count
    bandwidth : the same per second
    """

    data: str
    n: int
    d: int
    method: str
    step_size: float
    dtype: str
    arithmetic: str
    engine: str
    iterations: int
    fixed: bool
    separated: bool
    seconds: Spread
    set_up: Spread
    ours_ms: Spread
    peer: str
    peer_ms: Spread
    run_ratio: Spread
    step_ratio: Spread
    traffic: float
    bandwidth: float


def suite() -> Iterator[tuple[str, NDArray[Any], NDArray[Any], tuple[Case, ...]]]:
    """Name, X, y and cases of each data set: images where they are at hand, planted rows of their size otherwise."""
    found = [name for name in ("fashion-mnist", "cifar-10", "eurosat") if name in available()]
    for name in found:
        X, y = load(name, n=5000)
        yield name, X, y, SMALL_IMAGES if name == "fashion-mnist" else LARGE_IMAGES
    if "fashion-mnist" not in found:
        X, y, _ = planted(5000, 784, margin=0.1, offset=27.0, random_state=0)
        yield "planted", X, y, SMALL_IMAGES


def measure(name: str, X: NDArray[Any], y: NDArray[Any], case: Case, *, alternations: int = 5) -> list[Result]:
    """Ours and every peer in turn, `alternations` times over; one result per peer."""
    X = np.ascontiguousarray(X, dtype=case.dtype)
    rows = hold(X, y)
    method = parse_method(case.method, case.gamma)
    first = _ours(X, y, case)
    again = _again(rows, method, case)  # fills the columns that later runs on this problem share
    peers = _peers(X, y, method)
    probes = {peer: _probe(loop) for peer, loop in peers.items()}
    whole: list[float] = []
    steps: list[float] = []
    theirs: dict[str, list[float]] = {peer: [] for peer in peers}
    for _ in range(alternations):
        whole.append(_seconds(partial(_ours, X, y, case)))
        steps.append(_seconds(partial(_again, rows, method, case)))
        for peer, loop in peers.items():
            theirs[peer].append(_seconds(partial(loop, iterations=probes[peer])) / probes[peer])
    k = max(1, first.n_iter)
    traffic = _traffic(again, rows)
    return [
        Result(
            data=name,
            n=rows.n,
            d=rows.d,
            method=case.method,
            step_size=case.gamma,
            dtype=case.dtype,
            arithmetic=case.arithmetic,
            engine=first.engine,
            iterations=first.n_iter,
            fixed=case.iterations is not None,
            separated=first.separated,
            seconds=Spread.of(whole),
            set_up=Spread.of([a - b for a, b in zip(whole, steps, strict=True)]),
            ours_ms=Spread.of([1e3 * s / k for s in steps]),
            peer=peer,
            peer_ms=Spread.of([1e3 * s for s in times]),
            run_ratio=Spread.of([k * p / s for p, s in zip(times, whole, strict=True)]),
            step_ratio=Spread.of([k * p / s for p, s in zip(times, steps, strict=True)]),
            traffic=traffic / k,
            bandwidth=traffic / median(steps),
        )
        for peer, times in theirs.items()
    ]


def _ours(X: NDArray[Any], y: NDArray[Any], case: Case) -> Run:
    return solve(
        X,
        y,
        case.method,
        step_size=case.gamma,
        max_iter=case.budget,
        stop=case.stop,
        record=None,
        arithmetic=case.arithmetic,
    )


def _again(rows: HeldRows, method: Plan, case: Case) -> Run:
    """The same run on a problem whose columns are at hand."""
    quiet = Recorder(None, False)
    walk = Walk(rows, method, max_iter=case.budget, stop=case.stop, recorder=quiet, arithmetic=case.arithmetic)
    return walk.finish()


def _peers(X: NDArray[Any], y: NDArray[Any], method: Plan) -> dict[str, Loop]:
    """Loops by name, each called with a number of iterations; PyTorch in float32, and in our dtype if that differs."""
    Z = X * np.where(y == np.max(y), 1, -1).astype(X.dtype)[:, None]
    gamma, power = method.gamma, method.power
    peers: dict[str, Loop] = {f"numpy {Z.dtype}": partial(numpy_loop, Z, gamma=gamma, power=power)}
    if torch_installed():
        for dtype in dict.fromkeys(("float32", str(Z.dtype))):
            peers[f"torch {dtype}"] = partial(torch_loop, as_tensor(Z, dtype), gamma=gamma, power=power)
    return peers


def _probe(loop: Loop) -> int:
    """How many iterations take PROBE seconds; also the peer's warm-up."""
    loop(iterations=3)
    k = 4
    while (took := _seconds(partial(loop, iterations=k))) < PROBE / 4 and k < 1 << 20:
        k *= 4
    return max(k, int(k * PROBE / took))


def _seconds(work: Callable[[], Any]) -> float:
    time.sleep(PAUSE)  # let the other side's threads come to rest
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _traffic(run: Run, problem: HeldRows) -> float:
    """Bytes of rows and of Gram columns the run read."""
    rows = run.stats.get("rows_read", 0) * problem.nbytes / problem.n
    return rows + run.stats.get("columns_read", 0) * problem.n * 8.0


def start_up() -> dict[str, Any]:
    """What a fresh process costs: the import alone, and a first small result."""
    probe = (
        "import sys, time; t = time.perf_counter(); import separatrix; t = time.perf_counter() - t; "
        "print(t, 'numpy' in sys.modules, 'sklearn' in sys.modules)"
    )
    imports = [child(probe).split() for _ in range(5)]
    small = (
        "import separatrix as sx; X, y = sx.two_samples(); "
        "print(sx.solve(X, y, 'lr-gd', step_size=1.0).n_iter, sx.solve(X, y, 'batch-perceptron').n_iter)"
    )
    child(small)  # the files are then in the system's cache
    began = time.perf_counter()
    child(small)
    return {
        "import_seconds": median(float(row[0]) for row in imports),
        "import_loads_numpy": any(row[1] == "True" for row in imports),
        "import_loads_sklearn": any(row[2] == "True" for row in imports),
        "first_result_seconds": time.perf_counter() - began,
    }


def child(code: str) -> str:
    """What this code prints in a fresh process."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def tables(results: list[Result], limit: float) -> tuple[Table, Table]:
    """What ours costs, and how much more the peers do; `limit` is the memory's read bandwidth in bytes per second."""
    ours: dict[Row, Row] = {}
    ratios: list[Row] = []
    for r in results:
        dtype = r.dtype if r.arithmetic == "float64" else f"{r.arithmetic} throughout"
        case = (r.data, r.method, r.step_size, dtype)
        count = r.iterations if r.separated and not r.fixed else f"{r.iterations:,}{' fixed' if r.fixed else '+'}"
        cost = (r.seconds.median, r.set_up.median, r.ours_ms.median, r.traffic / 1e6, 100 * r.bandwidth / limit)
        ours[case] = (*case, r.engine, count, *cost)
        ratios.append((*case, r.peer, r.peer_ms.median, str(r.run_ratio), str(r.step_ratio)))
    case_columns = ("data", "method", "step", "dtype")
    return (
        Table(
            "Ours: whole runs, medians",
            (*case_columns, "engine", "count", "run s", "set-up s", "ms/it", "MB/it", "% limit"),
            list(ours.values()),
            note=(
                "count: iterations to separation, or a fixed number. run s: all of solve(). "
                "set-up s: what a second run on the same problem saves (cached columns). ms/it: without it. "
                f"MB/it: rows and columns read; % limit: of the {limit / 1e9:.3g} GB/s a large BLAS product reads "
                "from memory (more comes from caches)."
            ),
        ),
        Table(
            "Peers: how many times longer they take, median (least–most)",
            (*case_columns, "peer", "ms/it", "run ratio", "step ratio"),
            ratios,
            note=(
                "run ratio: the peer's ms/it times our count (extrapolated: it makes the same updates) over our run s. "
                "step ratio: its ms/it over our ms/it."
            ),
        ),
    )


def rows_of(results: list[Result]) -> list[dict[str, Any]]:
    """The results as plain data."""
    return [asdict(result) for result in results]


def read_bandwidth(megabytes: int = 256, repeats: int = 7) -> float:
    """Bytes per second that a BLAS product with a matrix far larger than the caches reads: the memory's limit."""
    A = np.ones((megabytes * 125, 1000))
    v = np.ones(1000)
    best = float("inf")
    for _ in range(repeats):
        began = time.perf_counter()
        A @ v
        best = min(best, time.perf_counter() - began)
    return A.nbytes / best
