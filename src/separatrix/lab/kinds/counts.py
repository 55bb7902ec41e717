"""Counts: iterations to separation over random subsamples, the paper's beside them, and what its claims come to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isinf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from separatrix.lab.figures import new_figure
from separatrix.lab.kinds.shared import Data, Kind, entries_of, listing, rows_caption, seeds_of, walk_job
from separatrix.lab.results import Results, Shown
from separatrix.lab.spec import Count, Experiment
from separatrix.lab.store import Job
from separatrix.plot import NAMES, finish, name_of, words
from separatrix.reporting.statistics import Counts, in_percent, median_ratio, quantile, rank_of, ratio_ends
from separatrix.reporting.table import Row, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def jobs(experiment: Experiment, data: Data) -> Iterator[Job]:
    """A run per row of the table, on every subsample."""
    for entry in entries_of(experiment, data):
        for seed in seeds_of(experiment):
            yield from (walk_job(entry, seed, c.method, c.step_size) for c in experiment.counts)


def show(experiment: Experiment, data: Data, results: Results) -> Shown:
    """Counts over seeds beside the paper's, and the claimed ratios."""
    entry = data[experiment.names()[0]]
    seeds = seeds_of(experiment)
    counts = {
        c.label: np.array([results.count(walk_job(entry, seed, c.method, c.step_size)) for seed in seeds])
        for c in experiment.counts
    }
    comparable = entry.as_printed
    one = len(seeds) == 1
    table = exact_table(experiment, counts, comparable) if one else seeds_table(experiment, counts, comparable)
    claims, sentences = ratio_table(experiment, counts, comparable)
    tables = {"": table} | ({"ratios": claims} if experiment.ratios else {})
    if one:
        return {}, tables, sentences
    tables["seeds"] = listing(experiment.title, jobs(experiment, data), results)
    panels = [
        (name_of(c.method, c.step_size), counts[c.label], c.printed if comparable else None) for c in experiment.counts
    ]
    if comparable:
        sentences += [where_the_paper_falls(experiment, counts)]
    return {"": draw(panels)}, tables, sentences


def exact_table(experiment: Experiment, counts: Mapping[str, Counts], comparable: bool) -> Table:
    """Counts on one choice of rows beside the printed ones, which must come out where the entry says so."""
    rows: list[Row] = []
    failures = []
    exact = 0
    for c in experiment.counts:
        ours = counts[c.label][0]
        number = None if isinf(ours) else int(ours)
        printed = c.printed if comparable else None
        rows.append((NAMES[c.method], c.step_size, printed, number))
        exact += experiment.exact and printed is not None
        if experiment.exact and printed is not None and number != printed:
            what = f"{c.method}, step size {c.step_size:g}, {experiment.id}"
            failures.append(f"{what}: {printed:,} iterations expected, ours {number}.")
    columns = ("method", "step size", "expected", "ours")
    return Table(experiment.title, columns, rows, failures=tuple(failures), exact=exact)


def seeds_table(experiment: Experiment, counts: Mapping[str, Counts], comparable: bool) -> Table:
    """Median, quartiles and range over the seeds, and where the paper's value falls."""
    rows: list[Row] = []
    for c in experiment.counts:
        found = counts[c.label]
        low, middle, high = (quantile(found, q) for q in (0.25, 0.5, 0.75))
        printed = c.printed if comparable else None
        share, p = rank_of(printed, found) if printed is not None else (None, None)
        ends = (float(found.min()), float(found.max()))
        beside = (printed, None if share is None else in_percent(share), p) if comparable else ()
        censored = int(np.isinf(found).sum())
        rows.append((NAMES[c.method], c.step_size, middle, (low, high), ends, *beside, censored))
    names = ("paper", "subsamples below it", "p") if comparable else ()
    return Table(
        experiment.title,
        ("method", "step size", "median", "quartiles", "range", *names, "censored"),
        rows,
        note=f"{experiment.seeds} random subsamples; p: two-sided, of so extreme a rank if the paper's subsample were "
        "one more; censored: runs that spent their budget, counted as larger than all others",
    )


