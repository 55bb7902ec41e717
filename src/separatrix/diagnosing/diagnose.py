"""Complete, quasi-complete or overlap: whether the logistic MLE exists, what stands in its way, and what to do.

After Albert and Anderson (Biometrika 71, 1984). More than two classes: the multinomial MLE exists unless the stacked
system (b_{y_i} - b_k)ᵀa_i ≥ 0, k ≠ y_i, has a solution that is not zero throughout.
"""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.certify.reader import Reader
from separatrix.data.frames import Design, design, is_frame
from separatrix.data.labels import label, read_labels
from separatrix.data.memory import HeldRows, hold, hold_signed
from separatrix.data.problem import Problem, as_problem, decidable
from separatrix.data.rows import Index
from separatrix.deciding.budget import UNLIMITED, Budget, check_time_limit
from separatrix.deciding.distinct import merged
from separatrix.diagnosing.found import Found, find, find_extended, in_words, independent, sum_of
from separatrix.diagnosing.report import Diagnosis, Pair, advise, explain, in_class, some

INTERCEPT = "(intercept)"
CLASSES = 50  # more classes than this are taken for a number that was meant


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
    known = independent(once.rows, budget)
    kept, relations = known or (np.arange(len(names)), {})
    aliased = in_words(once.rows, kept, relations, names)
    pairs: tuple[Pair, ...] = ()
    if len(classes) == 2:
        found = find_extended(rows, once, kept, relations, budget)
        signs = dict(zip(kept.tolist(), found.signs if known else ["?"] * len(kept), strict=True))
        columns = {name: signs.get(j, "aliased") for j, name in enumerate(names)}
        open_names = [names[kept[at]] for at in found.open]
        aliased |= {names[j]: sum_of(terms, names, rows.d) + ", to rounding" for j, terms in found.near.items()}
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
    found = find(hold_signed(Z, classes), budget)
    pairs, fragile = [], False
    for first, second in combinations(range(others + 1), 2):
        inside = (codes == first) | (codes == second)
        signed = A[inside] * np.where(codes[inside] == second, 1.0, -1.0)[:, None]
        pair = find(hold_signed(signed, classes[[first, second]]), budget, signs=False)
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
