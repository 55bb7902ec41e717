"""What an intercept would change where none was asked for: said beside a verdict of "inseparable"."""

from __future__ import annotations

from separatrix.certify import Claim
from separatrix.data.problem import Problem
from separatrix.deciding.budget import Budget
from separatrix.deciding.search import Case, settle

TRIED = 20_000_000  # n D min(n, D) up to which rows are decided once more: a few hundredths of a second
ONLY = "only hyperplanes through the origin were asked for"


def remark(problem: Problem, budget: Budget) -> str:
    """What an intercept would change for rows that no hyperplane through the origin separates, proven where small."""
    return f"{ONLY}{_answer(problem, budget)}."


def _answer(problem: Problem, budget: Budget) -> str:
    rows = problem.rows.whole
    if rows is None or rows.n * (rows.d + 1) * min(rows.n, rows.d + 1) > TRIED or budget.late:
        return "; an intercept allows others, which was not tried here"
    proof, _ = settle(Case(rows.with_intercept(), budget.for_part()))
    if proof is None:
        return "; an intercept allows others, and whether one helps is not known"
    if proof.claim is not Claim.SEPARABLE:
        return "; an intercept does not help (proven)"
    stated = problem.table is not None and problem.table.fit_intercept is not None
    way = "let the formula or model have one" if stated else "pass fit_intercept=True"
    return f", and an intercept makes the rows separable (proven): {way}"