def ratio_table(experiment: Experiment, counts: Mapping[str, Counts], comparable: bool) -> tuple[Table, list[str]]:
    """The caption's claims, ours with an interval."""
    rows: list[Row] = []
    sentences = []
    for r in experiment.ratios:
        middle, low, high = median_ratio(counts[r.slower], counts[r.faster])
        alone = len(counts[r.slower]) == 1
        share, p = rank_of(r.claimed, ratio_ends(counts[r.slower], counts[r.faster])[0])
        rank = (in_percent(share), p) if comparable and not alone else (None, None)
        rows.append((f"{r.slower} / {r.faster}", middle, (low, high), r.claimed if comparable else None, *rank))
        if comparable and alone:
            exact = f"ours is {middle:.4g} times ({r.slower} / {r.faster}), and there is no chance in it"
            sentences.append(f"The paper says {r.text}; {exact}.")
        elif comparable:
            inside = "agrees" if low <= r.claimed <= high else "is more" if low > r.claimed else "is less"
            sentences.append(
                f"The paper says {r.text}; our median of {r.slower} / {r.faster} is {middle:.3g}, 95 % interval "
                f"{low:.3g} to {high:.3g}, which {inside}; {in_percent(share)} of our subsamples are below the "
                f"paper's, p = {p:.2g}."
            )
    return Table(
        f"{experiment.title}: ratios within each subsample",
        ("iterations", "median", "95 % interval", "paper", "subsamples below it", "p"),
        rows,
        note="interval: of the median, bootstrap over subsamples, both methods of a subsample drawn together",
    ), sentences


def where_the_paper_falls(experiment: Experiment, counts: Mapping[str, Counts]) -> str:
    """Which of the paper's values are usual among our subsamples, and which are not."""
    usual: list[str] = []
    odd: list[str] = []
    for c in experiment.counts:
        if c.printed is not None:
            share, p = rank_of(c.printed, counts[c.label])
            (usual if p > 0.05 else odd).append(f"{said(c)} ({in_percent(share)} of subsamples below, p = {p:.2g})")
    words = []
    if usual:
        words.append(f"among our subsamples these values of the paper are usual: {'; '.join(usual)}")
    if odd:
        words.append(f"these are not (p ≤ 0.05): {'; '.join(odd)}")
    found = "; ".join(words) + "."
    return found[0].upper() + found[1:]


def said(c: Count) -> str:
    """The paper's value with its row."""
    return f"{c.printed:,} for {c.label}"


def draw(panels: Sequence[tuple[str, NDArray[Any], int | None]]) -> Figure:
    """Counts over seeds, one panel per row of a table; a line at the paper's value."""
    across = 4
    figure, axes = new_figure(len(panels), across, 2.5, 2.2)
    known = [counts[np.isfinite(counts)] for _, counts, _ in panels]
    every = np.concatenate(known)
    bins = np.linspace(every.min(), every.max() + 1, 36).tolist() if len(every) else 35
    for ax, counts, (title, _, printed) in zip(axes, known, panels, strict=True):
        if ax is not axes[0]:
            ax.sharex(axes[0])
            ax.sharey(axes[0])
        ax.hist(counts, bins=bins, color="#56B4E9")
        if printed is not None:
            ax.axvline(printed, color="#D55E00", lw=1.5, label=f"paper: {printed:,}")
            ax.legend(fontsize=7, frameon=False)
        ax.set_title(words(title), fontsize=9)
        finish(ax, "iterations", "subsamples" if ax in axes[::across] else "")
    return figure


def caption(experiment: Experiment, data: Data) -> str:
    """Which rows."""
    return f"{rows_caption(entries_of(experiment, data), experiment.seeds)} All panels have the same axes and bins."


KIND = Kind("counts", ("data", "counts"), jobs, show, one_data=True, caption=caption)
