"""separate → Separation: whether some hyperplane puts every row on its right side, and the proof."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from separatrix.certify import Claim, Proof, check, verify
from separatrix.certify.reader import as_floats, as_integers, nearest
from separatrix.data.problem import Problem, as_problem, decidable
from separatrix.data.rows import Vector
from separatrix.deciding.boundary import Certainty, Evidence
from separatrix.deciding.budget import Budget, Tell, check_time_limit, untold
from separatrix.deciding.distinct import distinct
from separatrix.deciding.fragile import is_fragile
from separatrix.deciding.intercept import remark
from separatrix.deciding.kind import evidence_in, last_resort, proof_beside, whole_kind
from separatrix.deciding.margin import Bracket, Margin, MarginStatus
from separatrix.deciding.max_margin import remember
from separatrix.deciding.search import Case, Tool, separator, settle
from separatrix.deciding.working_set import settle_elsewhere
from separatrix.reporting.keywords import hinted
from separatrix.reporting.plain import counted
from separatrix.reporting.progress import Progress, check_verbose
from separatrix.reporting.status import Word

LAST = Tool("exact", lambda case: None)
KNOWN = Tool("known", lambda case: None)  # what an earlier call on the same Problem left
BESIDE = Tool("core", lambda case: None)  # rows that no last digit moves, beside others that are tied to rounding


FOUND_BY = {  # the tools in words
    "rows": "a look at single rows, and pairs of equal ones",
    "perceptron": "a few sweeps of the perceptron",
    "sample": "some of the rows, which decide for all",
    "pair": "a separator and weights in floats, and linear algebra",
    "core": "the rows that no last digit moves",
    "newton": "Newton's method",
    "kernel": "one exact linear system",
    "exact": "rational arithmetic",
    "shards": "a growing set of rows",
    "known": "an earlier call on the same Problem",
}


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
    certainty : Certainty or None
        "proven", or "within rounding" where the last digits decide and the verdict holds to the precision of the
        numbers, on `evidence`; None where undecided.
    evidence : Evidence or None
        What a verdict within rounding rests on, with its two residuals.
    fragile : bool
        Whether the verdict could turn if entries that look rounded changed by one part in 1e12.
    tool : str
        What decided, in a word: "rows", a look at single rows and pairs of equal ones; "perceptron", a few sweeps of
        it; "sample", some of the rows; "pair", a separator and weights found together in floats, of which linear
        algebra made the proof; "core", the same for the rows that no last digit moves; "newton", Newton's method on the
        margin; "kernel", one exact linear system; "exact", rational arithmetic; "shards", a growing set of rows, where
        they are in files or on a cluster; "known", a bracket that an earlier call on the same `Problem` left; "none"
        where nothing did.
    seconds : float
        The time it took.
    notes : tuple of str
        What was noticed when a table was read: columns left out, for instance. And of inseparable rows, where no
        intercept was asked for, whether one makes them separable.
    message : str
        The verdict in a sentence, with its certainty.
    """

    status: Verdict
    theta: Vector | None
    margin: Margin
    proof: Proof | None
    certainty: Certainty | None
    evidence: Evidence | None
    fragile: bool
    tool: str
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """The verdict in a sentence, with its certainty."""
        if self.certainty is Certainty.WITHIN_ROUNDING and self.evidence is not None:
            return f"{self.certainty}, {self.evidence.claim}: {Certainty.WITHIN_ROUNDING.message}"
        return self.status.message

    def verify(self, X: Any, y: Any = None, *, memory_limit: int | str | None = None) -> bool:
        """Re-check the proof from the raw data, trusting nothing.

        Parameters
        ----------
        X : array, sparse matrix, data frame, path, list of paths, Dask collection or Problem
            The rows that the verdict is about.
        y : array-like, path or str, optional
            Their labels.
        memory_limit : int or str, optional
            Bytes that the process may take while it reads rows from files, or text such as "1GB".

        Returns
        -------
        bool
            Whether the proof holds for these rows; False where there is none.
        """
        return self.proof is not None and verify(self.proof, X, y, memory_limit=memory_limit)

    def copy(self) -> Separation:
        """The same with arrays of its own.

        Returns
        -------
        Separation
            The copy; the proof, which cannot change, is shared.
        """
        return replace(self, theta=None if self.theta is None else self.theta.copy(), margin=self.margin.copy())

    def __str__(self) -> str:
        text = f"{self.status}: {self.message}"
        if self.evidence is not None:
            text += f"\nevidence: {self.evidence}"
        if self.status is not Verdict.INSEPARABLE:
            text += f"\nmargin between {self.margin.lower:.6g} and {self.margin.upper:.6g}, as far as was needed"
        if self.proof is not None:
            text += f"\nproof: {self.proof}"
        if self.tool in FOUND_BY:
            text += f"\nfound by: {FOUND_BY[self.tool]}"
        if self.fragile and self.proof is not None:
            text += "\nfragile: a change of one part in 1e12 could turn this verdict"
        return text + "".join(f"\nnote: {note}" for note in self.notes)

    __repr__ = __str__


