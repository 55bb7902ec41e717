"""Wins: which of two methods needs fewer iterations, how often over random subsamples, and by how much."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from separatrix.lab.figures import few_ticks, new_figure
from separatrix.lab.kinds.shared import (
    Data,
    Kind,
    describe,
    distinct,
    entries_of,
    for_or_against,
    listing,
    rows_caption,
    seeds_of,
    steps_of,
    walk_job,
)
from separatrix.lab.results import Results, Shown
from separatrix.lab.spec import DataEntry, Experiment
from separatrix.lab.store import Job
from separatrix.plot import NAMES, PALETTE, finish, name_of, words
from separatrix.reporting.plain import counted
from separatrix.reporting.statistics import Counts, median_interval, median_ratio, quantile
from separatrix.reporting.table import Row, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def jobs(experiment: Experiment, data: Data) -> Iterator[Job]:
    """Every method on every subsample."""
    for entry in entries_of(experiment, data):
        for seed in seeds_of(experiment):
            yield from (walk_job(entry, seed, method, gamma) for method, gamma in steps_of(experiment))


def show(experiment: Experiment, data: Data, results: Results) -> Shown:
    """How often the method that the claim names is ahead of the other, per data entry."""
    runs = list(steps_of(experiment))
    ours = next((run for run in runs if run[0] == experiment.ahead), runs[0])
    other = next(run for run in runs if run != ours)
    rows: list[Row] = []
    lines, told, ahead = [], [], 0
    for entry in distinct(experiment, data):
        mine, theirs = (counts_of(experiment, entry, run, results) for run in (ours, other))
        found = results[walk_job(entry, seeds_of(experiment)[0], *ours)]
        title = (
            describe(entry, found) if entry.repeat == 1 else entry.title or entry.name
        )  # there n is another each time
        first, ties = int((mine < theirs).sum()), int((mine == theirs).sum())
        ratio, low, high = median_ratio(theirs, mine)
        rows.append(
            (
                title,
                first,
                len(mine) - first - ties,
                ties,
                *with_interval(mine),
                *with_interval(theirs),
                ratio,
                (low, high),
            )
        )
        lines.append((title, theirs / mine))
        told.append(f"{title}: {first} of {len(mine)}, {theirs_over(ratio, low, high)}")
        ahead += low > 1
    names = [name_of(*run) for run in (ours, other)]
    table = Table(
        experiment.title,
        (
            "data",
            f"{names[0]} first",
            f"{names[1]} first",
            "ties",
            f"median, {names[0]}",
            "95 % interval",
            f"median, {names[1]}",
            "95 % interval ",
            "ratio",
            "95 % interval  ",
        ),
        rows,
        note=f"{experiment.seeds} random subsamples; intervals of medians: order statistics; ratio: the median of "
        f"{names[1]} / {names[0]} within each subsample, with its bootstrap interval; a run that spent its budget is "
        "later than all others",
    )
    needed = min(experiment.ahead_on, len(rows))
    sentence = (
        f"{for_or_against(ahead >= needed)}: over {experiment.seeds} subsamples the {NAMES[ours[0]]} is ahead, the "
        f"whole interval of the ratio above 1, on {ahead} of {counted(len(rows), 'data set')}, and the claim says "
        f"{needed}; it is first on {'; '.join(told)}."
    )
    listed = listing(experiment.title, jobs(experiment, data), results)
    return {"": draw(lines, names)}, {"": table, "seeds": listed}, [sentence]


def counts_of(experiment: Experiment, entry: DataEntry, run: tuple[str, float], results: Results) -> Counts:
    """Iterations of a method on every subsample."""
    return np.array([results.count(walk_job(entry, seed, *run)) for seed in seeds_of(experiment)])


def with_interval(counts: Counts) -> tuple[float, tuple[float, float]]:
    """The median and its interval."""
    return quantile(counts, 0.5), median_interval(counts)


def theirs_over(ratio: float, low: float, high: float) -> str:
    """How many times the iterations the other one takes."""
    return f"the other takes {ratio:.3g} times the iterations ({low:.3g} to {high:.3g})"


def draw(lines: Sequence[tuple[str, Counts]], names: Sequence[str]) -> Figure:
    """The ratio of the two counts on every subsample, one row of dots per data set, with its median."""
    figure, (ax,) = new_figure(1, width=6.0, height=1.1 + 0.55 * len(lines))
    for k, (_, ratios) in enumerate(lines):
        known = ratios[np.isfinite(ratios) & (ratios > 0)]
        shift = np.random.default_rng(0).uniform(-0.18, 0.18, size=len(known))
        ax.plot(known, k + shift, "o", ms=3.5, color=PALETTE[0], alpha=0.6, mew=0)
        middle = quantile(ratios, 0.5)
        if isfinite(middle):
            ax.plot([middle, middle], [k - 0.3, k + 0.3], color=PALETTE[1], lw=2)
    ax.axvline(1.0, color="black", lw=0.6)
    ax.set_xscale("log")
    few_ticks(ax.xaxis, (1.0, 1.5, 2.0, 3.0, 5.0, 7.0))
    ax.set_yticks(range(len(lines)), [words(title) for title, _ in lines])
    ax.set_ylim(len(lines) - 0.5, -0.5)
    finish(ax, words(f"iterations of {names[1]} / {names[0]}"), "")
    return figure


def caption(experiment: Experiment, data: Data) -> str:
    """Which rows, and what dots and lines are."""
    return (
        f"{rows_caption(entries_of(experiment, data), experiment.seeds)} A dot per subsample, moved up or down only to "
        "be seen; a line at their median. To the right of 1 the method of the claim needs fewer iterations."
    )


KIND = Kind("wins", ("data", "methods", "seeds"), jobs, show, caption=caption)
