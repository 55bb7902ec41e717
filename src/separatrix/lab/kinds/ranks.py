"""Ranks: rank correlation between loss, or gradient norm, and iterations still needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from separatrix.lab.figures import legend_below, new_figure
from separatrix.lab.kinds.shared import (
    Data,
    Kind,
    describe,
    entries_of,
    for_or_against,
    listing,
    rows_caption,
    seeds_of,
    walk_job,
)
from separatrix.lab.results import Results, Shown
from separatrix.lab.spec import Experiment
from separatrix.lab.store import Job
from separatrix.plot import PALETTE, finish, words
from separatrix.reporting.plain import counted
from separatrix.reporting.statistics import in_percent, rank_correlation, spread
from separatrix.reporting.table import Row, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def jobs(experiment: Experiment, data: Data) -> Iterator[Job]:
    """LR+GD at every step size, on every subsample."""
    for entry in entries_of(experiment, data):
        for seed in seeds_of(experiment):
            yield from (walk_job(entry, seed, "lr-gd", gamma) for gamma in experiment.step_sizes)


@dataclass(frozen=True)
class Look:
    """Rank correlations of one quantity with the iterations still needed, over some of the step sizes.

    times : the recorded iterations
    values : one row per iteration, one column per seed, NaN where fewer than three runs are still going
    """

    metric: str
    step_sizes: tuple[float, ...]
    times: NDArray[Any]
    values: NDArray[Any]

    @property
    def known(self) -> NDArray[Any]:
        """All of them that are numbers."""
        return np.asarray(self.values[~np.isnan(self.values)])

    @property
    def quartiles(self) -> NDArray[Any]:
        """Lower quartile, median and upper quartile over the seeds, at each iteration."""
        return np.array([spread(v) for v in self.values]).T

    @property
    def steps(self) -> str:
        """The step sizes in words."""
        return ", ".join(f"{gamma:g}" for gamma in self.step_sizes)


def show(experiment: Experiment, data: Data, results: Results) -> Shown:
    """Whether, at each recorded iteration, step sizes with the higher loss or gradient norm need fewer iterations more.

    Spearman's correlation across the step sizes that have not separated yet, three at least; one curve per seed.
    """
    entry = data[experiment.names()[0]]
    first = results[walk_job(entry, seeds_of(experiment)[0], "lr-gd", experiment.step_sizes[0])]
    title = describe(entry, first)
    large = tuple(gamma for gamma in experiment.step_sizes if gamma >= experiment.large)
    choices = [experiment.step_sizes] + ([large] if large != experiment.step_sizes else [])
    looks = [look(experiment, data, results, metric, steps) for metric in ("loss", "grad_norm") for steps in choices]
    rows: list[Row] = []
    for one in looks:
        low, middle, high = spread(one.known)
        share = in_percent(float((one.known < 0).mean()))
        rows.append((QUANTITIES[one.metric], one.steps, middle, (low, high), share, len(one.known)))
    note = (
        "Spearman's correlation with the iterations still needed, across the step sizes that have not separated yet "
        "(three at least), at each recorded iteration of each seed; runs that spent their budget need most, and share "
        "that rank"
    )
    names = ("of", "step sizes", "median", "quartiles", "negative", "values")
    tables = {
        "": Table(f"{experiment.title}: {title}", names, rows, note=note),
        "iterations": by_iteration(experiment, looks),
        "seeds": listing(experiment.title, jobs(experiment, data), results),
    }
    return {"": draw(title, looks)}, tables, [told(one, experiment) for one in looks]


QUANTITIES = {"loss": "the loss", "grad_norm": "the norm of the gradient"}


def told(one: Look, experiment: Experiment) -> str:
    """What this correlation says for or against the claim, or for the same claim about other runs."""
    middle, share = float(np.median(one.known)), in_percent(float((one.known < 0).mean()))
    whole = one.step_sizes == experiment.step_sizes
    about = "" if whole and one.metric == "loss" else ", put to " + QUANTITIES[one.metric]
    among = "" if whole else f" among γ = {one.steps} alone"
    return (
        f"{for_or_against(middle < 0)}{about}{among}: over all recorded iterations and seeds the median correlation "
        f"with the iterations still needed is {middle:+.2f}, and it is negative in {share} of "
        f"{counted(len(one.known), 'case')}."
    )


def look(experiment: Experiment, data: Data, results: Results, metric: str, steps: tuple[float, ...]) -> Look:
    """The correlations of one metric over these step sizes."""
    entry = data[experiment.names()[0]]
    by_seed: list[dict[int, float]] = []
    for seed in seeds_of(experiment):
        found = [walk_job(entry, seed, "lr-gd", gamma) for gamma in steps]
        columns = [results[job].columns for job in found]
        values = [dict(zip(c["iteration"].tolist(), c[metric].tolist(), strict=True)) for c in columns]
        by_seed.append(correlations(values, [results.count(job) for job in found]))
    times = sorted(set().union(*by_seed))
    return Look(metric, steps, np.array(times), np.array([[one.get(t, np.nan) for one in by_seed] for t in times]))


def by_iteration(experiment: Experiment, looks: Sequence[Look]) -> Table:
    """The median over the seeds at some of the iterations."""
    times = looks[0].times
    rows: list[Row] = []
    for k in sorted({int(np.searchsorted(times, t)) for t in (1, 10, 30, 100, 300, 1000, 3000)} - {len(times)}):
        t, row = int(times[k]), []
        for one in looks:
            at = np.flatnonzero(one.times == t)
            middle = float(one.quartiles[1, at[0]]) if len(at) else nan
            row.append(None if isnan(middle) else middle)
        rows.append((t, *row, int((~np.isnan(looks[0].values[k])).sum())))
    names = [f"{one.metric}, γ ≥ {min(one.step_sizes):g}" for one in looks]
    note = "median correlation over the seeds; empty where fewer than three step sizes are still going"
    return Table(f"{experiment.title}: by iteration", ("iteration", *names, "seeds"), rows, note=note)


def correlations(losses: Sequence[Mapping[int, float]], ends: Sequence[float]) -> dict[int, float]:
    """Iteration → rank correlation of loss and iterations still needed, over the runs that are still going there."""
    found = {}
    for t in sorted(set().union(*losses)):
        going = [k for k, end in enumerate(ends) if end > t and t in losses[k] and t > 0]
        if len(going) >= 3:
            loss = np.array([losses[k][t] for k in going])
            found[t] = rank_correlation(loss, np.array([ends[k] - t for k in going]))
    return found


def draw(title: str, looks: Sequence[Look]) -> Figure:
    """Median rank correlation over the seeds with its quartiles, one panel per quantity."""
    metrics = list(dict.fromkeys(one.metric for one in looks))
    figure, axes = new_figure(len(metrics), 2, height=3.0)
    for ax, metric in zip(axes, metrics, strict=True):
        for k, one in enumerate(one for one in looks if one.metric == metric):
            low, middle, high = one.quartiles
            known, colour = ~np.isnan(middle), PALETTE[k % len(PALETTE)]
            ax.fill_between(one.times[known], low[known], high[known], color=colour, alpha=0.2, lw=0)
            name = f"γ from {min(one.step_sizes):g} to {max(one.step_sizes):g}"
            ax.plot(one.times[known], middle[known], color=colour, lw=1.3, label=name)
        ax.axhline(0.0, color="black", lw=0.6)
        ax.set_xscale("log")
        ax.set_ylim(-1.05, 1.05)
        ax.set_title(words(f"{QUANTITIES[metric][4:]}"), fontsize=9)
        finish(ax, "iteration", "rank correlation with\niterations still needed" if ax is axes[0] else "")
    figure.suptitle(words(title), fontsize=10)
    legend_below(figure, axes)
    return figure


def caption(experiment: Experiment, data: Data) -> str:
    """Which rows, and what line and band are."""
    return (
        f"{rows_caption(entries_of(experiment, data), experiment.seeds)} Lines: the median over the seeds at each "
        "recorded iteration; bands: their quartiles. Below 0 the quantity points the wrong way."
    )


KIND = Kind("ranks", ("data", "step_sizes"), jobs, show, one_data=True, caption=caption)
