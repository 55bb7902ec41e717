"""What is remembered of a run, and how often.

Loss is the natural-log mean f(θ) = (1/n) Σ log(1 + exp(-z_iᵀθ)); at step size ∞ it is the perceptron loss
(1/n) Σ max(0, -m̂_i), the limit of f/γ. `grad_norm` is ‖(1/n) Σ w_i z_i‖ for every method, never the normalised step.
`min_margin` is min_i z_iᵀθ/‖θ‖, NaN at θ = 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from separatrix.reporting.hints import install

if TYPE_CHECKING:
    import pandas as pd

GROWTH = 1.05  # "log" records every iteration up to 20, then each 5 % later than the last


@dataclass(frozen=True)
class Measure:
    """The numbers of one iterate."""

    errors: int
    accuracy: float
    loss: float
    grad_norm: float
    theta_norm: float
    min_margin: float


COLUMNS = ("iteration", *(f.name for f in fields(Measure)), "seconds")
ANGLE = ("angle_low", "angle_high")  # in radians
WHOLE = ("iteration", "errors")


class Trace(Mapping[str, NDArray[Any]]):
    """Columns of equal length, one entry per recorded iterate.

    A mapping from the names of the columns to arrays: `trace["errors"]` and the like.

    ========== ==========================================================================================
    column     per recorded iterate
    ========== ==========================================================================================
    iteration  its number t
    errors     rows on the wrong side
    accuracy   the share of rows, by weight, on the right side
    loss       the loss that `loss_name` names
    grad_norm  ‖(1/n) Σ w_i z_i‖ for every method, never the normalised step
    theta_norm ‖θ‖
    min_margin min_i z_iᵀθ/‖θ‖, NaN at θ = 0
    seconds    time spent up to it
    sharpness  λ_max of the Hessian, where it was asked for
    angle_low  a lower bound on the angle between θ and the direction of the widest margin, where it was asked for
    angle_high an upper bound on it, both in radians, rounded outward
    ========== ==========================================================================================

    Parameters
    ----------
    columns : mapping of str to ndarray
        The columns by name.
    loss_name : str
        Which loss was recorded.

    Attributes
    ----------
    loss_name : str
        Which loss was recorded: the "logistic loss" (1/n) Σ log(1 + exp(-z_iᵀθ)), or at step size ∞ the "perceptron
        loss" (1/n) Σ max(0, -m̂_i).

    Examples
    --------
    >>> import separatrix as sx
    >>> run = sx.solve(*sx.two_samples(), step_size=10.0)
    >>> run.trace["errors"].tolist(), run.trace.loss_name
    ([2, 1, 0], 'logistic loss')
    """

    def __init__(self, columns: Mapping[str, NDArray[Any]], loss_name: str) -> None:
        self._columns = dict(columns)
        self.loss_name = loss_name

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._columns:
            raise KeyError(f"no column {name!r}; columns: {', '.join(self._columns)}.")
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"Trace({len(self['iteration'])} iterates; {', '.join(self._columns)}; loss is the {self.loss_name})"

    def to_pandas(self) -> pd.DataFrame:
        """The trace as a pandas frame.

        Returns
        -------
        pandas.DataFrame
            One row per recorded iterate.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(f"a trace becomes a frame with pandas: {install('frames')}.") from None
        return pd.DataFrame(self._columns)


class Recorder:
    """Collects the rows of a trace, and says at which iteration the next one is due."""

    def __init__(
        self, record: str | int | None, sharpness: bool, angle: bool = False, iterates: bool = False
    ) -> None:
        self.record = record
        self.iterates: list[NDArray[np.float64]] | None = [] if iterates else None  # φ of each row, where asked for
        self.names = (*COLUMNS, *(("sharpness",) if sharpness else ()), *(ANGLE if angle else ()))
        self.rows: list[tuple[float, ...]] = []

    def next_after(self, t: int) -> int | None:
        """The first iteration (or epoch) after t to record, by the grid of `record` alone; None for never."""
        if self.record is None:
            return None
        if self.record in ("all", "epoch"):
            return t + 1
        if self.record == "log":
            return max(t + 1, int(t * GROWTH))
        return t + int(self.record) - t % int(self.record)

    def most(self, limit: int) -> int | None:
        """How many iterates after the first are recorded up to `limit`, the last included; None if beyond counting."""
        if self.record is None:
            return 1
        if self.record != "log":
            return None if limit >= 1 << 60 else limit // (1 if isinstance(self.record, str) else self.record) + 1
        t, count = 0, 1
        while t < limit and (following := self.next_after(t)) is not None:
            t, count = following, count + 1
        return count

    def add(
        self, t: int, measure: Measure, seconds: float, *asked: float, phi: NDArray[Any] | None = None
    ) -> None:
        """One more row, with what was asked for beside the columns of all; one already there is not written twice."""
        if self.rows and self.rows[-1][0] == t:
            return
        if self.iterates is not None and phi is not None:
            self.iterates.append(np.array(phi, dtype=np.float64))
        self.rows.append((t, *(getattr(measure, f.name) for f in fields(Measure)), seconds, *asked))

    def kept(self, entries: int) -> NDArray[np.float64] | None:
        """φ, of so many entries, of each row; None if that was not asked for."""
        return None if self.iterates is None else np.array(self.iterates).reshape(len(self.rows), entries)

    def trace(self, loss_name: str) -> Trace:
        """All rows so far as columns."""
        table = np.array(self.rows, dtype=np.float64).reshape(len(self.rows), len(self.names))
        kinds = {name: np.int64 if name in WHOLE else np.float64 for name in self.names}
        return Trace({name: table[:, k].astype(kinds[name]) for k, name in enumerate(self.names)}, loss_name)


def check_record(record: Any) -> str | int | None:
    """`record` as the user gave it, or one sentence about what it may be."""
    if record is None or (isinstance(record, str) and record in ("all", "log", "epoch")):
        return None if record is None else str(record)
    if isinstance(record, int | np.integer) and not isinstance(record, bool) and record > 0:
        return int(record)
    raise ValueError(f'record must be "all", "log", "epoch", a positive whole number or None, got {record!r}.')
