"""Firth's penalised estimates by the package firthmodels, as a few lines to run."""

from __future__ import annotations

from collections.abc import Sequence
from json import dumps

from separatrix.data.frames import Term

COVERED = ("binary", "cox")  # families that firthmodels has


def firth_snippet(
    target: str,
    terms: Sequence[Term | str],
    *,
    family: str = "binary",
    frame: str = "df",
    formula: str | None = None,
    constant: bool = True,
    weight: str | None = None,
    offset: str | None = None,
    time: str | None = None,
    complete: Sequence[str] = (),
) -> str:
    """Python lines that print Firth's estimates for the user's own columns.

    target : the column of the outcome; for Cox that of the event
    terms : the columns of the design, names or `Term` for the level of a factor; without those that are aliased
    frame : the variable that holds the table, a pandas frame
    formula : the right-hand side, in place of the terms
    constant : whether the model has an intercept; a formula says so itself
    weight, offset, time : names of columns
    complete : the columns whose missing values leave rows out, where any did
    """
    if family not in COVERED or (family == "cox" and (time is None or weight or offset)):
        raise ValueError("firthmodels has logit models, and Cox models without weights, offset and strata alone.")
    kind = "FirthLogisticRegression" if family == "binary" else "FirthCoxPH"
    head, lines = ["import pandas as pd", f"from firthmodels import {kind}"], []
    if complete:
        lines.append(f"{frame} = {frame}.dropna(subset={_text(list(complete))})")
    if formula is None:
        cells = [f"        {_cell(term, frame)}," for term in terms]
        lines += ["X = pd.DataFrame(", "    {", *cells, "    }", ").astype(float)"]
    else:
        head.append("from formulaic import model_matrix")
        least = '.drop(columns="Intercept", errors="ignore")' if family == "cox" else ""
        lines.append(f"X = pd.DataFrame(model_matrix({_text(formula)}, {frame})){least}")
    outcome, options, found, names = _of(frame, target), "", "firth.coef_", "list(X)"
    if family == "cox":
        outcome = f"({outcome}, {_of(frame, time or '')})"
    elif constant and formula is None:
        found, names = "[*firth.coef_, firth.intercept_]", '[*X, "(intercept)"]'
    else:
        options = "fit_intercept=False"
    beside = {"sample_weight": weight, "offset": offset}
    more = "".join(f", {key}={_of(frame, column)}" for key, column in beside.items() if column)
    lines.append(f"firth = {kind}({options}).fit(X, {outcome}{more})")
    lines.append("firth.lrt()  # penalised likelihood ratio tests")
    lines.append(f'print(pd.DataFrame({{"estimate": {found}, "p": firth.lrt_pvalues_}}, index={names}))')
    return "\n".join([*head, "", *lines]) + "\n"


def _text(value: object) -> str:
    """A string or a list of them, as Python reads it."""
    return dumps(value, ensure_ascii=False)


def _of(frame: str, column: str) -> str:
    return f"{frame}[{_text(column)}]"


def _cell(term: Term | str, frame: str) -> str:
    """One column: numbers as they are, a level of a factor as 0/1."""
    if isinstance(term, str):
        return f"{_text(term)}: {_of(frame, term)}"
    if term.level is None:
        return f"{_text(term.name)}: {_of(frame, term.column)}"
    return f"{_text(term.name)}: {_of(frame, term.column)}.astype(str) == {_text(term.level)}"
