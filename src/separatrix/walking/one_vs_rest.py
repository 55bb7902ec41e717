"""Several labellings of the same rows, a run for each: one-vs-rest problems, say."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from typing import Any, Literal

from separatrix.core.constants import ENDLESS
from separatrix.data.memory import hold
from separatrix.data.rows import INTERCEPT_SCALE
from separatrix.walking.checkpoint import fresh_seed
from separatrix.walking.engines import Engine, Gram
from separatrix.walking.engines.perceptron import SweepEngine, sweep_together
from separatrix.walking.loop import Walk
from separatrix.walking.methods import parse_method
from separatrix.walking.run import Iterate, Run, Status
from separatrix.walking.settled import Settled
from separatrix.walking.solve import check_seed, check_theta0
from separatrix.walking.trace import Recorder, check_record

SMALL = 64 << 20  # bytes that perceptrons walking together may hold in any case; or as many as the rows have
STATE = 80  # bytes that each of them holds per row


def solve_each(
    X: Any,
    labels: Sequence[Any],
    method: str,
    *,
    step_size: float | None = None,
    max_iter: int | None = None,
    max_epochs: int | None = None,
    engine: str | Gram = "auto",
    theta0: Sequence[Any] | None = None,
    record: str | int | None = None,
    sample_weight: Any = None,
    fit_intercept: bool = False,
    intercept_scaling: float | Literal["auto"] = INTERCEPT_SCALE,
    callbacks: Sequence[Callable[[Iterate], Any]] | None = None,
    random_state: int | None = None,
    order: str = "cyclic",
    average: bool = False,
    power: float | None = None,
    progress: Sequence[Callable[[Engine, bool], Any]] | None = None,
    tol: float | None = None,
) -> list[Run]:
    """One run per labelling of the same rows, each as `solve` would make it: one-vs-rest problems, say.

    `labels` has one row of ±1 per problem, and a problem may lack one of the two; `theta0`, `callbacks` and `progress`
    have one entry per problem. Rows are checked once, and perceptrons that need not be recorded go through them
    together: a row is fetched from memory once for all. With `average`, for the perceptron's sweeps, each run has the
    mean of φ over the rows visited; with `tol` runs also end where descent has settled. Ctrl-C is passed on.
    """
    how, every = parse_method(method, step_size, order, power), check_record(record)
    base = hold(
        X,
        labels[0],
        signed=True,
        sample_weight=sample_weight,
        fit_intercept=fit_intercept,
        intercept_scaling=intercept_scaling,
    )
    starts: Sequence[Any] = [None] * len(labels) if theta0 is None else theta0
    seed = check_seed(random_state)
    seed = fresh_seed() if seed is None else seed
    # Perceptrons of which only the end is wanted go through the rows together.
    together = 1
    if how.order in ("cyclic", "random") and every is None and engine != "gram" and not isinstance(engine, Gram):
        together = max(1, max(base.nbytes, SMALL) // (STATE * base.n))
    runs: list[Run] = []
    for lo in range(0, len(labels), together):
        walks = [
            Walk(
                base.relabelled(labels[k]),
                how if starts[k] is None else replace(how, begun=True),
                engine=engine,
                theta0=check_theta0(starts[k], base),
                max_iter=ENDLESS if max_iter is None else max_iter,
                max_epochs=inf if max_epochs is None else max_epochs,
                recorder=Recorder(every, False),
                callback=None if callbacks is None else callbacks[k],
                seed=seed,
                average=average,
                progress=None if progress is None else progress[k],
                settled=None if tol is None else Settled(tol),
            )
            for k in range(lo, min(lo + together, len(labels)))
        ]
        if len(walks) > 1:
            sweep_walks(walks)
        for walk in walks:
            runs.append(walk.finish())
            if walk.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
    return runs


def sweep_walks(walks: Sequence[Walk]) -> None:
    """Sweep after sweep of all perceptrons together, until each is right or has made its sweeps; it then ends alone."""
    while True:
        going = [
            w
            for w in walks
            if w.engine.errors != 0
            and w.engine.cycle is None
            and w.engine.epoch < w.max_epochs
            and w.engine.t < w.max_iter
        ]
        if not going:
            return
        began = time.perf_counter()
        sweep_together([w.engine for w in going if isinstance(w.engine, SweepEngine)])
        for walk in going:
            walk.seconds += (time.perf_counter() - began) / len(going)
            walk.tell()
