"""Where the coefficients of a diagnosis run."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING

from separatrix.plot.looks import PALETTE, axes, finish, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Where a coefficient's limit is drawn.
SIDES = {"-": (-1.0,), "0": (0.0,), "aliased": (0.0,), "?": (0.0,), "+": (1.0,), "either": (-1.0, 1.0)}


def coefficients(columns: Sequence[tuple[str, str]], title: str = "", *, ax: Axes | None = None) -> Axes:
    """Draw where each coefficient's estimate runs: an arrow to -∞ or +∞, both where it is not determined, a dot else.

    `columns` are names with their directions as in `Diagnosis.columns`; `Diagnosis.plot` calls this.
    """
    ax = axes(ax, height=1.2 + 0.28 * len(columns))
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
    ax = axes(ax, height=1.2 + 0.28 * len(lines))
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
