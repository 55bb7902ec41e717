"""The way of a run, an iterate a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from separatrix.data.rows import Vector
from separatrix.plot.curves import Walked, compare
from separatrix.plot.looks import LABELS, name_of, panels
from separatrix.plot.planes import Picture
from separatrix.reporting.plain import counted

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


NEAR = 1e-6  # margins of so little of their terms may be on either side to rounding, of float32 too


class Filmed(Walked, Protocol):
    """What is shown of a run."""

    @property
    def iterates(self) -> Vector | None:
        """φ of every recorded iterate."""

    @property
    def bias(self) -> float:
        """The value of the intercept's constant column, 0 without one."""


def animate(
    run: Filmed, X: Any, y: Any, *, metric: str, frames: int, interval: int, ax: Axes | None = None
) -> FuncAnimation:
    """Show the rows, and frame by frame the line of each iterate, beside a curve with a cursor; see `Run.animate`."""
    if run.iterates is None:
        raise ValueError('the run kept no iterates; solve with iterates=True, and record="all" for every one.')
    if metric not in LABELS:
        raise ValueError(f"metric must be one of {', '.join(LABELS)}, got {metric!r}.")
    for name, value in (("frames", frames), ("interval", interval)):
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name} must be a whole number from 1, got {value!r}.")
    columns = run.iterates.shape[1] - bool(run.bias)
    if columns != 2:
        raise ValueError(f"an animation is of two columns, the run is of {columns}; solve with two of them.")
    left, *right = panels(2, 11.0, 4.5) if ax is None else [ax]
    picture, chosen = Picture(X, y, left), np.unique(np.linspace(0, len(run.iterates) - 1, frames).round().astype(int))
    for k in chosen:
        _check(picture, run, run.iterates[k], int(k))
    left.legend(fontsize=8, loc="best", framealpha=0.8)
    cursors = [compare([run], metric, ax=one).axvline(0.0, color="black", lw=0.8) for one in right]
    phi, t, errors = run.iterates, run.trace["iteration"], run.trace["errors"]
    n, name = len(picture.A), name_of(run.method, run.step_size)

    def draw(k: int) -> list[Artist]:
        picture.show(phi[k], run.bias)
        left.set_title(f"{name}, t = {t[k]:,}: {errors[k]:,} of {n:,} rows wrong", fontsize=10)
        for cursor in cursors:
            cursor.set_xdata([t[k], t[k]])
        return []

    from matplotlib.animation import FuncAnimation

    figure = cast("Figure", left.figure)
    if ax is None:  # laid out once, not for every frame
        draw(0)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
    return FuncAnimation(figure, draw, chosen.tolist(), interval=interval)


def _check(picture: Picture, run: Filmed, phi: Vector, k: int) -> None:
    """Whether as many of these rows are wrong as the run counted, which at θ = 0 are all; it does not hold its rows."""
    w = phi / (np.abs(phi).max() or 1.0)
    c = run.bias * w[2] if len(w) == 3 else 0.0
    margins = picture.sign * (picture.A @ w[:2] + c)
    near = np.abs(margins) < NEAR * (np.abs(picture.A) @ np.abs(w[:2]) + abs(c))
    wrong = margins <= 0
    t, errors = (int(run.trace[name][k]) for name in ("iteration", "errors"))
    if not (wrong & ~near).sum() <= errors <= (wrong | near).sum():
        raise ValueError(
            f"X and y are not the rows of this run: at t = {t:,} it had {counted(errors, 'row')} wrong, here "
            f"{wrong.sum():,} of {len(wrong):,} are; pass what solve took, without rows of weight 0."
        )
