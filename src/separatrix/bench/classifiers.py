"""The classifiers against scikit-learn's on the same rows: speed of a sweep on one thread, accuracy on rows not seen.

The two perceptrons make the same number of sweeps in the same process, alternately, each seed once on either side; a
sweep's time is the fit's divided by the sweeps, set-up included. The table of all models has one fit of each.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix import estimators
from separatrix.bench.speed import PAUSE, Spread
from separatrix.core.threads import limit_threads
from separatrix.datasets import available, load, load_ten
from separatrix.deciding.max_margin import max_margin
from separatrix.reporting.table import Row, Table
from separatrix.walking.solve import solve

SWEEPS = 10
SEEDS = 5
SHARES = (0.01, 0.05, 0.1, 0.2, 0.4, 1.0, 5.0)  # of the rows' root mean square length
CAP = 300_000


@dataclass(frozen=True)
class Data:
    """Rows to train on and rows to be tested on."""

    name: str
    X: NDArray[Any]
    y: NDArray[Any]
    X_test: NDArray[Any]
    y_test: NDArray[Any]


@dataclass(frozen=True)
class Sweeps:
    """Both perceptrons on one dtype: seconds per sweep, theirs over ours pair by pair, median test accuracies."""

    dtype: str
    ours: Spread
    theirs: Spread
    ratio: Spread
    our_accuracy: Spread
    their_accuracy: Spread


@dataclass(frozen=True)
class Fit:
    """One model: seconds to train, accuracy on both parts, and what it says of itself."""

    model: str
    seconds: float
    train: float
    test: float
    note: str


def data() -> Data:
    """FashionMNIST with its ten classes where it is at hand, scikit-learn's bundled digits otherwise."""
    if "fashion-mnist" in available():
        return Data("fashion-mnist", *load_ten("fashion-mnist"), *load_ten("fashion-mnist", part="test"))
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    A, B, a, b = train_test_split(X.astype(np.float32) / 16, y, random_state=0)
    return Data("digits", A, a, B, b)


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for BLAS and for our core."""
    from threadpoolctl import threadpool_limits

    before = limit_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        limit_threads(before)


def compare_sweeps(given: Data, dtype: str, sweeps: int = SWEEPS, seeds: int = SEEDS) -> Sweeps:
    """Ours and scikit-learn's perceptron in turn, seed by seed, on one thread."""
    from sklearn.linear_model import Perceptron as Theirs

    X, X_test = given.X.astype(dtype, copy=False), given.X_test.astype(dtype, copy=False)
    times: dict[str, list[float]] = {"ours": [], "theirs": []}
    scores: dict[str, list[float]] = {"ours": [], "theirs": []}
    with one_thread():
        _fit(estimators.Perceptron(max_iter=1), X[:200], given.y[:200])  # loads what is loaded once
        for seed in range(seeds):
            for side, model in (
                ("ours", estimators.Perceptron(max_iter=sweeps, random_state=seed)),
                ("theirs", Theirs(max_iter=sweeps, tol=None, random_state=seed)),
            ):
                time.sleep(PAUSE)
                times[side].append(_fit(model, X, given.y) / sweeps)
                scores[side].append(float(model.score(X_test, given.y_test)))
    return Sweeps(
        dtype,
        Spread.of(times["ours"]),
        Spread.of(times["theirs"]),
        Spread.of([b / a for a, b in zip(times["ours"], times["theirs"], strict=True)]),
        Spread.of(scores["ours"]),
        Spread.of(scores["theirs"]),
    )


def models() -> list[tuple[str, Any]]:
    """Ours, then scikit-learn's, each with a budget that ends within minutes on 60,000 images."""
    from sklearn import linear_model, svm

    return [
        ("Perceptron, 10 sweeps", estimators.Perceptron(max_iter=SWEEPS)),
        ("Perceptron, 100 sweeps", estimators.Perceptron(max_iter=100)),
        ("MaxMarginClassifier, with proofs", estimators.MaxMarginClassifier(certify=True)),
        ("LogisticGD, γ = 1, 200 iterations", estimators.LogisticGD(max_iter=200)),
        ("NormalizedLogisticGD, γ = 1, 200 iterations", estimators.NormalizedLogisticGD(max_iter=200)),
        ("BatchPerceptron, 200 iterations", estimators.BatchPerceptron(max_iter=200)),
        ("NormalizedBatchPerceptron, 200 iterations", estimators.NormalizedBatchPerceptron(max_iter=200)),
        ("scikit-learn Perceptron, 10 sweeps", linear_model.Perceptron(max_iter=SWEEPS, tol=None)),
        ("scikit-learn Perceptron", linear_model.Perceptron()),
        ("scikit-learn SGDClassifier", linear_model.SGDClassifier(random_state=0)),
        ("scikit-learn LinearSVC", svm.LinearSVC(random_state=0)),
        ("scikit-learn LogisticRegression", linear_model.LogisticRegression()),
    ]


def fit(given: Data, name: str, model: Any) -> Fit:
    """One model, trained and tested."""
    time.sleep(PAUSE)
    seconds = _fit(model, given.X, given.y)
    said = f"{int(np.max(model.n_iter_)):,} iterations"
    if isinstance(model, estimators.MaxMarginClassifier):
        said = f"{model.status_}: {model.status_.message}"
    return Fit(name, seconds, model.score(given.X, given.y), model.score(given.X_test, given.y_test), said)


