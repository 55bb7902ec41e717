"""What each kind of job computes: a run, an alignment of two runs, a bracket on the margin, a verdict."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import inf, isfinite
from typing import Any

import numpy as np

from separatrix.data.memory import Problem, make_problem
from separatrix.deciding.separate import Verdict, max_margin, separate
from separatrix.lab.samples import Sample
from separatrix.lab.store import Job, Result
from separatrix.walking.checkpoint import Checkpoint, fingerprint
from separatrix.walking.engines import Sheet, choose
from separatrix.walking.engines.gram import fill_columns
from separatrix.walking.loop import Walk, solve
from separatrix.walking.methods import TABLE, Method, parse_method
from separatrix.walking.trace import Recorder

SEED = 0  # of the perceptron's order, which is cyclic
COLUMNS = ("iteration", "errors", "accuracy", "loss", "grad_norm", "theta_norm", "min_margin", "seconds")
Tell = Callable[[int], Any]  # told how many iterations are done


def perform(job: Job, sample: Sample, problem: Problem, checkpoint: Checkpoint | None, tell: Tell) -> Result:
    """The job's result."""
    facts: dict[str, Any]
    if job.kind == "walk":
        if sample.weight is not None and TABLE[job.method][2]:  # the perceptron takes no weights: rows as often instead
            often = sample.weight.astype(int)
            problem = make_problem(np.repeat(sample.X, often, axis=0), np.repeat(sample.y, often))
        return walk(job, problem, checkpoint, tell)
    if job.kind == "align":
        return align(job, problem, tell)
    if job.kind == "margin":
        found = max_margin(sample.X, sample.y, rtol=1e-6)
        facts = {"lower": found.lower, "upper": found.upper, "ended": str(found.status), "seconds": found.seconds}
        return Result(about(problem) | facts | {"support": len(found.support)})
    verdict = separate(sample.X, sample.y)
    facts = {
        "status": str(verdict.status),
        "argument": None if verdict.proof is None else str(verdict.proof),
        "verified": verdict.status is not Verdict.UNDECIDED and verdict.verify(sample.X, sample.y),
        "lower": verdict.margin.lower,
        "upper": verdict.margin.upper,
        "seconds": verdict.seconds,
    }
    return Result(about(problem) | facts)


def about(problem: Problem) -> dict[str, Any]:
    """n (repeated rows counted), d, R, and a digest of the rows."""
    return {"n": round(problem.size), "d": problem.d, "R": problem.R, "rows": fingerprint(problem)}


def on_columns(problem: Problem, method: Method) -> bool:
    """Whether a run takes all columns of G beforehand, shared by all runs on these rows.

    At a finite step size the last bits of a product depend on which columns are there, and large steps make more of
    them: with all of them there, a run does not depend on the runs before it. At γ = ∞ wrong sets are exact either way.
    """
    return isfinite(method.gamma) and choose("auto", problem, method) == "gram"


@cache
def warm_up() -> None:
    """Let every kernel be compiled, or read from the cache, before a run is timed."""
    X, y = np.eye(64), np.where(np.arange(64) < 32, 0, 1)
    for engine in ("dense", "lazy", "gram"):
        for name in TABLE:
            solve(X, y, name, engine=engine, max_iter=3)
            if name != "perceptron":
                solve(X, y, name, engine=engine, max_iter=3, sample_weight=np.full(64, 2.0))


def walk(job: Job, problem: Problem, checkpoint: Checkpoint | None, tell: Tell) -> Result:
    """One run with its trace; it continues from the checkpoint of an interrupted one."""
    warm_up()
    method = parse_method(job.method, job.step_size)
    if on_columns(problem, method):
        fill_columns(problem)
    run = Walk(
        problem,
        method,
        max_iter=job.limit,
        recorder=Recorder("log", False),
        callback=lambda iterate: bool(tell(iterate.t)),
        checkpoint=checkpoint,
        seed=SEED,
    )
    for _ in run.iterates():
        pass
    done = run.run()
    if done.status == "interrupted":
        raise KeyboardInterrupt
    facts = {
        "separated": done.separated,
        "status": str(done.status),
        "n_iter": done.n_iter,
        "limit": job.limit,
        "engine": done.engine,
        "seconds": done.seconds,
        "loss": done.trace.loss_name,
        **{name: int(value) for name, value in done.stats.items()},
    }
    return Result(about(problem) | facts, {name: done.trace[name] for name in COLUMNS})


def align(job: Job, problem: Problem, tell: Tell) -> Result:
    """LR+GD at this step size and the batch perceptron side by side.

    apart_t = ‖θ_t/γ - θ̂_t‖/‖θ̂_t‖, and the first t at which the two put different rows on the wrong side.
    """
    sheet = Sheet(problem)

    def start(name: str, gamma: float) -> Walk:
        method = parse_method(name, gamma)
        return Walk(
            problem, method, engine="lazy", max_iter=job.limit, stop=None, recorder=Recorder("all", False), seed=SEED
        )

    large, limit = start("lr-gd", job.step_size), start("batch-perceptron", inf)
    apart, parted = [], None
    for one, other in zip(large.iterates(), limit.iterates(), strict=True):
        a, b = large.engine.phi(), limit.engine.phi()
        length = float(np.linalg.norm(b))
        apart.append(float(np.linalg.norm(a - b)) / length if length > 0 else 0.0)
        if parted is None and one.t > 0 and ((sheet.margins(a) <= 0) != (sheet.margins(b) <= 0)).any():
            parted = one.t
        tell(other.t)
    columns = {"iteration": np.arange(len(apart)), "apart": np.array(apart)}
    return Result(about(problem) | {"limit": job.limit, "parted": parted}, columns)
