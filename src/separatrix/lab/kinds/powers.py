"""Powers: iterations of a tempered method over its power p, relative to the better of its two ends p = 0 and p = 1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from separatrix.lab.figures import few_ticks, legend_below, new_figure
from separatrix.lab.kinds.shared import (
    Data,
    Kind,
    by_share,
    describe,
    distinct,
    entries_of,
    listing,
    rows_caption,
    seeds_of,
    steps_of,
    walk_job,
)
from separatrix.lab.results import Results, Shown
from separatrix.lab.spec import DataEntry, Experiment
from separatrix.lab.store import Job, Result
from separatrix.plot import finish, name_of, shade, words
from separatrix.reporting.plain import counted
from separatrix.reporting.statistics import Counts, median_interval, quantile, rank_correlation
from separatrix.reporting.table import Row, Table
from separatrix.walking.methods import POWER

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def jobs(experiment: Experiment, data: Data) -> Iterator[Job]:
    """A run per power, on every subsample."""
    for entry in entries_of(experiment, data):
        for seed in seeds_of(experiment):
            yield from (power_job(experiment, entry, seed, power) for power in experiment.powers)


def power_job(experiment: Experiment, entry: DataEntry, seed: int | None, power: float) -> Job:
    """The run of the experiment's method with this power."""
    method, gamma = next(steps_of(experiment))
    return replace(walk_job(entry, seed, method, gamma), power=power)


@dataclass(frozen=True)
class Sweep:
    """One data set: counts over the seeds by power, and the mean share of wrong rows along the walk at p = 1."""

    title: str
    counts: dict[float, Counts]
    wrong: float

    def median(self, power: float) -> float:
        """The median count at this power."""
        return quantile(self.counts[power], 0.5)

    @property
    def better_end(self) -> float:
        """The smaller of the two medians at the ends."""
        return min(self.median(power) for power in (min(self.counts), max(self.counts)))

    @property
    def best(self) -> float:
        """The power with the least median."""
        return min(self.counts, key=self.median)

    def relative(self, power: float) -> tuple[float, float, float]:
        """Median at this power and the interval for it, in units of the better end."""
        low, high = median_interval(self.counts[power])
        return self.median(power) / self.better_end, low / self.better_end, high / self.better_end


def show(experiment: Experiment, data: Data, results: Results) -> Shown:
    """Median counts over p in units of the better end, and how the best p goes with the share of wrong rows."""
    sweeps = [sweep(experiment, entry, results) for entry in distinct(experiment, data)]
    rows: list[Row] = []
    for one in sweeps:
        medians = [one.median(power) for power in experiment.powers]
        rows.append((one.title, one.wrong, *medians, one.best, one.median(one.best) / one.better_end))
    names = [f"p = {power:g}" for power in experiment.powers]
    method = name_of(*next(steps_of(experiment)))
    table = Table(
        f"{experiment.title}: median iterations of {method}",
        ("data", "share wrong", *names, "best p", "best / better end"),
        rows,
        note=f"medians over {experiment.seeds} random subsamples; share wrong: of the rows, mean along the walk at the "
        f"largest p, median over the subsamples; better end: the smaller median of p = {experiment.powers[0]:g} and "
        f"p = {experiment.powers[-1]:g}",
    )
    spread: list[Row] = [
        (one.title, power, one.median(power), median_interval(one.counts[power]), *one.relative(power)[:1])
        for one in sweeps
        for power in experiment.powers
    ]
    intervals = Table(
        f"{experiment.title}: intervals",
        ("data", "p", "median", "95 % interval", "median / better end"),
        spread,
        note="interval: of the median, between order statistics",
    )
    tables = {"": table, "intervals": intervals}
    tables["seeds"] = listing(experiment.title, jobs(experiment, data), results)
    return {"": draw(sweeps, experiment)}, tables, sentences(sweeps, experiment)


def sweep(experiment: Experiment, entry: DataEntry, results: Results) -> Sweep:
    """The counts of one data entry."""
    seeds = seeds_of(experiment)
    counts = {
        power: np.array([results.count(power_job(experiment, entry, seed, power)) for seed in seeds])
        for power in experiment.powers
    }
    ends = [results[power_job(experiment, entry, seed, max(experiment.powers))] for seed in seeds]
    title = describe(entry, ends[0]) if entry.fraction == 1 else entry.title or entry.name
    return Sweep(title, counts, float(np.median([mean_share_wrong(end) for end in ends])))


def mean_share_wrong(run: Result) -> float:
    """The mean of |S_t|/n over the iterations of a run; a recorded value stands for those up to the next one."""
    t, wrong = run.columns["iteration"], 1 - run.columns["accuracy"]
    return float(np.average(wrong[:-1], weights=np.diff(t))) if len(t) > 1 else float(wrong[0])


