"""Rows of two features, and the line of a θ between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.data.columns import listed
from separatrix.data.problem import as_problem
from separatrix.data.rows import Vector
from separatrix.plot.looks import CLASSES, axes, finish, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALIKE = 4.0  # spans of two features within this factor are drawn to one scale, so that right angles look right


def plane(X: Any, y: Any, theta: Any, *, bias: float = 1.0, ax: Axes | None = None) -> Axes:
    """Draw rows of two features, the line of θ between its two sides, and the margin; wrong rows are ringed.

    The larger label is drawn as blue discs, the other as orange triangles, as in the explorer. The window is that of
    the rows: of a line outside of it an arrow and a sentence tell where it is.

    Parameters
    ----------
    X : array, CSR matrix, data frame, path, formula or Problem
        The rows, of two columns, as in `solve`.
    y : array-like, path or str
        Labels of two values, the larger one belongs on the positive side; of a table the name of their column, of a
        Problem None.
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
    w = _checked(theta)
    picture = Picture(X, y, ax)
    picture.show(w, bias)
    picture.ax.legend(fontsize=8, loc="best", framealpha=0.8)
    return picture.ax


class Picture:
    """Rows in their window, drawn once, and what depends on θ, drawn anew whenever `show` is called."""

    def __init__(self, X: Any, y: Any, ax: Axes | None = None) -> None:
        with as_problem(X, y) as problem:
            names, rows = problem.names, problem.rows.whole
            if problem.d != 2:
                which = f" ({listed(names)})" if problem.table else ""
                raise ValueError(f"a plane is drawn of two features, X has {problem.d}{which}; choose two columns.")
            if rows is None:
                raise ValueError("a plane is drawn of rows in memory; take some of those in files or on clusters.")
            kept = rows.weight > 0
            A = rows.X.toarray() if rows.sparse else rows.X
            self.A = np.asarray(A[kept], dtype=np.float64)
            self.sign, self.names = np.sign(rows.sign[kept]), [words(str(name)) for name in problem.classes]
        self.low, self.high = _window(self.A)
        self.ax, self.shown = axes(ax), list[Any]()  # what the next θ takes away
        for k in (1, 0):
            rows, (colour, marker) = self.A[self.sign == 2 * k - 1], CLASSES[k]
            self.ax.scatter(rows[:, 0], rows[:, 1], s=26, marker=marker, c=colour, label=self.names[k], zorder=3)
        self.ax.set_xlim(self.low[0], self.high[0])
        self.ax.set_ylim(self.low[1], self.high[1])
        span = self.high - self.low
        if max(span) <= ALIKE * min(span):
            self.ax.set_aspect("equal")
        finish(self.ax, words(names[0]), words(names[1]))

    def show(self, theta: Vector, bias: float) -> None:
        """Draw the line of θ between its two sides, its margin if it separates, and rings around the wrong rows."""
        w = theta / (np.abs(theta).max() or 1.0)  # the line is the same, and no square overflows
        (c0, c1), c = w[:2], (bias * w[2] if len(w) == 3 else 0.0)
        A, low, high = self.A, self.low, self.high
        margins = self.sign * (A @ w[:2] + c)
        for artist in self.shown:
            artist.remove()
        self.shown = []
        if (wrong := margins <= 0).any():
            ring = dict[str, Any](s=90, facecolors="none", edgecolors="black", lw=1.0, zorder=4)
            self.shown.append(self.ax.scatter(A[wrong, 0], A[wrong, 1], label="wrong", **ring))
        corners = np.array([[c0 * x + c1 * v + c for x in (low[0], high[0])] for v in (low[1], high[1])])
        least, most = float(corners.min()), float(corners.max())
        if least or most:  # θ is affine, so two by two corners fill the sides exactly
            levels, across = [min(least, 0.0) - 1, 0.0, max(most, 0.0) + 1], ([low[0], high[0]], [low[1], high[1]])
            colours = [colour for colour, _ in CLASSES]
            self.shown.append(self.ax.contourf(*across, corners, levels, colors=colours, alpha=0.12, zorder=0))
        length = float(np.hypot(c0, c1))
        if not length or least > 0 or most < 0:
            self._tell_where(w[:2], length, np.sign(least + most), float(np.abs(margins).min()))
            return
        shifts = [(0.0, "-", 1.5)] + ([(s * margins.min(), "--", 0.8) for s in (-1, 1)] if margins.min() > 0 else [])
        middle, wide = (low + high) / 2, np.hypot(*(high - low))
        for shift, dash, width in shifts:  # from the point nearest to the window's middle, as far as the window is wide
            point = middle - (c0 * middle[0] + c1 * middle[1] + c - shift) / length * (np.array([c0, c1]) / length)
            along = point + wide * np.array([-c1, c0]) / length
            self.shown.append(self.ax.axline(tuple(point), tuple(along), color="black", ls=dash, lw=width))

    def _tell_where(self, normal: Vector, length: float, side: float, near: float) -> None:
        """Of a line outside of the window: an arrow to it and its distance, in the room around the rows."""
        ax, look = self.ax, dict[str, Any](fontsize=8, zorder=5)
        if not length:
            whose = f"every row is on the side of {self.names[int(side > 0)]}" if side else "θ = 0"
            text = f"there is no line: {whose}"
            self.shown.append(ax.text(0.5, 0.012, text, transform=ax.transAxes, ha="center", **look))
            return
        way = -side * (normal / length) / (self.high - self.low)  # of the window's width and height
        way = way / np.abs(way).max()
        tail, head = tuple(0.5 + 0.43 * way), tuple(0.5 + 0.495 * way)
        arrow = {"arrowstyle": "-|>", "color": "black", "lw": 1.5, "shrinkA": 0, "shrinkB": 0}
        self.shown.append(ax.annotate("", head, tail, "axes fraction", "axes fraction", arrowprops=arrow))
        k = int(abs(way[0]) < 1)  # 0 where the line is to the left or the right, 1 where it is above or below
        at = np.where(way < 0, 0.988, 0.012)  # in the corner where the arrow is not
        at[k] = 0.5 + 0.488 * way[k]
        x, y = at.tolist()
        text = f"the line is {near / length:.3g} away"
        look |= {"ha": ("right", "left")[x < 0.5], "va": ("top", "bottom")[y < 0.5], "rotation": 90 * (1 - k)}
        self.shown.append(ax.text(x, y, text, transform=ax.transAxes, **look))


def _checked(theta: Any) -> Vector:
    try:
        w = np.asarray(theta, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"theta must be 2 or 3 finite numbers, as run.theta is, got {theta!r}.") from None
    if w.shape not in ((2,), (3,)) or not np.isfinite(w).all():
        told = f" with {w[~np.isfinite(w)][0]}" if not np.isfinite(w).all() else ""
        raise ValueError(f"theta must be 2 or 3 finite numbers, got shape {w.shape}{told}.")
    return w


def _window(A: Any) -> tuple[Any, Any]:
    """The corners of a window with some room around the rows."""
    low, high = A.min(axis=0), A.max(axis=0)
    room = 0.08 * np.where(high > low, high - low, 1.0)
    return low - room, high + room
