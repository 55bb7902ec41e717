"""Who races to zero training errors on large data: ours, and solvers of other libraries where they are installed.

A side is a generator. It prepares its data, starts its cluster, compiles and fits something tiny, and yields READY;
none of that is timed. From then on it yields one `Try` after the other, each with its own count of the wrong rows,
which it needs to know when to stop and which is timed. `run_side` counts once more, for all sides alike, from the raw
rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.bench.planted import AT_ONCE, Files, count_errors
from separatrix.walking.solve import solve

Vector = NDArray[np.float64]
WORKERS = 2  # processes of the cluster, one thread each
NORMALIZED = ("skew",)  # dask-glm is faster there when it divides the columns by their deviations, slower elsewhere
VOWPAL = ("--loss_function", "hinge", "--noconstant", "-b", "8")


# What is told on the way.


@dataclass(frozen=True, eq=False)
class Try:
    """One fit and its check: passes or iterations so far, seconds of both, wrong rows by its own count, the weights."""

    passes: int
    fit: float
    check: float
    errors: int
    weights: Callable[[], Vector]


READY = Try(0, 0.0, 0.0, -1, lambda: np.zeros(0))


@dataclass(frozen=True)
class Outcome:
    """How far a side came: `fit` and `check` are seconds in all, `last_fit` those of the last fit alone."""

    zero: bool = False
    capped: bool = False
    errors: int | None = None
    passes: int = 0
    fit: float = 0.0
    last_fit: float = 0.0
    check: float = 0.0
    note: str = ""

    @property
    def seconds(self) -> float:
        """Fit and checks."""
        return self.fit + self.check


@dataclass(frozen=True)
class Side:
    """A racer; `restarts` where every fit begins anew, so that only its last one was needed."""

    name: str
    work: Callable[[Files], Iterator[Try]]
    ours: bool
    cluster: bool
    needs: tuple[str, ...]
    restarts: bool = False

    @property
    def missing(self) -> list[str]:
        """Modules that it needs and that are not installed."""
        return [name for name in self.needs if find_spec(name) is None]


def run_side(pipe: Any, side: Side, files: Files) -> None:
    """Run a side in this process; sends ("resting" | "running" | "done", outcome so far) through the pipe."""
    warnings.simplefilter("ignore")
    so_far = Outcome()
    try:
        for attempt in side.work(files):
            if attempt is not READY:
                so_far = replace(
                    so_far,
                    errors=attempt.errors,
                    passes=attempt.passes,
                    fit=so_far.fit + attempt.fit,
                    last_fit=attempt.fit,
                    check=so_far.check + attempt.check,
                )
            if attempt.errors == 0:
                pipe.send(("resting", so_far))
                errors = count_errors(files, attempt.weights())
                so_far = replace(so_far, zero=errors == 0, errors=errors)
                if so_far.zero:
                    break
            pipe.send(("running", so_far))
        else:
            so_far = replace(so_far, note="ended by itself")
    except Exception as error:  # a rival may fail in any way of its own; the others go on
        so_far = replace(so_far, note=f"failed: {error!r}"[:160])
    pipe.send(("done", so_far))


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What it gives, and the seconds it takes."""
    began = time.perf_counter()
    found = work()
    return found, time.perf_counter() - began


# Ours.


def in_memory(method: str, files: Files) -> Iterator[Try]:
    """`solve` on an array; it checks the raw rows itself."""
    X, y = files.load()
    A, b = tiny(X.shape[1])
    solve(A, b, method, record=None)
    yield READY
    yield _solved(method, X, y)


