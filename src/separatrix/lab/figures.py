"""Figures: empty ones to draw on, and finished ones as bytes.

Only matplotlib's objects are used, no global state. Names, colours and dashes are those of `separatrix.plot`.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

FORMATS = ("svg", "pdf", "png")


def new_figure(panels: int, across: int = 3, width: float = 3.3, height: float = 2.7) -> tuple[Figure, list[Axes]]:
    """An empty figure with so many panels, `across` of them side by side at most."""
    from matplotlib.figure import Figure

    across = min(across, panels)
    down = -(-panels // across)
    figure = Figure(figsize=(0.4 + width * across, height * down), layout="constrained")
    axes = list(np.ravel(figure.subplots(down, across)))
    for ax in axes[panels:]:
        ax.set_axis_off()
    return figure, axes[:panels]


def few_ticks(axis: Axis, at: Sequence[float] = (1.0, 2.0, 5.0)) -> None:
    """Powers of ten times these on a logarithmic axis, written out; matplotlib's own overlap on a short one."""
    from matplotlib.ticker import LogLocator, NullLocator

    axis.set_major_locator(LogLocator(subs=at))
    axis.set_major_formatter(lambda value, place: f"{value:g}")
    axis.set_minor_locator(NullLocator())


def legend_below(figure: Figure, axes: Sequence[Axes], more: Sequence[Artist] = (), columns: int = 3) -> None:
    """One legend for all panels, below them: every label once, then `more`."""
    named: dict[str, Any] = {}
    for ax in axes:
        for handle, name in zip(*ax.get_legend_handles_labels(), strict=True):
            named.setdefault(name, handle)
    handles = [*named.values(), *more]
    names = [*named, *(str(one.get_label()) for one in more)]
    figure.legend(handles, names, loc="outside lower center", ncols=columns, fontsize=8, frameon=False)


def saved(figure: Figure, form: str) -> bytes:
    """The figure as bytes of one format; the same figure gives the same bytes."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    about = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}[form]
    with rc_context({"svg.hashsalt": "separatrix", "svg.fonttype": "path"}):
        figure.savefig(buffer, format=form, dpi=150, metadata=about)
    figure.set_layout_engine("none")  # laid out once, for all formats
    return buffer.getvalue()
