"""Network growth: iterations to zero errors against width or the number of columns, beside the linear model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isinf
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from separatrix.lab.figures import legend_below, new_figure
from separatrix.lab.kinds.networks import (
    MODELS,
    Net,
    jobs,
    linear_lines,
    lines_of,
    models_of,
    network_job,
    scope,
    starts_of,
    untrained,
)
from separatrix.lab.kinds.shared import Data, Kind, by_share, describe, entries_of, rows_caption, seeds_of, walk_job
from separatrix.lab.results import Results, Shown
from separatrix.lab.spec import Experiment
from separatrix.nonlinear.model import torch_installed
from separatrix.plot import NAMES, PALETTE, finish
from separatrix.reporting.statistics import quantile, slope
from separatrix.reporting.table import Row, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKS = ("o", "s", "D", "^", "v", "P")
DRAWS = 1000


@dataclass(frozen=True)
class Line:
    """Counts of one model by one method, a row per seed and a column per size."""

    model: str
    method: str
    gamma: float
    unit: float | None
    counts: NDArray[np.float64]

    @property
    def name(self) -> str:
        """For the legend and the sentences."""
        step = "γ = ∞" if isinf(self.gamma) else f"γ = {self.gamma:g}"
        unit = "" if self.unit is None or self.unit == self.gamma else f", u = {self.unit:g}"
        return f"{self.model}, {NAMES[self.method]}, {step}{unit}"

    @property
    def medians(self) -> NDArray[np.float64]:
        """Over the seeds."""
        return np.array([quantile(column, 0.5) for column in self.counts.T])

    def exponent(self, sizes: NDArray[np.float64]) -> tuple[float, float, float] | None:
        """b in median counts ≈ a·size^b, and its 95 % bootstrap interval over seeds; None where a median is ∞.

        A network that separates at its initialisation counts as one iteration: 0 has no logarithm.
        """
        if not np.isfinite(self.medians).all():
            return None
        counts = np.maximum(self.counts, 1.0)
        draws = np.random.default_rng(0).integers(len(counts), size=(DRAWS, len(counts)))
        middle = np.array([[quantile(column, 0.5) for column in counts[draw].T] for draw in draws])
        found = np.array([slope(sizes, row)[0] if np.isfinite(row).all() else inf for row in middle])
        low, high = (float(np.quantile(found, q, method="nearest")) for q in (0.025, 0.975))
        return slope(sizes, np.array([quantile(column, 0.5) for column in counts.T]))[0], low, high


def lines(experiment: Experiment, data: Data, results: Results) -> tuple[NDArray[np.float64], list[Line], str]:
    """Sizes, the lines over them, and what the sizes are: widths where there are several, columns else."""
    entries = entries_of(experiment, data)
    by_width = len(experiment.widths) > 1
    sizes = np.array(experiment.widths if by_width else [entry.columns or 10 for entry in entries], dtype=float)
    starts = starts_of(experiment)
    found = []
    for method, gamma, unit in lines_of(experiment):
        for model in models_of(experiment, entries[0]):
            places = (
                [(entries[0], w) for w in experiment.widths]
                if by_width
                else [(entry, experiment.widths[0]) for entry in entries]
            )
            counts = [
                [
                    results.count(
                        network_job(entry, seed, method, gamma, Net(model, width, unit, start), experiment.iterations)
                    )
                    for entry, width in places
                ]
                for seed, start in starts
            ]
            found.append(Line(MODELS[model], method, gamma, unit, np.array(counts)))
    for method, gamma in linear_lines(experiment):
        every = [entries[0]] * len(sizes) if by_width else entries
        counts = [[results.count(walk_job(e, seed, method, gamma)) for e in every] for seed in seeds_of(experiment)]
        found.append(Line("linear", method, gamma, None, np.array(counts)))
    return sizes, found, "width" if by_width else "columns d"


def show(experiment: Experiment, data: Data, results: Results) -> Shown:
    """Medians over the seeds by size, with fitted exponents where every run separated."""
    if not torch_installed():
        return untrained()
    sizes, found, what = lines(experiment, data, results)
    rows: list[Row] = []
    fitted = []
    for line in found:
        b = line.exponent(sizes) if line.model != "linear" or what != "width" else None
        good = f"{int(np.isfinite(line.counts).sum())} of {line.counts.size}"
        told = (None, None) if b is None else (b[0], b[1:])
        rows.append((line.model, NAMES[line.method], line.gamma, line.unit, good, *line.medians.tolist(), *told))
        if b is not None:
            fitted.append(f"{line.name}: {b[0]:.2f} ({b[1]:.2f} to {b[2]:.2f})".replace("inf", "∞"))
    names = ("model", "method", "step size", "unit", "separated", *(f"{what} {size:g}" for size in sizes))
    note = (
        f"median iterations to zero errors over the seeds, ∞ where most runs had spent {experiment.iterations:,}; "
        "exponent b of medians ≈ a·size^b, with its 95 % interval, bootstrap over seeds"
    )
    entry = entries_of(experiment, data)[0]
    title = f": {describe(entry, results[next(jobs(experiment, data))])}" if what == "width" else ""
    table = Table(f"{experiment.title}{title}", (*names, "exponent", "interval"), rows, note=note)
    sentences = [against_linear(found, sizes)] if what != "width" else []
    if fitted:
        sentences.append(f"Fitted exponents of {what} (95 % interval): {'; '.join(fitted)}.")
    lost = [
        f"{line.name}: {int(np.isinf(line.counts).sum())} of {line.counts.size}"
        for line in found
        if not np.isfinite(line.counts).all()
    ]
    if lost:
        sentences.append(f"Runs that did not reach zero errors, counted as larger than all others: {'; '.join(lost)}.")
    return {"": draw(sizes, found, what)}, {"": table}, [*sentences, scope(experiment)]


def against_linear(found: Sequence[Line], sizes: NDArray[np.float64]) -> str:
    """Whether every network's exponent is below that of the linear model at the same step size, interval and all."""
    told, below = [], []
    for linear in (line for line in found if line.model == "linear"):
        b = linear.exponent(sizes)
        rivals = [
            line
            for line in found
            if line.model != "linear" and (line.method, line.gamma) == (linear.method, linear.gamma)
        ]
        for line in rivals if b else []:
            c = line.exponent(sizes)
            below.append(c is not None and b is not None and c[2] < b[0])
        last = ", ".join(f"{line.medians[-1]:,.0f}".replace("inf", "∞") for line in rivals)
        told.append(
            f"{linear.name} needs {linear.medians[-1]:,.0f} iterations at d = {sizes[-1]:,.0f}, the networks {last}"
        )
    share = f"{sum(below)} of {len(below)} networks have an exponent below the linear model's, interval and all"
    verdict = by_share(sum(below) / len(below)) if below else "Nothing here for or against the claim"
    return f"{verdict}: {share}; {'; '.join(told)}."


