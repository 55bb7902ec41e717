"""What a kind of experiment is, and what several of them share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from math import inf

from separatrix.lab.jobs import Work
from separatrix.lab.results import Results, Shown
from separatrix.lab.spec import DataEntry, Experiment
from separatrix.lab.store import Job, Result
from separatrix.walking.methods import TABLE

ROWWISE = 50  # times the budget, for the row-at-a-time perceptron
Data = Mapping[str, DataEntry]


@dataclass(frozen=True)
class Kind:
    """One kind of experiment: what its entry needs, which jobs it runs, what their results show.

    name : the `kind` of its entries in a TOML file
    needs : fields of the entry that must not be empty
    jobs : the work behind one experiment
    show : its pictures, tables and sentences; runs nothing, and puts every sentence together from this run's numbers
    one_data : whether it takes one data entry alone
    work : what this kind's own jobs compute; a run of a method is known to all
    long_tables : whether its tables list runs: folded on the page, and not printed
    arrangement : how an experiment arranges its runs; those with the same runs in the same arrangement are shown as
        one. None: each is shown by itself
    """

    name: str
    needs: tuple[str, ...]
    jobs: Callable[[Experiment, Data], Iterator[Job]]
    show: Callable[[Experiment, Data, Results], Shown]
    one_data: bool = False
    work: tuple[Work, ...] = ()
    long_tables: bool = False
    arrangement: Callable[[Experiment], Hashable] | None = None


def entries_of(experiment: Experiment, data: Data) -> list[DataEntry]:
    """Its data entries, in order."""
    return [data[name] for name in experiment.names()]


def distinct(experiment: Experiment, data: Data) -> list[DataEntry]:
    """Its data, each once: one set may stand in for several."""
    return list({entry.slug: entry for entry in entries_of(experiment, data)}.values())


def seeds_of(experiment: Experiment) -> list[int | None]:
    """The seeds of its subsamples, or the one choice of the first rows."""
    return list(range(experiment.seeds)) if experiment.seeds else [None]


def steps_of(experiment: Experiment) -> Iterator[tuple[str, float]]:
    """(method, step size) of an experiment that lists methods and step sizes apart."""
    for method in experiment.methods:
        yield from ((method, gamma) for gamma in (experiment.step_sizes if TABLE[method][0] else (inf,)))


def walk_job(entry: DataEntry, seed: int | None, method: str, gamma: float) -> Job:
    """The run of a method on these rows, within the entry's budget; updates that read one row each are far cheaper."""
    times = ROWWISE if TABLE[method][2] else 1
    return Job("walk", entry, seed, method, gamma, times * entry.limit(gamma))


def describe(entry: DataEntry, result: Result) -> str:
    """The data set with its number of rows."""
    return f"{entry.title or entry.name}, n = {result.facts['n']:,}"


def for_or_against(holds: bool) -> str:
    """The first words of a sentence of evidence."""
    return "For the claim" if holds else "Against the claim"
