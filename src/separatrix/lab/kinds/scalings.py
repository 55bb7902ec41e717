"""Scalings: the paper's counts among ours under several scalings of the pixels, which the paper does not name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from separatrix.lab.figures import legend_below, new_figure
from separatrix.lab.kinds.shared import (
    SCALINGS,
    Data,
    Kind,
    distinct,
    entries_of,
    listing,
    rows_caption,
    seeds_of,
    walk_job,
)
from separatrix.lab.results import Results, Shown
from separatrix.lab.spec import DataEntry, Experiment
from separatrix.lab.store import Job
from separatrix.plot import NAMES, PALETTE, finish, name_of, words
from separatrix.reporting.statistics import Counts, in_percent, joint_p, median_ratio, quantile, rank_of, ratio_ends
from separatrix.reporting.table import Row, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVEL = 0.05  # a rank with a smaller p is unusual


def jobs(experiment: Experiment, data: Data) -> Iterator[Job]:
    """A run per row of the table, on every subsample, under every scaling."""
    for entry in entries_of(experiment, data):
        for seed in seeds_of(experiment):
            yield from (walk_job(entry, seed, c.method, c.step_size) for c in experiment.counts)


def show(experiment: Experiment, data: Data, results: Results) -> Shown:
    """Where the paper's counts and ratios fall under each scaling, and what that can tell."""
    entries = distinct(experiment, data)
    comparable = all(entry.as_printed for entry in entries)
    found = {entry.slug: counts_of(experiment, entry, results) for entry in entries}
    rows: list[Row] = []
    for c in experiment.counts:
        for entry in entries:
            counts = found[entry.slug][c.label]
            low, middle, high = (quantile(counts, q) for q in (0.25, 0.5, 0.75))
            beside: Row = ()
            if comparable:
                share, p = rank_of(c.printed, counts) if c.printed is not None else (None, None)
                beside = (c.printed, None if share is None else in_percent(share), p)
            rows.append((NAMES[c.method], c.step_size, SCALINGS[entry.scaling], middle, (low, high), *beside))
    names = ("paper", "subsamples below it", "p") if comparable else ()
    table = Table(
        experiment.title,
        ("method", "step size", "scaling", "median", "quartiles", *names),
        rows,
        note=f"{experiment.seeds} random subsamples, the same rows under each scaling; p: two-sided, of so extreme a "
        "rank if the paper's subsample were one more",
    )
    tables = {"": table, "seeds": listing(experiment.title, jobs(experiment, data), results)}
    if experiment.ratios:
        tables["ratios"] = ratio_table(experiment, entries, found, comparable)
    sentences = [what_ranks_tell(experiment, entries, found)] if comparable else []
    return {"": draw(experiment, entries, found, comparable)}, tables, sentences


def counts_of(experiment: Experiment, entry: DataEntry, results: Results) -> dict[str, Counts]:
    """Counts over the seeds by the name of the run."""
    seeds = seeds_of(experiment)
    return {
        c.label: np.array([results.count(walk_job(entry, seed, c.method, c.step_size)) for seed in seeds])
        for c in experiment.counts
    }


def ratio_table(
    experiment: Experiment, entries: Sequence[DataEntry], found: dict[str, dict[str, Counts]], comparable: bool
) -> Table:
    """The caption's ratios under each scaling."""
    rows: list[Row] = []
    for r in experiment.ratios:
        for entry in entries:
            counts = found[entry.slug]
            middle, low, high = median_ratio(counts[r.slower], counts[r.faster])
            share, p = rank_of(r.claimed, ratio_ends(counts[r.slower], counts[r.faster])[0])
            beside = (r.claimed, in_percent(share), p) if comparable else ()
            rows.append((f"{r.slower} / {r.faster}", SCALINGS[entry.scaling], middle, (low, high), *beside))
    return Table(
        f"{experiment.title}: ratios within each subsample",
        (
            "iterations",
            "scaling",
            "median",
            "95 % interval",
            *(("paper", "subsamples below it", "p") if comparable else ()),
        ),
        rows,
        note="interval: of the median, bootstrap over subsamples, both methods of a subsample drawn together",
    )


