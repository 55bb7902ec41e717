"""Scoreboard: iterations and seconds of every method, of the table and of the zoo, to a separator and to a wide one.

Wide is a margin of 0.9 μ, by the lower end of the bracket on μ. Step sizes are in units of 1/R²: the logistic methods
of the table and the risk-adaptive one take those of the entry, the others of the zoo those that their bounds ask for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, isfinite, isinf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.data.memory import HeldRows
from separatrix.deciding.max_margin import max_margin
from separatrix.lab.jobs import SEED, Tell, Work, about, with_repeats
from separatrix.lab.kinds.shared import ROWWISE, Data, Kind, describe, distinct, for_or_against
from separatrix.lab.results import Results, Shown
from separatrix.lab.samples import Sample
from separatrix.lab.spec import DataEntry, Experiment
from separatrix.lab.store import Job, Result
from separatrix.plot import name_of
from separatrix.reporting.plain import counted
from separatrix.reporting.statistics import quantile
from separatrix.reporting.table import Row, Table
from separatrix.theory import bounds
from separatrix.walking import zoo
from separatrix.walking.checkpoint import Checkpoint
from separatrix.walking.loop import Walk
from separatrix.walking.methods import TABLE, Plan, parse_method, plan_of
from separatrix.walking.run import Run, Stop
from separatrix.walking.trace import Recorder

WIDE = 0.9  # of μ
ADAPTIVE = zoo.RiskAdaptiveGD.name  # at the step sizes of Normalized LR+GD, to compare them
ZOO = {
    "normalized-exp-gd": "Normalized exp. GD",
    "risk-adaptive-gd": "Risk-adaptive GD",
    "dual-momentum-gd": "Dual momentum",
    "smooth-perceptron": "Smooth perceptron",
    "sign-gd": "SignGD",
    "growing-steps-gd": "Growing steps",
}


def jobs(experiment: Experiment, data: Data) -> Iterator[Job]:
    """Every method at every step size that it takes, on the first rows of every data entry."""
    for entry in distinct(experiment, data):
        yield from (score_job(experiment, entry, *one) for one in entrants(experiment))


def entrants(experiment: Experiment) -> Iterator[tuple[str, float]]:
    """(method, γR²); ∞ where there is no step size to choose."""
    for name in experiment.methods:
        free = name == ADAPTIVE if name in ZOO else TABLE[name][0]
        yield from ((name, scaled) for scaled in (experiment.step_sizes if free else (inf,)))


def score_job(experiment: Experiment, entry: DataEntry, method: str, scaled: float) -> Job:
    """Both runs of one method; the perceptron may make more updates, which read one row each."""
    limit = experiment.iterations * (ROWWISE if rowwise(method) else 1)
    return Job("score", entry, None, method, scaled, limit, options=f"within-{limit}")


def rowwise(method: str) -> bool:
    """Whether an iteration is one row."""
    return method in TABLE and TABLE[method][2]


@dataclass(frozen=True)
class Known:
    """What step sizes and bounds need to know: the lower end of the bracket on μ, R, and both in the norm of SignGD."""

    n: float
    mu: float
    R: float
    mu_max: float
    R_sum: float


@lru_cache(maxsize=1)
def known(sample: Sample) -> Known:
    """Of these rows; all jobs on them ask."""
    found = max_margin(sample.X, sample.y, rtol=1e-6)
    if not found.lower > 0:
        raise ValueError(f"the scoreboard takes rows that can be separated; of these μ ≥ {found.lower:g} is proven.")
    rows = sample.problem
    right = np.where(np.asarray(sample.y) == rows.classes[1], 1, -1)
    widest = (right * (sample.X @ found.theta)).min() / abs(found.theta).max()  # of the widest in the usual norm
    return Known(rows.size, found.lower, rows.R, float(widest) * (1 - 1e-9), float(abs(sample.X).sum(axis=1).max()))


def plan_and_bound(job: Job, at: Known) -> tuple[Plan, float]:
    """What to run, and the most iterations to separation; growing steps are a schedule of LR+GD."""
    n = round(at.n)
    if job.method in TABLE:
        gamma = job.step_size / at.R**2
        return parse_method(job.method, gamma), bounds(n, at.R, at.mu, step_size=gamma)[job.method]
    own = of_the_zoo(job, n, at)
    R, mu = (at.R_sum, at.mu_max) if isinstance(own, zoo.SignGD) else (at.R, at.mu)
    plan = plan_of("lr-gd", own.step_size) if isinstance(own, zoo.GrowingStepsGD) else plan_of(own)
    return plan, own.bound(n, R, mu)


def of_the_zoo(job: Job, n: int, at: Known) -> zoo.Bounded:
    """The zoo's method of this name, with its own step size or the job's."""
    if isfinite(job.step_size):
        return zoo.RiskAdaptiveGD(job.step_size / at.R**2)
    return next(method for method in zoo.each(n, at.R, at.mu, R_sum=at.R_sum) if method.name == job.method)


def score(job: Job, sample: Sample, rows: HeldRows, checkpoint: Checkpoint | None, tell: Tell) -> Result:
    """One run to separation; where the iterates go on from there, another to a margin of 0.9 μ."""
    at = known(sample)
    plan, bound = plan_and_bound(job, at)
    rows = with_repeats(sample, rows) if rowwise(job.method) else rows

    def walk(stop: Stop) -> Run:
        return Walk(
            rows,
            plan,
            engine="lazy" if plan.own is None and isfinite(plan.gamma) else "auto",  # bits that no other run moves
            max_iter=job.limit,
            stop=stop,
            recorder=Recorder("log", False),
            callback=lambda iterate: bool(tell(iterate.t)),
            seed=SEED,
        ).finish()

    def share(run: Run) -> float:
        return float(run.trace["min_margin"][-1]) / at.mu

    first = walk("separated")
    facts = {
        "separated": first.separated,
        "n_iter": first.n_iter,
        "seconds": first.seconds,
        "limit": job.limit,
        "engine": first.engine,
        "bound": bound if isfinite(bound) else None,
        "share": share(first),
    }
    last = walk(lambda iterate: iterate.measure.min_margin >= WIDE * at.mu) if isfinite(plan.gamma) else first
    wide = share(last) >= WIDE
    facts |= {"wide": last.n_iter if wide else None, "wide seconds": last.seconds if wide else None}
    return Result(about(rows) | facts | {"last share": share(last)})


@dataclass(frozen=True)
class Score:
    """One method on one data set."""

    method: str
    scaled: float
    facts: dict[str, Any]

    @property
    def label(self) -> str:
        """The method with its step size in units of 1/R²."""
        name = ZOO.get(self.method, name_of(self.method, inf))
        return name if isinf(self.scaled) else f"{name}, γR² = {self.scaled:g}"

    @property
    def iterations(self) -> float:
        """To separation, ∞ where the budget was spent."""
        return float(self.facts["n_iter"]) if self.facts["separated"] else inf

    @property
    def wide(self) -> float:
        """To a margin of 0.9 μ."""
        return inf if self.facts["wide"] is None else float(self.facts["wide"])

    def row(self) -> Row:
        """As one data set's table has it."""
        facts = self.facts
        count = None if isinf(self.iterations) else int(self.iterations)
        ratio = None if count is None or facts["bound"] is None else count / facts["bound"]
        seconds = facts["seconds"] if facts["separated"] else None
        end = (facts["wide"], facts["wide seconds"], facts["last share"], facts["engine"])
        return (self.label, count, seconds, facts["bound"], ratio, *end)


