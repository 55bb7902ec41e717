"""What a run is while it goes and when it has ended: Iterate, Status, Run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isinf
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from separatrix.data.rows import Rows, Vector
from separatrix.plot import animate, compare
from separatrix.reporting.plain import counted
from separatrix.reporting.status import Word
from separatrix.walking.engines import Engine
from separatrix.walking.methods import TEMPERED, Plan
from separatrix.walking.trace import Measure, Trace

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.axes import Axes


class Status(Word):
    """How a run ended."""

    SEPARATED = "separated", "every row has a positive margin, checked on the raw data"
    MAX_ITER = "max-iter", "iteration budget spent; this proves nothing about separability, see separate()"
    CYCLE = (
        "cycle",
        "an iterate came back bit for bit: this run repeats itself for ever and never separates; "
        "a short period may be one point to rounding: compare the iterates; see separate() for a proof about the data",
    )
    SETTLED = (
        "settled",
        "descent has settled: while the iterations doubled neither loss nor accuracy got better and θ did not grow; "
        "this proves nothing about separability, see separate()",
    )
    STOPPED = "stopped", "your stop rule or callback ended the run"
    INTERRUPTED = "interrupted", "interrupted from the keyboard; this is the run so far"
    ROUNDED = "rounded", "a margin is zero to rounding: floats cannot tell whether this separates, see separate()"
    DIVERGED = "diverged", "the next numbers are too large for floats: its steps are too long"
    STALLED = "stalled", "a network's step is exactly zero while rows are wrong: it will never move again"


class Tie(NamedTuple):
    """A row that lay exactly on the hyperplane after the first step of a run at step size ∞.

    Parameters
    ----------
    iteration : int
        The first such t ≥ 1.
    row : int
        The first such row.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.solve([[2, 1], [-1, 2], [-1, 1]], [1, 1, -1], "batch-perceptron").ties
    Tie(iteration=1, row=2)
    """

    iteration: int
    row: int


class Cycle(NamedTuple):
    """A proof that a run repeats itself for ever: an iterate with wrong rows came back bit for bit.

    Parameters
    ----------
    iteration : int
        An iterate that comes back; the cycle may have begun earlier.
    period : int
        After how many updates it first does, and then again and again. For the perceptron in cyclic order these are the
        updates of the fewest whole sweeps after which φ is what it was.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.solve([[1], [1], [1]], [1, 1, -1], "batch-perceptron").cycle
    Cycle(iteration=2, period=3)
    """

    iteration: int
    period: int


@dataclass(frozen=True, repr=False)
class Run:
    """The result of `solve`.

    Attributes
    ----------
    method : str
        The method's name.
    step_size : float
        The step size γ; ∞ for the perceptrons. Where step sizes vary, that of t = 0, the unit of φ.
    status : Status
        How it ended, with a sentence in `status.message`.
    separated : bool
        Whether `theta` puts every row on its right side, just checked on the raw data.
    n_iter : int
        Updates made; when the run stopped because it separated, the first t at which θ_t separates.
    theta : ndarray
        The iterate θ_t at finite step size, φ_t at step size ∞ (the last entry is the intercept's, if there is one).
    phi : ndarray
        The iterate over the step size, φ_t = θ_t/γ, safe for any step size.
    bias : float
        The value of the intercept's constant column, 0 without one: a row's score is a·θ[:-1] + bias θ[-1].
    average : ndarray or None
        The mean of φ over all rows visited, where that was asked for.
    engine : str
        The engine that was used.
    seconds : float
        Time spent on iterations and their set-up; recording and checkpoints are not counted.
    trace : Trace
        Columns over the recorded iterates.
    stats : dict of str to int
        What it cost: rows read, columns read and held, sweeps the perceptron began.
    power : float
        The power p of N = n^p (Σw)^(1-p), which the steps of a batch method are divided by.
    ties : Tie or None
        At step size ∞ the first iterate after the first step at which a row lay exactly on the hyperplane, and the
        row; None if there was none, and for other methods. From a tie on, a finite step size may go elsewhere, however
        large: the paper's assumption of a non-degenerate data set excludes them.
    scheduled : bool
        Whether a schedule gave the step sizes.
    cycle : Cycle or None
        The first iterate seen to come back bit for bit while rows were wrong, and its period: from there on the run
        repeats itself for ever. None if none was seen, in random order, and with the engine "gram", which does not
        watch.
    iterates : ndarray or None
        φ_t of every recorded iterate, a row each as in the trace, where that was asked for.
    """

    method: str
    step_size: float
    status: Status
    separated: bool
    n_iter: int
    theta: Vector
    phi: Vector
    bias: float
    average: Vector | None
    engine: str
    seconds: float
    trace: Trace
    stats: dict[str, int]
    power: float = 1.0
    ties: Tie | None = None
    scheduled: bool = False
    cycle: Cycle | None = None
    iterates: Vector | None = None

    def __str__(self) -> str:
        step = f", power {self.power:g}" if self.method.startswith(TEMPERED) else ""
        step += "" if isinf(self.step_size) else f", step size {self.step_size:g}"
        step += " at first" if self.scheduled else ""
        period = f" of period {self.cycle.period:,}" if self.cycle and self.status is Status.CYCLE else ""
        return (
            f"{self.method}{step}: {self.status}{period} after {counted(self.n_iter, 'iteration')} "
            f"({self.engine} engine, {self.seconds:.3g} s): {self.status.message}."
        )

    __repr__ = __str__

    def plot(self, metric: str = "errors", *, ax: Axes | None = None) -> Axes:
        """Draw one metric over the recorded iterations; a dot marks separation.

        Parameters
        ----------
        metric : str, default="errors"
            A column of the trace: "errors", "accuracy", "loss", "grad_norm", "theta_norm" or "min_margin"; "sharpness",
            "angle_low" or "angle_high" where it was recorded.
        ax : matplotlib Axes or None, default=None
            Where to draw; a new figure when not given.

        Returns
        -------
        matplotlib Axes
            The axes with the curve.

        See Also
        --------
        separatrix.plot.compare : Several runs in one picture.
        """
        return compare([self], metric, ax=ax)

    def animate(
        self,
        X: Any,
        y: Any = None,
        *,
        metric: str = "errors",
        frames: int = 100,
        interval: int = 100,
        ax: Axes | None = None,
    ) -> FuncAnimation:
        """Show rows of two features, and frame by frame the line of each kept iterate, beside a curve with a cursor.

        The run keeps them where it was made with `iterates=True`. `.to_jshtml()` of the answer is a page with buttons,
        for notebooks as well; `.save("run.gif", writer="pillow")` a picture that moves.

        Parameters
        ----------
        X : array, CSR matrix, data frame, path, formula or Problem
            The rows of the run, which it does not hold, as `solve` took them.
        y : array-like, path or str, optional
            Their labels, likewise.
        metric : str, default="errors"
            The curve beside the plane: a column of the trace.
        frames : int, default=100
            Frames at most; of more iterates those that are shown are spread evenly over the recorded ones, the first
            and the last among them.
        interval : int, default=100
            Milliseconds that each is shown.
        ax : matplotlib Axes or None, default=None
            Where to draw the plane, and then no curve; a new figure with both when not given.

        Returns
        -------
        matplotlib.animation.FuncAnimation
            The animation, which lasts as long as it is held.

        See Also
        --------
        separatrix.plot.plane : One iterate.
        explore : The same in a browser, to play with.

        Examples
        --------
        >>> import separatrix as sx
        >>> X, y, _ = sx.planted(40, 2, margin=0.1, offset=3.0, random_state=7)
        >>> run = sx.solve(X, y, "perceptron", record="all", iterates=True)
        >>> page = run.animate(X, y).to_jshtml()
        """
        return animate(self, X, y, metric=metric, frames=frames, interval=interval, ax=ax)


class Iterate:
    """One iterate of a run, as `stop` and `callback` of `solve` see it; it has what a row of the trace has, and θ.

    It can be kept: its numbers are those of this t, whenever they are asked for. Nothing is computed for one that
    nobody keeps and nobody asks.

    Attributes
    ----------
    t : int
        Updates made.
    phi : ndarray
        φ_t = θ_t/γ, with γ the run's `step_size`.
    theta : ndarray
        θ_t, or φ_t at step size ∞ (the last entry is the intercept's, if there is one).
    bias : float
        The value of the intercept's constant column, 0 without one: a row's score is a·θ[:-1] + bias θ[-1].
    errors : int
        Rows on the wrong side.
    accuracy : float
        The share of rows, by weight, on the right side.
    loss : float
        The mean of log(1 + exp(-z_iᵀθ)), or the perceptron loss at step size ∞.
    grad_norm : float
        ‖(1/n) Σ w_i z_i‖, never the normalised step.
    theta_norm : float
        ‖θ‖.
    min_margin : float
        The smallest z_iᵀθ/‖θ‖, NaN at θ = 0.
    seconds : float
        Time spent up to it.
    sharpness : float or None
        λ_max of the Hessian, where it was asked for and the iterate is recorded.
    angle_low, angle_high : float or None
        A proven interval for the angle to the direction of the widest margin, likewise.
    iteration : int
        The same as t.
    measure : Measure
        The numbers from `errors` to `min_margin` in one record.
    margins : ndarray
        z_iᵀθ of every row (z_iᵀφ at step size ∞), computed when asked for, while the rows are open.

    See Also
    --------
    Trace : The same numbers of all recorded iterates.

    Examples
    --------
    >>> import separatrix as sx
    >>> kept = []
    >>> run = sx.solve(*sx.two_samples(), step_size=10.0, callback=kept.append, record="all")
    >>> [(at.t, at.errors) for at in kept]
    [(0, 2), (1, 1), (2, 0)]
    """

    def __init__(self, engine: Engine, method: Plan, rows: Rows, seconds: float = 0.0) -> None:
        self._engine: Engine | None = engine
        self._method, self._rows = method, rows
        self.t, self.seconds = engine.t, seconds
        self.sharpness: float | None = None
        self.angle_low: float | None = None
        self.angle_high: float | None = None
        self.bias = rows.bias
        self._phi: Vector | None = None
        self._measure: Measure | None = None

    def keep(self) -> None:
        """Take over what belongs to this iterate, before the engine goes on to the next."""
        if self._engine is not None:
            self._take_phi(self._engine)
            self._take_measure(self._engine)
            self._engine = None

    def _take_phi(self, engine: Engine) -> Vector:
        if self._phi is None:
            self._phi = self._rows.unpad(engine.phi())
        return self._phi

    def _take_measure(self, engine: Engine) -> Measure:
        if self._measure is None:
            self._measure = engine.measure()
        return self._measure

    @property
    def phi(self) -> Vector:
        """The iterate over the step size, φ_t = θ_t/γ."""
        if self._engine is not None:
            return self._take_phi(self._engine)
        assert self._phi is not None, "an iterate lets go of its engine only with φ in hand"
        return self._phi

    @property
    def theta(self) -> Vector:
        """The iterate θ_t (φ_t at step size ∞)."""
        return times(self._method.gamma, self.phi)

    @property
    def iteration(self) -> int:
        """Updates made, t."""
        return self.t

    @property
    def measure(self) -> Measure:
        """Errors, accuracy, loss, grad_norm, theta_norm and min_margin, in one record."""
        if self._engine is not None:
            return self._take_measure(self._engine)
        assert self._measure is not None, "an iterate lets go of its engine only with its numbers in hand"
        return self._measure

    @property
    def errors(self) -> int:
        """Rows on the wrong side."""
        return self.measure.errors

    @property
    def accuracy(self) -> float:
        """The share of rows, by weight, on the right side."""
        return self.measure.accuracy

    @property
    def loss(self) -> float:
        """The mean of log(1 + exp(-z_iᵀθ)), or the perceptron loss at step size ∞."""
        return self.measure.loss

    @property
    def grad_norm(self) -> float:
        """‖(1/n) Σ w_i z_i‖, never the normalised step."""
        return self.measure.grad_norm

    @property
    def theta_norm(self) -> float:
        """‖θ‖."""
        return self.measure.theta_norm

    @property
    def min_margin(self) -> float:
        """The smallest z_iᵀθ/‖θ‖, NaN at θ = 0."""
        return self.measure.min_margin

    @property
    def margins(self) -> Vector:
        """Margins z_iᵀθ of every row (z_iᵀφ at step size ∞), computed when asked for, while the rows are open."""
        theta = self.theta
        with np.errstate(over="ignore", under="ignore"):
            return self._rows.margins(theta if self.bias else np.append(theta, 0.0)) * self._rows.scale


Stop = Literal["separated"] | Callable[[Iterate], Any] | None


def times(gamma: float, phi: Vector) -> Vector:
    """θ = γφ, or φ at γ = ∞."""
    if isinf(gamma):
        return phi
    with np.errstate(over="ignore", under="ignore"):
        return gamma * phi


def hyperplane(theta: Vector, bias: float) -> tuple[Vector, float]:
    """θ as (coef, intercept), with aᵀcoef + intercept = aᵀθ[:-1] + bias θ[-1]; without a constant column, aᵀθ + 0."""
    if not bias:
        return theta, 0.0
    return theta[:-1], bias * float(theta[-1])
