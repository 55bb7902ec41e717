"""Curves of runs over their iterations."""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf, log10
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from separatrix.plot.looks import (
    COLOURS,
    DASHES,
    LABELS,
    LOGARITHMIC,
    OUTPUTS,
    PALETTE,
    axes,
    finish,
    name_of,
    shade,
    words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FEW = 50  # iterations that a linear axis shows well


class Recorded(Protocol):
    """What is drawn of a trace."""

    @property
    def loss_name(self) -> str:
        """Which loss was recorded."""

    def __getitem__(self, name: str) -> NDArray[Any]:
        """A column."""


class Walked(Protocol):
    """What is drawn of a run."""

    @property
    def method(self) -> str:
        """The method's name."""

    @property
    def step_size(self) -> float:
        """γ."""

    @property
    def scheduled(self) -> bool:
        """Whether γ is that of t = 0 alone."""

    @property
    def separated(self) -> bool:
        """Whether the last iterate separates."""

    @property
    def trace(self) -> Recorded:
        """The recorded iterates."""


def compare(
    runs: Sequence[Walked], metric: str = "errors", *, labels: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw one metric of several runs over their iterations; a dot marks where a run has separated the rows.

    Parameters
    ----------
    runs : sequence of Run
        What `solve` or `nonlinear.solve` returned.
    metric : str, default="errors"
        A column of the traces: "errors", "accuracy", "loss", "grad_norm", "theta_norm" or "min_margin" (of networks
        "min_output"); "sharpness", "angle_low" or "angle_high" where all runs recorded it.
    labels : sequence of str or None, default=None
        One name per run; by default the method and its step size.
    ax : matplotlib Axes or None, default=None
        Where to draw; a new figure when not given.

    Returns
    -------
    matplotlib Axes
        The axes with the curves.

    See Also
    --------
    Run.plot : The same of one run.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = sx.worst_case(100)
    >>> runs = [sx.solve(X, y, "lr-gd", step_size=step) for step in (0.1, 1.0, 10.0)]
    >>> ax = sx.plot.compare(runs, "loss")
    """
    if not isinstance(runs, Sequence) or not runs:
        seen = "an empty one" if isinstance(runs, Sequence) else type(runs).__name__
        raise ValueError(f"runs must be a list of at least one run, got {seen}; run.plot() draws one alone.")
    known = LABELS | OUTPUTS
    if metric not in known:
        raise ValueError(f"metric must be one of {', '.join(known)}, got {metric!r}.")
    if labels is not None and len(labels) != len(runs):
        raise ValueError(f"labels must name each run: {len(runs)} runs, {len(labels)} labels.")
    ax = axes(ax)
    names = list(labels) if labels is not None else _names(runs, metric)
    colours = _colours(runs)
    longest = max(int(run.trace["iteration"][-1]) for run in runs)
    lines, least, most, zero = [], np.inf, 0.0, False  # the smallest positive value, the largest, and whether one is 0
    for run, colour in zip(runs, colours, strict=True):
        t, values = run.trace["iteration"], run.trace[metric].astype(np.float64)
        lines += ax.plot(t, values, DASHES.get(run.method, "-"), color=colour, lw=1.3)
        least, most = min(least, values[values > 0].min(initial=np.inf)), max(most, values.max(initial=0.0))
        zero = zero or bool((values == 0).any())
        if run.separated or len(t) < 2:
            ax.plot(t[-1:], values[-1:], "o" if run.separated else "x", color=colour, ms=5)
    if longest > FEW:
        ax.set_xscale("symlog", linthresh=1)  # logarithmic, with a place for iteration 0
        ax.set_xlim(left=0)
    if metric in LOGARITHMIC and most > 10 * least:
        if zero:  # a perceptron's loss ends there
            ax.set_yscale("symlog", linthresh=least)
            ax.set_ylim(bottom=0)
        else:
            ax.set_yscale("log")
    ax.legend(lines, [words(name) for name in names], fontsize=8, frameon=False)
    finish(ax, "iteration", known[metric])
    return ax


def _names(runs: Sequence[Walked], metric: str) -> list[str]:
    """Method and step size; the loss too where two kinds of it are side by side."""
    kinds = {run.trace.loss_name for run in runs}
    told = metric == "loss" and len(kinds) > 1
    plain = [name_of(run.method, run.step_size) for run in runs]
    names = [name.replace("γ =", "γ₀ =") if run.scheduled else name for name, run in zip(plain, runs, strict=True)]
    return [name + (f" ({run.trace.loss_name})" if told else "") for name, run in zip(names, runs, strict=True)]


def _colours(runs: Sequence[Walked]) -> list[Any]:
    """Step sizes from dark to light, perceptrons in their own; runs that would look alike get one colour each."""
    if len({(run.method, run.step_size) for run in runs}) < len(runs):
        return [PALETTE[k % len(PALETTE)] for k in range(len(runs))]
    steps = [log10(run.step_size) for run in runs if not isinf(run.step_size)]
    low, span = min(steps, default=0.0), max(steps, default=0.0) - min(steps, default=0.0)
    return [
        COLOURS.get(run.method, "#000000")
        if isinf(run.step_size)
        else shade((log10(run.step_size) - low) / span if span else 0.4)
        for run in runs
    ]
