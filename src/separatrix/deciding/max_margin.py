"""max_margin → Margin: the bracket on the widest margin, narrowed until it is as narrow as asked for."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, Literal

from separatrix.data.problem import Problem, as_problem, decidable
from separatrix.deciding.budget import Budget, check_time_limit
from separatrix.deciding.margin import Margin, Progress, find_margin
from separatrix.deciding.working_set import margin_elsewhere
from separatrix.reporting.keywords import hinted
from separatrix.reporting.progress import Progress as Shown
from separatrix.reporting.progress import check_verbose


@hinted
def max_margin(
    X: Any,
    y: Any = None,
    *,
    rtol: float = 1e-6,
    fit_intercept: bool | None = None,
    time_limit: float | None = None,
    callback: Callable[[Progress], Any] | None = None,
    memory_limit: int | str | None = None,
    missing: Literal["error", "drop"] = "error",
    verbose: bool | int = False,
) -> Margin:
    """The widest margin as a bracket whose two ends are proven.

    ::

        μ = max_{‖θ‖ ≤ 1} min_i z_iᵀθ

    Where no separator exists μ = 0 and the upper end is driven there; `separate` turns that into a proof.

    Parameters
    ----------
    X : array, sparse matrix, data frame, path, formula, statsmodels model, Dask collection or Problem
        The rows a_i, as in `solve`; dense or CSR, float32 or float64.
    y : array-like, path, str or data frame, optional
        Two-valued labels, the larger one +1, or the name of their column; of a formula the data frame; as in `solve`.
    rtol : float, default=1e-6
        The bracket is closed when upper - lower ≤ rtol · upper.
    fit_intercept : bool, optional
        Also an intercept, which is not part of the norm, as in every hard-margin SVM; by default only where a formula
        or a model has one.
    time_limit : float, optional
        Seconds after which the bracket is returned as it is.
    callback : callable, optional
        Called with a `Progress` (step, lower, upper, seconds) after each Newton step, or each round where rows are
        elsewhere; a true answer stops.
    memory_limit : int or str, optional
        Bytes that the process may take while it reads rows from files, or text such as "1GB".
    missing : {"error", "drop"}, default="error"
        For tables, what to do with rows that have missing values.
    verbose : bool or int, default=False
        Show from the second second on how narrow the bracket is, in one line: on a terminal, below a notebook's cell,
        or in a file every few seconds.

    Returns
    -------
    Margin
        The bracket, with the θ and the weights that prove its ends.

    Raises
    ------
    ValueError
        If the data are not numbers with labels of two values, or an option is out of range.

    See Also
    --------
    separate : Whether there is a separator at all.
    MaxMarginClassifier : The same as a scikit-learn classifier.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[2, 1], [-2, 1], [5, 0]], [1, -1, 1]
    >>> mu = sx.max_margin(X, y)
    >>> print(f"{mu.lower:.4f} {mu.upper:.4f} {mu.support}")
    2.0000 2.0000 [0 1]
    """
    if not isinstance(rtol, Real) or not 0 < float(rtol) < 1:
        raise ValueError(f"rtol must lie between 0 and 1, got {rtol!r}.")
    check_time_limit(time_limit)
    check_verbose(verbose)
    with (
        Shown("max_margin: reading the rows", quiet=not verbose) as shown,
        as_problem(X, y, fit_intercept=fit_intercept, memory_limit=memory_limit, missing=missing) as problem,
    ):

        def told(now: Progress) -> Any:
            shown.tell(f"max_margin: step {now.step}, margin in [{now.lower:.6g}, {now.upper:.6g}]")
            return callback is not None and callback(now)

        asked = told if verbose else callback
        rows = decidable(problem).scaled("auto")
        if rows.whole is None:
            found = margin_elsewhere(rows, float(rtol), Budget.within(time_limit), asked)
        else:
            found = find_margin(rows.whole, float(rtol), time_limit, asked, problem.known.get("margin"))
        remember(problem, found)
        return found


def remember(problem: Problem, found: Margin) -> None:
    """Leave a bracket for the next call on this problem, if it is the narrowest so far."""
    known: Margin | None = problem.known.get("margin")
    if known is None or found.upper - found.lower < known.upper - known.lower:
        problem.known["margin"] = found.copy()  # the user may change the arrays of what was returned