def show(experiment: Experiment, data: Data, results: Results) -> Shown:
    """One table over all data, one per data set, and who was first."""
    boards: dict[str, list[Score]] = {}
    tables: dict[str, Table] = {}
    told = []
    for entry in distinct(experiment, data):
        found = {one: results[score_job(experiment, entry, *one)] for one in entrants(experiment)}
        board = [Score(*one, dict(result.facts)) for one, result in found.items()]
        title = describe(entry, next(iter(found.values())))
        tables[entry.name] = one_board(title, board)
        told += first_of(title, board)
        boards[title] = board
    kept = [f for table in tables.values() for f in table.failures]
    ratios = [row[4] for table in tables.values() for row in table.rows if row[4] is not None]
    most = f"; the largest ratio of count to bound is {max(ratios):.2g}" if ratios else ""
    many = f"{counted(len(kept), 'count')} too large for the bound"
    within = many if kept else f"no count exceeds its bound{most}"
    told.append(f"{for_or_against(not kept)}: {within}.")
    return {}, {"": summary(experiment, list(boards.values())), **tables}, told


def one_board(title: str, board: Sequence[Score]) -> Table:
    """All methods on one data set."""
    late = [s for s in board if s.facts["bound"] is not None and not isinf(s.iterations)]
    return Table(
        title,
        ("method", "iterations", "seconds", "bound", "count/bound",
         "to 0.9 μ", "seconds to it", "last margin/μ", "engine"),
        [score.row() for score in board],
        note="empty: the budget was spent first; the perceptron's iterations are updates by one row; last margin: at "
        "the end of the longer run; the numpy engine is the definition, not the compiled core",
        failures=tuple(
            f"{s.label} on {title} took {s.iterations:,.0f} iterations, its bound is {s.facts['bound']:,.0f}."
            for s in late
            if s.iterations > s.facts["bound"]
        ),
    )  # fmt: skip


