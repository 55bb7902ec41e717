"""What a kind of experiment is, and what several of them share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf, isinf

from separatrix.lab.jobs import Work
from separatrix.lab.results import Results, Shown
from separatrix.lab.spec import IMAGES, MADE, DataEntry, Experiment
from separatrix.lab.store import Job, Result
from separatrix.reporting.table import Row, Table
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
    caption : what stands below its pictures: which rows, which iterates, which marks
    others : names of methods that it takes beside those of the table
    """

    name: str
    needs: tuple[str, ...]
    jobs: Callable[[Experiment, Data], Iterator[Job]]
    show: Callable[[Experiment, Data, Results], Shown]
    one_data: bool = False
    work: tuple[Work, ...] = ()
    long_tables: bool = False
    arrangement: Callable[[Experiment], Hashable] | None = None
    caption: Callable[[Experiment, Data], str] | None = None
    others: tuple[str, ...] = ()


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


def by_share(share: float, enough: float = 1.0) -> str:
    """The same where a claim may hold in part: in all cases (or `enough` of them), in half or more, in fewer."""
    return for_or_against(share >= enough) if share >= enough or share < 0.5 else "Partly for the claim"


SCALINGS = {
    "signed": "pixels in [-1, 1]",
    "unit": "pixels in [0, 1]",
    "standard": "pixels by mean and deviation of all ten classes",
    "standard-pair": "pixels by mean and deviation of the two classes",
}


def rows_in_words(entry: DataEntry, seeds: int = 0) -> str:
    """Which rows were taken, and how they were scaled."""
    if entry.source in MADE and entry.made:
        return made_in_words(entry, seeds)
    scaled = f", {SCALINGS[entry.scaling]}" if entry.source in (*IMAGES, "digits") else ""
    drawn = f"drawn at random, seeds 0 to {seeds - 1}" if seeds else "drawn at random, seed 0"
    if entry.repeat > 1 or entry.fraction < 1:
        often = f", those of the {entry.repeated} class number {entry.repeat} times" if entry.repeat > 1 else ""
        return f"{100 * entry.fraction:g} % of all rows, {drawn}{often}{scaled}"
    if seeds:
        return f"{f'{entry.rows:,}' if entry.rows else 'half of all'} rows {drawn}{scaled}"
    first = f"the first {entry.rows:,} rows in file order" if entry.rows else "all rows in file order"
    first += ", all where there are fewer" if entry.rows and entry.source not in IMAGES else ""
    return first + (" (its classes alternate)" if entry.source == "eurosat" else "") + scaled


def made_in_words(entry: DataEntry, seeds: int) -> str:
    """How rows that were made were made."""
    if entry.source == "listed":
        often = [f"{count} times " if count > 1 else "" for count in entry.times or [1] * len(entry.z)]
        some = ", ".join(words + one_row(row) for words, row in zip(often[:8], entry.z, strict=False))
        return f"z = {some}{', …' if len(entry.z) > 8 else ''}"
    drawn = f"seeds 0 to {seeds - 1}" if seeds else "seed 0"
    turned = f", {100 * entry.flipped:g} % of the labels turned round" if entry.source == "overlap" else ""
    common = f", plus {entry.offset:g} times their length in a common direction" if entry.offset else ""
    if entry.source == "parity":
        signs = f"{entry.rows or 1000:,} rows of {entry.columns or 10} random signs"
        return f"{signs}, labelled by the product of the first two, {drawn}"
    if entry.source == "three-rows":
        return f"(1, …, 1) twice in one class, (1, …, 1, -1) in the other, d = {entry.columns or 10}"
    size = f"{entry.rows or 100} x {entry.columns or 10}"
    return f"{size}, planted with a margin of {entry.margin:g} R, R = 1{common}{turned}, {drawn}"


def one_row(row: tuple[float, ...]) -> str:
    """A row as one writes it."""
    numbers = ", ".join(f"{value:g}" for value in row)
    return numbers if len(row) == 1 else f"({numbers})"


def rows_caption(entries: Iterable[DataEntry], seeds: int = 0) -> str:
    """The same for several data entries, those with the same words together."""
    named: dict[str, list[str]] = {}
    for entry in entries:
        title = entry.title or entry.name
        named.setdefault(rows_in_words(entry, seeds), []).append(title)
    told = [f"{' and '.join(dict.fromkeys(titles))}: {words}" for words, titles in named.items()]
    return f"Rows: {'; '.join(told)}."


def listing(title: str, jobs: Iterable[Job], results: Results) -> Table:
    """One line per run, for a file."""
    rows: list[Row] = []
    for job in dict.fromkeys(jobs):
        count = results.count(job)
        which = (job.data.title or job.data.name, job.seed, job.data.shuffle, job.method, job.power, job.step_size)
        rows.append((*which, None if isinf(count) else int(count), job.limit))
    names = ("data", "seed", "order", "method", "power", "step size", "iterations", "budget")
    return Table(f"{title}: every run", names, rows, listing=True)
