"""Curves: panels of one metric over iterations, and a table of when each run separated."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from math import isinf, log10
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from separatrix.lab.figures import new_figure
from separatrix.lab.kinds.shared import Data, Kind, describe, walk_job
from separatrix.lab.results import Results, Shown
from separatrix.lab.spec import Experiment
from separatrix.lab.store import Job, Result
from separatrix.plot import COLOURS, DASHES, LABELS, LOGARITHMIC, NAMES, finish, name_of, shade, words
from separatrix.reporting.table import Row, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def jobs(experiment: Experiment, data: Data) -> Iterator[Job]:
    """A run per line of each panel."""
    for panel in experiment.panels:
        yield from (walk_job(data[panel.data], None, method, gamma) for method, gamma in panel.runs())


def show(experiment: Experiment, data: Data, results: Results) -> Shown:
    """Panels of a metric, and a table of when each run separated."""
    charts, rows = [], {}
    for panel in experiment.panels:
        lines, title = [], ""
        for method, gamma in panel.runs():
            job = walk_job(data[panel.data], None, method, gamma)
            found = results[job]
            title = describe(job.data, found)
            x, y = found.columns["iteration"], found.columns[panel.metric]
            lines.append(Line(method, gamma, x, y, bool(found.facts["separated"])))
            rows[job.place] = run_row(job, found)
        charts.append(Chart(title, panel.metric, lines))
    table = Table(
        experiment.title,
        ("data", "method", "step size", "separated after", "iterations made", "last accuracy", "engine", "seconds"),
        list(rows.values()),
        note="separated after: empty where the budget of iterations was spent first",
    )
    return {"": draw(charts)}, {"": table}, []


def run_row(job: Job, found: Result) -> Row:
    """One run in a table."""
    facts, accuracy = found.facts, float(found.columns["accuracy"][-1])
    count = facts["n_iter"] if facts["separated"] else None
    names = (describe(job.data, found), NAMES[job.method], job.step_size)
    return (*names, count, facts["n_iter"], round(accuracy, 4), facts["engine"], facts["seconds"])


def arrangement(experiment: Experiment) -> Hashable:
    """Metric and methods of each panel."""
    return tuple((panel.metric, panel.methods) for panel in experiment.panels)


@dataclass(frozen=True)
class Line:
    """One curve: what it is, and its points; `ended` marks the iteration at which every row was right."""

    method: str
    step_size: float
    x: NDArray[Any]
    y: NDArray[Any]
    ended: bool = False

    @property
    def label(self) -> str:
        """The method, with its step size where it has one."""
        return name_of(self.method, self.step_size)


@dataclass(frozen=True)
class Chart:
    """One panel."""

    title: str
    metric: str
    lines: Sequence[Line]


def colour(line: Line) -> Any:
    """Step sizes from small (dark) to large (light green), perceptrons in colours of their own."""
    if isinf(line.step_size):
        return COLOURS.get(line.method, "#000000")
    return shade((log10(line.step_size) + 3) / 5)  # 0.001 … 100


def draw(charts: Sequence[Chart]) -> Figure:
    """Panels in the paper's arrangement; the iteration axis is logarithmic, so that its first steps are seen too."""
    figure, axes = new_figure(len(charts))
    for ax, chart in zip(axes, charts, strict=True):
        for line in chart.lines:
            shown = line.x >= 1
            style = DASHES.get(line.method, "-")
            smooth = line.step_size < 1  # on top of those that swing, which would hide it
            width, order = (1.6, 3) if smooth else (0.9, 2)
            ax.plot(line.x[shown], line.y[shown], style, color=colour(line), label=line.label, lw=width, zorder=order)
            if line.ended:
                ax.plot(line.x[-1:], line.y[-1:], "o", color=colour(line), ms=4)
        ax.set_xscale("log")
        if chart.metric in LOGARITHMIC:
            ax.set_yscale("symlog" if chart.metric == "errors" else "log")
        elif chart.metric == "accuracy":
            floor = min((float(np.quantile(line.y[line.x >= 1], 0.05)) for line in chart.lines), default=0.0)
            ax.set_ylim(max(0.0, min(0.9, floor) - 0.05), 1.01)
        ax.set_title(words(chart.title), fontsize=10)
        finish(ax, "iteration", LABELS[chart.metric])
    axes[0].legend(fontsize=7, frameon=False, loc="best")
    for ax, chart in zip(axes[1:], charts[1:], strict=True):
        if [line.label for line in chart.lines] != [line.label for line in charts[0].lines]:
            ax.legend(fontsize=7, frameon=False, loc="best")
    return figure


KIND = Kind("curves", ("panels",), jobs, show, long_tables=True, arrangement=arrangement)
