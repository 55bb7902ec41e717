"""Problem: data opened and checked once, for any number of calls, which share what was computed."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from separatrix.data.frames import Design
from separatrix.data.labels import label
from separatrix.data.open import dask_client, is_path, open_rows
from separatrix.data.rows import INTERCEPT_SCALE, Rows, Vector
from separatrix.data.table import is_table, read_table, stated_intercept
from separatrix.reporting.plain import counted


class Problem:
    """Rows and labels, opened and checked once, for the functions that take X and y; classifiers take their own.

    What one call computes the next one finds: the rows' lengths, the columns of the Gram matrix G = ZZᵀ that the engine
    `gram` asked for, the bracket on the margin, the verdict and its proof, which is checked again each time. Columns of
    G take up to a quarter of the machine's memory, 2 GB at most, until the problem is closed. At finite step sizes that
    engine's iterates are those of the others to rounding, and which columns are at hand decides how it rounds. X must
    not change meanwhile: arrays are used in place. Calls from several threads take turns; one from inside a callback of
    the same problem is refused.

    Parameters
    ----------
    X : array, memory map, sparse matrix, data frame, path, list of paths, Dask collection, formula or statsmodels model
        The rows a_i. Text, categories and booleans of tables get one 0/1 column per level, as in `diagnose`.
    y : array-like, path or str, optional
        Two-valued labels, the larger one +1; of a table the name of their column, of a formula the data frame or the
        path of a table that it speaks of.
    sample_weight : array-like or str, optional
        Weights s_i ≥ 0 for `solve`; of a table also the name of their column.
    fit_intercept : bool, optional
        Append a constant column, for all calls; by default where a formula or a model says so.
    intercept_scaling : float or "auto", default=1.0
        The value of that column in `solve`; verdicts and margins do not depend on it.
    memory_limit : int or str, optional
        Bytes that the process may take while it reads rows from files, or text such as "1GB".
    missing : {"error", "drop"}, default="error"
        For tables, what to do with rows that have missing values.
    reference : mapping, optional
        For tables, the level to compare with, by column: {"stage": "II"}.
    keep : list of str, default=()
        For tables, columns of text to keep though they differ in nearly every row, which are left out otherwise.

    Attributes
    ----------
    n : int
        Rows.
    d : int
        Columns, without the intercept.
    R : float
        The longest row, max ‖z_i‖, the constant column included.
    classes : ndarray
        The two labels; the second, larger one is +1.
    names : tuple of str
        The columns' names: those of a data frame in memory, else x0, x1, …
    notes : tuple of str
        What was noticed when a table was read: columns left out, doubled or constant.
    fit_intercept : bool
        Whether a constant column is appended.
    closed : bool
        Whether the rows have been let go of.

    Raises
    ------
    ValueError
        If the data are not numbers with labels of two values, or an option is out of range.

    See Also
    --------
    solve : Walk to a separator.
    separate : Decide with a proof.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y, _ = sx.planted(200, 300, margin=0.1, offset=3.0)
    >>> with sx.Problem(X, y) as problem:
    ...     runs = [sx.solve(problem, method="lr-gd", step_size=step) for step in (10.0, 100.0)]
    ...     print(all(run.separated for run in runs), sx.separate(problem).status)
    True separable
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        fit_intercept: bool | None = None,
        intercept_scaling: float | Literal["auto"] = INTERCEPT_SCALE,
        memory_limit: int | str | None = None,
        missing: Literal["error", "drop"] = "error",
        reference: Mapping[str, Any] | None = None,
        keep: Sequence[str] = (),
    ) -> None:
        if isinstance(X, Problem):
            raise ValueError("X is a Problem already; use it as it is.")
        if missing not in ("error", "drop"):
            raise ValueError(f'missing must be "error" or "drop", got {missing!r}.')
        if not (fit_intercept is None or isinstance(fit_intercept, bool | np.bool_)):
            raise ValueError(f"fit_intercept must be True, False or None, got {fit_intercept!r}.")
        table: Design | None = None
        if dask_client(X) is None and is_table(X, y, in_place=memory_limit is not None):
            weight = {"sample_weight": sample_weight}
            table = read_table(X, y, missing=missing, beside=weight, reference=reference, keep=keep)
            X, y = table.X, table.y
            sample_weight = table.beside.get("sample_weight", table.beside.get("weight"))  # the latter is a model's own
            fit_intercept = stated_intercept(table, fit_intercept)
        elif reference or keep:
            raise ValueError("reference and keep name columns of a table; these are rows of numbers.")
        elif y is None and not is_path(X):
            raise TypeError("y is missing: give the labels, or a Problem in place of X and y.")
        elif isinstance(sample_weight, str):
            raise ValueError(f"sample_weight is the column name {sample_weight!r}, but X is no table; give its values.")
        rows = open_rows(
            X,
            y,
            memory_limit=memory_limit,
            sample_weight=sample_weight,
            fit_intercept=bool(fit_intercept),
            intercept_scaling=intercept_scaling,
        )
        weighted = sample_weight is not None
        self._set(rows, table, weighted, weighted and bool((np.asarray(sample_weight) == 0).any()))

    def _set(self, rows: Rows, table: Design | None, weighted: bool, leaves_out: bool) -> None:
        self._rows: Rows | None = rows
        self.table, self.weighted, self.leaves_out = table, weighted, leaves_out
        self._lock, self._owner, self._process = threading.Lock(), 0, os.getpid()
        self._views: dict[float | str, Rows] = {}
        self.known: dict[str, Any] = {}  # what calls leave for the next one, by their own names

    @property
    def rows(self) -> Rows:
        """The rows, by the protocol that everything below this class uses."""
        if self._rows is None:
            raise ValueError("this Problem is closed; open another one, or keep calls inside the with block.")
        return self._rows

    def scaled(self, intercept_scaling: float | Literal["auto"]) -> Rows:
        """The rows with this constant column: 1 for verdicts, "auto" for margins, which do not depend on it.

        Parameters
        ----------
        intercept_scaling : float or "auto"
            The value of the column.

        Returns
        -------
        Rows
            The same rows; themselves where there is no intercept.
        """
        if intercept_scaling not in self._views:
            self._views[intercept_scaling] = self.rows.rescaled(intercept_scaling)
        return self._views[intercept_scaling]

    @property
    def closed(self) -> bool:
        """Whether the rows have been let go of."""
        return self._rows is None

    @property
    def n(self) -> int:
        """Rows."""
        return self.rows.n

    @property
    def d(self) -> int:
        """Columns, without the intercept."""
        return self.rows.d

    @property
    def R(self) -> float:
        """The longest row, max ‖z_i‖, the constant column included."""
        return self.rows.R

    @property
    def classes(self) -> NDArray[Any]:
        """The two labels; the second, larger one is +1."""
        return self.rows.classes

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names: those of a data frame in memory, else x0, x1 and so on."""
        plain = tuple(f"x{j}" for j in range(self.d))
        return plain if self.table is None else tuple(term.name for term in self.table.terms)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was noticed when a table was read: columns left out, doubled or constant."""
        if self.table is None:
            return ()
        left_out = self.table.dropped
        return (*([f"{counted(left_out, 'row')} with missing values left out"] if left_out else []), *self.table.notes)

    @property
    def fit_intercept(self) -> bool:
        """Whether a constant column is appended."""
        return self.rows.bias > 0

    def margins(self, theta: Any) -> Vector:
        """The margins z_iᵀθ of all rows.

        Parameters
        ----------
        theta : array-like
            As `run.theta`: one number per column, and behind them that of the constant column if there is an intercept.
            The θ of `separate` and `max_margin` end in the intercept itself, which is the same where
            `intercept_scaling` is 1.

        Returns
        -------
        ndarray
            The margins; all are positive where θ separates.

        Raises
        ------
        ValueError
            If θ is no vector of numbers, or has another length.
        """
        rows, given = self.rows, np.asarray(theta)
        if given.dtype.kind not in "fiub":
            raise ValueError(f"theta must be a vector of numbers, got {theta!r}.")
        entries = rows.d + self.fit_intercept
        if given.shape != (entries,):
            raise ValueError(f"theta must have shape ({entries},), got {given.shape}.")
        with self._turn():
            return rows.margins(np.append(given, [] if self.fit_intercept else [0.0])) * rows.scale

    @contextmanager
    def _turn(self) -> Iterator[Self]:
        """The problem for one call: those of other threads wait, one from inside a callback cannot be waited for."""
        if self._process != os.getpid():  # a forked child has the rows in memory, but no thread that would end a turn
            if self._rows is not None and self._rows.whole is None:
                raise RuntimeError("this Problem was opened in another process; open it anew in this one.")
            self._lock, self._owner, self._process = threading.Lock(), 0, os.getpid()
        if self._owner == threading.get_ident():
            raise RuntimeError(
                "this Problem is in use by the call whose callback this is; open another Problem for the one inside."
            )
        with self._lock:
            self._owner = threading.get_ident()
            try:
                yield self
            finally:
                self._owner = 0

    def close(self) -> None:
        """Let go of the rows and of all that was computed; what calls have returned stays."""
        with self._turn():
            if self._rows is not None:
                self._rows.close()
                self._rows = self.table = None
                self._views.clear()
                self.known.clear()

    def __reduce__(self) -> str:
        raise TypeError("a Problem cannot be copied or pickled; open another one from the same data.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.closed:
            return "Problem(closed)"
        classes = " and ".join(label(c) for c in self.classes)
        intercept = ", with an intercept" if self.fit_intercept else ""
        return f"Problem({counted(self.n, 'row')} of {counted(self.d, 'column')}, classes {classes}{intercept})"


@contextmanager
def as_problem(
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    fit_intercept: bool | None = None,
    intercept_scaling: Any = INTERCEPT_SCALE,
    memory_limit: Any = None,
    missing: Literal["error", "drop"] = "error",
    keep: Sequence[str] = (),
) -> Iterator[Problem]:
    """The Problem that the user has opened, for the time of a call; or (X, y) opened for this call alone."""
    if isinstance(X, Problem):
        if y is not None:
            seen = repr(y) if isinstance(y, str) else type(y).__name__
            raise ValueError(
                f"a Problem has its labels: leave y out, got {seen}; other options go by name, as in "
                'solve(problem, method="lr-gd").'
            )
        given = {"sample_weight": sample_weight, "memory_limit": memory_limit}
        given["missing"] = None if missing == "error" else missing
        given["keep"] = keep or None
        # The default itself was not given; an equal number was.
        given["intercept_scaling"] = None if intercept_scaling is INTERCEPT_SCALE else intercept_scaling
        for name, value in given.items():
            if value is not None:
                raise ValueError(f"{name} belongs to the Problem: give it where that is opened, Problem(…, {name}=…).")
        if fit_intercept and not X.fit_intercept:
            raise ValueError("this Problem was opened without an intercept; open it with fit_intercept=True.")
        with X._turn():
            yield X
        return
    problem = Problem(
        X,
        y,
        memory_limit=memory_limit,
        sample_weight=sample_weight,
        fit_intercept=fit_intercept,
        intercept_scaling=intercept_scaling,
        missing=missing,
        keep=keep,
    )
    try:
        yield problem
    finally:
        problem.rows.close()


def decidable(problem: Problem) -> Problem:
    """The problem itself, unless a verdict on it would speak of rows that were left out."""
    if problem.leaves_out:
        raise ValueError("sample_weight is 0 in some rows, which a verdict cannot leave out; open X without them.")
    return problem
