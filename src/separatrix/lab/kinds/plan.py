"""Which jobs an experiment needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import inf

from separatrix.lab.spec import DataEntry, Experiment
from separatrix.lab.store import Job
from separatrix.walking.methods import TABLE

ROWWISE = 50  # times the budget, for the row-at-a-time perceptron
ALWAYS = 1 << 40  # worst-case runs end by their closed form


def walk_job(entry: DataEntry, seed: int | None, method: str, gamma: float) -> Job:
    """The run of a method on these rows, within the entry's budget; updates that read one row each are far cheaper."""
    times = ROWWISE if TABLE[method][2] else 1
    return Job("walk", entry, seed, method, gamma, times * entry.limit(gamma))


def steps_of(experiment: Experiment) -> Iterator[tuple[str, float]]:
    """(method, step size) of an experiment that lists methods and step sizes apart."""
    for method in experiment.methods:
        yield from ((method, gamma) for gamma in (experiment.step_sizes if TABLE[method][0] else (inf,)))


def worst_case_job(n: int, method: str, gamma: float) -> Job:
    """The run of a method on the worst-case data; its n - 1 equal rows are one with a weight, where weights are taken.

    How long each method takes there is known, so nothing limits it.
    """
    source = "worst-case" if TABLE[method][2] else "worst-case-weighted"
    return Job("walk", DataEntry("worst-case", source, "the worst-case data", rows=n), None, method, gamma, ALWAYS)


def seeds_of(experiment: Experiment) -> list[int | None]:
    """The seeds of its subsamples, or the one choice of the first rows."""
    return list(range(experiment.seeds)) if experiment.seeds else [None]


def jobs_of(experiment: Experiment, data: Mapping[str, DataEntry]) -> list[Job]:
    """All work behind one figure, table or finding."""
    return list(_jobs(experiment, data))


def _jobs(experiment: Experiment, data: Mapping[str, DataEntry]) -> Iterable[Job]:
    kind, entries = experiment.kind, [data[name] for name in experiment.names()]
    if kind == "curves":
        for panel in experiment.panels:
            yield from (walk_job(data[panel.data], None, method, gamma) for method, gamma in panel.runs())
    elif kind == "growth":
        for n in experiment.sizes:
            yield from (worst_case_job(n, method, gamma) for method, gamma in steps_of(experiment))
    for entry in entries:
        if kind == "counts":
            for seed in seeds_of(experiment):
                yield from (walk_job(entry, seed, c.method, c.step_size) for c in experiment.counts)
        elif kind == "alignment":
            for gamma in experiment.step_sizes:
                yield Job("align", entry, None, "lr-gd", gamma, experiment.iterations)
        elif kind == "ranks":
            for seed in seeds_of(experiment):
                yield from (walk_job(entry, seed, "lr-gd", gamma) for gamma in experiment.step_sizes)
        elif kind == "theory":
            yield Job("margin", entry)
            yield from (walk_job(entry, None, method, gamma) for method, gamma in steps_of(experiment))
        elif kind == "verdict":
            yield Job("verdict", entry)
