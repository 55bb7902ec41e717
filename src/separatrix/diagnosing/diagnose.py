"""Complete, quasi-complete or overlap: whether the logistic MLE exists, what stands in its way, and what to do.

After Albert and Anderson (Biometrika 71, 1984). More than two classes: the multinomial MLE exists unless the stacked
system (b_{y_i} - b_k)ᵀa_i ≥ 0, k ≠ y_i, has a solution that is not zero throughout.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.certify import Claim, Proof, check
from separatrix.certify.reader import Reader, nearest
from separatrix.data.frames import Design, design, is_frame
from separatrix.data.labels import label, read_labels
from separatrix.data.memory import HeldRows, hold, hold_signed
from separatrix.data.problem import Problem, as_problem, decidable
from separatrix.data.rows import Index
from separatrix.deciding.boundary import Certainty, Evidence
from separatrix.deciding.budget import UNLIMITED, Budget, check_time_limit
from separatrix.deciding.distinct import Distinct, distinct, merged
from separatrix.deciding.fragile import is_fragile
from separatrix.deciding.kind import evidence_beside, evidence_in, last_resort, prove_kind
from separatrix.deciding.relations import FACTORED, Relations, independent_columns, spanning_columns
from separatrix.deciding.search import Case
from separatrix.diagnosing.directions import Directions, directions, directions_within_rounding
from separatrix.diagnosing.report import Diagnosis, Kind, Pair, advise, explain, in_class, some

INTERCEPT = "(intercept)"
FEW = 20  # aliased columns whose coefficients are worked out, where there are more columns than rows
KINDS = {
    Claim.SEPARABLE: Kind.COMPLETE,
    Claim.QUASI_COMPLETE: Kind.QUASI_COMPLETE,
    Claim.OVERLAP: Kind.OVERLAP,
}
CLASSES = 50  # more classes than this are taken for a number that was meant


@dataclass(frozen=True)
class Found:
    """What was found of one system of rows.

    certainty : that of the kind; None where undecided
    separated : the rows off the face
    signs : a direction per column
    open : the columns whose direction is not proven
    near : columns that are combinations of others to rounding
    """

    kind: Kind
    proof: Proof | None
    separated: Index
    fragile: bool = False
    certainty: Certainty | None = None
    evidence: Evidence | None = None
    signs: tuple[str, ...] = ()
    open: tuple[int, ...] = ()
    near: Mapping[int, Mapping[int, float]] = field(default_factory=dict)


def diagnose(
    X: Any,
    y: Any = None,
    *,
    fit_intercept: bool = True,
    missing: str = "error",
    exact: bool = False,
    time_limit: float | None = None,
) -> Diagnosis:
    """Whether the classes are completely separated, quasi-completely, or overlap, and which columns and rows cause it.

    Parameters
    ----------
    X : data frame, dict of columns, array, CSR matrix or Problem
        The columns of the model. Frames are those of pandas, polars and others through narwhals.
    y : str or array-like, optional
        The name of the outcome's column in a frame, or one label per row; two classes or more.
    fit_intercept : bool, default=True
        Whether the model has an intercept; a `Problem` says so itself.
    missing : {"error", "drop"}, default="error"
        For frames, what to do with rows that have missing values.
    exact : bool, default=False
        Insist on the bits as stored where the last digits decide: a proof, however long exact arithmetic takes.
    time_limit : float, optional
        Seconds after which answers may be left open.

    Returns
    -------
    Diagnosis
        The kind, the coefficients without a finite estimate, the rows that cause it, and advice.

    Raises
    ------
    ValueError
        If there is one class only or far too many, a column is missing or of no use, or values are missing.

    See Also
    --------
    separate : The verdict and its proof alone, also for rows larger than memory.

    Examples
    --------
    >>> import separatrix as sx
    >>> patients = {"icu": [1, 1, 0, 0, 0, 0], "age": [55, 66, 61, 70, 44, 52], "died": [1, 1, 0, 1, 0, 1]}
    >>> found = sx.diagnose(patients, "died")
    >>> print(found.kind, found.infinite, found.mle_exists)
    quasi-complete ('icu',) False
    """
    began = time.perf_counter()
    check_time_limit(time_limit)
    budget = Budget.within(time_limit, exact=exact)
    if isinstance(X, Problem):
        if missing != "error":
            raise ValueError("missing belongs to the Problem: give it where that is opened, Problem(…, missing=…).")
        with as_problem(X, y) as problem:
            rows = decidable(problem).scaled(1.0).whole
            if rows is None:
                raise ValueError("diagnose needs rows in memory; separate() decides on those of files and clusters.")
            codes = (rows.sign > 0).astype(np.int64)
            found = diagnosis_of(rows, codes, rows.classes, problem.table, budget)
            return replace(found, seconds=time.perf_counter() - began)
    table: Design | None = None
    if is_frame(X):
        table = design(X, y, missing=missing)
        X, y = table.X, table.y
    elif isinstance(y, str):
        way = "read the file into a data frame first" if isinstance(X, str | Path) else "pass one label per row"
        raise ValueError(f"y is the column name {y!r}, but X is no data frame; {way}.")
    elif y is None:
        raise TypeError("y is missing: give the labels, or a Problem in place of X and y.")
    labels, classes = read_labels(y)
    _check_classes(classes)
    # With more than two classes the first against the rest: what is checked here is X.
    rows = hold(X, labels if len(classes) == 2 else labels == classes[0], fit_intercept=fit_intercept)
    found = diagnosis_of(rows, np.searchsorted(classes, labels), classes, table, budget)
    return replace(found, seconds=time.perf_counter() - began)


def diagnosis_of(
    rows: HeldRows,
    codes: NDArray[Any],
    classes: NDArray[Any],
    table: Design | None = None,
    budget: Budget = UNLIMITED,
) -> Diagnosis:
    """What was proven of the rows, in the user's names; `codes` are places in `classes`, one per row."""
    began = time.perf_counter()
    names = [f"x{j}" for j in range(rows.d)] if table is None else [term.name for term in table.terms]
    names = [*names, INTERCEPT] if rows.bias else names
    once = merged(rows)
    known = _independent(once.rows, budget)
    kept, relations = known or (np.arange(len(names)), {})
    aliased = _in_words(once.rows, kept, relations, names)
    pairs: tuple[Pair, ...] = ()
    if len(classes) == 2:
        found = _binary(rows, once, kept, relations, budget)
        signs = dict(zip(kept.tolist(), found.signs if known else ["?"] * len(kept), strict=True))
        columns = {name: signs.get(j, "aliased") for j, name in enumerate(names)}
        open_names = [names[kept[at]] for at in found.open]
        aliased |= {names[j]: _sum_of(terms, names, rows.d) + ", to rounding" for j, terms in found.near.items()}
    else:
        found, pairs = _multinomial(rows, codes, classes, kept, budget)
        columns = _by_class(found.signs if known else ("?",) * len(found.signs), kept, classes, names)
        open_names = [list(columns)[at] for at in found.open]
    facts = explain(found.kind, columns, rows, codes, classes, names, table)
    separated = found.separated if table is None else table.rows[found.separated]
    notes = () if table is None else table.notes
    if open_names:
        notes = (*notes, f"to rounding only: the directions of {some(open_names)}")
    return Diagnosis(
        kind=found.kind,
        columns=columns,
        rows=separated,
        aliased=aliased,
        advice=advise(found.kind, columns, aliased, facts, found.fragile, found.evidence),
        facts=facts,
        notes=notes,
        certainty=found.certainty,
        evidence=found.evidence if len(classes) == 2 else None,
        fragile=found.fragile,
        proof=found.proof if len(classes) == 2 else None,
        pairs=pairs,
        target="y" if table is None else table.target,
        counts={label(c): int(k) for c, k in zip(classes, np.bincount(codes), strict=True)},
        n=rows.n,
        dropped=0 if table is None else table.dropped,
        seconds=time.perf_counter() - began,
    )


