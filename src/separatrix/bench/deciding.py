"""separate and max_margin against HiGHS and scikit-learn, alternately in one process; large sparse problems alone.

The linear program is Zθ ≥ 1 with θ free and no objective, by HiGHS's simplex and interior point methods through SciPy;
both run in the first round, the faster one in all. scikit-learn's models count where they end with no training error.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.bench.speed import PAUSE, Spread, child
from separatrix.datasets import available, load
from separatrix.deciding.max_margin import max_margin
from separatrix.deciding.separate import separate
from separatrix.reporting.table import Row, Table
from separatrix.theory import planted

CAP = 150.0  # seconds HiGHS may take
Work = Callable[[], str]  # does it, and says how it ended


@dataclass(frozen=True)
class Line:
    """One side of one comparison: its time and how many times that of ours it is."""

    data: str
    side: str
    outcome: str
    seconds: Spread
    over_separate: Spread
    over_margin: Spread | None


def problems() -> list[tuple[str, Any, Any, bool]]:
    """Name, X, y and whether the margin is timed as well: images where they are at hand, planted rows otherwise."""
    if "fashion-mnist" in available():
        return [
            ("fashion-mnist 0/4, 5,000 rows", *load("fashion-mnist", n=5000), True),
            ("fashion-mnist 0/6, 2,000 rows", *load("fashion-mnist", classes=(0, 6), n=2000), False),
            ("fashion-mnist 0/6, 5,000 rows", *load("fashion-mnist", classes=(0, 6), n=5000), False),
        ]
    X, y, _ = planted(1000, 100, margin=0.1, offset=5.0, random_state=0)
    return [("planted 1,000 x 100", X, y, True)]


def compare(name: str, X: NDArray[Any], y: NDArray[Any], with_margin: bool, alternations: int) -> list[Line]:
    """Every side in turn, `alternations` times over."""
    sides: dict[str, Work] = {"separate, proof included": partial(_separate, X, y)}
    if with_margin:
        sides["max_margin, rtol 1e-6"] = partial(_margin, X, y)
        sides |= {
            f"scikit-learn {model}": partial(_fit, model, X, y)
            for model in ("LinearSVC", "LogisticRegression", "Perceptron")
        }
    sides |= {f"HiGHS {method}": partial(_linear_program, method, X, y) for method in ("highs-ds", "highs-ipm")}
    for ours in list(sides)[: 1 + with_margin]:
        sides[ours]()  # loads what is loaded once
    times: dict[str, list[float]] = {side: [] for side in sides}
    ended: dict[str, str] = {}
    for turn in range(alternations):
        slow = max(("HiGHS highs-ds", "HiGHS highs-ipm"), key=lambda s: median(times[s])) if turn else ""
        for side, work in sides.items():
            if side == slow:
                continue
            time.sleep(PAUSE)
            began = time.perf_counter()
            ended[side] = work()
            times[side].append(time.perf_counter() - began)
    first, *_ = times.values()
    margin = times.get("max_margin, rtol 1e-6")
    return [
        Line(
            name,
            side,
            ended[side],
            Spread.of(took),
            _ratio(took, first),
            None if margin is None else _ratio(took, margin),
        )
        for side, took in times.items()
    ]


def _ratio(theirs: list[float], ours: list[float]) -> Spread:
    return Spread.of([a / b for a, b in zip(theirs, ours, strict=False)])


def _separate(X: NDArray[Any], y: NDArray[Any]) -> str:
    found = separate(X, y)
    return f"{found.status}, {'no proof' if found.proof is None else found.proof.claim}"


def _margin(X: NDArray[Any], y: NDArray[Any]) -> str:
    found = max_margin(X, y, rtol=1e-6)
    return f"[{found.lower:.8g}, {found.upper:.8g}]"


def _fit(model: str, X: NDArray[Any], y: NDArray[Any]) -> str:
    from sklearn.linear_model import LogisticRegression, Perceptron
    from sklearn.svm import LinearSVC

    made = {
        "LinearSVC": LinearSVC(C=1e4, dual=False, fit_intercept=False, max_iter=100_000),
        "LogisticRegression": LogisticRegression(C=1e8, fit_intercept=False, max_iter=100_000),
        "Perceptron": Perceptron(fit_intercept=False, tol=None, max_iter=1000, shuffle=True, random_state=0),
    }[model]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made.fit(X, y)
    return f"{int((made.predict(X) != y).sum())} errors"


def _linear_program(method: str, X: NDArray[Any], y: NDArray[Any]) -> str:
    from scipy.optimize import linprog

    Z = X * np.where(y == np.max(y), 1.0, -1.0)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = linprog(
            np.zeros(Z.shape[1]),
            A_ub=-Z,
            b_ub=-np.ones(len(Z)),
            bounds=(None, None),
            method=method,
            options={"time_limit": CAP},
        )
    return {0: "feasible", 1: "gave up", 2: "infeasible"}.get(int(found.status), "failed")


def large_sparse(n: int = 100_000, entries: int = 50) -> list[dict[str, Any]]:
    """Planted sparse problems, n x n: one separable, two with a small contradictory block; each in a fresh process."""
    results = []
    for block in ("none", "three rows that sum to zero", "60 rows on 10 columns, labels at random"):
        code = f"from separatrix.bench.deciding import sparse_child; sparse_child({n}, {entries}, {block!r})"
        status, proof, holds, seconds, peak = child(code).strip().split("|")
        results.append(
            {
                "block": block,
                "status": status,
                "proof": proof,
                "verified": holds == "True",
                "seconds": float(seconds),
                "peak_gb": None if peak == "None" else float(peak),
            }
        )
    return results


def sparse_problem(n: int, entries: int, block: str, seed: int = 0) -> tuple[Any, NDArray[Any]]:
    """n x n rows labelled by a hidden hyperplane; the last few replaced by a block that contradicts itself."""
    from scipy.sparse import csr_array, vstack

    rng = np.random.default_rng(seed)
    columns, values = rng.integers(0, n, (n, entries)), rng.standard_normal((n, entries))
    u = rng.standard_normal(n)
    y = np.where((values * u[columns]).sum(axis=1) >= 0, 1, -1)
    X = csr_array((values.ravel(), columns.ravel(), np.arange(0, n * entries + 1, entries)), shape=(n, n))
    if block != "none":
        if block.startswith("three"):
            whole = rng.integers(-5, 6, (2, n)) * (rng.random((2, n)) < entries / n)
            extra, labels = csr_array(np.vstack([whole, -whole.sum(axis=0)]).astype(float)), np.ones(3)
        else:
            extra = csr_array(
                (rng.standard_normal(600), np.tile(rng.choice(n, 10, replace=False), 60), np.arange(0, 601, 10)),
                shape=(60, n),
            )
            labels = rng.choice([-1, 1], 60)
        X, y = csr_array(vstack([X[: n - len(labels)], extra])), np.concatenate([y[: n - len(labels)], labels])
    X.sum_duplicates()
    return X, y


def sparse_child(n: int, entries: int, block: str) -> None:
    """One of them, printed for the parent: status, proof, whether it verifies, seconds, peak resident gigabytes."""
    X, y = sparse_problem(n, entries, block)
    began = time.perf_counter()
    found = separate(X, y)
    seconds = time.perf_counter() - began
    proof = "none" if found.proof is None else found.proof.argument
    print(f"{found.status}|{proof}|{found.verify(X, y)}|{seconds}|{_peak()}")


def _peak() -> float | None:
    """Peak resident gigabytes of this process; None on Windows, which does not tell."""
    if sys.platform == "win32":
        return None
    import resource

    unit = 1e9 if sys.platform == "darwin" else 1e6  # ru_maxrss is in bytes there, in kilobytes elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def tables(lines: list[Line], sparse: list[dict[str, Any]]) -> list[Table]:
    """Times and ratios; and the sparse problems."""
    rows: list[Row] = [
        (
            line.data,
            line.side,
            line.outcome,
            str(line.seconds),
            str(line.over_separate),
            None if line.over_margin is None else str(line.over_margin),
        )
        for line in lines
    ]
    alone: list[Row] = [
        (r["block"], r["status"], r["proof"], "yes" if r["verified"] else "NO", r["seconds"], r["peak_gb"])
        for r in sparse
    ]
    return [
        Table(
            "Deciding: seconds and ratios, median (least–most)",
            ("data", "side", "outcome", "seconds", "x separate", "x max_margin"),
            rows,
            note="x separate, x max_margin: how many times longer than ours, pair by pair.",
        ),
        Table(
            "Planted sparse problems, 100,000 x 100,000, 50 entries a row",
            ("contradictory block", "status", "proof", "verified", "seconds", "peak GB"),
            alone,
        ),
    ]
