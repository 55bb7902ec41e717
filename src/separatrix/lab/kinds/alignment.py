"""Alignment: θ_t/γ of LR+GD against the batch perceptron's θ_t, and where the wrong sets part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, log10
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from separatrix.data.memory import HeldRows
from separatrix.data.sheet import Sheet
from separatrix.lab.figures import legend_below, new_figure
from separatrix.lab.jobs import SEED, Tell, Work, about
from separatrix.lab.kinds.shared import Data, Kind, describe, distinct, entries_of, for_or_against, rows_caption
from separatrix.lab.results import Results, Shown
from separatrix.lab.samples import Sample
from separatrix.lab.spec import DataEntry, Experiment
from separatrix.lab.store import Job, Result
from separatrix.plot import finish, shade, words
from separatrix.reporting.table import Table
from separatrix.walking.checkpoint import Checkpoint
from separatrix.walking.loop import Walk
from separatrix.walking.methods import parse_method
from separatrix.walking.trace import Recorder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

APART = r"$\Vert\theta_t/\gamma-\hat\theta_t\Vert\;/\;\Vert\hat\theta_t\Vert$"
ROUNDING = 1e-16  # below it a relative difference of two iterates is 0 or an accident
SAME = 1e-12  # farther apart than that are two iterates that more than rounding has parted


def jobs(experiment: Experiment, data: Data) -> Iterator[Job]:
    """Both methods side by side, per data entry and step size."""
    for entry in entries_of(experiment, data):
        yield from (align_job(experiment, entry, gamma) for gamma in experiment.step_sizes)


def align_job(experiment: Experiment, entry: DataEntry, gamma: float) -> Job:
    """LR+GD at this step size beside the batch perceptron, for as many iterations as the experiment says."""
    return Job("align", entry, None, "lr-gd", gamma, experiment.iterations)


def align(job: Job, sample: Sample, rows: HeldRows, checkpoint: Checkpoint | None, tell: Tell) -> Result:
    """LR+GD at this step size and the batch perceptron side by side.

    apart_t = ‖θ_t/γ - θ̂_t‖/‖θ̂_t‖, and the first t at which the two put different rows on the wrong side.
    """
    sheet = Sheet(rows)

    def start(name: str, gamma: float) -> Walk:
        method = parse_method(name, gamma)
        return Walk(
            rows, method, engine="lazy", max_iter=job.limit, stop=None, recorder=Recorder("all", False), seed=SEED
        )

    large, limit = start("lr-gd", job.step_size), start("batch-perceptron", inf)
    apart, parted = [], None
    for one, other in zip(large.iterates(), limit.iterates(), strict=True):
        a, b = large.engine.phi(), limit.engine.phi()
        length = float(np.linalg.norm(b))
        apart.append(float(np.linalg.norm(a - b)) / length if length > 0 else 0.0)
        if parted is None and one.t > 0 and ((sheet.margins(a) <= 0) != (sheet.margins(b) <= 0)).any():
            parted = one.t
        tell(other.t)
    columns = {"iteration": np.arange(len(apart)), "apart": np.array(apart)}
    return Result(about(rows) | {"limit": job.limit, "parted": parted}, columns)


def show(experiment: Experiment, data: Data, results: Results) -> Shown:
    """How far LR+GD is from the batch perceptron, by step size."""
    panels, rows, worst = [], [], []
    for entry in distinct(experiment, data):
        lines, title = [], ""
        for gamma in experiment.step_sizes:
            found = results[align_job(experiment, entry, gamma)]
            title = describe(entry, found)
            t, apart, parted = within(found, experiment.iterations)
            lines.append((gamma, t, apart, parted))
            picked = [float(apart[k]) for k in (1, 10, 100) if k < len(apart)]
            rows.append((title, gamma, *picked, float(apart[-1]), float(apart.max()), parted))
        panels.append((title, lines))
        gamma, _, apart, parted = lines[-1]
        worst.append(f"{apart.max():.2g} on {title}" + ("" if parted is None else f" (wrong sets part at {parted})"))
    table = Table(
        experiment.title,
        ("data", "step size", "t = 1", "t = 10", "t = 100", f"t = {experiment.iterations}", "largest", "sets part at"),
        rows,
        note="‖θ_t/γ - θ̂_t‖/‖θ̂_t‖; sets part at: the first t at which other rows are on the wrong side, empty if never",
    )
    ends = [(float(lines[0][2].max()), float(lines[-1][2].max())) for _, lines in panels]
    tends = all(last < min(max(first, SAME), 0.01) for first, last in ends)
    same = [f"{gamma:g}" for k, gamma in enumerate(experiment.step_sizes) if all(ls[k][3] is None for _, ls in panels)]
    never = (
        f"the same rows are wrong on all data at γ = {', '.join(same)}" if same else "other rows are wrong at every γ"
    )
    sentence = (
        f"{for_or_against(tends)}, within the first {experiment.iterations:,} iterations: at "
        f"step size {experiment.step_sizes[-1]:g} the largest relative difference is {'; '.join(worst)}; {never}."
    )
    return {"": draw(panels)}, {"": table}, [sentence]


def within(found: Result, iterations: int) -> tuple[NDArray[Any], NDArray[Any], int | None]:
    """The first so many iterations; the result may be of a longer run that another experiment asked for."""
    kept, parted = slice(iterations + 1), found.facts["parted"]
    part = None if parted is None or parted > iterations else int(parted)
    return found.columns["iteration"][kept], found.columns["apart"][kept], part


def draw(panels: Sequence[tuple[str, Sequence[tuple[float, NDArray[Any], NDArray[Any], int | None]]]]) -> Figure:
    """‖θ_t/γ - θ̂_t‖/‖θ̂_t‖ by step size, one panel per data set; a dot where the wrong sets part."""
    figure, axes = new_figure(len(panels), across=2)
    for ax, (title, lines) in zip(axes, panels, strict=True):
        for k, (gamma, t, apart, parted) in enumerate(lines):
            shown, colour = t >= 1, shade(k / max(len(lines) - 1, 1))
            name = f"γ = {gamma:g}" if gamma < 1000 else f"γ = 10$^{{{log10(gamma):g}}}$"
            width, order = 0.8 + 0.3 * k, 3 - 0.1 * k  # thin lines on top of wide ones: some coincide
            ax.plot(t[shown], apart[shown], color=colour, lw=width, label=name, clip_on=False, zorder=order)
            if parted is not None:
                ax.plot([parted], [apart[parted]], "o", color=colour, ms=4.5, zorder=4, clip_on=False)
        ax.set_xscale("log")
        ax.set_yscale("symlog", linthresh=ROUNDING, linscale=0.6)  # logarithmic, with a place for 0
        ax.set_ylim(0, 10)
        ax.set_yticks([0, 1e-16, 1e-12, 1e-8, 1e-4, 1])
        if ax is not axes[0]:
            ax.sharex(axes[0])
            ax.sharey(axes[0])
        ax.set_title(words(title), fontsize=9)
        finish(ax, "iteration t", APART if ax in axes[::2] else "")
    legend_below(figure, axes, columns=5)
    return figure


def caption(experiment: Experiment, data: Data) -> str:
    """Which rows, which iterates, and what 0 is."""
    return (
        f"{rows_caption(entries_of(experiment, data))} Every iterate is drawn. The axis has a place for 0, where the "
        "two iterates are equal to the last bit: a line there is not missing. A dot: from here on other rows are on "
        "the wrong side."
    )


KIND = Kind("alignment", ("data", "step_sizes"), jobs, show, work=(Work("align", align, 20.0),), caption=caption)