def on_cluster(method: str, files: Files) -> Iterator[Try]:
    """`solve` on a Dask array that the workers hold."""
    with cluster(files.folder) as client:
        A, b = tiny(files.rows().shape[1])
        da = import_module("dask.array")
        solve(da.from_array(A, chunks=(len(A) // WORKERS, -1)), b, method, record=None)
        X, y = persisted(client, files, "float32")
        yield READY
        yield _solved(method, X, y)


def _solved(method: str, X: Any, y: Any) -> Try:
    run, seconds = timed(lambda: solve(X, y, method, max_iter=10**9, record=None))
    return Try(run.n_iter, seconds, 0.0, 0 if run.separated else -1, lambda: run.theta)


def tiny(d: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """A few rows for a first fit that is not timed, more than a block of the canonical sum for each worker."""
    A = np.random.default_rng(0).standard_normal((2048, d)).astype(np.float32)
    A[:, 0] += np.sign(A[:, 0])
    return A, np.where(A[:, 0] > 0, 1, -1)


@contextmanager
def cluster(folder: Path) -> Iterator[Any]:
    """A client of WORKERS processes on this machine, one thread each; what they write goes to the folder."""
    import dask
    from distributed import Client, LocalCluster

    quiet = {"temporary-directory": str(folder), "logging": {"distributed": "critical"}}
    with (
        dask.config.set(quiet),
        LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as workers,
        Client(workers) as client,
    ):
        yield client


def persisted(client: Any, files: Files, dtype: str) -> tuple[Any, Any]:
    """Rows, and labels 0 and 1, as Dask arrays with one chunk on each worker."""
    from distributed import wait

    da, delayed = import_module("dask.array"), import_module("dask").delayed
    n, d = files.rows().shape
    workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
    bounds = [n * k // len(workers) for k in range(len(workers) + 1)]
    held: dict[str, list[Any]] = {"X": [], "y": []}
    futures = []
    for worker, lo, hi in zip(workers, bounds[:-1], bounds[1:], strict=True):
        for name, read, shape in (("X", read_rows, (hi - lo, d)), ("y", read_labels, (hi - lo,))):
            future = client.submit(read, files, lo, hi, dtype, workers=[worker], pure=False)
            held[name].append(da.from_delayed(delayed(future), shape, dtype))
            futures.append(future)
    wait(futures)
    X, y = (client.persist(da.concatenate(parts)) for parts in held.values())
    wait([X, y])
    return X, y


def read_rows(files: Files, lo: int, hi: int, dtype: str) -> NDArray[Any]:
    """Rows lo … hi-1, in memory."""
    return np.array(files.rows()[lo:hi], dtype=dtype)


def read_labels(files: Files, lo: int, hi: int, dtype: str) -> NDArray[Any]:
    """Labels lo … hi-1, as 0 and 1."""
    return np.asarray(files.labels()[lo:hi] > 0, dtype=dtype)


# Others.


def scikit_learn(files: Files) -> Iterator[Try]:
    """SGDClassifier as a perceptron, in sweeps of partial_fit; after each, the wrong rows by a BLAS product."""
    from sklearn.linear_model import SGDClassifier

    def model() -> Any:
        return SGDClassifier(
            loss="perceptron", learning_rate="constant", eta0=1.0, penalty=None, fit_intercept=False, shuffle=False
        )

    def sweep() -> Vector:
        for i in range(0, len(y), AT_ONCE):
            made.partial_fit(X[i : i + AT_ONCE], y[i : i + AT_ONCE], classes=np.array([-1, 1]))
        return np.array(made.coef_.ravel(), dtype=np.float64)

    X, y = files.load()
    A, b = tiny(X.shape[1])
    model().partial_fit(A, b, classes=np.array([-1, 1]))
    made = model()
    yield READY
    for k in count(1):
        w, fit = timed(sweep)
        errors, check = timed(partial(_wrong, X, y, w))
        yield Try(k, fit, check, errors, partial(np.copy, w))


def _wrong(X: NDArray[Any], y: NDArray[Any], w: Vector) -> int:
    """Wrong rows in the rows' own dtype, as cheap as it gets."""
    return len(y) - int(np.count_nonzero((X @ w.astype(X.dtype)) * y > 0))


def vowpal_wabbit(files: Files) -> Iterator[Try]:
    """Hinge loss, one pass over its binary cache at a time, going on from the saved model."""
    workspace = import_module("vowpalwabbit").Workspace
    cache, text, model = (str(files.folder / f"vw.{end}") for end in ("cache", "txt", "model"))
    if not Path(cache).exists():
        _write_text(files, Path(text))
        workspace(
            arg_list=["--noop", "--noconstant", "-d", text, "--cache_file", cache, "-k", "--quiet"]
        ).finish()  # reads the text once, and writes the cache
        Path(text).unlink()
    with suppress(FileNotFoundError):
        Path(model).unlink()
    X, y = files.load()
    Path(cache).read_bytes()  # from here on it comes from memory
    common = ["-d", text, "--cache_file", cache, "--holdout_off", "--quiet", "-f", model, "--save_resume"]

    def sweep(k: int) -> Vector:
        work = workspace(arg_list=[*common, *(("-i", model) if k > 1 else VOWPAL)])
        w = np.array([work.get_weight(j) for j in range(X.shape[1])], dtype=np.float64)
        work.finish()
        return w

    yield READY
    for k in count(1):
        w, fit = timed(partial(sweep, k))
        errors, check = timed(partial(_wrong, X, y, w))
        yield Try(k, fit, check, errors, partial(np.copy, w))


def _write_text(files: Files, path: Path) -> None:
    """The rows in Vowpal Wabbit's text format, with all digits of a float32."""
    X, y = files.rows(), files.labels()
    line = "%d |" + "".join(f" {j}:%.9g" for j in range(X.shape[1])) + "\n"
    with path.open("w") as file:
        for i in range(0, len(y), AT_ONCE):
            rows = zip(y[i : i + AT_ONCE].tolist(), X[i : i + AT_ONCE].tolist(), strict=True)
            file.writelines(line % (label, *row) for label, row in rows)


def dask_ml(solver: str, files: Files) -> Iterator[Try]:
    """LogisticRegression without much of a penalty; without a warm start it is fitted anew with 1, 2, 4, … steps."""
    logistic = import_module("dask_ml.linear_model").LogisticRegression
    options: dict[str, Any] = {"normalize": files.kind in NORMALIZED}
    if solver == "admm":
        options |= {"rho": 1.0, "abstol": 0.0, "reltol": 0.0}

    def fit(X: Any, y: Any, steps: int) -> Vector:
        made = logistic(solver=solver, C=1e6, tol=0.0, fit_intercept=False, max_iter=steps, solver_kwargs=options)
        made.fit(X, y)
        return np.array(made.coef_, dtype=np.float64)

    with cluster(files.folder) as client:
        X, y = _ready(client, files, partial(fit, steps=2))
        yield READY
        for k in count():
            w, seconds = timed(partial(fit, X, y, 2**k))
            errors, check = timed(partial(_wrong_on_cluster, X, y, w))
            yield Try(2**k, seconds, check, errors, partial(np.copy, w))


def _ready(client: Any, files: Files, fit: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """Rows in float64, in which it is fastest, after a first fit on a few others."""
    da = import_module("dask.array")
    client.run(warnings.simplefilter, "ignore")
    client.run(import_module, "dask_glm.algorithms")
    A, b = tiny(5)
    noise = np.random.default_rng(0).standard_normal(len(b))
    fit(
        da.from_array(A.astype(np.float64), chunks=(len(b) // WORKERS, -1)),
        da.from_array((A[:, 0] + 3 * noise > 0).astype(np.float64), chunks=len(b) // WORKERS),
    )
    return persisted(client, files, "float64")


def _wrong_on_cluster(X: Any, y: Any, w: Vector) -> int:
    return len(y) - int((X.dot(w) * (2 * y - 1) > 0).sum().compute())


def dask_glm(files: Files) -> Iterator[Try]:
    """Gradient descent with its line search in one run; where it asks for a gradient, the wrong rows are counted."""
    descend = import_module("dask_glm.algorithms").gradient_descent
    logistic = import_module("dask_glm.families").Logistic
    options: dict[str, Any] = {"tol": -np.inf, "normalize": files.kind in NORMALIZED}
    with cluster(files.folder) as client:
        X, y = _ready(client, files, partial(descend, max_iter=2, **options))
        yield READY
        steps, check, errors = -1, 0.0, -1

        def gradient(m: Any, A: Any, b: Any) -> Any:
            nonlocal steps, check, errors
            errors, seconds = timed(lambda: len(b) - int((m * (2 * b - 1) > 0).sum().compute()))
            steps, check = steps + 1, check + seconds
            if errors == 0:
                raise StopIteration
            return logistic.gradient(m, A, b)

        family = SimpleNamespace(loglike=logistic.loglike, gradient=gradient)
        began = time.perf_counter()
        with suppress(StopIteration):
            descend(X, y, max_iter=10**6, family=family, **options)
        fit = time.perf_counter() - began - check
        yield Try(steps, fit, check, errors, lambda: np.asarray(descend(X, y, max_iter=steps, **options)))


SHORT = {"perceptron": "perceptron", "normalized-batch-perceptron": "normalized batch"}
METHODS = tuple(SHORT)
SOLVERS = ("lbfgs", "gradient_descent", "newton", "admm")
DASK = ("dask", "distributed")
SIDES: tuple[Side, ...] = (
    *(Side(f"ours, {SHORT[m]}, cluster", partial(on_cluster, m), True, True, DASK) for m in METHODS),
    *(Side(f"ours, {SHORT[m]}, memory", partial(in_memory, m), True, False, ()) for m in METHODS),
    Side("scikit-learn SGD perceptron", scikit_learn, False, False, ()),
    Side("Vowpal Wabbit hinge", vowpal_wabbit, False, False, ("vowpalwabbit",)),
    *(Side(f"dask-ml {s}", partial(dask_ml, s), False, True, (*DASK, "dask_ml"), True) for s in SOLVERS),
    Side("dask-glm gradient_descent", dask_glm, False, True, (*DASK, "dask_glm")),
)