@hinted
def separate(
    X: Any,
    y: Any = None,
    *,
    fit_intercept: bool | None = None,
    exact: bool = False,
    time_limit: float | None = None,
    memory_limit: int | str | None = None,
    missing: Literal["error", "drop"] = "error",
    verbose: bool | int = False,
) -> Separation:
    """Whether some hyperplane puts every row on its right side, with a proof either way.

    Parameters
    ----------
    X : array, sparse matrix, data frame, path, formula, statsmodels model, Dask collection or Problem
        The rows a_i, as in `solve`; dense or CSR, float32 or float64.
    y : array-like, path, str or data frame, optional
        Two-valued labels, the larger one +1, or the name of their column; of a formula the data frame; as in `solve`.
    fit_intercept : bool, optional
        Let the hyperplane miss the origin; by default only where a formula or a model has an intercept. Where the rows
        are inseparable without one, they are decided once more with it, and `notes` says what that showed: up to
        n·D·min(n, D) = 2·10⁷ with D columns, 2,000 rows of 99 say, and not for rows in files or on a cluster.
    exact : bool, default=False
        Insist on the bits as stored where the last digits decide: a proof, however long exact arithmetic takes.
    time_limit : float, optional
        Seconds after which "undecided" is an allowed answer; the step under way is finished first.
    memory_limit : int or str, optional
        Bytes that the process may take while it reads rows from files, or text such as "1GB".
    missing : {"error", "drop"}, default="error"
        For tables, what to do with rows that have missing values.
    verbose : bool or int, default=False
        Show from the second second on what is being tried, in one line: on a terminal, below a notebook's cell, or in a
        file every few seconds.

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
    overlap by 4 rows that cancel under positive weights (Gordan): no θ has z_iᵀθ ≥ 0 in all rows and > 0 in one
    >>> found.verify(X, y)
    True
    """
    check_time_limit(time_limit)
    check_verbose(verbose)
    began, budget = time.perf_counter(), Budget.within(time_limit, exact=exact)
    with (
        Progress("separate: reading the rows", quiet=not verbose) as shown,
        as_problem(X, y, fit_intercept=fit_intercept, memory_limit=memory_limit, missing=missing) as problem,
    ):
        found = again(decidable(problem))
        if found is None:
            size = counted(problem.n, "row")
            shown.tell(f"separate: {size}")
            found = decide(problem, budget, lambda tool: shown.tell(f"separate: {size}, trying {FOUND_BY[tool]}"))
            if found.status is Verdict.INSEPARABLE and not problem.fit_intercept:
                found = replace(found, notes=(remark(problem, budget),))
            if not budget.late:  # what was cut short may say less than there is to say
                problem.known["verdict"] = found.copy()
            if found.status is not Verdict.INSEPARABLE:
                remember(problem, found.margin)
        return replace(found, seconds=time.perf_counter() - began, notes=(*problem.notes, *found.notes))