def _check_classes(classes: NDArray[Any]) -> None:
    if len(classes) == 1:
        raise ValueError(f"y has one class only ({classes[0]}); a diagnosis needs two or more.")
    if len(classes) > CLASSES:
        raise ValueError(
            f"y has {len(classes)} different values; a diagnosis needs classes, at most {CLASSES} of them."
        )


def _independent(rows: HeldRows, budget: Budget) -> tuple[Index, Relations] | None:
    """Columns kept, and the others as exact combinations of earlier ones, the intercept first; None if too much.

    Where there are columns enough to span everything, which ones is all that is asked: coefficients would be many.
    """
    reader = Reader(rows)
    if rows.n * reader.D > budget.entries or rows.n * reader.D * min(rows.n, reader.D) > budget.affordable(FACTORED):
        return None
    order = np.concatenate([np.arange(rows.d, reader.D), np.arange(rows.d)])
    many = reader.D > rows.n and (reader.D > rows.n + FEW or rows.n > 3 * FEW)
    spanning = spanning_columns(reader, order, budget) if many else None
    if spanning is not None:
        return spanning, {}
    found = independent_columns(reader, np.arange(rows.n), order=order, budget=budget)
    return None if budget.late else found


def _in_words(rows: HeldRows, kept: Index, relations: Relations, names: list[str]) -> dict[str, str]:
    """Each aliased column by name, and what it equals."""
    aliased, D = {}, len(names)
    reader = Reader(rows)
    for j in sorted(set(range(D)) - set(kept.tolist())):
        text = _sum_of(relations.get(j, {}), names, rows.d)
        if not text:
            text = "0" if reader.zero(np.array([j])).all() else "a combination of the columns that are not aliased"
        aliased[names[j]] = text
    return aliased


