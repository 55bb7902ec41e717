"""From results to pictures, tables and sentences: one function per kind of experiment.

Nothing here runs a method. Every sentence is put together from the numbers of this very run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isinf
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.lab import figures
from separatrix.lab.kinds.counts import of_counts
from separatrix.lab.kinds.plan import jobs_of, seeds_of, steps_of, walk_job, worst_case_job
from separatrix.lab.results import Results, Shown
from separatrix.lab.spec import DataEntry, Experiment, label
from separatrix.lab.store import Job, Result
from separatrix.plot import NAMES
from separatrix.reporting.statistics import in_percent, rank_correlation, slope, spread
from separatrix.reporting.table import Row, Table
from separatrix.theory import bounds

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Piece:
    """What one experiment shows: its data, pictures by name, tables by name, and sentences that follow from them."""

    experiment: Experiment
    data: tuple[DataEntry, ...]
    pictures: Mapping[str, Figure]
    tables: Mapping[str, Table]
    sentences: tuple[str, ...] = ()
    jobs: tuple[Job, ...] = ()

    @property
    def signature(self) -> tuple[Any, ...]:
        """Pieces with the same signature show the same runs in the same arrangement."""
        e = self.experiment
        if e.kind != "curves":
            return (e.id,)
        return (tuple(job.place for job in self.jobs), tuple((panel.metric, panel.methods) for panel in e.panels))


def piece_of(experiment: Experiment, data: Mapping[str, DataEntry], results: Results) -> Piece:
    """The experiment's pictures, tables and sentences."""
    pictures, tables, sentences = KINDS[experiment.kind](experiment, data, results)
    used = tuple(data[name] for name in experiment.names())
    return Piece(experiment, used, pictures, tables, tuple(sentences), tuple(jobs_of(experiment, data)))


def notes_on(pieces: Sequence[Piece]) -> list[str]:
    """What stands in for what, and what the quick profile made smaller; one sentence per kind."""
    used = [entry for piece in pieces for entry in piece.data]
    absent = dict.fromkeys(entry.instead_of for entry in used if entry.instead_of)
    fewer = dict.fromkeys(f"{m.title} ({m.rows:,})" for m in used if m.capped and not m.instead_of)
    found = []
    if absent:
        names = "; ".join(absent)
        found.append(
            f"scikit-learn's digits 7/8 stand in for data whose files are not at hand: {names}. "
            "To have them: separatrix datasets fetch."
        )
    if fewer:
        found.append(f"the quick profile takes fewer rows than the paper: {'; '.join(fewer)}.")
    return found


def distinct(experiment: Experiment, data: Mapping[str, DataEntry]) -> list[DataEntry]:
    """Its data, each once: one set may stand in for several."""
    return list({data[name].slug: data[name] for name in experiment.names()}.values())


def describe(entry: DataEntry, result: Result) -> str:
    """The data set with its number of rows."""
    return f"{entry.title or entry.name}, n = {result.facts['n']:,}"


def of_curves(experiment: Experiment, data: Mapping[str, DataEntry], results: Results) -> Shown:
    """Panels of a metric, and a table of when each run separated."""
    charts, rows = [], {}
    for panel in experiment.panels:
        lines, title = [], ""
        for method, gamma in panel.runs():
            job = walk_job(data[panel.data], None, method, gamma)
            found = results[job]
            title = describe(job.data, found)
            x, y = found.columns["iteration"], found.columns[panel.metric]
            lines.append(figures.Line(method, gamma, x, y, bool(found.facts["separated"])))
            rows[job.place] = run_row(job, found)
        charts.append(figures.Chart(title, panel.metric, lines))
    table = Table(
        experiment.title,
        ("data", "method", "step size", "separated after", "iterations made", "last accuracy", "engine", "seconds"),
        list(rows.values()),
        note="separated after: empty where the budget of iterations was spent first",
    )
    return {"": figures.curves(charts)}, {"": table}, []


def run_row(job: Job, found: Result) -> Row:
    """One run in a table."""
    facts, accuracy = found.facts, float(found.columns["accuracy"][-1])
    count = facts["n_iter"] if facts["separated"] else None
    names = (describe(job.data, found), NAMES[job.method], job.step_size)
    return (*names, count, facts["n_iter"], round(accuracy, 4), facts["engine"], facts["seconds"])


def of_alignment(experiment: Experiment, data: Mapping[str, DataEntry], results: Results) -> Shown:
    """How far LR+GD is from the batch perceptron, by step size."""
    panels, rows, worst = [], [], []
    for entry in distinct(experiment, data):
        lines, title = [], ""
        for gamma in experiment.step_sizes:
            found = results[Job("align", entry, None, "lr-gd", gamma, experiment.iterations)]
            title = describe(entry, found)
            t, apart, parted = found.columns["iteration"], found.columns["apart"], found.facts["parted"]
            lines.append((gamma, t, apart, parted))
            picked = [float(apart[k]) for k in (1, 10, 100) if k < len(apart)]
            rows.append((title, gamma, *picked, float(apart[-1]), float(apart.max()), parted))
        panels.append((title, lines))
        gamma, _, apart, parted = lines[-1]
        worst.append(f"{title}: {apart.max():.2g}" + ("" if parted is None else f", wrong sets part at {parted}"))
    table = Table(
        experiment.title,
        ("data", "step size", "t = 1", "t = 10", "t = 100", f"t = {experiment.iterations}", "largest", "sets part at"),
        rows,
        note="‖θ_t/γ - θ̂_t‖/‖θ̂_t‖; sets part at: the first t at which other rows are on the wrong side, empty if never",
    )
    largest = [float(lines[-1][2].max()) for _, lines in panels]
    shrinks = all(lines[-1][2].max() < lines[0][2].max() for _, lines in panels)
    sentence = (
        f"{verdict(shrinks and max(largest) < 0.01)}: at step size {experiment.step_sizes[-1]:g} the largest relative "
        f"difference in {experiment.iterations} iterations is, on {'; '.join(worst)}."
    )
    return {"": figures.alignment(panels)}, {"": table}, [sentence]


