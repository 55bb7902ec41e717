"""What all pictures share: names, colours, labels, axes."""

from __future__ import annotations

from math import isinf
from typing import TYPE_CHECKING

import numpy as np

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
CLASSES = ((PALETTE[1], "^"), (PALETTE[0], "o"))  # colour and marker of the classes -1 and +1, as in the explorer
# From small step sizes to large ones; any two are 34 apart in CIELAB to the red- and the green-blind too (viridis: 17).
STEPS = ("#2D0A4E", "#3457C4", "#16A0C0", "#6CC08B", "#F2B134", "#C8102E")
LOGARITHMIC = ("loss", "grad_norm", "theta_norm", "errors", "sharpness", "angle_low", "angle_high")


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


def axes(ax: Axes | None, height: float = 4.0) -> Axes:
    """These axes, or those of a new figure."""
    return panels(1, 6.0, height)[0] if ax is None else ax


def panels(count: int, width: float, height: float) -> list[Axes]:
    """The axes of a new figure, side by side."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError(f"plots need matplotlib: {install('lab')}.") from None
    return list(pyplot.subplots(1, count, figsize=(width, height), layout="constrained", squeeze=False)[1][0])
