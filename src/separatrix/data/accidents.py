"""Common accidents of tables: identifiers, dates as text, constants, doubles, columns that give the outcome away."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.data.columns import Column, dates

FEW = 10  # rows below which a different value in each is no news, and values that a number of few values has
SEVERAL = 3  # levels, beyond which a single one that is no number is told
NEARLY = 0.9  # of the rows: with more levels than that a column tells rows apart rather than groups
DATE = re.compile(r"\d{4}([-/.])\d{1,2}\1\d{1,2}([ T]\d{1,2}:.*)?|\d{1,2}([-/.])\d{1,2}\3\d{4}([ T]\d{1,2}:.*)?")


def check_dates(factor: Column, used: Sequence[int]) -> None:
    """Refuse text that is dates, as dates themselves are refused; levels that were declared are meant so."""
    if factor.levels is None or factor.declared:
        return
    texts = [factor.levels[k] for k in used]
    if all(isinstance(text, str) and DATE.fullmatch(text) for text in texts):
        raise dates(factor.name, f"holds dates as text, such as {texts[0]!r}")


def is_identifier(levels: int, n: int) -> bool:
    """Whether so many levels in n rows tell the rows apart, every one of them or nearly so."""
    return n >= FEW and levels > NEARLY * n


def left_out(name: str, levels: list[Any], n: int) -> str:
    """The note on a factor that is left out because it tells rows apart."""
    seen = "differs in every row" if len(levels) == n else f"has {len(levels)} different values in {n} rows"
    odd = _odd(levels)
    if not odd:
        return (
            f"{name!r} holds numbers as text, {seen} and is left out; convert it to numbers, or name it in keep= to "
            "use its levels."
        )
    if len(odd) <= len(levels) // 10:
        why = f"was read as text because of {odd[0]!r}, {seen} and is left out"
        return f"{name!r} {why}; its other values are nearly all numbers: put that right, and it is a number."
    return f"{name!r} {seen}, like an identifier, and is left out; name it in keep= to use it."


def factor_notes(name: str, levels: list[Any]) -> list[str]:
    """Numbers that came as text."""
    odd = _odd(levels)
    if not odd:
        return [f"{name!r} holds numbers as text and was treated as text levels; convert it if it is a number."]
    if len(levels) > SEVERAL and len(odd) <= max(1, len(levels) // 10):
        why = f"{name!r} was read as text because of {odd[0]!r}; its other values are"
        return [f"{why} {'' if len(odd) == 1 else 'nearly '}all numbers: put that right, and it is a number."]
    return []


def spellings(target: str, labels: Sequence[Any]) -> list[str]:
    """Labels of an outcome that may be one: they differ in capitals or spaces alone."""
    seen: dict[str, Any] = {}
    for label in labels:
        other = seen.setdefault(" ".join(str(label).lower().split()), label)
        if other is not label:
            return [f"{target!r} has {other!r} and {label!r}, which may be one label: then spell them alike."]
    return []


def number_notes(name: str, values: NDArray[Any], rows: NDArray[np.int64]) -> list[str]:
    """Numbers that count the rows, and such as never change."""
    if len(rows) > 1 and (values == values[0]).all():
        return [f"{name!r} has the same value in every row."]
    if len(rows) < FEW or not np.array_equal(values, values[0] + (rows - rows[0])):
        return []
    return [f"{name!r} goes up by one from row to row; if it only numbers the rows, drop it."]


def doubles(columns: Sequence[Column]) -> list[str]:
    """Columns that say what an earlier one has said: the same numbers, or the same groups by other names."""
    first: dict[bytes, str] = {}
    notes = []
    for column in columns:
        number = column.levels is None
        values = np.ascontiguousarray(column.values, np.float64) if number else _by_appearance(column.values)
        other = first.setdefault(blake2b(values.tobytes(), person=b"n" if number else b"f").digest(), column.name)
        if other != column.name:
            same = f"is the same as {other!r} in every row" if number else f"groups the rows as {other!r} does"
            notes.append(f"{column.name!r} {same}.")
    return notes


def decides(column: Column, outcome: NDArray[Any], target: str) -> list[str]:
    """A note where rows with the same value of this column have the same outcome, with two rows per value or more."""
    values, n = column.values, len(outcome)
    if n < FEW or (outcome == outcome[0]).all():
        return []
    if column.levels is None:
        if len(np.unique(values[: 4 * FEW])) > FEW:  # a look at the first saves sorting most columns
            return []
        found, values = np.unique(values, return_inverse=True)
        if len(found) > FEW:
            return []
    size = int(values.max()) + 1
    used = np.count_nonzero(np.bincount(values, minlength=size))
    one = np.zeros(size, dtype=outcome.dtype)
    one[values] = outcome
    if used < 2 or 2 * used > n or (one[values] != outcome).any():
        return []
    same = f"rows with the same {column.name!r} have the same {target!r}"
    return [f"{target!r} is a function of {column.name!r}: {same}."]


def _by_appearance(codes: NDArray[Any]) -> NDArray[np.int64]:
    """Codes renumbered in the order in which they appear."""
    _, first, back = np.unique(codes, return_index=True, return_inverse=True)
    ranks: NDArray[np.int64] = np.argsort(np.argsort(first)).astype(np.int64)
    return ranks[back]


def _odd(levels: list[Any]) -> list[Any]:
    """Levels that do not read as numbers."""
    return [level for level in levels if not (isinstance(level, str) and _reads_as_number(level))]


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