def verdict(holds: bool) -> str:
    """The first words of a sentence of evidence."""
    return "For the claim" if holds else "Against the claim"


def of_ranks(experiment: Experiment, data: Mapping[str, DataEntry], results: Results) -> Shown:
    """Whether, at each recorded iteration, step sizes with the higher loss need fewer iterations more.

    Spearman's correlation across the step sizes that have not separated yet, three at least; one curve per seed.
    """
    entry = data[experiment.names()[0]]
    by_seed: list[dict[int, float]] = []
    title = ""
    for seed in seeds_of(experiment):
        losses, ends = [], []
        for gamma in experiment.step_sizes:
            job = walk_job(entry, seed, "lr-gd", gamma)
            found = results[job]
            title = describe(entry, found)
            t = found.columns["iteration"].tolist()
            losses.append(dict(zip(t, found.columns["loss"].tolist(), strict=True)))
            ends.append(results.count(job))
        by_seed.append(correlations(losses, ends))
    times = sorted(set().union(*by_seed))
    values = np.array([[one.get(t, np.nan) for one in by_seed] for t in times])
    quartiles = np.array([spread(v) for v in values]).T
    rows: list[Row] = []
    for k in sorted({int(np.searchsorted(times, t)) for t in (1, 10, 30, 100, 300, 1000, 3000)} - {len(times)}):
        low, middle, high = quartiles[:, k]
        rows.append((times[k], float(middle), (float(low), float(high)), int((~np.isnan(values[k])).sum())))
    table = Table(
        f"{experiment.title}: {title}",
        ("iteration", "median correlation", "quartiles", "seeds"),
        rows,
        note=f"Spearman's, across step sizes {', '.join(f'{g:g}' for g in experiment.step_sizes)} that have not "
        "separated yet (three at least); runs that spent their budget need most, and share that rank",
    )
    known = values[~np.isnan(values)]
    sentence = (
        f"{verdict(bool(np.median(known) < 0))}: over all recorded iterations and seeds the median correlation is "
        f"{np.median(known):.2f}; it is negative, the loss pointing the wrong way, in "
        f"{in_percent(float((known < 0).mean()))} of them."
    )
    return {"": figures.ranks(title, np.array(times), quartiles)}, {"": table}, [sentence]


def correlations(losses: Sequence[Mapping[int, float]], ends: Sequence[float]) -> dict[int, float]:
    """Iteration → rank correlation of loss and iterations still needed, over the runs that are still going there."""
    found = {}
    for t in sorted(set().union(*losses)):
        going = [k for k, end in enumerate(ends) if end > t and t in losses[k] and t > 0]
        if len(going) >= 3:
            loss = np.array([losses[k][t] for k in going])
            found[t] = rank_correlation(loss, np.array([ends[k] - t for k in going]))
    return found


def of_growth(experiment: Experiment, data: Mapping[str, DataEntry], results: Results) -> Shown:
    """Counts against n on the worst-case data, with the fitted exponent."""
    sizes, lines, rows, slopes = np.array(experiment.sizes, dtype=float), [], [], []
    for method, gamma in steps_of(experiment):
        counts = np.array([results.count(worst_case_job(n, method, gamma)) for n in experiment.sizes])
        b, error = slope(sizes, counts)
        lines.append((method, gamma, sizes, counts))
        rows.append((NAMES[method], gamma, *(int(c) for c in counts), b, error))
        slopes.append((method, f"{label(method, gamma)} {b:.3f}", b))
    table = Table(
        experiment.title,
        ("method", "step size", *(f"n = {n:,}" for n in experiment.sizes), "slope", "± s.e."),
        rows,
        note="slope: exponent b of counts ≈ a·n^b, least squares on logarithms",
    )
    grows = ("batch-perceptron", "lr-gd")
    holds = all(abs(b - 1) < 0.1 if method in grows else b < 0.1 for method, _, b in slopes)
    told = f"{verdict(holds)}: fitted exponents of n are {', '.join(words for _, words, _ in slopes)}."
    return {"": figures.growth(lines)}, {"": table}, [told]


def of_theory(experiment: Experiment, data: Mapping[str, DataEntry], results: Results) -> Shown:
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
        note="bounds with the lower end of the bracket; the one for lr-gd at a finite step size is ours "
        "(docs/theory.md); a count is empty where the budget was spent first",
        failures=tuple(failures),
    )
    most = f"; the largest ratio of count to bound is {max(ratios):.2g}" if ratios else ""
    told = f"No count exceeds its bound{most}." if not failures else f"{len(failures)} counts exceed their bounds."
    return {}, {"": table}, [told]


def of_verdict(experiment: Experiment, data: Mapping[str, DataEntry], results: Results) -> Shown:
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


KINDS: dict[str, Callable[[Experiment, Mapping[str, DataEntry], Results], Shown]] = {
    "curves": of_curves,
    "counts": of_counts,
    "alignment": of_alignment,
    "ranks": of_ranks,
    "growth": of_growth,
    "theory": of_theory,
    "verdict": of_verdict,
}