def draw(sizes: NDArray[np.float64], found: Sequence[Line], what: str) -> Figure:
    """Medians against size with the quartiles of the seeds, both axes logarithmic; the linear model dashed."""
    figure, (ax,) = new_figure(1, width=5.6, height=3.8)
    for k, line in enumerate(found):
        colour, known = PALETTE[k % len(PALETTE)], np.isfinite(line.medians)
        dash = "--" if line.model == "linear" else "-"
        mark = MARKS[k % len(MARKS)]
        ax.plot(sizes[known], line.medians[known], dash, marker=mark, ms=4, color=colour, lw=1.4, label=line.name)
        low, high = (np.array([quantile(column, q) for column in line.counts.T]) for q in (0.25, 0.75))
        both = known & np.isfinite(high)
        ax.fill_between(sizes[both], low[both], high[both], color=colour, alpha=0.15, lw=0)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    finish(ax, what, "iterations to zero errors")
    legend_below(figure, [ax], columns=1)
    return figure


def caption(experiment: Experiment, data: Data) -> str:
    """Which rows, and what lines and bands are."""
    rows = rows_caption(entries_of(experiment, data)[:1], experiment.seeds)
    return f"{rows} Lines: medians over the seeds; bands: quartiles; sizes at which most runs failed are left out."


KIND = Kind("network-growth", ("data", "models", "widths", "methods"), jobs, show, caption=caption)