def what_ranks_tell(experiment: Experiment, entries: Sequence[DataEntry], found: dict[str, dict[str, Counts]]) -> str:
    """How extreme the paper's counts and ratios are together under each scaling, and what that speaks against."""
    printed = [c for c in experiment.counts if c.printed is not None]
    names = [c.label for c in printed] + [f"{r.slower} / {r.faster}" for r in experiment.ratios]
    theirs = np.array([float(c.printed or 0) for c in printed] + [r.claimed for r in experiment.ratios])
    told, against = [], []
    for entry in entries:
        counts = found[entry.slug]
        columns = [counts[c.label] for c in printed]
        columns += [ratio_ends(counts[r.slower], counts[r.faster])[0] for r in experiment.ratios]
        alone = [rank_of(value, column)[1] for value, column in zip(theirs, columns, strict=True)]
        p = joint_p(theirs, np.array(columns).T)
        told.append(f"{SCALINGS[entry.scaling]}: {p:.2g} (alone {min(alone):.2g}, {names[int(np.argmin(alone))]})")
        if p <= LEVEL:
            against.append(SCALINGS[entry.scaling])
    kept = len(entries) - len(against)
    verdict = (
        f"The ranks speak against {' and '.join(against)}"
        if against
        else "The ranks rule out none of these scalings, so they cannot tell which one the paper used"
    )
    rest = f", and do not tell the other {kept} apart" if against and kept > 1 else ""
    return (
        f"{verdict}{rest}. p of the paper's {len(names)} values together, and of the most extreme of them alone: "
        f"{'; '.join(told)}."
    )


def draw(
    experiment: Experiment, entries: Sequence[DataEntry], found: dict[str, dict[str, Counts]], comparable: bool
) -> Figure:
    """Median, quartiles and range of each count under each scaling; the paper's value as a line across them."""
    figure, (ax,) = new_figure(1, width=7.0, height=3.8)
    wide = 0.8 / len(entries)
    for k, entry in enumerate(entries):
        for j, c in enumerate(experiment.counts):
            counts = found[entry.slug][c.label]
            x = j + wide * (k - (len(entries) - 1) / 2)
            ends = [quantile(counts, q) for q in (0.025, 0.25, 0.5, 0.75, 0.975)]
            colour, name = PALETTE[k % len(PALETTE)], SCALINGS[entry.scaling] if j == 0 else "_"
            ax.plot([x, x], [ends[0], ends[4]], color=colour, lw=1)
            ax.plot([x, x], [ends[1], ends[3]], color=colour, lw=5, solid_capstyle="butt", alpha=0.6)
            ax.plot([x], [ends[2]], "o", color=colour, ms=5, label=name)
    for j, c in enumerate(experiment.counts if comparable else ()):
        if c.printed is not None:
            ax.plot([j - 0.42, j + 0.42], [c.printed] * 2, color="black", lw=1.2, label="the paper" if j == 0 else "_")
    names = [words(name_of(c.method, c.step_size)).replace(", ", "\n") for c in experiment.counts]
    ax.set_xticks(range(len(names)), names)
    ax.set_ylim(bottom=0)
    finish(ax, "", "iterations to separation")
    legend_below(figure, [ax], columns=2)
    return figure


def caption(experiment: Experiment, data: Data) -> str:
    """Which rows, and what dots and bars are."""
    return (
        f"{rows_caption(entries_of(experiment, data), experiment.seeds)} Dots: medians; thick bars: quartiles; thin "
        "ones: the middle 95 % of the subsamples; black: the paper's count."
    )


KIND = Kind("scalings", ("data", "counts", "seeds"), jobs, show, caption=caption)