def _fit(model: Any, X: NDArray[Any], y: NDArray[Any]) -> float:
    """Seconds of one fit; models that ran out of iterations say so in a warning, which is not what is measured."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        model.fit(X, y)
        return time.perf_counter() - began


def tables(given: Data, sweeps: list[Sweeps], fits: list[Fit]) -> list[Table]:
    """Sweeps side by side; all models."""
    pairs: list[Row] = [
        (s.dtype, str(s.ours), str(s.theirs), str(s.ratio), str(s.our_accuracy), str(s.their_accuracy)) for s in sweeps
    ]
    rows: list[Row] = [(f.model, f.seconds, f"{f.train:.4f}", f"{f.test:.4f}", f.note) for f in fits]
    slow = [s for s in sweeps if s.ratio.median < 3]
    worse = [s for s in sweeps if s.our_accuracy.median < s.their_accuracy.median - 0.005]
    failures = [
        f"{s.dtype}: a sweep is {s.ratio.median:.2f} times as fast as scikit-learn's, 3 is asked for" for s in slow
    ]
    failures += [
        f"{s.dtype}: test accuracy {s.our_accuracy.median:.4f} against {s.their_accuracy.median:.4f}" for s in worse
    ]
    size = f"{given.name}, {len(given.y):,} x {given.X.shape[1]:,}, {len(np.unique(given.y))} classes"
    return [
        Table(
            f"Perceptron sweeps, one thread: {size}; median (least–most) of {SEEDS} seeds, {SWEEPS} sweeps each",
            ("dtype", "ours, s per sweep", "scikit-learn, s per sweep", "x ours", "our test accuracy", "theirs"),
            pairs,
            failures=tuple(failures) if given.name == "fashion-mnist" else (),
        ),
        Table(
            f"Classifiers: {size}, float32; one fit each, all threads",
            ("model", "seconds", "train accuracy", "test accuracy", "how it ended"),
            rows,
        ),
    ]


@dataclass(frozen=True)
class Scale:
    """One value b of the constant column: its share of the rows' length, (R_b/μ_b)², and updates to separation."""

    data: str
    b: float
    share: float
    bound: float
    perceptron: int | None
    batch: int | None
    logistic: int | None


def intercept_problems() -> list[tuple[str, NDArray[Any], NDArray[Any]]]:
    """Three separable problems of different kinds: counts, standardised columns, images (or columns as measured)."""
    from sklearn.datasets import load_digits, load_wine
    from sklearn.preprocessing import StandardScaler

    X, y = load_digits(return_X_y=True)
    pair = (y == 3) | (y == 8)
    W, cultivar = load_wine(return_X_y=True)
    found = [
        ("digits 3/8", X[pair], y[pair] == 8),
        ("wine, class 0 against the rest, standardised", StandardScaler().fit_transform(W), cultivar == 0),
    ]
    if "fashion-mnist" in available():
        found.append(("fashion-mnist 0/4, 2,000 rows in [0, 1]", *load("fashion-mnist", n=2000, scale="unit")))
    else:
        found.append(("wine, class 0 against the rest, raw", W, cultivar == 0))
    return found


def intercept_scales(name: str, X: NDArray[Any], y: NDArray[Any]) -> list[Scale]:
    """What the value of the constant column does to the margin of the rows with it, and to the counts."""
    length = float(np.sqrt((X**2).sum(axis=1).mean()))
    scales = []
    for b in sorted({1.0, *(share * length for share in SHARES)}):
        rows = np.column_stack([X, np.full(len(X), b)])
        mu = max_margin(rows, y, rtol=1e-3, time_limit=60.0).lower
        R = float(np.sqrt((rows**2).sum(axis=1).max()))
        step = 1e4 / length**2  # a large step in the units of the rows
        counts = [
            solve(X, y, method, fit_intercept=True, intercept_scaling=b, max_iter=CAP, record=None, **options)
            for method, options in _walks(step)
        ]
        reached = [run.n_iter if run.separated else None for run in counts]
        scales.append(Scale(name, b, b / length, (R / mu) ** 2 if mu > 0 else np.inf, *reached))
    return scales


def _walks(step: float) -> list[tuple[str, dict[str, Any]]]:
    return [("perceptron", {}), ("batch-perceptron", {}), ("lr-gd", {"step_size": step})]


def scale_table(scales: list[Scale]) -> Table:
    """Bounds and counts by the value of the constant column."""
    rows: list[Row] = [
        (
            s.data,
            s.b,
            s.share,
            s.bound,
            *(f"> {CAP:,}" if c is None else c for c in (s.perceptron, s.batch, s.logistic)),
        )
        for s in scales
    ]
    return Table(
        "The constant column of the intercept: bound and updates to separation by its value b",
        ("data", "b", "b / row length", "(R_b/μ_b)²", "perceptron", "batch-perceptron", "lr-gd, large step"),
        rows,
        note="Row length: root mean square. The default is the power of two nearest to a fifth of it.",
    )
