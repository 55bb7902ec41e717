"""Rows of two features, and the line of a θ between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.data.arrays import rows_of
from separatrix.data.memory import hold
from separatrix.plot.looks import PALETTE, axes, finish, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALIKE = 4.0  # spans of two features within this factor are drawn to one scale, so that right angles look right


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
    ax = axes(ax)
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


def _window(A: Any) -> tuple[Any, Any]:
    """The corners of a window with some room around the rows."""
    low, high = A.min(axis=0), A.max(axis=0)
    room = 0.08 * np.where(high > low, high - low, 1.0)
    return low - room, high + room


def _told(w: Any) -> str:
    return f" with {w[~np.isfinite(w)][0]}" if not np.isfinite(w).all() else ""
