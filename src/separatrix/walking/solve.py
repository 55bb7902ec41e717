"""solve: check what was asked, open the data, walk to the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf, isinf
from os import PathLike
from typing import Any, Literal

import numpy as np

from separatrix.data.problem import as_problem, decidable
from separatrix.data.rows import INTERCEPT_SCALE, Rows, Vector
from separatrix.reporting.keywords import hinted
from separatrix.reporting.progress import Progress, check_verbose
from separatrix.walking.angle import Angle, Bracket
from separatrix.walking.checkpoint import Checkpoint
from separatrix.walking.engines import Engine, Gram
from separatrix.walking.loop import Walk
from separatrix.walking.meter import Meter
from separatrix.walking.methods import plan_of
from separatrix.walking.own import Method
from separatrix.walking.run import Iterate, Run, Stop
from separatrix.walking.trace import Recorder, check_record

WEIGHTLESS = "repeat rows, or use a batch method"


@hinted
def solve(
    X: Any,
    y: Any = None,
    method: str | Method = "lr-gd",
    *,
    step_size: float | Callable[[int], float] | None = None,
    max_iter: int = 100_000,
    max_epochs: int | None = None,
    engine: str | Gram = "auto",
    theta0: Any = None,
    stop: Stop = "separated",
    record: str | int | None = "log",
    sample_weight: Any = None,
    fit_intercept: bool | None = None,
    intercept_scaling: float | Literal["auto"] = INTERCEPT_SCALE,
    callback: Callable[[Iterate], Any] | None = None,
    checkpoint: str | PathLike[str] | Checkpoint | None = None,
    random_state: int | np.random.Generator | None = None,
    order: str = "cyclic",
    sharpness: bool = False,
    angle: Bracket | None = None,
    iterates: bool = False,
    memory_limit: int | str | None = None,
    arithmetic: Literal["float64", "float32"] = "float64",
    progress: Callable[[int, int | None], Any] | None = None,
    power: float | None = None,
    missing: Literal["error", "drop"] = "error",
    verbose: bool | int = False,
) -> Run:
    """Look for θ with y_i a_iᵀθ > 0 for every row, by one of the paper's five algorithms or a tempered one.

    Parameters
    ----------
    X : array, memory map, sparse matrix, data frame, path, formula, statsmodels model, Dask collection or Problem
        The rows a_i. Arrays of float32 and float64 in C order are used in place; sparse matrices are CSR or CSC. Text,
        categories and booleans of tables get one 0/1 column per level, as in `diagnose`. Paths name files of any kind
        that the command line reads, or are a list of .npy or .parquet files; Dask collections are arrays or frames. A
        `Problem` has rows, labels, weights and intercept, and y is left out, as of a model.
    y : array-like, path, str or data frame, optional
        Two-valued labels of any type; the larger value is +1. For .npy files also a path, for tables the name of the
        column, for a formula the data frame that it speaks of.
    method : str or Method, default="lr-gd"
        One of "lr-gd", "normalized-lr-gd", "batch-perceptron", "normalized-batch-perceptron", "perceptron",
        "tempered-lr-gd" and "tempered-batch-perceptron", or a method of your own.
    step_size : float or callable, optional
        The step size γ in (0, ∞] of the logistic ones, 1 by default; ∞ makes them the perceptrons. A callable is a
        schedule: asked with t = 0, 1, 2, …, it gives γ_t, finite and positive, of the update from θ_t. It may be asked
        ahead, and more than once.
    max_iter : int, default=100_000
        Updates to make at most.
    max_epochs : int, optional
        Passes over the data to make at most: sweeps of the perceptron, updates of the others.
    engine : {"auto", "dense", "lazy", "gram", "numpy"} or Gram, default="auto"
        How the margins are kept up to date; all walk to the same iterates bit for bit, but "gram", whose sums have
        another order: the last digits of its θ differ. `Gram(memory=…, dtype=…)` sets the options of that engine;
        "numpy" is the definition itself, without the compiled core.
    theta0 : array-like, optional
        Where to start, 0 by default. At step size ∞ the logistic methods are the limit of large ones: their first step
        goes from 0, with the weights that rows have at θ_0.
    stop : "separated", None or callable, default="separated"
        When to stop: at separation; with None not before `max_iter`; or when a callable says so, which is asked at each
        iterate.
    record : {"log", "all", "epoch"}, int or None, default="log"
        Which iterates to record: thinning geometrically, all, after each pass over the data, one in so many, or none.
        The last one is always recorded.
    sample_weight : array-like or str, optional
        Weights s_i ≥ 0, or their column in a table; whole numbers equal repeated rows, 0 removes a row. Not for the
        perceptron.
    fit_intercept : bool, optional
        Append a constant column; its entry of θ comes last. By default only where a formula or a model has one.
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
    angle : Margin, optional
        A bracket on the widest margin of the same rows, `sx.max_margin(X, y)`: also record `angle_low` and
        `angle_high`, a proven interval for the angle in radians between θ_t and the direction of the widest margin. The
        intercept is part of θ, so with one the bracket is that of the rows with the constant column appended.
    iterates : bool, default=False
        Also keep φ_t of every recorded iterate in `run.iterates`, for `run.animate` say: eight bytes per column each. A
        checkpoint has them too, and only a run that keeps them as well continues from it.
    memory_limit : int or str, optional
        Bytes that the process may take while it reads rows from files, or text such as "1GB".
    arithmetic : {"float64", "float32"}, default="float64"
        The type of every product and sum. Rows stored as float32 are multiplied in float64 all the same; "float32", for
        the batch methods on dense rows, is a definition of its own: faster where every row matters, with other
        iterates, as reproducible. What is claimed of the result is checked in float64.
    progress : callable, optional
        Called at most ten times a second, and at the end, with the iteration and the number of rows on the wrong side,
        None where that is not known, as in the perceptron's sweeps: nothing is computed for it.
    power : float, optional
        The power p in [0, 1] of the tempered methods, whose steps are divided by n^p (Σw)^(1-p); 0.625 by default. At 1
        they are "lr-gd" and "batch-perceptron", at 0 the normalized two.
    missing : {"error", "drop"}, default="error"
        For tables, what to do with rows that have missing values.
    verbose : bool or int, default=False
        Show from the second second on how far the run has come, in one line with a bar: on a terminal, below a
        notebook's cell, or in a file every few seconds.

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
    how = plan_of(method, step_size, order, power)
    if sample_weight is not None and how.order is not None:
        raise ValueError(f"the row-at-a-time perceptron takes no sample_weight: {WEIGHTLESS}.")
    check_count("max_iter", max_iter)
    check_count("max_epochs", 0 if max_epochs is None else max_epochs)
    if not (stop is None or stop == "separated" or callable(stop)):
        raise ValueError(f'stop must be "separated", None or a callable, got {stop!r}.')
    for name, called in (("callback", callback), ("progress", progress)):
        if not (called is None or callable(called)):
            raise ValueError(f"{name} must be a function, which is called with what is new, or None, got {called!r}.")
    if sharpness and isinf(how.gamma):
        raise ValueError("sharpness needs a finite step_size: the perceptron loss is flat almost everywhere.")
    every = check_record(record)
    check_verbose(verbose)
    began = time.perf_counter()
    with (
        Progress(f"{how.name}: reading the rows", quiet=not verbose) as shown,
        as_problem(
            X,
            y,
            memory_limit=memory_limit,
            sample_weight=sample_weight,
            fit_intercept=fit_intercept,
            intercept_scaling=intercept_scaling,
            missing=missing,
        ) as problem,
    ):
        rows = problem.rows
        if problem.weighted and how.order is not None:
            raise ValueError(f"the row-at-a-time perceptron takes no sample_weight: {WEIGHTLESS}.")
        if sharpness and rows.whole is None:
            raise ValueError("sharpness needs the rows in memory; leave it out for rows in files and on clusters.")
        if angle is not None:
            decidable(problem)
        heard = Meter(shown, how.name, max_iter, inf if max_epochs is None else max_epochs).heard(0)

        def tell(engine: Engine, over: bool) -> None:
            heard(engine, over)
            if progress is not None:
                progress(engine.t, engine.errors)

        walker = Walk(
            rows,
            how,
            engine=engine,
            theta0=check_theta0(theta0, rows),
            max_iter=int(max_iter),
            max_epochs=inf if max_epochs is None else max_epochs,
            stop=stop,
            recorder=Recorder(every, sharpness, angle is not None, bool(iterates)),
            angle=None if angle is None else Angle(rows, angle),
            callback=callback,
            checkpoint=checkpoint
            if checkpoint is None or isinstance(checkpoint, Checkpoint)
            else Checkpoint(checkpoint),
            seed=check_seed(random_state),
            arithmetic=arithmetic,
            progress=tell if verbose or progress is not None else None,
        )
        walker.seconds += time.perf_counter() - began
        return walker.finish()


def check_count(name: str, value: Any) -> None:
    """Complain about anything but a whole number from 0."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 0:
        hint = f"; write {int(value)}" if isinstance(value, float) and value.is_integer() and value >= 0 else ""
        raise ValueError(f"{name} must be a whole number, 0 or more, got {value!r}{hint}.")


def check_theta0(theta0: Any, problem: Rows) -> Vector | None:
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
