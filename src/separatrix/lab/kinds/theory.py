"""Theory: n, d, R, the bracket on μ, the theorems' bounds, the measured counts."""

from __future__ import annotations

from collections.abc import Iterator
from math import isinf

from separatrix.data.memory import HeldRows
from separatrix.deciding.max_margin import max_margin
from separatrix.lab.jobs import Tell, Work, about
from separatrix.lab.kinds.shared import Data, Kind, describe, distinct, entries_of, steps_of, walk_job
from separatrix.lab.results import Results, Shown
from separatrix.lab.samples import Sample
from separatrix.lab.spec import Experiment, label
from separatrix.lab.store import Job, Result
from separatrix.reporting.plain import counted
from separatrix.reporting.table import Row, Table
from separatrix.theory import bounds
from separatrix.walking.checkpoint import Checkpoint


def jobs(experiment: Experiment, data: Data) -> Iterator[Job]:
    """The bracket on μ and a run of every method, per data entry."""
    for entry in entries_of(experiment, data):
        yield Job("margin", entry)
        yield from (walk_job(entry, None, method, gamma) for method, gamma in steps_of(experiment))


def margin(job: Job, sample: Sample, rows: HeldRows, checkpoint: Checkpoint | None, tell: Tell) -> Result:
    """The two ends of the bracket on μ."""
    found = max_margin(sample.X, sample.y, rtol=1e-6)
    facts = {"lower": found.lower, "upper": found.upper, "ended": str(found.status), "seconds": found.seconds}
    return Result(about(rows) | facts | {"support": len(found.support)})


def show(experiment: Experiment, data: Data, results: Results) -> Shown:
    """n, d, R, the bracket on μ, each bound, the measured count and their ratio."""
    rows: list[Row] = []
    failures = []
    for entry in distinct(experiment, data):
        margin = results[Job("margin", entry)]
        n, d, R, lower = (margin.facts[key] for key in ("n", "d", "R", "lower"))
        upper = margin.facts["upper"]
        known = (describe(entry, margin), d, R, f"[{lower:.7g}, {upper:.7g}]")
        for method, gamma in steps_of(experiment):
            count = results.count(walk_job(entry, None, method, gamma))
            limit = bounds(n, R, lower, step_size=gamma)[method] if lower > 0 else None
            ours = None if isinf(count) else int(count)
            ratio = None if ours is None or limit is None else ours / limit
            rows.append((*known, label(method, gamma), limit, ours, ratio))
            if ratio is not None and ratio > 1:
                failures.append(f"{method} on {known[0]} took {ours:,} iterations, its theorem allows {limit:.0f}.")
    ratios = [row[-1] for row in rows if row[-1] is not None]
    table = Table(
        experiment.title,
        ("data", "d", "R", "μ in", "method", "bound", "count", "count/bound"),
        rows,
        note="bounds are those of our theorem (docs/theory.md) with the lower end of the bracket; a count is empty "
        "where the budget was spent first",
        failures=tuple(failures),
    )
    most = f"; the largest ratio of count to bound is {max(ratios):.2g}" if ratios else ""
    many = f"{counted(len(failures), 'count')} too large for the bound."
    told = many if failures else f"No count exceeds its bound{most}."
    return {}, {"": table}, [told]


KIND = Kind("theory", ("data", "methods"), jobs, show, work=(Work("margin", margin, 3.0),))
