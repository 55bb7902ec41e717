"""Verdict: whether the rows can be separated at all, with the proof."""

from __future__ import annotations

from collections.abc import Iterator

from separatrix.data.memory import HeldRows
from separatrix.deciding.separate import Verdict, separate
from separatrix.lab.jobs import Tell, Work, about
from separatrix.lab.kinds.shared import Data, Kind, describe, distinct, entries_of
from separatrix.lab.results import Results, Shown
from separatrix.lab.samples import Sample
from separatrix.lab.spec import Experiment
from separatrix.lab.store import Job, Result
from separatrix.reporting.table import Row, Table
from separatrix.walking.checkpoint import Checkpoint


def jobs(experiment: Experiment, data: Data) -> Iterator[Job]:
    """One verdict per data entry."""
    yield from (Job("verdict", entry) for entry in entries_of(experiment, data))


def decide(job: Job, sample: Sample, rows: HeldRows, checkpoint: Checkpoint | None, tell: Tell) -> Result:
    """The verdict on these rows, its proof checked once more."""
    found = separate(sample.X, sample.y)
    facts = {
        "status": str(found.status),
        "argument": None if found.proof is None else str(found.proof),
        "verified": found.status is not Verdict.UNDECIDED and found.verify(sample.X, sample.y),
        "lower": found.margin.lower,
        "upper": found.margin.upper,
        "seconds": found.seconds,
    }
    return Result(about(rows) | facts)


def show(experiment: Experiment, data: Data, results: Results) -> Shown:
    """Whether the rows can be separated, and how that was proven."""
    rows: list[Row] = []
    sentences = []
    for entry in distinct(experiment, data):
        found = results[Job("verdict", entry)]
        facts = found.facts
        rows.append((describe(entry, found), facts["status"], facts["argument"], facts["verified"], facts["seconds"]))
        ends = {
            "separable": "accuracy 1.0 can be reached",
            "inseparable": "no θ reaches accuracy 1.0, however long one waits",
            "undecided": "it is not known whether accuracy 1.0 can be reached",
        }[facts["status"]]
        sentences.append(f"{describe(entry, found)}: {facts['status']}, so {ends}.")
    table = Table(experiment.title, ("data", "verdict", "proof", "re-checked", "seconds"), rows)
    return {}, {"": table}, sentences


KIND = Kind("verdict", ("data",), jobs, show, work=(Work("verdict", decide, 3.0),))
