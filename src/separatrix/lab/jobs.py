"""What a job computes: a run of a method, which every kind of experiment knows; other work is in the kind's file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import numpy as np

from separatrix.data.memory import HeldRows, hold
from separatrix.lab.samples import Sample
from separatrix.lab.store import Job, Result
from separatrix.walking.checkpoint import Checkpoint
from separatrix.walking.engines import choose
from separatrix.walking.engines.gram import fill_columns
from separatrix.walking.loop import Walk
from separatrix.walking.methods import TABLE, Plan, parse_method
from separatrix.walking.trace import Recorder

SEED = 0  # of the perceptron's order, which is cyclic
COLUMNS = ("iteration", "errors", "accuracy", "loss", "grad_norm", "theta_norm", "min_margin", "seconds")
Tell = Callable[[int], Any]  # told how many iterations are done


@dataclass(frozen=True)
class Work:
    """What the jobs of one name compute, and how dear that is.

    name : the `kind` of these jobs
    perform : (job, its rows, the problem they make, the checkpoint to continue from, whom to tell) → result
    share : how dear it is, in iterations of a run
    resumes : whether it keeps a checkpoint
    """

    name: str
    perform: Callable[[Job, Sample, HeldRows, Checkpoint | None, Tell], Result]
    share: float
    resumes: bool = False


def about(rows: HeldRows) -> dict[str, Any]:
    """n (repeated rows counted), d, R, and a digest of the rows."""
    return {"n": round(rows.size), "d": rows.d, "R": rows.R, "rows": rows.fingerprint()}


def on_columns(rows: HeldRows, method: Plan, columns_from: float = inf) -> bool:
    """Whether a run takes all columns of G beforehand, shared by all runs on these rows.

    At a finite step size the last bits of a product depend on which columns are there, and large steps make more of
    them: with all of them there, a run does not depend on the runs before it. At γ = ∞ wrong sets are exact either way.
    """
    return isfinite(method.gamma) and (method.gamma >= columns_from or choose("auto", rows, method) == "gram")


def walk(job: Job, rows: HeldRows, checkpoint: Checkpoint | None, tell: Tell) -> Result:
    """One run with its trace; it continues from the checkpoint of an interrupted one."""
    method = parse_method(job.method, job.step_size, power=job.power)
    columns = on_columns(rows, method, job.data.columns_from)
    if columns:
        fill_columns(rows)
    run = Walk(
        rows,
        method,
        engine="gram" if columns else "auto",
        max_iter=job.limit,
        recorder=Recorder("log", False),
        callback=lambda iterate: bool(tell(iterate.t)),
        checkpoint=checkpoint,
        seed=SEED,
    )
    done = run.finish()
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
    return Result(about(rows) | facts, {name: done.trace[name] for name in COLUMNS})


def walk_rows(job: Job, sample: Sample, rows: HeldRows, checkpoint: Checkpoint | None, tell: Tell) -> Result:
    """One run on these rows; the perceptron takes no weights, and visits rows as often instead."""
    return walk(job, with_repeats(sample, rows) if TABLE[job.method][2] else rows, checkpoint, tell)


def with_repeats(sample: Sample, rows: HeldRows) -> HeldRows:
    """The same rows, those of whole weights that often: for the perceptron, which takes no weights."""
    if sample.weight is None:
        return rows
    often = sample.weight.astype(int)
    return hold(np.repeat(sample.X, often, axis=0), np.repeat(sample.y, often))


WALK = Work("walk", walk_rows, 1.0, resumes=True)