def sentences(sweeps: Sequence[Sweep], experiment: Experiment) -> list[str]:
    """On how many data the default power is no slower than the better end, which power is best, and where."""
    found = []
    if POWER in experiment.powers:
        ratios = {one.title: one.relative(POWER)[0] for one in sweeps}
        worse = [f"{title} ({ratio:.2f})" for title, ratio in ratios.items() if ratio > 1]
        rest = f"; not on {', '.join(worse)}" if worse else ""
        middle = float(np.median(list(ratios.values())))
        found.append(
            f"{by_share(1 - len(worse) / len(sweeps))}: at p = {POWER:g}, the default, the median is at most that of "
            f"the better end on {len(sweeps) - len(worse)} of {counted(len(sweeps), 'data set')}{rest}; in the median "
            f"over the data sets it is {middle:.2f} times that of the better end, {min(ratios.values()):.2f} at best."
        )
        clear = [
            f"{one.title} (p = {one.best:g}, {one.median(one.best):,.0f} against {one.median(POWER):,.0f})"
            for one in sweeps
            if median_interval(one.counts[one.best])[1] < median_interval(one.counts[POWER])[0]
        ]
        told = (
            f"clearly so, the two intervals apart, on {'; '.join(clear)}"
            if clear
            else "nowhere with the intervals apart"
        )
        better = sum(one.best != POWER for one in sweeps)
        found.append(f"Another power has the smaller median on {better} of {counted(len(sweeps), 'data set')}, {told}.")
    places = [f"p = {p:g} on {k}" for p in experiment.powers if (k := sum(one.best == p for one in sweeps))]
    wrong = [one.wrong for one in sweeps]
    together = ""
    if len(sweeps) >= 3:
        r = rank_correlation(np.array([one.best for one in sweeps]), np.array(wrong))
        together = (
            f"; its rank correlation with the share of wrong rows, {min(wrong):.2g} to {max(wrong):.2g}, is {r:+.2f}"
        )
    found.append(f"The least median is at {', '.join(places)}{together}.")
    return found


def draw(sweeps: Sequence[Sweep], experiment: Experiment) -> Figure:
    """Left: medians over p in units of the better end, with intervals; right: the best p by share of wrong rows."""
    figure, (left, right) = new_figure(2, 2, width=4.0, height=3.8)
    ordered = sorted(sweeps, key=lambda one: one.wrong)
    for k, one in enumerate(ordered):
        colour = shade(k / max(len(sweeps) - 1, 1))
        shift = 0.004 * (k - len(sweeps) / 2)  # bars beside each other
        draw_sweep(left, one, colour, shift)
        right.plot([one.wrong], [one.best], "o", color=colour, ms=6)
    left.axhline(1.0, color="black", lw=0.6)
    left.set_yscale("log")
    few_ticks(left.yaxis, (1.0, 1.5, 2.0, 3.0, 5.0, 7.0))
    for axis in (left.xaxis, right.yaxis):
        axis.set_ticks(list(experiment.powers), labels=[f"{power:g}" for power in experiment.powers])
    right.set_ylim(-0.05, 1.05)
    right.set_xscale("log")
    few_ticks(right.xaxis)
    finish(left, "power p", "median iterations / better end")
    finish(right, "mean share of wrong rows at p = 1", "power with the least median")
    figure.suptitle(words(name_of(*next(steps_of(experiment)))), fontsize=10)
    legend_below(figure, [left], columns=3 if len(sweeps) > 4 else 2)
    return figure


def draw_sweep(ax: Axes, one: Sweep, colour: tuple[float, float, float], shift: float) -> None:
    """The curve of one data set."""
    points = [(power, *one.relative(power)) for power in one.counts]
    known = [point for point in points if isfinite(point[1])]
    ax.plot([p[0] for p in known], [p[1] for p in known], "o-", ms=3, lw=1.1, color=colour, label=words(one.title))
    for power, _, low, high in known:
        if 0 < low and isfinite(high):
            ax.plot([power + shift] * 2, [low, high], color=colour, lw=0.8, alpha=0.6)


def caption(experiment: Experiment, data: Data) -> str:
    """Which rows, and what dots, bars and colours are."""
    return (
        f"{rows_caption(distinct(experiment, data), experiment.seeds)} Dots: medians over the subsamples; bars: their "
        "95 % intervals, beside each other only to be seen. Colours go from few wrong rows along the walk to many."
    )


KIND = Kind("powers", ("data", "methods", "powers", "seeds"), jobs, show, caption=caption)
