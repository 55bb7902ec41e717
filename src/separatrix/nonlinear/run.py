"""What a run of a network is while it goes and when it has ended: NetworkIterate, NetworkRun."""

from __future__ import annotations

from dataclasses import dataclass
from math import isinf
from typing import TYPE_CHECKING, Any, NamedTuple

from separatrix.data.rows import Vector
from separatrix.plot import compare
from separatrix.reporting.plain import counted
from separatrix.walking.run import Status
from separatrix.walking.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Numbers(NamedTuple):
    """What is recorded of an iterate."""

    errors: int
    accuracy: float
    loss: float
    grad_norm: float
    theta_norm: float
    min_output: float


COLUMNS = ("iteration", *Numbers._fields, "seconds")


@dataclass(frozen=True, eq=False)
class NetworkIterate:
    """One iterate of a run of `nonlinear.solve`, as `stop` and `callback` see it; it can be kept.

    Attributes
    ----------
    t : int
        Updates made.
    theta : ndarray
        θ_t, all parameters that are trained in one vector, in the order of `module.parameters()`.
    margins : ndarray
        y_i g(a_i; θ_t) of every row that has a weight, not divided by anything.
    errors : int
        Rows with y_i g(a_i; θ_t) ≤ 0.
    accuracy : float
        The share of rows, by weight, on the right side.
    loss : float
        The loss that the trace's `loss_name` names.
    grad_norm : float
        The norm ‖(1/n) Σ w_i y_i ∇g(a_i; θ_t)‖.
    theta_norm : float
        The norm ‖θ_t‖.
    min_output : float
        The smallest y_i g(a_i; θ_t).
    """

    t: int
    theta: Vector
    margins: Vector
    errors: int
    accuracy: float
    loss: float
    grad_norm: float
    theta_norm: float
    min_output: float


@dataclass(frozen=True, eq=False, repr=False)
class NetworkRun:
    """The result of `nonlinear.solve`.

    Attributes
    ----------
    method : str
        The method's name.
    step_size : float
        The step size γ; ∞ for the perceptrons.
    unit : float
        What the steps are multiplied by, u: γ itself for plain gradient descent.
    power : float
        The power p of N = n^p (Σw)^(1-p), which the steps are divided by.
    status : Status
        How it ended, with a sentence in `status.message`.
    separated : bool
        Whether every y_i g(a_i; θ) was positive when it was last computed, at `theta`. Outputs are floats of `dtype`:
        this is a computation, not a proof.
    n_iter : int
        Updates made; when the run stopped because it separated, the first t at which θ_t does.
    theta : ndarray
        The parameters that were trained, in one vector, in the order of `module.parameters()`.
    module : torch.nn.Module
        A copy of the module with these parameters, in evaluation mode; `module.state_dict()` names them.
    seconds : float
        Time spent on passes over the rows; recording and checkpoints are not counted.
    trace : Trace
        Columns over the recorded iterates: iteration, errors, accuracy, loss, grad_norm, theta_norm, min_output (the
        smallest y_i g(a_i; θ), not divided by a norm: a network's output has no scale in ‖θ‖) and seconds.
    chunk : int
        Rows that went through the module at once.
    dtype : str
        The arithmetic, "float64" or "float32".
    scheduled : bool
        False: networks take one step size.
    """

    method: str
    step_size: float
    unit: float
    power: float
    status: Status
    separated: bool
    n_iter: int
    theta: Vector
    module: Any
    seconds: float
    trace: Trace
    chunk: int
    dtype: str

    @property
    def scheduled(self) -> bool:
        """False: networks take one step size."""
        return False

    def __str__(self) -> str:
        step = f", step size {'∞' if isinf(self.step_size) else f'{self.step_size:g}'}"
        right = self.status is Status.SEPARATED
        said = "every row has a positive output y_i g(a_i; θ), as computed" if right else self.status.message
        step += f", unit {self.unit:g}" if self.unit != self.step_size else ""
        return (
            f"{self.method}{step} on {len(self.theta):,} parameters: {self.status} after "
            f"{counted(self.n_iter, 'iteration')} ({self.seconds:.3g} s): {said}."
        )

    __repr__ = __str__

    def plot(self, metric: str = "errors", *, ax: Axes | None = None) -> Axes:
        """Draw one metric over the recorded iterations; a dot marks zero errors.

        Parameters
        ----------
        metric : {"errors", "accuracy", "loss", "grad_norm", "theta_norm", "min_output"}, default="errors"
            A column of the trace.
        ax : matplotlib Axes or None, default=None
            Where to draw; a new figure when not given.

        Returns
        -------
        matplotlib Axes
            The axes with the curve.

        See Also
        --------
        separatrix.plot.compare : Several runs in one picture, also beside those of `separatrix.solve`.
        """
        return compare([self], metric, ax=ax)
