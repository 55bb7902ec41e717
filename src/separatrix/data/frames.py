"""Named columns → a design matrix: treatment contrasts, missing values counted by column.

A frame is anything narwhals takes for one (pandas, polars, pyarrow, modin), or a mapping of names to sequences. Numbers
are used as they are. Text, categories and booleans become one 0/1 column per level other than the reference. That is,
of the levels in which at least two outcomes occur, the one with most rows (of all levels, where no level has two), so a
contrast compares with a level that is not itself decided. Levels are in declared order where there is one (an Enum, a
pandas categorical), else sorted; a polars Categorical declares none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.data.accidents import (
    check_dates,
    decides,
    doubles,
    factor_notes,
    is_identifier,
    left_out,
    number_notes,
)
from separatrix.data.coding import Coding, contrast_terms, with_effects
from separatrix.data.coding import Term as Term
from separatrix.data.columns import (
    Column,
    as_factor,
    check_finite,
    check_lengths,
    check_name,
    column,
    complete_rows,
    index_of,
    raw_columns,
    with_weight,
)
from separatrix.data.columns import is_frame as is_frame
from separatrix.data.outcome import Outcome, check_beside, read_beside, read_outcome
from separatrix.reporting.plain import counted

ENTRIES = 2**28  # of contrasts, 2 GiB: more comes from a column that is no factor
NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, eq=False)
class Design:
    """Rows without missing values as numbers, and where each number comes from."""

    X: Any  # (n, p) float64, finite: an array in C order, or a CSR array where there are fixed effects
    y: NDArray[Any]  # labels of the kept rows, as in the frame; (n, 2) for successes and failures
    terms: tuple[Term, ...]  # one per column of X
    target: str  # name of the labels
    rows: NDArray[np.int64]  # position in the frame of each kept row
    dropped: int  # rows left out for missing values
    notes: tuple[str, ...]  # sentences worth telling
    fit_intercept: bool | None = None  # what a formula, a model or fixed effects say; None: the caller's option decides
    index: NDArray[Any] | None = None  # labels of the kept rows, None where there are only positions
    beside: Mapping[str, NDArray[Any]] = field(default_factory=dict)  # what else was asked for: "weight", "groups", …
    levels: tuple[Any, ...] | None = None  # those declared for the outcome, in order
    ordered: bool = False  # whether they were said to be in order
    model: str | None = None  # what a statsmodels model calls itself, in our words
    needed: tuple[str, ...] = ()  # columns of a frame whose missing values leave rows out


def design(
    frame: Any,
    target: Any,
    *,
    missing: str = "error",
    beside: Mapping[str, Any] = NOTHING,
    fixed_effects: Sequence[str] = (),
    reference: Mapping[str, Any] | None = None,
    keep: Sequence[str] = (),
) -> Design:
    """The design matrix and labels of a frame.

    Parameters
    ----------
    frame : a pandas, polars or pyarrow frame (any that narwhals knows), or a mapping of names to sequences
    target : the column of the labels, the two of successes and failures, or one label per row; a Series lends its name,
        anything else is named "y"
    missing : "error" refuses missing values (None, NaN, NaT, NA) and counts them, "drop" leaves out their rows
    beside : what a model asks for beside the regressors, as names of columns or as one value per row
    fixed_effects : columns whose every level but one gets a sparse 0/1 column, numbers and dates too
    reference : the level to compare with, by column
    keep : factors to keep though they differ in (nearly) every row
    """
    raw = raw_columns(frame)
    names = list(raw)
    fixed = [check_name(name, names) for name in names_in(fixed_effects, "fixed_effects")]
    kept_anyway = {check_name(name, names) for name in names_in(keep, "keep")}
    aside, notes = read_beside(beside, raw)
    outcome, own = read_outcome(raw, target, aside)
    taken = {*own, *fixed, *(str(value) for value in beside.values() if isinstance(value, str))}
    regressors = [column(name, values) for name, values in raw.items() if name not in taken]
    if not regressors and not fixed:
        raise ValueError(f"there is no column besides the target {outcome.name!r}; add at least one.")
    effects = [as_factor(name, raw[name]) for name in fixed]
    n = _length(raw, regressors, effects, outcome, aside)
    needed = [*regressors, *effects, *outcome.columns, *aside.values()]
    complete = complete_rows(needed, n, missing)
    rows, more_notes = with_weight(complete, aside.get("weight"))
    notes += more_notes
    cut = [one if len(rows) == n else at_rows(one, rows) for one in regressors]
    coding = Coding(outcome, rows, reference, [*names_of(cut), *fixed])

    terms: list[Term] = []
    parts: list[tuple[NDArray[Any], int | None]] = []  # the column of X is the values, or where they equal the code
    present: list[Column] = []
    unlike: list[str] = []  # left out because they tell rows apart
    contrasts = 0
    y_codes = outcome.codes(rows)[1] if len(outcome.columns) == 1 else None
    for one in cut:
        if one.levels is None:
            check_finite(one.name, one.values, rows)
            coding.check_number(one.name)
            notes += number_notes(one.name, one.values, rows)
            terms.append(Term(one.name, one.name, None, None))
            parts.append((one.values, None))
        else:
            used = np.flatnonzero(np.bincount(one.values, minlength=len(one.levels))).tolist()
            levels = [one.levels[k] for k in used]
            if len(used) == 1:
                notes.append(f"{one.name!r} has the same value in every row and is left out.")
                continue
            if one.levels != (False, True) and one.name not in kept_anyway:
                check_dates(one, used)
                if is_identifier(len(used), len(rows)):
                    notes.append(left_out(one.name, levels, len(rows)))
                    unlike.append(notes[-1])
                    continue
            notes += factor_notes(one.name, levels)
            contrasts += len(used) - 1
            if contrasts * len(rows) > ENTRIES:
                seen = f"column {one.name!r} has {len(used)} levels in {len(rows)} rows"
                raise ValueError(f"{seen}, too many for a column each; drop it, or group its levels.")
            base = coding.reference(one, used)
            terms += contrast_terms(one, used, base)
            parts += [(one.values, k) for k in used if k != base]
        present.append(one)
        if y_codes is not None:
            notes += decides(one, y_codes, outcome.name)
    notes += doubles(present)
    if not terms and not fixed:
        raise ValueError(_nothing_left(outcome.name, unlike))
    X: Any = np.empty((len(rows), len(terms)))
    for j, (values, code) in enumerate(parts):
        X[:, j] = values if code is None else values == code
    if effects:
        X, more = with_effects(X, [at_rows(one, rows) for one in effects], coding)
        terms += more
    known = n - (len(complete) - len(rows))  # rows without weight are none that miss values
    found = made(X, terms, outcome, rows, known, notes, aside, index_of(frame), True if effects else None)
    return replace(found, needed=tuple(dict.fromkeys(names_of(needed))))


def made(
    X: Any,
    terms: Sequence[Term],
    outcome: Outcome,
    rows: NDArray[np.int64],
    n: int,
    notes: Iterable[str],
    aside: Mapping[str, Column],
    index: NDArray[Any] | None,
    fit_intercept: bool | None,
) -> Design:
    """A design of n rows, of which these were kept."""
    first = outcome.columns[0]
    return Design(
        X,
        outcome.labels(rows),
        tuple(terms),
        outcome.name,
        rows,
        n - len(rows),
        tuple(notes),
        fit_intercept=fit_intercept,
        index=None if index is None else index[rows],
        beside={key: one.labels(rows) for key, one in aside.items()},
        levels=first.levels if first.declared and len(outcome.columns) == 1 else None,
        ordered=first.ordered,
    )


def names_in(given: Any, option: str) -> list[str]:
    """Names of columns, of which one may come by itself."""
    if isinstance(given, str):
        return [given]
    if not isinstance(given, list | tuple | set | frozenset):
        raise ValueError(f"{option} must be a list of columns, got {given!r}.")
    return [str(name) for name in given]


def names_of(columns: Iterable[Column]) -> list[str]:
    """By which they are known."""
    return [one.name for one in columns]


def _length(
    raw: Mapping[str, Any],
    regressors: Sequence[Column],
    effects: Sequence[Column],
    outcome: Outcome,
    aside: Mapping[str, Column],
) -> int:
    """The number of rows, which labels and what is beside must have, too."""
    inside = [one for one in outcome.columns if one.name in raw]
    n = check_lengths([*regressors, *effects, *inside])
    m = len(outcome.columns[0].missing)
    if m != n:
        one_each = "give one label per row, or the name of their column"
        raise ValueError(f"the frame has {n} rows but target has {counted(m, 'label')}; {one_each}.")
    for key, one in aside.items():
        check_beside(key, len(one.missing), n)
    return n


def at_rows(one: Column, rows: NDArray[np.int64]) -> Column:
    """The column at these rows alone."""
    return Column(one.name, one.values[rows], one.missing[rows], one.levels, one.declared, one.ordered)


def _nothing_left(target: str, unlike: list[str]) -> str:
    if unlike:
        return f"no column is left besides {target!r}: {unlike[0]}"
    return f"every column besides {target!r} has the same value in every row; add one that varies."