def first_of(title: str, board: Sequence[Score]) -> list[str]:
    """Who needed fewest iterations, of the methods that use every row at once."""
    batch = [s for s in board if not rowwise(s.method)]
    goals = {"to separate": [s.iterations for s in batch], f"to a margin of {WIDE:g} μ": [s.wide for s in batch]}
    told = []
    for words, counts in goals.items():
        if isfinite(best := min(counts)):
            equal = " and ".join(s.label for s, count in zip(batch, counts, strict=True) if count == best)
            told.append(f"{equal} with {best:,.0f}, {words}")
    return [f"{title}: fewest iterations had {'; '.join(told)}."] if told else [f"{title}: no method separated."]


def behind(counts: NDArray[np.float64]) -> list[float | None]:
    """Iterations over the fewest of any method, the median over the data that any came through; rows are data."""
    counts = counts[np.isfinite(counts.min(axis=1))]
    if not len(counts):
        return [None] * counts.shape[1]
    middle = [quantile(column, 0.5) for column in (counts / counts.min(axis=1)[:, None]).T]
    return [one if isfinite(one) else None for one in middle]


def summary(experiment: Experiment, boards: Sequence[Sequence[Score]]) -> Table:
    """How far behind the fewest iterations each method is, over all data."""
    batch = [[s for s in board if not rowwise(s.method)] for board in boards]
    counts = np.array([[s.iterations for s in board] for board in batch])
    wide = np.array([[s.wide for s in board] for board in batch])
    done = [np.isfinite(some).sum(axis=0).tolist() for some in (counts, wide)]
    lines = zip((s.label for s in batch[0]), done[0], behind(counts), done[1], behind(wide), strict=True)
    return Table(
        experiment.title,
        ("method", "separated", "times the fewest", "came to 0.9 μ", "times the fewest to it"),
        list(lines),
        note=f"on how many of {counted(len(boards), 'data set')} within {experiment.iterations:,} iterations; "
        "times: the median over the data of iterations over the fewest of any method, empty where half of the runs "
        "spent their budget",
    )


KIND = Kind("scoreboard", ("data", "methods"), jobs, show, work=(Work("score", score, 40.0),), others=tuple(ZOO))
