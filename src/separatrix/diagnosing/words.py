"""Sentences on a diagnosis: columns that separate by themselves, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.certify import Claim
from separatrix.data.labels import label
from separatrix.deciding.boundary import Evidence
from separatrix.diagnosing.kinds import Kind
from separatrix.models.multinomial import in_class
from separatrix.models.reading import Reading

LOGISTIC = (
    "penalise (Firth's method, for instance FirthLogisticRegression of the package firthmodels, or a ridge), or "
    "use exact logistic regression if the data are few; do not report standard errors or p-values of the plain fit"
)
PENALISE = "penalise (Firth's method, or a ridge); do not report standard errors or p-values of the plain fit"
REMEDIES = {  # by family: what to do where estimates are wanted
    "binary": LOGISTIC,
    "grouped": LOGISTIC,
    "multinomial": LOGISTIC,
    "counts": "leave the separated observations out, as reduced() does: the other estimates are those of the full data",
}


def outcomes(reading: Reading) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Each observation's outcome as a number, and in words; no words for outcomes that are no facts by themselves."""
    model, target = reading.model, reading.target
    if model.family == "counts":
        return (model.y > 0).astype(np.int64), (f"{target} = 0", "")
    if model.family == "grouped":
        trials = np.ones(model.n) if model.trials is None else model.trials
        return np.where(model.y == 0, 0, np.where(model.y == trials, 1, 2)), ("no success", "no failure", "")
    if model.family in ("matched", "cox"):
        return model.codes, ("", "")
    return model.codes, tuple(f"{target} = {name}" for name in model.classes)


def explain(kind: Kind, columns: Mapping[str, str], reading: Reading) -> tuple[str, ...]:
    """Sentences on columns that separate by themselves: levels with one outcome, numbers with a threshold."""
    model = reading.model
    if kind not in (Kind.COMPLETE, Kind.QUASI_COMPLETE) or not isinstance(model.X, np.ndarray):
        return ()
    codes, words = outcomes(reading)
    facts = []
    others: dict[str, NDArray[np.bool_]] = {}  # by factor: rows of its reference level
    for x, term in zip(model.X.T, reading.design.terms, strict=True):
        if term.reference is not None:
            others[term.column] = others.get(term.column, np.ones(len(x), dtype=bool)) & (x == 0)
        own = [term.name]
        if model.family == "multinomial":
            own = [in_class(term.name, c, model.classes[0]) for c in model.classes[1:]]
        if not any(columns[name] in ("+", "-", "either") for name in own):
            continue
        if term.level is not None:
            facts += _one_outcome(codes[x == 1], words, f"{term.column} = {term.level}")
        elif ((x == 0) | (x == 1)).all():  # yes or no, or levels that interact
            for value in (1, 0):
                facts += _one_outcome(codes[x == value], words, f"{term.name} is {value}")
        elif model.family == "binary":
            facts += _threshold(x[codes == 0], x[codes == 1], term.name, reading.target, reading.classes)
    against = {term.column: term.reference for term in reading.design.terms}
    for factor, rows in others.items():
        if rows.any():
            facts += _one_outcome(codes[rows], words, f"{factor} = {against[factor]}")
    return tuple(facts)


def _one_outcome(codes: NDArray[np.int64], words: tuple[str, ...], where: str) -> list[str]:
    """A sentence where these rows all have one outcome."""
    inside = np.unique(codes)
    if len(inside) != 1 or not words[inside[0]]:
        return []
    which = f"all {len(codes)} rows have" if len(codes) > 1 else "the only row has"
    return [f"{where}: {which} {words[inside[0]]}"]


def _threshold(low: NDArray[Any], high: NDArray[Any], name: str, target: str, classes: NDArray[Any]) -> list[str]:
    """A sentence where one number splits the outcome, but for ties at the threshold."""
    for a, b, one in ((low, high, label(classes[1])), (high, low, label(classes[0]))):
        top, bottom = float(a.max()) + 0.0, float(b.min()) + 0.0  # never -0
        if top < bottom:
            return [
                f"{name} alone separates: at least {bottom:.6g} where {target} = {one}, at most {top:.6g} elsewhere"
            ]
        if top == bottom and a.min() < b.max():
            return [f"{name} alone separates but for ties at {top:.6g}: above it {target} = {one}, below it not"]
    return []


def advise(
    kind: Kind,
    family: str,
    columns: Mapping[str, str],
    aliased: Mapping[str, str],
    facts: tuple[str, ...],
    fragile: bool,
    evidence: Evidence | None = None,
) -> str:
    """What to do next, in the user's words."""
    parts = []
    levels = [fact.rsplit(": ", 1)[0] for fact in facts if " = " in fact.rsplit(": ", 1)[0]]
    remedies = REMEDIES.get(family, PENALISE)
    if kind is Kind.OVERLAP and evidence is not None and evidence.claim is Claim.QUASI_COMPLETE:
        parts.append(
            f"as stored the estimate exists, but only by last digits, and its coefficients are enormous: {remedies}"
        )
    elif kind is Kind.OVERLAP:
        parts.append("nothing stands in the way: the estimate exists and is finite, fit as usual")
    elif kind is Kind.UNDECIDED:
        parts.append("give more time, or scale and round the columns to what was measured, and try again")
    elif kind is Kind.COMPLETE and family != "binary":
        parts.append(remedies)
    elif kind is Kind.COMPLETE:
        parts.append(
            "to classify, nothing is wrong: take a separator from separate() or the widest one from max_margin(); to "
            f"estimate effects, {remedies}"
        )
    elif levels:
        named = ", ".join(levels[:5]) + (", …" if len(levels) > 5 else "")
        parts.append(
            f"merge {named} with a similar level, or leave those rows out, if that makes sense; else {remedies}"
        )
    else:
        wild = [name for name, sign in columns.items() if sign in ("+", "-", "either")]
        named = ", ".join(wild[:5]) + (", …" if len(wild) > 5 else "")
        what = "it decides" if len(wild) == 1 else "together they decide"
        parts.append(f"look at {named}: {what} part of the rows; drop or coarsen one column, or {remedies}")
    if kind is Kind.QUASI_COMPLETE:
        parts.append(
            "reduced().fit() has the estimates that stay finite, bound() how far off an infinite one is at least"
        )
    if aliased:
        one = len(aliased) == 1
        parts.append(
            f"drop the aliased column{'' if one else 's'}: {'it adds' if one else 'they add'} nothing to the others"
        )
    if fragile:
        parts.append("the answer hangs on rounding: round the columns to the digits that were measured and ask again")
    return "; ".join(parts) + "."
