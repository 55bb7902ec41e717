"""Pictures of runs: panels of a metric over iterations, step sizes ordered in colour.

Only matplotlib's objects are used, no global state. Names, colours and dashes are those of `separatrix.plot`.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from math import isinf, log10
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from separatrix.plot import COLOURS, DASHES, LABELS, LOGARITHMIC, PALETTE, finish, name_of, shade, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("svg", "pdf", "png")


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


def new_figure(panels: int, across: int = 3, width: float = 4.6, height: float = 3.4) -> tuple[Figure, list[Axes]]:
    """An empty figure with so many panels, `across` of them side by side at most."""
    from matplotlib.figure import Figure

    across = min(across, panels)
    down = -(-panels // across)
    figure = Figure(figsize=(0.6 + width * across, height * down), layout="constrained")
    axes = list(np.ravel(figure.subplots(down, across)))
    for ax in axes[panels:]:
        ax.set_axis_off()
    return figure, axes[:panels]


def colour(line: Line) -> Any:
    """Step sizes from small (dark) to large (light green), perceptrons in colours of their own."""
    if isinf(line.step_size):
        return COLOURS.get(line.method, "#000000")
    return shade((log10(line.step_size) + 3) / 5)  # 0.001 … 100


def curves(charts: Sequence[Chart]) -> Figure:
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


def alignment(panels: Sequence[tuple[str, Sequence[tuple[float, NDArray[Any], NDArray[Any], int | None]]]]) -> Figure:
    """‖θ_t/γ - θ̂_t‖/‖θ̂_t‖ by step size, one panel per data set; a dot where the wrong sets part."""
    figure, axes = new_figure(len(panels), across=2)
    for ax, (title, lines) in zip(axes, panels, strict=True):
        for k, (gamma, t, apart, parted) in enumerate(lines):
            shown = (t >= 1) & (apart > 0)
            ax.plot(t[shown], apart[shown], color=PALETTE[k % len(PALETTE)], lw=1.1, label=f"γ = {gamma:g}")
            if parted is not None and apart[parted] > 0:
                ax.plot([parted], [apart[parted]], "o", color=PALETTE[k % len(PALETTE)], ms=4)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_title(words(title), fontsize=10)
        finish(ax, "iteration", "‖θ_t/γ - θ̂_t‖ / ‖θ̂_t‖")
    axes[0].legend(fontsize=7, frameon=False)
    return figure


def ranks(title: str, t: NDArray[Any], quartiles: NDArray[Any]) -> Figure:
    """Median rank correlation over the seeds with its quartiles."""
    figure, (ax,) = new_figure(1)
    known = ~np.isnan(quartiles[1])
    ax.fill_between(t[known], quartiles[0][known], quartiles[2][known], color=PALETTE[0], alpha=0.2, lw=0)
    ax.plot(t[known], quartiles[1][known], color=PALETTE[0], lw=1.3, label="median; band: quartiles over seeds")
    ax.axhline(0.0, color="black", lw=0.6)
    ax.set_xscale("log")
    ax.set_ylim(-1.05, 1.05)
    ax.set_title(words(title), fontsize=10)
    ax.legend(fontsize=7, frameon=False)
    finish(ax, "iteration", "rank correlation of loss\nand iterations still needed")
    return figure


def growth(lines: Sequence[tuple[str, float, NDArray[Any], NDArray[Any]]]) -> Figure:
    """Counts against n, both axes logarithmic."""
    figure, (ax,) = new_figure(1)
    for k, (method, gamma, sizes, counts) in enumerate(lines):
        label = Line(method, gamma, sizes, counts).label
        ax.plot(
            sizes, counts, "o" + DASHES.get(method, "-"), color=PALETTE[k % len(PALETTE)], ms=3, lw=1.1, label=label
        )
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.legend(fontsize=7, frameon=False)
    finish(ax, "rows n", "iterations to separation")
    return figure


def histograms(panels: Sequence[tuple[str, NDArray[Any], int | None]]) -> Figure:
    """Counts over seeds, one panel per row of a table; a line at the paper's value."""
    across = 4
    figure, axes = new_figure(len(panels), across, 3.2, 2.4)
    for ax, (title, counts, printed) in zip(axes, panels, strict=True):
        ax.hist(counts[np.isfinite(counts)], bins=25, color="#56B4E9")
        if printed is not None:
            ax.axvline(printed, color="#D55E00", lw=1.5, label=f"paper: {printed:,}")
            ax.legend(fontsize=7, frameon=False)
        ax.set_title(words(title), fontsize=9)
        finish(ax, "iterations", "subsamples" if ax in axes[::across] else "")
    return figure


def saved(figure: Figure, form: str) -> bytes:
    """The figure as bytes of one format; the same figure gives the same bytes."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    about = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}[form]
    with rc_context({"svg.hashsalt": "separatrix", "svg.fonttype": "path"}):
        figure.savefig(buffer, format=form, dpi=120, metadata=about)
    figure.set_layout_engine("none")  # laid out once, for all formats
    return buffer.getvalue()
