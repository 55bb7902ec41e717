"""separate → Separation: the verdict and its proof; max_margin → Margin: the bracket on the margin, narrowed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from separatrix.certify import Claim, Proof, verify
from separatrix.data.memory import Vector
from separatrix.deciding.fragile import is_fragile
from separatrix.deciding.kind import Faces
from separatrix.deciding.margin import Margin, MarginStatus, Progress, check_time_limit, find_margin
from separatrix.deciding.search import Case
from separatrix.deciding.working_set import margin_of_shards, settle_shards
from separatrix.reporting.status import Word
from separatrix.shards import Sharded, opened


class Verdict(Word):
    """What `separate` found."""

    SEPARABLE = "separable", "theta puts every row on its right side; checked row by row"
    INSEPARABLE = "inseparable", "no hyperplane puts every row on its right side; proven from the rows themselves"
    UNDECIDED = "undecided", "neither could be proven within the limits; the margin lies in the bracket given"


@dataclass(frozen=True, eq=False, repr=False)
class Separation:
    """The verdict on (X, y) with its proof.

    Attributes
    ----------
    status : Verdict
        Whether the rows are "separable", "inseparable" or "undecided".
    theta : ndarray or None
        A separator (the intercept last), None where there is none. Where no rounding of it separates, which takes
        margins near 1e-16, it is the nearest float64 to the exact one in `proof.theta`.
    margin : Margin
        The bracket on the margin as far as it was needed; `max_margin` narrows it.
    proof : Proof or None
        What `verify` re-checks and `save_proof` writes; None where undecided.
    fragile : bool
        Whether the verdict could turn if entries that look rounded changed by one part in 1e12.
    tool : str
        What decided: "rows", "perceptron", "sample", "newton" or "exact"; "shards" for rows in files or on a cluster;
        "none" where nothing did.
    seconds : float
        The time it took.
    """

    status: Verdict
    theta: Vector | None
    margin: Margin
    proof: Proof | None
    fragile: bool
    tool: str
    seconds: float

    def verify(self, X: Any, y: Any, *, memory_limit: int | str | None = None) -> bool:
        """Re-check the proof from the raw data, trusting nothing.

        Parameters
        ----------
        X : array, sparse matrix, data frame, path, list of paths or Dask collection
            The rows that the verdict is about.
        y : array-like, path or str
            Their labels.
        memory_limit : int or str, optional
            Bytes that the process may take while it reads rows from files, or text such as "1GB".

        Returns
        -------
        bool
            Whether the proof holds for these rows; False where there is none.
        """
        return self.proof is not None and verify(self.proof, X, y, memory_limit=memory_limit)

    def __str__(self) -> str:
        text = f"{self.status}: {self.status.message}"
        if self.status is not Verdict.SEPARABLE and self.proof is not None and not self.proof.intercept:
            text += "\nonly hyperplanes through the origin were asked for; an intercept allows others"
        if self.status is not Verdict.INSEPARABLE:
            text += f"\nmargin between {self.margin.lower:.6g} and {self.margin.upper:.6g}, as far as was needed"
        if self.proof is not None:
            text += f"\nproof: {self.proof}"
        return text + ("\nfragile: a change of one part in 1e12 could turn this verdict" if self.fragile else "")

    __repr__ = __str__


def separate(
    X: Any,
    y: Any,
    *,
    fit_intercept: bool = False,
    time_limit: float | None = None,
    memory_limit: int | str | None = None,
) -> Separation:
    """Whether some hyperplane puts every row on its right side, with a proof either way.

    Parameters
    ----------
    X : array, sparse matrix, data frame, path, list of paths or Dask collection
        The rows a_i, as in `solve`; dense or CSR, float32 or float64.
    y : array-like, path or str
        Two-valued labels, the larger one +1, as in `solve`.
    fit_intercept : bool, default=False
        Let the hyperplane miss the origin.
    time_limit : float, optional
        Seconds after which "undecided" is an allowed answer; the step under way is finished first.
    memory_limit : int or str, optional
        Bytes that the process may take while it reads rows from files, or text such as "1GB".

    Returns
    -------
    Separation
        The verdict, a separator or the proof that there is none, and a bracket on the margin.

    Raises
    ------
    ValueError
        If the data are not numbers with labels of two values, or an option is out of range.

    See Also
    --------
    verify : Check a proof against the rows.
    max_margin : The separator with the widest margin.
    diagnose : Which columns and rows are the cause, in words.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]
    >>> found = sx.separate(X, y, fit_intercept=True)
    >>> print(found.status)
    inseparable
    >>> print(found.proof)
    overlap by gordan on 4 rows: no θ has z_iᵀθ ≥ 0 in all rows and > 0 in one
    >>> found.verify(X, y)
    True
    """
    check_time_limit(time_limit)
    began = time.perf_counter()
    deadline = None if time_limit is None else began + time_limit
    with opened(X, y, fit_intercept=fit_intercept, memory_limit=memory_limit) as problem:
        if isinstance(problem, Sharded):
            proof, work, fragile = settle_shards(problem, deadline)
            margin = work.margin(MarginStatus.PARTIAL, time.perf_counter() - began)
            return _separation(proof, margin, fragile, "shards" if proof else "none")
        case = Case(problem, deadline)
        proof = case.settle()
        fragile = proof is not None and is_fragile(case, proof)
        if (
            proof is not None
            and proof.claim is Claim.INSEPARABLE
            and case.tool in ("sample", "newton")
            and not problem.sparse
        ):
            proof = Faces(case, proof).reduce() or proof  # costs little more, and says more
        bracket = case.bracket
        if proof is not None and proof.claim is not Claim.SEPARABLE:
            bracket.lower = bracket.upper = 0.0
        margin = bracket.margin(MarginStatus.PARTIAL, case.steps, time.perf_counter() - began)
        return _separation(proof, margin, fragile, case.tool)


def _separation(proof: Proof | None, margin: Margin, fragile: bool, tool: str) -> Separation:
    theta = None
    if proof is None:
        status = Verdict.UNDECIDED
    elif proof.claim is Claim.SEPARABLE and proof.theta is not None:
        status = Verdict.SEPARABLE
        theta = np.array([float(t) for t in proof.theta])
    else:
        status = Verdict.INSEPARABLE
    return Separation(status, theta, margin, proof, fragile, tool, margin.seconds)


def max_margin(
    X: Any,
    y: Any,
    *,
    rtol: float = 1e-6,
    fit_intercept: bool = False,
    time_limit: float | None = None,
    callback: Callable[[Progress], Any] | None = None,
    memory_limit: int | str | None = None,
) -> Margin:
    """The widest margin as a bracket whose two ends are proven.

    ::

        μ = max_{‖θ‖ ≤ 1} min_i z_iᵀθ

    Where no separator exists μ = 0 and the upper end is driven there; `separate` turns that into a proof.

    Parameters
    ----------
    X : array, sparse matrix, data frame, path, list of paths or Dask collection
        The rows a_i, as in `solve`; dense or CSR, float32 or float64.
    y : array-like, path or str
        Two-valued labels, the larger one +1, as in `solve`.
    rtol : float, default=1e-6
        The bracket is closed when upper - lower ≤ rtol · upper.
    fit_intercept : bool, default=False
        Also an intercept, which is not part of the norm, as in every hard-margin SVM.
    time_limit : float, optional
        Seconds after which the bracket is returned as it is.
    callback : callable, optional
        Called with a `Progress` (step, lower, upper, seconds) after each Newton step, or each round where rows are
        elsewhere; a true answer stops.
    memory_limit : int or str, optional
        Bytes that the process may take while it reads rows from files, or text such as "1GB".

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
    with opened(X, y, fit_intercept=fit_intercept, intercept_scaling="auto", memory_limit=memory_limit) as problem:
        if isinstance(problem, Sharded):
            return margin_of_shards(problem, float(rtol), time_limit, callback)
        return find_margin(problem, float(rtol), time_limit, callback)
