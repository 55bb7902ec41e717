"""Complete, quasi-complete or overlap: whether the logistic MLE exists, what stands in its way, and what to do.

After Albert and Anderson (Biometrika 71, 1984). More than two classes: the multinomial MLE exists unless the stacked
system (b_{y_i} - b_k)ᵀa_i ≥ 0, k ≠ y_i, has a solution that is not zero throughout.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.certify import Claim, Proof, check
from separatrix.certify.reader import Reader
from separatrix.data.frames import Design, design, is_frame
from separatrix.data.labels import label, read_labels
from separatrix.data.memory import HeldRows, hold, hold_signed
from separatrix.data.problem import Problem, as_problem, decidable
from separatrix.data.rows import Index
from separatrix.deciding.budget import UNLIMITED, Budget, check_time_limit
from separatrix.deciding.fragile import is_fragile
from separatrix.deciding.kind import prove_kind
from separatrix.deciding.relations import Relations, independent_columns, spanning_columns
from separatrix.diagnosing.directions import directions
from separatrix.diagnosing.report import Diagnosis, Kind, Pair, advise, explain, in_class

INTERCEPT = "(intercept)"
FEW = 20  # aliased columns whose coefficients are worked out, where there are more columns than rows
CLASSES = 50  # more classes than this are taken for a number that was meant


@dataclass(frozen=True)
class Found:
    """What was proven of one system of rows."""

    kind: Kind
    proof: Proof | None
    separated: Index


def diagnose(
    X: Any, y: Any = None, *, fit_intercept: bool = True, missing: str = "error", time_limit: float | None = None
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
    budget = Budget.within(time_limit)
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
    kept, relations = _independent(rows, budget)
    aliased = _in_words(rows, kept, relations, names)
    if len(classes) == 2:
        found, columns, fragile, pairs = _binary(rows, kept, relations, names, budget)
    else:
        found, columns, fragile, pairs = _multinomial(rows, codes, classes, kept, names, budget)
    facts = explain(found.kind, columns, rows, codes, classes, names, table)
    separated = found.separated if table is None else table.rows[found.separated]
    return Diagnosis(
        kind=found.kind,
        columns=columns,
        rows=separated,
        aliased=aliased,
        advice=advise(found.kind, columns, aliased, facts, fragile),
        facts=facts,
        notes=() if table is None else table.notes,
        fragile=fragile,
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


def _independent(rows: HeldRows, budget: Budget) -> tuple[Index, Relations]:
    """Columns kept, and the others as exact combinations of earlier ones; the intercept comes first.

    Where there are columns enough to span everything, which ones is all that is asked: coefficients would be many.
    """
    reader = Reader(rows)
    if rows.n * reader.D > budget.entries:
        return np.arange(reader.D), {}
    order = np.concatenate([np.arange(rows.d, reader.D), np.arange(rows.d)])
    spanning = spanning_columns(reader, order) if reader.D > rows.n + FEW else None
    if spanning is not None:
        return spanning, {}
    return independent_columns(reader, np.arange(rows.n), order=order, budget=budget)


def _in_words(rows: HeldRows, kept: Index, relations: Relations, names: list[str]) -> dict[str, str]:
    """Each aliased column by name, and what it equals."""
    aliased, D = {}, len(names)
    reader = Reader(rows)
    for j in sorted(set(range(D)) - set(kept.tolist())):
        terms = sorted(relations.get(j, {}).items(), key=lambda term: (term[0] - rows.d) % D)
        text = " + ".join(_term(c, names[k]) for k, c in terms)
        if not text:
            text = "0" if reader.zero(np.array([j])).all() else "a combination of the columns that are not aliased"
        aliased[names[j]] = text.replace("+ -", "- ")
    return aliased


def _term(c: Any, name: str) -> str:
    return {1: name, -1: f"-{name}"}.get(c, f"{float(c):.6g}·{name}")


def _find(rows: HeldRows, budget: Budget) -> tuple[Found, bool]:
    proof = prove_kind(rows, budget)
    every, none = np.arange(rows.n), np.empty(0, dtype=np.int64)
    if proof is None or proof.claim is Claim.INSEPARABLE:
        return Found(Kind.UNDECIDED, proof, none), False
    fragile = is_fragile(rows, proof, budget, kind=True)
    if proof.claim is Claim.SEPARABLE:
        return Found(Kind.COMPLETE, proof, every), fragile
    if proof.claim is Claim.OVERLAP:
        return Found(Kind.OVERLAP, proof, none), fragile
    return Found(Kind.QUASI_COMPLETE, proof, np.flatnonzero(Reader(rows).signs(proof.theta or ()) > 0)), fragile


def _binary(
    rows: HeldRows, kept: Index, relations: Relations, names: list[str], budget: Budget
) -> tuple[Found, dict[str, str], bool, tuple[Pair, ...]]:
    """Two classes: the kind on the kept columns, the proof extended to all of them."""
    reader, only = Reader(rows), rows
    if len(kept) < reader.D:
        only = hold_signed(reader.dense(np.arange(rows.n), kept), rows.classes)
    found, fragile = _find(only, budget)
    if only is not rows and found.proof is not None:
        found = replace(found, proof=_extended(found.proof, rows, kept, relations))
    undecided = found.kind is Kind.UNDECIDED
    where = ["?"] * len(kept) if undecided else directions(Reader(only), found.separated, budget)
    columns = dict.fromkeys(names, "aliased") | {names[j]: sign for j, sign in zip(kept, where, strict=True)}
    return found, columns, fragile, ()


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
    rows: HeldRows,
    codes: NDArray[Any],
    classes: NDArray[Any],
    kept: Index,
    names: list[str],
    budget: Budget,
) -> tuple[Found, dict[str, str], bool, tuple[Pair, ...]]:
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
    stacked = hold_signed(Z, classes)
    found, _ = _find(stacked, budget)
    where = (
        ["?"] * Z.shape[1] if found.kind is Kind.UNDECIDED else directions(Reader(stacked), found.separated, budget)
    )
    columns = {}
    place = {int(j): at for at, j in enumerate(kept)}
    for position, own_class in enumerate(classes[1:]):
        for j, name in enumerate(names):
            sign = where[position * width + place[j]] if j in place else "aliased"
            columns[in_class(name, own_class, classes[0])] = sign
    pairs, fragile = [], False
    for first, second in combinations(range(others + 1), 2):
        inside = (codes == first) | (codes == second)
        signed = A[inside] * np.where(codes[inside] == second, 1.0, -1.0)[:, None]
        pair, hangs = _find(hold_signed(signed, classes[[first, second]]), budget)
        pairs.append(Pair(label(classes[first]), label(classes[second]), pair.kind))
        fragile |= hangs  # the stack repeats each entry, so only the pairs can tell
    owners = np.unique(found.separated // others)
    return Found(found.kind, found.proof, owners), columns, fragile, tuple(pairs)
