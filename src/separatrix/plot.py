"""Pictures of runs, planes and diagnoses: matplotlib axes in, matplotlib axes out.

Step sizes are ordered in colour, from cold to warm, neighbours apart in the eyes of the colour-blind too; the
perceptrons have colours of their own, and all others are the Okabe-Ito palette.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, isinf, log10
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from separatrix.data.arrays import rows_of
from separatrix.data.memory import hold
from separatrix.reporting.hints import install
from separatrix.reporting.plain import LONG, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES = {
    "lr-gd": "LR+GD",
    "normalized-lr-gd": "Normalized LR+GD",
    "batch-perceptron": "Batch Perceptron",
    "normalized-batch-perceptron": "Normalized Batch Perceptron",
    "perceptron": "Perceptron",
    "tempered-lr-gd": "Tempered LR+GD",
    "tempered-batch-perceptron": "Tempered Batch Perceptron",
}
LABELS = {
    "accuracy": "accuracy",
    "errors": "rows on the wrong side",
    "loss": "loss f(θ)",
    "grad_norm": "‖∇f(θ)‖",
    "theta_norm": "‖θ‖",
    "min_margin": "smallest margin / ‖θ‖",
    "sharpness": "largest eigenvalue of ∇²f(θ)",
    "angle_low": "least angle to the widest margin's θ*",
    "angle_high": "greatest angle to the widest margin's θ*",
}
OUTPUTS = {"min_output": "smallest output on the row's own side"}  # of a network, which has no margin
COLOURS = {
    "batch-perceptron": "#000000",
    "normalized-batch-perceptron": "#D55E00",
    "perceptron": "#0072B2",
    "tempered-batch-perceptron": "#009E73",
}
DASHES = {
    "normalized-lr-gd": "--",
    "normalized-batch-perceptron": "--",
    "perceptron": ":",
    "tempered-lr-gd": "-.",
    "tempered-batch-perceptron": "-.",
}
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#000000")
# From small step sizes to large ones; any two are 34 apart in CIELAB to the red- and the green-blind too (viridis: 17).
STEPS = ("#2D0A4E", "#3457C4", "#16A0C0", "#6CC08B", "#F2B134", "#C8102E")
LOGARITHMIC = ("loss", "grad_norm", "theta_norm", "errors", "sharpness", "angle_low", "angle_high")
FEW = 50  # iterations that a linear axis shows well
ALIKE = 4.0  # spans of two features within this factor are drawn to one scale, so that right angles look right
# Where a coefficient's limit is drawn.
SIDES = {"-": (-1.0,), "0": (0.0,), "aliased": (0.0,), "?": (0.0,), "+": (1.0,), "either": (-1.0, 1.0)}


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
        raise ValueError("runs must be a list of at least one run; run.plot() draws one alone.")
    known = LABELS | OUTPUTS
    if metric not in known:
        raise ValueError(f"metric must be one of {', '.join(known)}, got {metric!r}.")
    if labels is not None and len(labels) != len(runs):
        raise ValueError(f"labels must name each run: {len(runs)} runs, {len(labels)} labels.")
    ax = _axes(ax)
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


def plane(X: Any, y: Any, theta: Any, *, bias: float = 1.0, ax: Axes | None = None) -> Axes:
    """Draw rows of two features, the line of θ between its two sides, and the margin; wrong rows are ringed.

    Parameters
    ----------
    X : array, CSR matrix or data frame of shape (n, 2)
        The rows.
    y : array of shape (n,)
        Labels of two values; the larger one belongs on the positive side.
    theta : array of 2 or 3 entries
        θ; of three entries the last is the intercept's.
    bias : float, default=1.0
        What that entry is multiplied by: 1 for `separate` and `max_margin`, `run.bias` for a run.
    ax : matplotlib Axes or None, default=None
        Where to draw; a new figure when not given.

    Returns
    -------
    matplotlib Axes
        The axes with the rows and the line.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [3.0, 1.0]], [0, 0, 1, 1]
    >>> ax = sx.plot.plane(X, y, sx.max_margin(X, y, fit_intercept=True).theta)
    """
    problem = hold(X, y)
    if problem.d != 2:
        raise ValueError(f"a plane is drawn of two features, X has {problem.d}; choose two columns.")
    w = np.asarray(theta, dtype=np.float64)
    if w.shape not in ((2,), (3,)) or not np.isfinite(w).all():
        raise ValueError(f"theta must be 2 or 3 finite numbers, got shape {w.shape}{_told(w)}.")
    w = w / (np.abs(w).max() or 1.0)  # the line is the same, and no square overflows
    (c0, c1), c = w[:2], (bias * w[2] if len(w) == 3 else 0.0)
    A = problem.arrays[0].astype(np.float64) if not problem.sparse else np.asarray(X.toarray(), dtype=np.float64)
    sign = np.sign(problem.sign)
    score = A @ w[:2] + c
    margins = sign * score
    ax = _axes(ax)
    low, high = _window(A)
    for k, marker in ((1, "o"), (0, "s")):
        rows = A[sign == 2 * k - 1]
        ax.scatter(
            rows[:, 0], rows[:, 1], s=26, marker=marker, c=PALETTE[k], label=words(str(problem.classes[k])), zorder=3
        )
    if (wrong := margins <= 0).any():
        ax.scatter(
            A[wrong, 0], A[wrong, 1], s=90, facecolors="none", edgecolors="black", lw=1.0, label="wrong", zorder=4
        )
    if length := float(np.hypot(c0, c1)):
        corners = np.array([[c0 * x + c1 * v + c for x in (low[0], high[0])] for v in (low[1], high[1])])
        if corners.min() < 0 < corners.max():  # θ is affine, so two by two corners fill the sides exactly
            levels = [corners.min() - 1, 0.0, corners.max() + 1]
            ax.contourf([low[0], high[0]], [low[1], high[1]], corners, levels, colors=PALETTE[:2], alpha=0.12, zorder=0)
        shifts = [(0.0, "-", 1.5)] + ([(s * margins.min(), "--", 0.8) for s in (-1, 1)] if margins.min() > 0 else [])
        middle, across = (low + high) / 2, np.hypot(*(high - low))
        for shift, dash, width in shifts:  # from the point nearest to the window's middle, as far as the window is wide
            point = middle - (c0 * middle[0] + c1 * middle[1] + c - shift) / length * (np.array([c0, c1]) / length)
            ax.axline(
                tuple(point), tuple(point + across * np.array([-c1, c0]) / length), color="black", ls=dash, lw=width
            )
    ax.set_xlim(low[0], high[0])
    ax.set_ylim(low[1], high[1])
    span = high - low
    if max(span) <= ALIKE * min(span):
        ax.set_aspect("equal")
    ax.legend(fontsize=8, loc="best", framealpha=0.8)
    names = rows_of(X)[3] or ["feature 0", "feature 1"]
    finish(ax, words(names[0]), words(names[1]))
    return ax


def coefficients(columns: Sequence[tuple[str, str]], title: str = "", *, ax: Axes | None = None) -> Axes:
    """Draw where each coefficient's estimate runs: an arrow to -∞ or +∞, both where it is not determined, a dot else.

    `columns` are names with their directions as in `Diagnosis.columns`; `Diagnosis.plot` calls this.
    """
    ax = _axes(ax, height=1.2 + 0.28 * len(columns))
    for k, (_, sign) in enumerate(columns):
        for end in SIDES.get(sign, ()):  # the last line of a folded list has no sign
            colour = PALETTE[end < 0]
            if end:
                head = {"arrowstyle": "-|>", "color": colour, "lw": 1.6, "ls": "--" if sign == "either" else "-"}
                ax.annotate("", (end, k), (0.0, k), arrowprops=head)
            elif sign != "?":
                ax.plot([0.0], [k], "x" if sign == "aliased" else "o", color="#777777", ms=5)
        if sign == "?":
            ax.text(0.0, k, "?", ha="center", va="center", fontsize=9)
    ax.set_xlim(-1.15, 1.15)
    ax.set_ylim(len(columns) - 0.5, -0.5)
    ax.set_yticks(range(len(columns)), [words(name) for name, _ in columns])
    ax.set_xticks([-1.0, 0.0, 1.0], ["-∞", "finite", "+∞"])
    ax.set_title(words(title), fontsize=10)
    finish(ax, "maximum likelihood estimate", "")
    return ax


def estimates(
    lines: Sequence[tuple[str, str, float, float, float]], title: str = "", *, ax: Axes | None = None
) -> Axes:
    """Draw estimates with their intervals; an end that is infinite becomes an arrow to the edge.

    `lines` are names with their directions, lower ends, estimates and upper ends, NaN where they are not known.
    """
    ax = _axes(ax, height=1.2 + 0.28 * len(lines))
    known = [v for _, _, *values in lines for v in values if isfinite(v)] or [0.0]
    low, high = min(0.0, *known), max(0.0, *known)
    pad = 0.15 * (high - low) or 1.0
    edges = {-1.0: low - pad, 1.0: high + pad}
    for k, (_, sign, lower, middle, upper) in enumerate(lines):
        for end in SIDES.get(sign, ()):
            begin = {1.0: lower, -1.0: upper}.get(end, middle)
            if end:
                dashes = "--" if sign == "either" else "-"
                head = {"arrowstyle": "-|>", "color": PALETTE[end < 0], "lw": 1.6, "ls": dashes}
                ax.annotate("", (edges[end], k), (begin if isfinite(begin) else 0.0, k), arrowprops=head)
            elif isfinite(middle):
                ax.plot([lower, upper], [k, k], "-", color="#777777", lw=1.6)
                ax.plot([middle], [k], "o", color="#333333", ms=5)
            elif sign != "?":
                ax.plot([0.0], [k], "x" if sign == "aliased" else "o", color="#bbbbbb", ms=5)
        if sign == "?":
            ax.text(0.0, k, "?", ha="center", va="center", fontsize=9)
    ax.axvline(0.0, color="#999999", lw=0.6)
    ax.set_xlim(edges[-1.0] - 0.02 * pad, edges[1.0] + 0.02 * pad)
    ax.set_ylim(len(lines) - 0.5, -0.5)
    ax.set_yticks(range(len(lines)), [words(name) for name, *_ in lines])
    ax.set_title(words(title), fontsize=10)
    finish(ax, "maximum likelihood estimate; arrows run off to infinity", "")
    return ax


def words(text: str) -> str:
    """Text that matplotlib prints as it is: a dollar sign opens no formula."""
    return plain(text, LONG).replace("$", r"\$")


def finish(ax: Axes, x: str, y: str) -> None:
    """Labels, a light grid, no box."""
    ax.set_xlabel(x, fontsize=9)
    ax.set_ylabel(y, fontsize=9)
    ax.tick_params(labelsize=8)
    ax.grid(True, alpha=0.25, lw=0.5)
    ax.spines[["top", "right"]].set_visible(False)


def name_of(method: str, step_size: float) -> str:
    """The method, with its step size where it has one."""
    name = NAMES.get(method, method)
    return name if isinf(step_size) else f"{name}, γ = {step_size:g}"


def shade(place: float) -> tuple[float, float, float]:
    """Small step sizes (place 0) dark violet, then blue and green, large ones (place 1) orange and red."""
    at = np.linspace(0.0, 1.0, len(STEPS))
    colours = [[int(colour[k : k + 2], 16) / 255 for colour in STEPS] for k in (1, 3, 5)]
    red, green, blue = (float(np.interp(place, at, part)) for part in colours)
    return red, green, blue


def _axes(ax: Axes | None, height: float = 4.0) -> Axes:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError(f"plots need matplotlib: {install('lab')}.") from None
    return pyplot.subplots(figsize=(6.0, height), layout="constrained")[1]


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


def _window(A: Any) -> tuple[Any, Any]:
    """The corners of a window with some room around the rows."""
    low, high = A.min(axis=0), A.max(axis=0)
    room = 0.08 * np.where(high > low, high - low, 1.0)
    return low - room, high + room


def _told(w: Any) -> str:
    return f" with {w[~np.isfinite(w)][0]}" if not np.isfinite(w).all() else ""
