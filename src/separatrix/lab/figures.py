"""Figures: empty ones to draw on, and finished ones as bytes.

Only matplotlib's objects are used, no global state. Names, colours and dashes are those of `separatrix.plot`.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("svg", "pdf", "png")


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


def saved(figure: Figure, form: str) -> bytes:
    """The figure as bytes of one format; the same figure gives the same bytes."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    about = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}[form]
    with rc_context({"svg.hashsalt": "separatrix", "svg.fonttype": "path"}):
        figure.savefig(buffer, format=form, dpi=120, metadata=about)
    figure.set_layout_engine("none")  # laid out once, for all formats
    return buffer.getvalue()