def _sum_of(terms: Mapping[int, Any], names: list[str], d: int) -> str:
    """A combination of columns in words, the intercept first."""
    order = sorted(terms.items(), key=lambda term: (term[0] - d) % len(names))
    return " + ".join(_term(c, names[k]) for k, c in order).replace("+ -", "- ")


def _term(c: Any, name: str) -> str:
    return {1: name, -1: f"-{name}"}.get(c, f"{nearest(c):.6g}·{name}")


def _find(rows: HeldRows, budget: Budget, *, signs: bool = True) -> Found:
    """The kind of these rows with its proof or its evidence, and the direction of every column."""
    small = distinct(rows, budget)
    case = Case(small.rows, budget)
    proof = prove_kind(case)
    evidence = evidence_in(case, proof)
    if evidence is None and (proof is None or proof.claim is Claim.INSEPARABLE):
        proof = last_resort(case) or proof
    if evidence is not None and case.pair is not None:
        kind = Kind.OVERLAP if evidence.claim is Claim.OVERLAP else Kind.QUASI_COMPLETE
        where = directions_within_rounding(case.pair, budget) if signs else Directions([], [])
        near = {} if evidence is None else _near(case)
        whole = small.evidence(evidence)
        certainty = Certainty.WITHIN_ROUNDING
        return Found(kind, None, whole.separated, True, certainty, whole, tuple(where.signs), near=near)
    if proof is None or proof.claim is Claim.INSEPARABLE:
        none = np.empty(0, dtype=np.int64)
        return Found(Kind.UNDECIDED, proof, none, signs=("?",) * case.reader.D)
    fragile = is_fragile(case, proof, kind=True)
    off = np.zeros(small.rows.n, dtype=bool)
    if proof.claim is not Claim.OVERLAP:
        off = case.reader.signs(proof.theta or ()) > 0
    where = directions(case, proof) if signs else Directions([], [])
    beside = evidence_beside(case, proof) if fragile else None
    return Found(
        kind=KINDS[proof.claim],
        proof=small.carried(proof, rows, budget),
        separated=np.flatnonzero(off[small.which]),
        fragile=fragile,
        certainty=Certainty.PROVEN,
        evidence=None if beside is None else small.evidence(beside),
        signs=tuple(where.signs),
        open=tuple(j for j, sure in enumerate(where.proven) if not sure),
    )


def _near(case: Case) -> dict[int, dict[int, float]]:
    """Columns that are combinations of others to rounding, and which."""
    pair, kappa = case.pair, case.scaled.kappa
    if pair is None:
        return {}
    scaled = pair.combinations * kappa[pair.kept, None] / kappa[None, pair.left]
    return {
        int(j): {int(k): float(f"{c:.9g}") for k, c in zip(pair.kept, line, strict=True) if abs(c) > 1e-9}
        for j, line in zip(pair.left, scaled.T, strict=True)
    }