def again(problem: Problem) -> Separation | None:
    """The verdict of an earlier call on this problem, its proof checked once more."""
    known: Separation | None = problem.known.get("verdict")
    if known is None or known.proof is None or not check(known.proof, problem.rows):
        return None
    margin: Margin = problem.known.get("margin", known.margin)  # perhaps narrowed since
    return replace(known, margin=known.margin if known.status is Verdict.INSEPARABLE else margin).copy()


def decide(problem: Problem, budget: Budget, tell: Tell = untold) -> Separation:
    """A verdict by the tools of `search`; by a growing set of rows where they are elsewhere."""
    began, rows = time.perf_counter(), problem.scaled(1.0)
    if rows.whole is None:
        settled, work = settle_elsewhere(rows, budget)
        margin = work.margin(MarginStatus.PARTIAL, time.perf_counter() - began)
        if settled.evidence is not None:
            return _within_rounding(settled.evidence, margin, "shards")
        return _separation(settled.proof, margin, settled.fragile, "shards" if settled.proof else "none")
    known = problem.known.get("margin")
    if known is not None:
        case = Case(rows.whole, budget)
        proof = from_margin(case, known)
        if proof is not None:
            margin = case.bracket.margin(MarginStatus.PARTIAL, 0, time.perf_counter() - began)
            return _separation(proof, margin, is_fragile(case, proof), KNOWN.name)
    small = distinct(rows.whole, budget)
    case = Case(small.rows, budget, tell)
    proof, tool = settle(case)
    if proof is not None and tool.whole:
        proof = whole_kind(case, proof)  # costs little more, and says more
    evidence = evidence_in(case, None) if proof is None else None
    if evidence is not None and (proof := proof_beside(case, evidence)) is not None:
        evidence, tool = None, BESIDE
    if proof is None and evidence is None:
        proof, tool = last_resort(case), LAST
    fragile = evidence is not None or (proof is not None and is_fragile(case, proof))
    bracket = case.bracket
    if small.rows is not rows.whole:
        bracket = Bracket(rows.whole)
        small.hand_over(case.bracket, bracket)
        proof = small.carried(proof, rows.whole, budget)
    if proof is not None and proof.claim is not Claim.SEPARABLE:
        bracket.lower = bracket.upper = 0.0
    margin = bracket.margin(MarginStatus.PARTIAL, case.steps, time.perf_counter() - began)
    if evidence is not None:
        return _within_rounding(small.evidence(evidence), margin, "pair")
    return _separation(proof, margin, fragile, "none" if proof is None else tool.name)


def _within_rounding(evidence: Evidence, margin: Margin, tool: str) -> Separation:
    return Separation(
        status=Verdict.INSEPARABLE,
        theta=None,
        margin=margin,
        proof=None,
        certainty=Certainty.WITHIN_ROUNDING,
        evidence=evidence,
        fragile=True,
        tool=tool,
        seconds=margin.seconds,
    )


def from_margin(case: Case, known: Margin) -> Proof | None:
    """A bracket that an earlier call left: where its θ has a margin, that is a separator."""
    case.bracket.take(known)
    return separator(case, case.bracket.theta) if case.bracket.lower > 0 else None


def _separation(proof: Proof | None, margin: Margin, fragile: bool, tool: str) -> Separation:
    theta = None
    if proof is None:
        status = Verdict.UNDECIDED
    elif proof.claim is Claim.SEPARABLE and proof.theta is not None:
        status = Verdict.SEPARABLE
        theta = np.array([nearest(t) for t in proof.theta])
        if not np.isfinite(theta).all():
            theta = as_floats(as_integers(proof.theta))
    else:
        status = Verdict.INSEPARABLE
    certainty = None if proof is None else Certainty.PROVEN
    return Separation(status, theta, margin, proof, certainty, None, fragile, tool, margin.seconds)
