"""The outcome of a model and what stands beside its regressors: weights, groups, times, by name or by value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.data.columns import Column, as_series, check_name, column, listed


@dataclass(frozen=True)
class Outcome:
    """The column of the labels, or the two of successes and failures."""

    columns: tuple[Column, ...]
    name: str

    def labels(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """As in the frame."""
        found = [one.labels(rows) for one in self.columns]
        return found[0] if len(found) == 1 else np.column_stack(found)

    def codes(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Which row (of the kept ones) has which outcome; rows with successes and failures have two."""
        if len(self.columns) == 2:
            won, lost = (np.flatnonzero(one.values[rows] > 0) for one in self.columns)
            return np.concatenate([won, lost]), np.repeat([1, 0], [len(won), len(lost)])
        one = self.columns[0]
        values = one.values[rows] if one.levels is not None else np.unique(one.values[rows], return_inverse=True)[1]
        return np.arange(len(rows)), values


def read_beside(beside: Mapping[str, Any], raw: Mapping[str, Any]) -> tuple[dict[str, Column], list[str]]:
    """What a model asks for beside the regressors, and a note where such a thing is a regressor as well."""
    found: dict[str, Column] = {}
    notes = []
    for key, value in beside.items():
        if value is None:
            continue
        if isinstance(value, str):
            if not raw:
                raise ValueError(f"{key} is the column name {value!r}, but there is no data frame; give its values.")
            found[key] = column(value, raw[check_name(value, list(raw))])
            continue
        series = as_series(value)
        if series is not None and series.name in raw:
            notes.append(f"{series.name!r} is a regressor and the {key} too; give the {key} by name to leave it out.")
        if series is None and not isinstance(value, list | tuple):
            value = np.asanyarray(value)
            value = value[:, 0] if value.ndim == 2 and value.shape[1] == 1 else value
            if value.ndim != 1:
                raise ValueError(f"{key} must have one value per row, got shape {value.shape}.")
        found[key] = column(key, value if series is None else series)
    return found, notes


def read_outcome(raw: Mapping[str, Any], target: Any, aside: Mapping[str, Column]) -> tuple[Outcome, set[str]]:
    """The outcome, and the columns of the frame that it takes."""
    names = list(raw)
    if isinstance(target, str | Integral) and not isinstance(target, bool):
        wanted = check_name(target, names)
        return Outcome((column(wanted, raw[wanted]),), wanted), {wanted}
    if target is None and (known := [key for key in ("event", "time") if key in aside]):
        return Outcome((aside[known[0]],), aside[known[0]].name), set()
    pair = isinstance(target, list | tuple) and len(target) == 2 and all(isinstance(name, str) for name in target)
    if pair and any(name in names for name in target):
        both = [column(check_name(name, names), raw[name]) for name in target]
        return Outcome(numbers_of(both), " + ".join(target)), set(target)
    if target is None:
        raise ValueError(f"y is missing: name the column that is the outcome; columns: {listed(names)}.")
    series = as_series(target)
    name = "y" if series is None or not series.name else str(series.name)
    if series is None:
        return outcome_of(target, name), set()
    labels = column(name, series)
    if name in names:
        if _equal(labels, column(name, raw[name])):
            seen = f"the labels are named {name!r} and so is a column of the frame"
            raise ValueError(f"{seen}; drop that column, or pass target={name!r}.")
        name = "y"  # computed from a column, whose name it still has
    return Outcome((labels,), name), set()


def _equal(one: Column, other: Column) -> bool:
    """Whether two columns say the same."""
    if one.levels != other.levels or len(one.missing) != len(other.missing):
        return False
    known = ~(one.missing | other.missing)
    return np.array_equal(one.missing, other.missing) and np.array_equal(one.values[known], other.values[known])


def numbers_of(both: Sequence[Column]) -> tuple[Column, ...]:
    """Successes and failures, if they are numbers."""
    for one in both:
        if one.levels is not None:
            raise ValueError(f"successes and failures are numbers, but {one.name!r} holds {one.levels[0]!r}.")
    return tuple(both)


def outcome_of(target: Any, name: str = "y") -> Outcome:
    """Labels in an array, or two columns of successes and failures."""
    if not isinstance(target, list | tuple):
        target = np.asanyarray(target)
    elif target and isinstance(target[0], list | tuple | np.ndarray):
        target = np.array(target)
    if isinstance(target, np.ndarray) and target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if isinstance(target, np.ndarray) and target.ndim == 2 and target.shape[1] == 2:
        return Outcome((column(name, target[:, 0]), column(name, target[:, 1])), name)
    return Outcome((column(name, target),), name)


def check_beside(key: str, m: int, n: int) -> None:
    """One value per row."""
    if m != n:
        raise ValueError(f"{key} must have one value per row, got {m} values for {n} rows.")
