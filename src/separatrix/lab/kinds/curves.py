"""Curves: panels of one metric over iterations, a table of when each run separated, and what the claim comes to."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import floor, isinf, log10
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from separatrix.lab.figures import legend_below, new_figure
from separatrix.lab.kinds.evidence import evidence
from separatrix.lab.kinds.shared import Data, Kind, describe, entries_of, rows_caption, walk_job
from separatrix.lab.results import Results, Shown
from separatrix.lab.spec import Experiment, Panel
from separatrix.lab.store import Job, Result
from separatrix.plot import COLOURS, DASHES, LABELS, LOGARITHMIC, NAMES, finish, name_of, shade, words
from separatrix.reporting.table import Row, Table
from separatrix.walking.trace import GROWTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def jobs(experiment: Experiment, data: Data) -> Iterator[Job]:
    """A run per line of each panel."""
    for panel in experiment.panels:
        yield from (walk_job(data[panel.data], None, method, gamma) for method, gamma in panel.runs())


def panels_of(experiment: Experiment) -> tuple[Panel, ...]:
    """Its panels, and beside accuracy the errors, which can be read where accuracy is near 1.

    Where all panels are of accuracy their errors are a row of their own below them.
    """
    metrics = {panel.metric for panel in experiment.panels}
    if "errors" in metrics or "accuracy" not in metrics:
        return experiment.panels
    if metrics == {"accuracy"}:
        return (*experiment.panels, *(replace(panel, metric="errors") for panel in experiment.panels))
    both = ((p, replace(p, metric="errors")) if p.metric == "accuracy" else (p,) for p in experiment.panels)
    return tuple(panel for group in both for panel in group)


def show(experiment: Experiment, data: Data, results: Results) -> Shown:
    """Panels of a metric, a table of when each run separated, and the evidence for the claim."""
    charts, rows = {}, {}
    for panel in panels_of(experiment):
        lines, title = [], ""
        runs = tuple(walk_job(data[panel.data], None, method, gamma).place for method, gamma in panel.runs())
        if (panel.metric, runs) in charts:  # one data set stands in for several
            continue
        for method, gamma in panel.runs():
            job = walk_job(data[panel.data], None, method, gamma)
            found = results[job]
            title = describe(job.data, found)
            x, y = found.columns["iteration"], found.columns[panel.metric]
            lines.append(Line(method, gamma, x, y, bool(found.facts["separated"])))
            rows[job.place] = run_row(job, found)
        charts[panel.metric, runs] = Chart(title, panel.metric, lines)
    table = Table(
        experiment.title,
        ("data", "method", "step size", "separated after", "iterations made", "last accuracy", "engine", "seconds"),
        list(rows.values()),
        note="separated after: empty where the budget of iterations was spent first",
    )
    return {"": draw(list(charts.values()))}, {"": table}, evidence(experiment, data, results)


def run_row(job: Job, found: Result) -> Row:
    """One run in a table."""
    facts, accuracy = found.facts, float(found.columns["accuracy"][-1])
    count = facts["n_iter"] if facts["separated"] else None
    names = (describe(job.data, found), NAMES[job.method], job.step_size)
    return (*names, count, facts["n_iter"], round(accuracy, 4), facts["engine"], facts["seconds"])


def caption(experiment: Experiment, data: Data) -> str:
    """Which rows, which iterates, which marks."""
    entries = list(entries_of(experiment, data))
    often = " Repeated rows count as often in accuracy, and once among the rows on the wrong side."
    return (
        f"{rows_caption(entries)} Every iterate up to the 20th is drawn, then each "
        f"{100 * (GROWTH - 1):.0f} % later than the one before, and the last; what happens between two of them is not "
        "seen. Both axes of errors are logarithmic, with a place for 0; they show what is below the axis of accuracy "
        "too. A dot: every row is on its right side. A cross: the budget of iterations was spent first."
        + (often if any(entry.repeat > 1 for entry in entries) else "")
    )


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

    @property
    def methods(self) -> str:
        """Their names."""
        return ", ".join(dict.fromkeys(NAMES[line.method] for line in self.lines))


def colour(line: Line) -> Any:
    """Step sizes from small (cold) to large (warm), perceptrons in colours of their own."""
    if isinf(line.step_size):
        return COLOURS.get(line.method, "#000000")
    return shade((log10(line.step_size) + 3) / 5)  # 0.001 … 100


def draw(charts: Sequence[Chart]) -> Figure:
    """Panels in the paper's arrangement; those of the same data, or of the same data and metric, share their axes.

    The iteration axis is logarithmic, so that its first steps are seen too.
    """
    of_accuracy = sum(chart.metric == "accuracy" for chart in charts)
    across = of_accuracy if 2 * of_accuracy == len(charts) > 2 else 2 if len(charts) == 4 else 3
    figure, axes = new_figure(len(charts), across)
    first: dict[Hashable, Axes] = {}
    for ax, chart in zip(axes, charts, strict=True):
        for line in chart.lines:
            draw_line(ax, line)
        ax.set_xscale("log")
        if chart.metric == "errors":
            ax.set_yscale("symlog", linthresh=1, linscale=0.4)  # logarithmic, with a place for 0
        elif chart.metric in LOGARITHMIC:
            ax.set_yscale("log")
        if (other := first.setdefault(chart.title, ax)) is not ax:
            ax.sharex(other)
        if (other := first.setdefault((chart.title, chart.metric), ax)) is not ax:
            ax.sharey(other)
        finish(ax, "iteration", LABELS[chart.metric])
    for ax, chart in zip(axes, charts, strict=True):
        alike = [line for one in charts if (one.title, one.metric) == (chart.title, chart.metric) for line in one.lines]
        if chart.metric == "accuracy":
            lowest = min((float(np.quantile(line.y[line.x >= 1], 0.05)) for line in alike), default=0.0)
            ax.set_ylim(max(0.0, min(0.9, lowest) - 0.05), 1.01)
        elif chart.metric == "errors":
            values = np.concatenate([line.y[line.x >= 1] for line in alike] or [np.ones(1)])
            low = 10.0 ** floor(log10(values.min())) if values.min() >= 10 else 0.0  # none came near 0
            high = 1.5 * float(max(values.max(), 1.0))
            ax.set_ylim(low, high)
            each = (1, 2, 5) if 0 < high < 10 * low else (1,)  # less than a decade
            ticks = [0, *(times * 10**power for power in range(6) for times in each)]
            ticks = [tick for tick in ticks if low <= tick <= high]
            ax.set_yticks(ticks, [f"{tick:,}" for tick in ticks])
    entitle(figure, axes, charts)
    legend_below(figure, axes, marks(charts))
    return figure


def draw_line(ax: Axes, line: Line) -> None:
    """One curve, with a mark at its end. Smooth ones are on top of those that swing, thin ones on top of wide ones."""
    shown = line.x >= 1
    style = "-" if line.method in COLOURS else DASHES.get(line.method, "-")
    rank = 1.0 if isinf(line.step_size) else max(0.0, min(2.0, log10(line.step_size)))  # 1, 10, 100 may coincide
    width, order = (1.1, 3.0) if line.step_size < 1 else (0.7 + 0.25 * rank, 2 - 0.1 * rank)
    ax.plot(line.x[shown], line.y[shown], style, color=colour(line), label=line.label, lw=width, zorder=order)
    mark, size = ("o", 4.0 + 1.5 * rank) if line.ended else ("x", 5.5)
    how = {"color": colour(line), "ms": size, "mew": 1.4, "clip_on": False, "zorder": 4 - 0.1 * rank}
    (end,) = ax.plot(line.x[-1:], line.y[-1:], mark, **how)
    end.set_in_layout(False)  # a loss of 0 is infinitely far below a logarithmic axis


def entitle(figure: Figure, axes: Sequence[Axes], charts: Sequence[Chart]) -> None:
    """The data above all panels where they are the same, else above each; methods above panels that differ in them."""
    titles = {chart.title for chart in charts}
    methods = {chart.methods for chart in charts}
    if len(titles) == 1:
        figure.suptitle(words(charts[0].title), fontsize=10)
    seen = set()
    for ax, chart in zip(axes, charts, strict=True):
        title = chart.methods if len(titles) == 1 and len(methods) > 1 else chart.title if len(titles) > 1 else ""
        if title and title not in seen:
            ax.set_title(words(title), fontsize=9)
        seen.add(title)


def marks(charts: Sequence[Chart]) -> list[Any]:
    """The legend's words about the marks that there are."""
    from matplotlib.lines import Line2D

    ended = {line.ended for chart in charts for line in chart.lines}
    kinds = [(True, "o", "separated"), (False, "x", "budget spent")]
    return [Line2D([], [], color="#555555", marker=m, ls="", ms=5, label=name) for k, m, name in kinds if k in ended]


KIND = Kind("curves", ("panels",), jobs, show, long_tables=True, arrangement=arrangement, caption=caption)