def _binary(rows: HeldRows, once: Distinct, kept: Index, aliased: Relations, budget: Budget) -> Found:
    """Two classes: the kind on the kept columns, the intercept first, the proof extended to all columns and rows."""
    small = once.rows
    reader, only, order = Reader(small), small, np.arange(len(kept))
    if len(kept) < reader.D or (small.bias and small.n * reader.D <= budget.entries):
        order = np.argsort(kept < small.d, kind="stable")  # of columns dependent to rounding the later ones go
        only = hold_signed(reader.dense(np.arange(small.n), kept[order]), small.classes)
    found = _find(only, budget)
    back = np.argsort(order)
    proof, evidence = found.proof, found.evidence
    if proof is not None and only is not small:
        proof = _extended(proof, small, kept[order], aliased)
    if evidence is not None:
        theta = np.zeros(reader.D)
        theta[kept[order]] = evidence.theta
        evidence = once.evidence(replace(evidence, theta=theta))
    inside = np.zeros(small.n, dtype=bool)
    inside[found.separated] = True
    name = kept[order]
    return replace(
        found,
        proof=once.carried(proof, rows, budget),
        evidence=evidence,
        separated=np.flatnonzero(inside[once.which]),
        signs=tuple(found.signs[at] for at in back),
        open=tuple(sorted(int(order[at]) for at in found.open)),
        near={int(name[j]): {int(name[k]): c for k, c in terms.items()} for j, terms in found.near.items()},
    )


def _extended(proof: Proof, rows: HeldRows, kept: Index, aliased: Relations) -> Proof | None:
    """The proof on the kept columns as one on all: aliased ones get coefficient 0, and lean on what they equal."""
    name = kept.tolist()
    theta = None
    if proof.theta is not None:
        coefficients = dict(zip(name, proof.theta, strict=True))
        theta = tuple(coefficients.get(j, 0.0) for j in range(rows.d + (rows.bias > 0)))
    columns, relations = None, {}
    if proof.columns is not None:
        columns = tuple(name[j] for j in proof.columns)
        own = {name[j]: {name[k]: Fraction(c) for k, c in terms.items()} for j, terms in proof.relations.items()}
        own |= {j: {} for j in set(name) - set(columns) - set(own)}
        relations = {j: terms for j, terms in own.items() if terms}
        for j, terms in aliased.items():
            total: dict[int, Fraction] = {}
            for base, factor in terms.items():
                for k, c in own.get(base, {base: Fraction(1)}).items():
                    total[k] = total.get(k, Fraction(0)) + factor * c
            relations[j] = {k: c for k, c in total.items() if c}
    whole = replace(proof, d=rows.d, intercept=rows.bias > 0, theta=theta, columns=columns, relations=relations)
    return whole if check(whole, rows) else None


def _multinomial(
    rows: HeldRows, codes: NDArray[Any], classes: NDArray[Any], kept: Index, budget: Budget
) -> tuple[Found, tuple[Pair, ...]]:
    """The stacked system with the first class as reference, and every pair of classes by itself."""
    reader = Reader(rows)
    n, width, others = rows.n, len(kept), len(classes) - 1
    if n * others * width * others > budget.entries:
        raise ValueError(
            f"the multinomial system of {n} rows, {width} columns and {others + 1} classes is too large; "
            "diagnose two classes at a time."
        )
    A = reader.dense(np.arange(n), kept) * reader.y[:, None]  # the rows a_i without their labels
    stack = np.zeros((n, others, others + 1, width))
    for i, own in enumerate(codes):
        for slot, k in enumerate(np.delete(np.arange(others + 1), own)):
            stack[i, slot, own] = A[i]
            stack[i, slot, k] = -A[i]
    Z = stack[:, :, 1:].reshape(n * others, others * width)
    found = _find(hold_signed(Z, classes), budget)
    pairs, fragile = [], False
    for first, second in combinations(range(others + 1), 2):
        inside = (codes == first) | (codes == second)
        signed = A[inside] * np.where(codes[inside] == second, 1.0, -1.0)[:, None]
        pair = _find(hold_signed(signed, classes[[first, second]]), budget, signs=False)
        pairs.append(Pair(label(classes[first]), label(classes[second]), pair.kind))
        fragile |= pair.fragile  # the stack repeats each entry, so only the pairs can tell
    return replace(found, separated=np.unique(found.separated // others), fragile=fragile), tuple(pairs)


def _by_class(signs: tuple[str, ...], kept: Index, classes: NDArray[Any], names: list[str]) -> dict[str, str]:
    """The directions of a multinomial model by the names of its coefficients."""
    columns, place, width = {}, {int(j): at for at, j in enumerate(kept)}, len(kept)
    for position, own_class in enumerate(classes[1:]):
        for j, name in enumerate(names):
            sign = signs[position * width + place[j]] if j in place else "aliased"
            columns[in_class(name, own_class, classes[0])] = sign
    return columns
