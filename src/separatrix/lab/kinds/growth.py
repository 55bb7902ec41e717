"""Growth: iterations on the worst-case data against n, with the fitted exponent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from separatrix.lab.figures import legend_below, new_figure
from separatrix.lab.kinds.shared import Data, Kind, for_or_against, steps_of
from separatrix.lab.results import Results, Shown
from separatrix.lab.spec import DataEntry, Experiment
from separatrix.lab.store import Job
from separatrix.plot import NAMES, PALETTE, finish, name_of
from separatrix.reporting.statistics import slope
from separatrix.reporting.table import Table
from separatrix.walking.methods import TABLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKS = ("o", "s", "D", "^", "v")
ALWAYS = 1 << 40  # worst-case runs end by their closed form


def jobs(experiment: Experiment, data: Data) -> Iterator[Job]:
    """Every method at every n."""
    for n in experiment.sizes:
        yield from (worst_case_job(n, method, gamma) for method, gamma in steps_of(experiment))


def worst_case_job(n: int, method: str, gamma: float) -> Job:
    """The run of a method on the worst-case data; its n - 1 equal rows are one with a weight, where weights are taken.

    How long each method takes there is known, so nothing limits it.
    """
    source = "worst-case" if TABLE[method][2] else "worst-case-weighted"
    return Job("walk", DataEntry("worst-case", source, "the worst-case data", rows=n), None, method, gamma, ALWAYS)


def show(experiment: Experiment, data: Data, results: Results) -> Shown:
    """Counts against n on the worst-case data, with the fitted exponent."""
    sizes, lines, rows, slopes = np.array(experiment.sizes, dtype=float), [], [], []
    for method, gamma in steps_of(experiment):
        counts = np.array([results.count(worst_case_job(n, method, gamma)) for n in experiment.sizes])
        b, error = slope(sizes, counts)
        lines.append((method, gamma, sizes, counts))
        rows.append((NAMES[method], gamma, *(int(c) for c in counts), b, error))
        slopes.append((method, f"{b:.3f} ({name_of(method, gamma)})", b))
    table = Table(
        experiment.title,
        ("method", "step size", *(f"n = {n:,}" for n in experiment.sizes), "slope", "± s.e."),
        rows,
        note="slope: exponent b of counts ≈ a·n^b, least squares on logarithms",
    )
    grows = ("batch-perceptron", "lr-gd")
    holds = all(abs(b - 1) < 0.1 if method in grows else b < 0.1 for method, _, b in slopes)
    told = f"{for_or_against(holds)}: fitted exponents of n are {', '.join(words for _, words, _ in slopes)}."
    return {"": draw(lines)}, {"": table}, [told]


def draw(lines: Sequence[tuple[str, float, NDArray[Any], NDArray[Any]]]) -> Figure:
    """Counts against n, both axes logarithmic; marks of lines that coincide lie inside each other."""
    figure, (ax,) = new_figure(1, width=5.0, height=3.6)
    for k, (method, gamma, sizes, counts) in enumerate(lines):
        (line,) = ax.plot(sizes, counts, color=PALETTE[k % len(PALETTE)], lw=1.6, label=name_of(method, gamma))
        line.set_linestyle((3 * k, (3, 3 * (len(lines) - 1))))  # each in the gaps of the others
        line.set(marker=MARKS[k % len(MARKS)], ms=3 + 2 * (len(lines) - k), mfc="none", mew=1.3)
    ax.set_xscale("log")
    ax.set_yscale("log")
    finish(ax, "rows n", "iterations to separation")
    legend_below(figure, [ax], columns=2)
    return figure


def caption(experiment: Experiment, data: Data) -> str:
    """What is drawn."""
    return (
        "The worst-case data: no rows are drawn at random. Methods with equal counts have their marks inside each "
        "other and take turns along the line."
    )


KIND = Kind("growth", ("methods", "sizes"), jobs, show, caption=caption)
