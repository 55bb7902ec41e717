"""The only loop: method x engine, stopping, recording, checkpoint → Run.

A run stops on margins, never on the loss: with large step sizes the loss rises while the iterates get closer to a
separator, which is the paper's second finding.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from math import inf, isinf
from os import PathLike
from typing import Any, Literal

import numpy as np

from separatrix.data.memory import INTERCEPT_SCALE, Problem, Vector
from separatrix.shards import ClusterError, Sharded, opened
from separatrix.walking.checkpoint import Checkpoint, Saved, describe, fresh_seed, restore, write
from separatrix.walking.engines import Gram, Sheet, make_engine, rule_of
from separatrix.walking.engines.base import separates, threads, unit_of
from separatrix.walking.engines.base import sharpness as sharpness_at
from separatrix.walking.engines.rowwise import GramSweepEngine, SweepEngine
from separatrix.walking.methods import Method, parse_method
from separatrix.walking.run import Iterate, Run, Status, Stop, times
from separatrix.walking.trace import Recorder, check_record

ENDLESS = 1 << 60
SLICE = 0.1  # seconds of compiled work between two looks at the keyboard and the clock


def solve(
    X: Any,
    y: Any,
    method: str = "lr-gd",
    *,
    step_size: float | None = None,
    max_iter: int = 100_000,
    max_epochs: int | None = None,
    engine: str | Gram = "auto",
    theta0: Any = None,
    stop: Stop = "separated",
    record: str | int | None = "log",
    sample_weight: Any = None,
    fit_intercept: bool = False,
    intercept_scaling: float | Literal["auto"] = INTERCEPT_SCALE,
    callback: Callable[[Iterate], Any] | None = None,
    checkpoint: str | PathLike[str] | Checkpoint | None = None,
    random_state: int | np.random.Generator | None = None,
    order: str = "cyclic",
    sharpness: bool = False,
    memory_limit: int | str | None = None,
    progress: Callable[[int, int | None], Any] | None = None,
) -> Run:
    """Look for θ with y_i a_iᵀθ > 0 for every row, by one of the paper's five algorithms.

    Parameters
    ----------
    X : array, memory map, sparse matrix, data frame, path, list of paths or Dask collection
        The rows a_i. Arrays of float32 and float64 in C order are used in place; sparse matrices are CSR or CSC; paths
        name .npy or .parquet files; Dask collections are arrays or frames.
    y : array-like, path or str
        Two-valued labels of any type; the larger value is +1. For .npy files also a path, for Parquet and Dask frames
        the name of the column.
    method : str, default="lr-gd"
        One of "lr-gd", "normalized-lr-gd", "batch-perceptron", "normalized-batch-perceptron" and "perceptron".
    step_size : float, optional
        The step size γ in (0, ∞] of the logistic two, 1 by default; ∞ makes them the perceptrons.
    max_iter : int, default=100_000
        Updates to make at most.
    max_epochs : int, optional
        Passes over the data to make at most: sweeps of the perceptron, updates of the others.
    engine : {"auto", "dense", "lazy", "gram"} or Gram, default="auto"
        How the margins are kept up to date; the iterates are the same. `Gram(memory=…, dtype=…)` sets the options of
        the last.
    theta0 : array-like, optional
        Where to start, 0 by default.
    stop : "separated", None or callable, default="separated"
        When to stop: at separation; with None not before `max_iter`; or when a callable says so, which is asked at each
        iterate.
    record : {"log", "all", "epoch"}, int or None, default="log"
        Which iterates to record: thinning geometrically, all, after each pass over the data, one in so many, or none.
        The last one is always recorded.
    sample_weight : array-like, optional
        Weights s_i ≥ 0; whole numbers equal repeated rows, 0 removes a row. Not for the perceptron.
    fit_intercept : bool, default=False
        Append a constant column; its entry of θ comes last.
    intercept_scaling : float or "auto", default=1.0
        The value of that column, or "auto" for a fifth of the rows' root mean square length.
    callback : callable, optional
        Called with every recorded iterate; a true answer ends the run.
    checkpoint : path or Checkpoint, optional
        A file to save the run to every 30 s, and to continue from if it exists; `Checkpoint(path, every=…)` sets the
        time.
    random_state : int or numpy.random.Generator, optional
        The seed for order="random".
    order : {"cyclic", "random", "most-wrong"}, default="cyclic"
        The perceptron's next wrong row: in the order of X, in a fresh permutation per sweep, or the most wrong one.
    sharpness : bool, default=False
        Also record λ_max of the Hessian (finite step sizes).
    memory_limit : int or str, optional
        Bytes that the process may take while it reads rows from files, or text such as "1GB".
    progress : callable, optional
        Called at most ten times a second, and at the end, with the iteration and the number of rows on the wrong side,
        None where that is not known, as in the perceptron's sweeps: nothing is computed for it.

    Returns
    -------
    Run
        The last iterate, how the run ended, and the trace of the way there.

    Raises
    ------
    ValueError
        If an option is none of those above, or the data are not numbers with labels of two values.
    CheckpointError
        If the checkpoint's file is damaged or belongs to another run.
    ClusterError
        If the scheduler or all workers of the Dask cluster are gone; the checkpoint, if any, is saved.

    See Also
    --------
    separate : Decide with a proof whether there is such a θ at all.
    bounds : The number of iterations after which each method must have separated.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = sx.worst_case(1000)
    >>> sx.solve(X, y, "normalized-lr-gd", step_size=1.0).n_iter
    16
    """
    how = parse_method(method, step_size, order)
    if sample_weight is not None and how.order is not None:
        raise ValueError("the row-at-a-time perceptron takes no sample_weight: repeat rows, or use a batch method.")
    check_count("max_iter", max_iter)
    check_count("max_epochs", 0 if max_epochs is None else max_epochs)
    if not (stop is None or stop == "separated" or callable(stop)):
        raise ValueError(f'stop must be "separated", None or a callable, got {stop!r}.')
    if sharpness and isinf(how.gamma):
        raise ValueError("sharpness needs a finite step_size: the perceptron loss is flat almost everywhere.")
    every = check_record(record)
    began = time.perf_counter()
    with opened(
        X,
        y,
        memory_limit=memory_limit,
        sample_weight=sample_weight,
        fit_intercept=fit_intercept,
        intercept_scaling=intercept_scaling,
    ) as problem:
        if sharpness and isinstance(problem, Sharded):
            raise ValueError("sharpness needs the rows in memory; leave it out for rows in files and on clusters.")
        walker = Walk(
            problem,
            how,
            engine=engine,
            theta0=check_theta0(theta0, problem),
            max_iter=int(max_iter),
            max_epochs=inf if max_epochs is None else max_epochs,
            stop=stop,
            recorder=Recorder(every, sharpness),
            callback=callback,
            checkpoint=checkpoint
            if checkpoint is None or isinstance(checkpoint, Checkpoint)
            else Checkpoint(checkpoint),
            seed=check_seed(random_state),
            progress=progress,
        )
        walker.seconds += time.perf_counter() - began
        for _ in walker.iterates():
            pass
        return walker.run()


class Pace:
    """How many steps the next slice of work takes, and on how many threads; the results depend on neither.

    On a busy machine threads that wait for each other can be far slower than one alone, so both ways are timed now and
    then, and the faster one is used.
    """

    def __init__(self, most: int) -> None:
        self.ways = (most, 1) if most > 1 else (1,)
        self.cost = dict.fromkeys(self.ways, 0.0)  # seconds per step, 0 until tried
        self.turn = 0
        self.full = 64  # steps that take about SLICE seconds

    @property
    def threads(self) -> int:
        """The faster way, except that every 32nd slice tries the other."""
        best = min(self.ways, key=lambda k: self.cost[k])
        return best if self.turn % 32 else next((k for k in self.ways if k != best), best)

    @property
    def steps(self) -> int:
        """Steps for the next slice; a trial is kept short."""
        return self.full if self.turn % 32 else max(1, self.full // 64)

    def note(self, took: float, done: int, wanted: int) -> None:
        """Learn from a slice: `done` of `wanted` steps in `took` seconds."""
        cost, way = took / max(done, 1), self.threads
        self.cost[way] = cost if self.cost[way] == 0.0 else 0.5 * (self.cost[way] + cost)
        if took > SLICE:
            self.full = max(1, self.full // 2)
        elif took < SLICE / 2 and wanted == self.full:
            self.full = min(2 * self.full, 1 << 40)
        self.turn += 1


class Walk:
    """One run under way: `iterates()` yields each recorded iterate, `run()` the result so far."""

    def __init__(
        self,
        problem: Problem | Sharded,
        method: Method,
        *,
        engine: str | Gram = "auto",
        theta0: Vector | None = None,
        max_iter: int = 100_000,
        max_epochs: float = inf,
        stop: Stop = "separated",
        recorder: Recorder | None = None,
        callback: Callable[[Iterate], Any] | None = None,
        checkpoint: Checkpoint | None = None,
        seed: int | None = None,
        average: bool = False,
        progress: Callable[[int, int | None], Any] | None = None,
    ) -> None:
        self.problem, self.method, self.progress, self.told_at = problem, method, progress, 0.0
        self.max_iter, self.max_epochs, self.stop, self.callback = max_iter, max_epochs, stop, callback
        self.recorder = Recorder("log", False) if recorder is None else recorder
        self.checkpoint = checkpoint
        self.status: Status | None = None
        self.seconds = 0.0
        self.saved: Saved | None = None
        if checkpoint is not None:
            header = describe(problem, method, engine, theta0, self.recorder)
            self.saved = restore(checkpoint, header, seed)
            seed = self.saved.seed
        seed = fresh_seed() if seed is None else seed
        self.engine = make_engine(engine, problem, method, theta0, seed=seed, average=average)
        if self.saved is not None and self.saved.state is not None and self.saved.rows is not None:
            self.engine.load(self.saved.state)
            self.recorder.rows = [tuple(row) for row in self.saved.rows.tolist()]
            self.seconds = self.saved.seconds

    def iterates(self) -> Iterator[Iterate]:
        """Advance from one recorded iterate to the next until the run ends; Ctrl-C ends it too."""
        try:
            yield from self._iterates()
        except KeyboardInterrupt:
            self.status = Status.INTERRUPTED
        except ClusterError:
            self._save()  # the iterate itself is here: nothing is lost
            raise
        recorded = len(self.recorder.rows)
        iterate = self._record()
        self._save()
        self._tell(last=True)
        if len(self.recorder.rows) > recorded:
            if self.callback is not None:
                self.callback(iterate)
            yield iterate

    def _iterates(self) -> Iterator[Iterate]:
        engine, at_separation = self.engine, self.stop == "separated"
        pace, last_save = Pace(threads()), time.monotonic()
        self._timed(0)
        by_epoch = self.recorder.record == "epoch"
        fresh = self.recorder.record is not None and not self.recorder.rows
        due: int | None = int(by_epoch) if fresh else self._next()  # sweeps are recorded at their ends
        while True:
            if callable(self.stop) and self.stop(self._iterate()):
                self.status = Status.STOPPED
                return
            if at_separation and engine.errors == 0:
                if not engine.check():
                    continue
                # The engine holds n φ or the like; what is claimed is claimed of the φ that is returned.
                self.status = Status.SEPARATED if separates(self.problem, engine.phi()) else Status.ROUNDED
                return
            if due is not None and (engine.epoch if by_epoch else engine.t) >= due:
                iterate = self._record()
                due = self._next()
                enough = self.callback is not None and self.callback(iterate)
                yield iterate
                if enough:
                    self.status = Status.STOPPED
                    return
            if engine.t >= self.max_iter or engine.epoch >= self.max_epochs:
                self.status = Status.MAX_ITER
                return
            goal = self.max_iter if due is None or by_epoch else min(due, self.max_iter)
            epoch = self.max_epochs if due is None or not by_epoch else min(due, self.max_epochs)
            engine.use_threads(pace.threads)
            wanted, before = 1 if callable(self.stop) else min(pace.steps, goal - engine.t), engine.t
            pace.note(self._timed(wanted, epoch), engine.t - before, wanted)
            self._tell()
            if self.checkpoint is not None and time.monotonic() - last_save > self.checkpoint.every:
                self._save()
                last_save = time.monotonic()

    def _timed(self, steps: int, epoch: float = inf) -> float:
        began = time.perf_counter()
        self.engine.advance(steps, self.stop == "separated", epoch)
        took = time.perf_counter() - began
        self.seconds += took
        return took

    def _tell(self, last: bool = False) -> None:
        """How far the run has come, for those who wait."""
        if self.progress is not None and (last or time.monotonic() - self.told_at > SLICE):
            unknown = self.method.order is not None and self.engine.errors > 0
            self.progress(self.engine.t, None if unknown else self.engine.errors)
            self.told_at = time.monotonic()

    def _next(self) -> int | None:
        last = int(self.recorder.rows[-1][0]) if self.recorder.rows else 0
        return self.recorder.next_after(self.engine.epoch if self.recorder.record == "epoch" else last)

    def _iterate(self) -> Iterate:
        return Iterate(self.engine, self.method, self.problem)

    def _record(self) -> Iterate:
        """Write the present iterate into the trace; not timed."""
        iterate = self._iterate()
        curve = None
        if "sharpness" in self.recorder.names and isinstance(self.problem, Problem):
            Phi = self.engine.phi() * (unit_of(self.problem, self.method) / self.problem.scale)
            curve = sharpness_at(Sheet(self.problem), rule_of(self.problem, self.method), Phi)
        self.recorder.add(iterate.t, iterate.measure, self.seconds, curve)
        return iterate

    def _save(self) -> None:
        if self.checkpoint is not None and self.saved is not None:
            write(self.checkpoint, self.saved, self.engine, self.recorder, self.seconds)

    def run(self) -> Run:
        """The result; `separated` is re-checked on the raw data whatever the status."""
        status = Status.STOPPED if self.status is None else self.status
        engine, phi = self.engine, self.engine.phi()
        wrong = isinstance(engine, SweepEngine) and engine.wrong_at == engine.t  # as `measure` has just seen
        separated = status is Status.SEPARATED or (not wrong and separates(self.problem, phi))
        if separated and status is Status.MAX_ITER:
            status = Status.SEPARATED
        short = self.problem.unpad(phi)
        mean = engine.average() if isinstance(engine, SweepEngine | GramSweepEngine) else None
        return Run(
            method=self.method.name,
            step_size=self.method.gamma,
            status=status,
            separated=separated,
            n_iter=engine.t,
            theta=times(self.method.gamma, short),
            phi=short,
            bias=self.problem.bias,
            average=None if mean is None else self.problem.unpad(mean),
            engine=engine.name,
            seconds=self.seconds,
            trace=self.recorder.trace("perceptron loss" if isinf(self.method.gamma) else "logistic loss"),
            stats=engine.stats(),
        )


def check_count(name: str, value: Any) -> None:
    """Complain about anything but a whole number from 0."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{name} must be a whole number, 0 or more, got {value!r}.")


def check_theta0(theta0: Any, problem: Problem | Sharded) -> Vector | None:
    """θ_0 as a vector of the right length, or one sentence about it."""
    if theta0 is None:
        return None
    try:
        theta = np.array(theta0, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"theta0 must be a vector of numbers, got {theta0!r}.") from None
    entries = problem.d + bool(problem.bias)
    if theta.shape != (entries,):
        hint = f"{problem.d} columns and the intercept" if problem.bias else "one entry per column"
        raise ValueError(f"theta0 must have shape ({entries},) ({hint}), got {theta.shape}.")
    if not np.isfinite(theta).all():
        raise ValueError(f"theta0 must be finite, got {theta[~np.isfinite(theta)][0]} in it.")
    return theta


def check_seed(random_state: Any) -> int | None:
    """A whole number to derive the sweeps' permutations from; None leaves the choice open."""
    if random_state is None:
        return None
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**62))
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool) and random_state >= 0:
        return int(random_state)
    raise ValueError(f"random_state must be None, a whole number from 0 or a numpy Generator, got {random_state!r}.")
