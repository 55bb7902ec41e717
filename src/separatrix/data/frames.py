"""Named columns → a design matrix: treatment contrasts, missing values counted by column.

A frame is anything narwhals takes for one (pandas, polars, pyarrow, modin), or a mapping of names to sequences. Numbers
are used as they are. Text, categories and booleans become one 0/1 column per level other than the reference. That is,
of the levels in which at least two outcomes occur, the one with most rows (of all levels, where no level has two), so a
contrast compares with a level that is not itself decided. Levels are in declared order where there is one (an Enum, a
pandas categorical), else sorted; a polars Categorical declares none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import compress
from numbers import Integral, Real
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core.constants import EXACT
from separatrix.reporting.hints import did_you_mean
from separatrix.reporting.plain import plain

ENTRIES = 2**28  # of contrasts, 2 GiB: more comes from a column that is no factor
SHOWN = 8  # names in a message
LONG = 60  # letters of one
FEW = 10  # rows below which a different value in each is no news


@dataclass(frozen=True)
class Term:
    """Where one column of the design matrix comes from."""

    name: str  # as shown: "age" or "ward[icu] (vs north)"
    column: str  # of the frame: "ward"
    level: str | None  # "icu" for a contrast, None for a number
    reference: str | None  # "north" for a contrast, None for a number


@dataclass(frozen=True, eq=False)
class Design:
    """Rows without missing values as numbers, and where each number comes from."""

    X: NDArray[np.float64]  # (n, p), C order, finite
    y: NDArray[Any]  # labels of the kept rows, as in the frame
    terms: tuple[Term, ...]  # one per column of X
    target: str  # name of the labels
    rows: NDArray[np.int64]  # position in the frame of each kept row
    dropped: int  # rows left out for missing values
    notes: tuple[str, ...]  # sentences worth telling


@dataclass(frozen=True, eq=False)
class _Column:
    """One column of any frame: numbers (levels None), or codes into levels; anything where missing."""

    name: str
    values: NDArray[Any]
    missing: NDArray[np.bool_]
    levels: tuple[Any, ...] | None = None

    def labels(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """The values at these rows, none of which is missing."""
        values = self.values[rows]
        if self.levels is None:
            return values
        plain = len(set(map(type, self.levels))) == 1 and isinstance(self.levels[0], str | bool | int | float)
        labels: NDArray[Any] = (np.array(self.levels) if plain else np.fromiter(self.levels, object))[values]
        return labels


def is_frame(X: Any) -> bool:
    """Whether X is for `design`: a data frame (a LazyFrame too, which it refuses politely) or a dict of columns."""
    if isinstance(X, Mapping):
        return True
    if isinstance(X, np.ndarray | list | tuple):
        return False
    try:
        nw = _narwhals()
    except ImportError:
        return False
    return bool(nw.dependencies.is_into_dataframe(X) or _is_lazy(X, nw))


def design(frame: Any, target: str | Sequence[Any], *, missing: str = "error") -> Design:
    """The design matrix and labels of a frame.

    Parameters
    ----------
    frame : a pandas, polars or pyarrow frame (any that narwhals knows), or a mapping of names to sequences
    target : the column of the labels, or one label per row; a Series lends its name, anything else is named "y"
    missing : "error" refuses missing values (None, NaN, NaT, NA) and counts them, "drop" leaves out their rows
    """
    if missing not in ("error", "drop"):
        raise ValueError(f'missing must be "error" or "drop", got {missing!r}.')
    columns, label = _split(_columns(frame), target)
    n = len(label.missing)
    rows = _complete_rows([*columns, label], n, missing)
    kept = [(column.name, column.values[rows] if len(rows) < n else column.values, column.levels) for column in columns]
    y = label.labels(rows)
    outcome = label.values[rows] if label.levels is not None else np.unique(y, return_inverse=True)[1]

    notes: list[str] = []
    terms: list[Term] = []
    codes: list[tuple[NDArray[Any], int | None]] = []  # the column of X is the values, or where they equal the code
    contrasts = 0
    for name, values, levels in kept:
        if levels is None:
            _check_finite(name, values, rows)
            notes += _number_notes(name, values, rows)
            terms.append(Term(name, name, None, None))
            codes.append((values, None))
            continue
        used, reference = _contrasts(values, len(levels), outcome)
        notes += _factor_notes(name, [levels[k] for k in used], len(rows))
        contrasts += len(used) - 1
        if contrasts * len(rows) > ENTRIES:
            seen = f"column {name!r} has {len(used)} levels in {len(rows)} rows"
            raise ValueError(f"{seen}, too many for a column each; drop it, or group its levels.")
        base = str(levels[reference])
        for k in used:
            if k != reference:
                terms.append(Term(f"{name}[{levels[k]}] (vs {base})", name, str(levels[k]), base))
                codes.append((values, k))
    if not terms:
        raise ValueError(f"every column besides {label.name!r} has the same value in every row; add one that varies.")
    X = np.empty((len(rows), len(terms)))
    for j, (values, code) in enumerate(codes):
        X[:, j] = values if code is None else values == code
    return Design(X, y, tuple(terms), label.name, rows, n - len(rows), tuple(notes))


def _split(columns: list[_Column], target: Any) -> tuple[list[_Column], _Column]:
    """The columns of X and that of the labels."""
    names = [column.name for column in columns]
    n = len(columns[0].missing)
    if isinstance(target, str | Integral) and not isinstance(target, bool):
        wanted = str(target)
        if wanted not in names:
            hint = did_you_mean(wanted, names)
            raise ValueError(f"there is no column {wanted!r}{hint}; columns: {listed(names)}.")
        label = columns.pop(names.index(wanted))
        if not columns:
            raise ValueError(f"there is no column besides the target {wanted!r}; add at least one.")
        return columns, label
    series = _series(target)
    name = "y" if series is None or not series.name else str(series.name)
    if name in names and series is not None:
        seen = f"the labels are named {name!r} and so is a column of the frame"
        raise ValueError(f"{seen}; drop that column, or pass target={name!r}.")
    if series is None and not isinstance(target, list | tuple):
        target = np.asanyarray(target)
        target = target[:, 0] if target.ndim == 2 and target.shape[1] == 1 else target
    label = _column(name, target if series is None else series)
    if len(label.missing) != n:
        raise ValueError(f"the frame has {n} rows but target has {len(label.missing)} labels.")
    return columns, label


def _complete_rows(columns: list[_Column], n: int, missing: str) -> NDArray[np.int64]:
    """Positions of the rows that miss nothing; refuses the others unless they may be dropped."""
    bad = np.zeros(n, dtype=bool)
    counts = []
    for column in columns:
        if column.missing.any():
            bad |= column.missing
            counts.append(f"{column.name} {np.count_nonzero(column.missing)}")
    hit = np.count_nonzero(bad)
    seen = f"{listed(counts)} (of {n} rows)"
    if hit and missing == "error":
        which = "the row that has one" if hit == 1 else f"the {hit} rows that have one"
        raise ValueError(f"missing values: {seen}; fill them, or pass missing='drop' to leave out {which}.")
    if hit == n:
        raise ValueError(f"missing values in every row: {seen}; fill them, or drop the columns that have most.")
    return np.flatnonzero(~bad).astype(np.int64)


def _check_finite(name: str, values: NDArray[Any], rows: NDArray[np.int64]) -> None:
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        seen = f"{float(values[bad[0]])} at row {rows[bad[0]]} (counted from 0)"
        raise ValueError(f"column {name!r} has {seen}; replace it, or drop the row.")


def _contrasts(codes: NDArray[Any], size: int, outcome: NDArray[Any]) -> tuple[list[int], int]:
    """Codes that occur, and that of the reference."""
    counts = np.bincount(codes, minlength=size)
    one = np.zeros(size, dtype=outcome.dtype)
    one[codes] = outcome  # one outcome of each level; another beside it makes the level mixed
    mixed = np.zeros(size, dtype=bool)
    mixed[codes[outcome != one[codes]]] = True
    return np.flatnonzero(counts).tolist(), int(np.argmax(np.where(mixed, counts, 0) if mixed.any() else counts))


def _number_notes(name: str, values: NDArray[Any], rows: NDArray[np.int64]) -> list[str]:
    if len(rows) < FEW or not np.array_equal(values, values[0] + (rows - rows[0])):
        return []
    return [f"{name!r} goes up by one from row to row; if it only numbers the rows, drop it."]


def _factor_notes(name: str, levels: list[Any], n: int) -> list[str]:
    if len(levels) == 1:
        return [f"{name!r} has the same value in every row and is left out."]
    notes = []
    if len(levels) == n >= FEW:
        notes.append(f"{name!r} differs in every row, like an identifier, and so separates anything; drop it.")
    odd = [level for level in levels if not (isinstance(level, str) and _reads_as_number(level))]
    if not odd:
        notes.append(f"{name!r} holds numbers as text and was treated as text levels; convert it if it is a number.")
    elif len(levels) >= FEW and len(odd) <= len(levels) // 10:
        notes = [f"{name!r} was read as text because of {odd[0]!r}; its other values are nearly all numbers."]
    return notes


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# From any frame to columns.


def _columns(frame: Any) -> list[_Column]:
    pairs = [(str(key), values) for key, values in frame.items()] if isinstance(frame, Mapping) else _of_frame(frame)
    if not pairs:
        raise ValueError("the frame has no columns; it needs the labels and at least one more.")
    _check_unique([name for name, _ in pairs])
    columns = [_column(name, values) for name, values in pairs]
    first, n = columns[0].name, len(columns[0].missing)
    for name, m in ((column.name, len(column.missing)) for column in columns):
        if m != n:
            raise ValueError(f"columns must be equally long, got {n} values in {first!r} and {m} in {name!r}.")
    if n == 0:
        raise ValueError("the frame has no rows; it needs at least one.")
    return columns


def _of_frame(frame: Any) -> list[tuple[str, Any]]:
    nw = _narwhals()
    if _is_lazy(frame, nw):
        raise ValueError("a LazyFrame has not read its rows yet; collect() it first.")
    if not nw.dependencies.is_into_dataframe(frame):
        raise ValueError(f"a data frame or a dict of columns is needed, got {type(frame).__name__}.")
    if nw.dependencies.is_pandas_like_dataframe(frame):  # narwhals would complain in its own words
        _check_unique([str(name) for name in frame.columns])
    return [(str(series.name), series) for series in nw.from_native(frame, eager_only=True).iter_columns()]


def _check_unique(names: list[str]) -> None:
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise ValueError(f"columns must have different names, got more than one {listed(twice)}; rename them.")


def _column(name: str, values: Any) -> _Column:
    if isinstance(values, list | tuple):
        return _from_objects(name, np.fromiter(values, dtype=object, count=len(values)))
    series = _series(values)
    return _from_array(name, np.asanyarray(values)) if series is None else _from_series(name, series)


def _from_series(name: str, series: Any) -> _Column:
    nw = _narwhals()
    dtype, native = series.dtype, series.to_native()
    missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
    if dtype.is_integer():
        if not missing.all():
            _check_whole(name, series.min(), series.max())
        return _Column(name, series.fill_null(0).cast(nw.Int64).to_numpy(), missing)
    if dtype.is_numeric():
        return _from_array(name, np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64))
    if dtype == nw.Boolean:
        return _Column(name, series.fill_null(False).to_numpy().astype(np.int64), missing, (False, True))
    if series.implementation.is_pandas_like() and str(native.dtype) == "category":
        return _Column(name, native.cat.codes.to_numpy().astype(np.int64), missing, tuple(native.cat.categories))
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        order = tuple(dtype.categories) if dtype == nw.Enum else None
        return _factor(name, _blanked(series.to_numpy(), missing), missing, order)
    if dtype in (nw.Object, nw.Unknown):
        values = series.to_numpy()
        return _from_array(name, _blanked(values, missing) if values.dtype == object else values)
    raise _unusable(name, str(dtype))


def _from_array(name: str, values: NDArray[Any]) -> _Column:
    if values.ndim != 1:
        raise ValueError(f"column {name!r} must have one dimension, got shape {values.shape}.")
    if isinstance(values, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(values)
        return _from_array(name, _blanked(values.data, hidden) if hidden.any() else values.data)
    kind = values.dtype.kind
    nothing = np.zeros(len(values), dtype=bool)
    if kind == "b":
        return _Column(name, values.astype(np.int64), nothing, (False, True))
    if kind in "iu":
        if len(values):
            _check_whole(name, values.min(), values.max())
        return _Column(name, values, nothing)
    if kind == "f":
        return _Column(name, values, np.isnan(values))
    if kind in "OUT":
        return _from_objects(name, values.astype(object))
    raise _unusable(name, str(values.dtype))


def _from_objects(name: str, values: NDArray[Any]) -> _Column:
    types = list(map(type, values))
    kinds = {t: _kind(t) for t in set(types)}
    for kind in kinds.values():
        if kind not in ("missing", "booleans", "numbers", "text"):
            raise _unusable(name, kind)
    missing = _among(types, {t for t in kinds if kinds[t] == "missing"})
    values = _blanked(values, missing)
    missing |= values != values  # NaN
    seen = sorted({kinds[t] for t in set(compress(types, ~missing))})
    if len(seen) > 1:
        i, j = (next(i for i in np.flatnonzero(~missing) if kinds[types[i]] == kind) for kind in seen[:2])
        found = f"{values[i]!r} at row {i}, {values[j]!r} at row {j}"
        raise ValueError(f"column {name!r} mixes {seen[0]} and {seen[1]} ({found}); make it one kind.")
    if seen == ["text"]:
        return _factor(name, _blanked(values, missing), missing, None)
    values[missing] = 0
    if seen == ["booleans"]:
        return _Column(name, values.astype(np.int64), missing, (False, True))
    whole = _among(types, {t for t in kinds if issubclass(t, Integral)}) & ~missing
    if whole.any():
        _check_whole(name, values[whole].min(), values[whole].max())
    return _Column(name, values.astype(np.int64 if (whole | missing).all() else np.float64), missing)


def _among(types: list[type], some: set[type]) -> NDArray[np.bool_]:
    return np.fromiter(map(some.__contains__, types), bool, len(types))


def _kind(t: type) -> str:
    if t.__name__ in ("NoneType", "NAType", "NaTType"):  # the last two are of pandas, which need not be installed
        return "missing"
    if issubclass(t, bool | np.bool_):
        return "booleans"
    if issubclass(t, str):
        return "text"
    if issubclass(t, Real | Decimal) and not issubclass(t, np.timedelta64):  # NumPy counts durations as integers
        return "numbers"
    return t.__name__


def _blanked(values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
    """Objects, None where missing."""
    objects = values.astype(object)
    objects[missing] = None
    return objects


def _factor(name: str, values: NDArray[Any], missing: NDArray[np.bool_], order: tuple[str, ...] | None) -> _Column:
    """Text, None where missing, to codes."""
    cells = values.tolist()
    levels = tuple(sorted(set(cells) - {None})) if order is None else order
    index = {level: k for k, level in enumerate(levels)} | {None: -1}
    return _Column(name, np.fromiter(map(index.__getitem__, cells), np.int64, len(cells)), missing, levels)


def _check_whole(name: str, low: Any, high: Any) -> None:
    worst = max(int(low), int(high), key=abs)
    if abs(worst) > EXACT:
        seen = f"column {name!r} has the whole number {worst}, beyond 2**53"
        raise ValueError(f"{seen}, which float64 cannot hold; subtract an offset, or drop the column.")


def _unusable(name: str, kind: str) -> ValueError:
    return ValueError(f"column {name!r} has the type {kind}; turn it into numbers, or drop it.")


def _series(values: Any) -> Any:
    """A narwhals Series, or None where this is no Series."""
    if isinstance(values, np.ndarray | list | tuple | Mapping):
        return None
    try:
        nw: Any = _narwhals()
    except ImportError:
        return None
    series = nw.from_native(values, series_only=True, pass_through=True)
    return series if isinstance(series, nw.Series) else None


def _is_lazy(frame: Any, nw: Any) -> bool:
    return isinstance(frame, nw.LazyFrame) or nw.dependencies.is_polars_lazyframe(frame)


def _narwhals() -> ModuleType:
    try:
        import narwhals.stable.v2 as nw
    except ImportError:
        raise ImportError("data frames are read through narwhals: pip install 'separatrix[frames]'.") from None
    return nw


def listed(names: Sequence[str]) -> str:
    """The first few of many names, and the first letters of long ones."""
    more = len(names) - SHOWN
    names = [plain(name, LONG) for name in names[:SHOWN]]
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")
